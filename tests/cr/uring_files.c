// SPDX-License-Identifier: GPL-2.0-only
/*
 * An io_uring with registered files: the ends of a pipe, one of which has no descriptor any more,
 * an eventfd that is registered twice, an empty place that is filled afterwards.
 */
#include <sys/eventfd.h>

#include "tests/cr/uring.h"

static struct uring ring;
static int fds[2], event;
static char buf[16];

static void transfer(uint8_t op, int place, void *from, unsigned int len, uint64_t data)
{
	struct io_uring_sqe *sqe = uring_queue(&ring, op, place, data);

	sqe->flags = IOSQE_FIXED_FILE;
	sqe->addr = (uintptr_t)from;
	sqe->len = len;
	uring_submit(&ring, 1);
	uring_take(&ring, data, (int)len);
}

static void setup(void)
{
	int files[5];

	cr_sys(pipe2(fds, O_NONBLOCK));	/* else a worker thread of the kernel would wait */
	event = (int)cr_sys(eventfd(3, EFD_NONBLOCK));
	memcpy(files, (int[]){ event, fds[0], -1, fds[1], event }, sizeof(files));
	uring_init(&ring, 8, 0);
	cr_sys(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_FILES, files, 5));
	cr_sys(close(fds[1]));
	transfer(IORING_OP_WRITE, 3, "before", 6, 1);
}

static void verify(void)
{
	struct io_uring_files_update up = { .offset = 2, .fds = (uintptr_t)&fds[0] };
	uint64_t count = 4;

	transfer(IORING_OP_READ, 1, buf, 6, 2);
	cr_check(!memcmp(buf, "before", 6), "%.6s", buf);
	transfer(IORING_OP_WRITE, 0, &count, 8, 3);
	transfer(IORING_OP_READ, 4, &count, 8, 4);
	cr_eq(count, 7);
	uring_queue(&ring, IORING_OP_READ, 2, 5)->flags = IOSQE_FIXED_FILE;
	uring_submit(&ring, 1);
	uring_take(&ring, 5, -EBADF);
	cr_eq(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_FILES_UPDATE, &up, 1), 1);
	transfer(IORING_OP_WRITE, 3, "after", 5, 6);
	transfer(IORING_OP_READ, 2, buf, 5, 7);
	cr_check(!memcmp(buf, "after", 5), "%.5s", buf);
	cr_sys(syscall(SYS_io_uring_register, ring.fd, IORING_UNREGISTER_FILES, NULL, 0));
	cr_eq(read(fds[0], buf, 1), 0);		/* the last writer was the ring */
}

CR_TEST(.setup = setup, .verify = verify);
