// SPDX-License-Identifier: GPL-2.0-only
/*
 * Directories and FIFOs without a name: a working directory that was removed, a
 * FIFO unlinked when both ends had it.
 *
 * Each is made once, under its old name if that is free, in the directory that is
 * left of its old path or else in /tmp, and removed again at once.  A removed
 * directory is empty and stays so.
 */
#include "supervisor/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAST_RESORT	"/tmp"

static int make_at(int dir, const char *name, mode_t type)
{
	int flags = O_NOFOLLOW | O_CLOEXEC, fd, ret = 0;

	if (type == S_IFDIR ? mkdirat(dir, name, 0700) : mkfifoat(dir, name, 0600))
		return -errno;
	fd = openat(dir, name, flags | (type == S_IFDIR ? O_RDONLY | O_DIRECTORY :
							  O_RDWR | O_NONBLOCK));
	if (fd < 0)
		ret = -errno;
	unlinkat(dir, name, type == S_IFDIR ? AT_REMOVEDIR : 0);
	return ret ? ret : fd;
}

static int make_in(const char *path, const struct state_file *file, const char *name, mode_t type)
{
	_cleanup_fd_ int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char other[48];
	int fd;

	if (dir < 0)
		return -errno;
	fd = make_at(dir, name, type);
	if (fd != -EEXIST)
		return fd;
	snprintf(other, sizeof(other), ".stillpoint-%u-%d", file->rec->id, getpid());
	return make_at(dir, other, type);
}

static int make(const struct state_file *file, mode_t type)
{
	char path[PATH_MAX], *slash;
	const char *name = strrchr(file->path, '/');
	int fd = -ENOENT;

	if (!name || !name[1] || strlen(file->path) >= sizeof(path))
		return -ENOENT;
	strcpy(path, file->path);
	name++;
	/* its directory may be gone as well */
	while (fd < 0 && (slash = strrchr(path, '/')) && path[1]) {
		slash[slash == path] = 0;
		fd = make_in(path, file, name, type);
	}
	return fd < 0 ? make_in(LAST_RESORT, file, name, type) : fd;
}

int reopen_gone_directory(struct reopen *r, const struct state_file *file, int flags)
{
	unsigned int first = r->first[file - r->state->files];
	int fd;

	if (r->bases[first] < 0) {
		fd = make(file, S_IFDIR);
		if (fd < 0)
			return reopen_failed(r, file, fd, "create again");
		r->bases[first] = fd;
	}
	fd = reopen_again(r->bases[first], flags);
	return fd < 0 ? reopen_failed(r, file, fd, "open") : fd;
}

int reopen_gone_fifo(struct reopen *r, const struct state_file *file)
{
	int fd = make(file, S_IFIFO);

	return fd < 0 ? reopen_failed(r, file, fd, "create again") : fd;
}

int reopen_gone_seal(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_files; i++) {
		const struct state_file *file = &r->state->files[i];

		if (file->rec->kind == CKPT_FILE_FIFO && state_file_deleted(file) &&
		    !file->external)
			ret = reopen_seal_fd(r, file, r->pipes[file->pipe - r->state->pipes][1]);
	}
	return ret;
}
