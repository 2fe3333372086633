// SPDX-License-Identifier: GPL-2.0-only
/*
 * A writer that does not sync: to be preloaded, so that a test of power cuts can be tested.
 *
 * NOSYNC in the environment says what is left out: "files" (fsync and fdatasync of files, also
 * those that go through io_uring, and sync_file_range), "dirs" (fsync of directories), "all"
 * (these and syncfs).  Everything claims to have worked.
 */
#include <dlfcn.h>
#include <errno.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PRELOADED __attribute__((visibility("default")))

static bool left_out(const char *what)
{
	const char *is = getenv("NOSYNC");

	return is && (!strcmp(is, "all") || !strcmp(is, what));
}

static bool is_dir(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISDIR(st.st_mode);
}

PRELOADED int fsync(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");

	return left_out(is_dir(fd) ? "dirs" : "files") ? 0 : real(fd);
}

PRELOADED int fdatasync(int fd)
{
	return fsync(fd);
}

PRELOADED int syncfs(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "syncfs");

	return left_out("") ? 0 : real(fd);
}

/* The entry stays and does nothing. */
static void disarm(struct io_uring *ring)
{
	unsigned int at, mask = *ring->sq.kring_mask;

	for (at = ring->sq.sqe_head; at != ring->sq.sqe_tail; at++) {
		struct io_uring_sqe *sqe = &ring->sq.sqes[at & mask];

		if (sqe->opcode == IORING_OP_FSYNC && left_out("files")) {
			sqe->opcode = IORING_OP_NOP;
			sqe->fsync_flags = 0;
			sqe->flags &= (unsigned char)~IOSQE_FIXED_FILE;
			sqe->fd = -1;
		}
	}
}

PRELOADED int io_uring_submit(struct io_uring *ring)
{
	int (*real)(struct io_uring *) =
		(int (*)(struct io_uring *))dlsym(RTLD_NEXT, "io_uring_submit");

	disarm(ring);
	return real(ring);
}

PRELOADED int io_uring_submit_and_wait(struct io_uring *ring, unsigned int nr)
{
	int (*real)(struct io_uring *, unsigned int) = (int (*)(struct io_uring *, unsigned int))
		dlsym(RTLD_NEXT, "io_uring_submit_and_wait");

	disarm(ring);
	return real(ring, nr);
}
