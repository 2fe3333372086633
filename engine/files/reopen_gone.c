// SPDX-License-Identifier: GPL-2.0-only
/*
 * Directories, FIFOs and device nodes without a name: a working directory that was
 * removed, a FIFO that was unlinked when both ends were open.
 *
 * Each is made once, under its old name if that is free, in the nearest directory that
 * still exists on its old path, or else in /tmp, and removed again at once.  A removed
 * directory is empty and stays so.
 */
#include "engine/files/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAST_RESORT	"/tmp"

static int make_at(int dir, const char *name, const struct ckpt_rec_file *rec, int flags)
{
	int fd, ret = 0;
	bool is_dir = S_ISDIR(rec->mode);

	if (is_dir ? mkdirat(dir, name, 0700) :
		     mknodat(dir, name, (rec->mode & S_IFMT) | 0600, rec->rdev))
		return -errno;
	fd = openat(dir, name, (is_dir ? O_RDONLY | O_DIRECTORY : flags) | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		ret = -errno;
	unlinkat(dir, name, is_dir ? AT_REMOVEDIR : 0);
	return ret ? ret : fd;
}

static int make_in(const char *path, const struct state_file *file, const char *name, int flags)
{
	_cleanup_fd_ int dir = reopen_open(path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	char other[48];
	int fd;

	if (dir < 0)
		return dir;
	fd = make_at(dir, name, file->rec, flags);
	if (fd != -EEXIST)
		return fd;
	snprintf(other, sizeof(other), ".stillpoint-%u-%d", file->rec->id, getpid());
	return make_at(dir, other, file->rec, flags);
}

/* Make the object and open it with @flags; a directory is opened for reading. */
static int reopen_gone_make(const struct state_file *file, int flags)
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
		fd = make_in(path, file, name, flags);
	}
	return fd < 0 ? make_in(LAST_RESORT, file, name, flags) : fd;
}

int reopen_gone(struct reopen *r, const struct state_file *file, int flags)
{
	unsigned int first = r->first[file - r->state->files];

	if (r->bases[first] < 0) {
		int fd = reopen_gone_make(file, O_RDWR | O_NONBLOCK);

		if (fd < 0)
			return fd;
		r->bases[first] = fd;
	}
	return reopen_again(r->bases[first], flags);
}

int reopen_gone_directory(struct reopen *r, const struct state_file *file, int flags)
{
	int fd = reopen_gone(r, file, flags);

	return fd < 0 ? reopen_failed(r, file, fd, "create again") : fd;
}

int reopen_gone_fifo(struct reopen *r, const struct state_file *file, int flags)
{
	int fd = reopen_gone_make(file, flags);

	return fd < 0 ? reopen_failed(r, file, fd, "create again") : fd;
}

/* Was the FIFO sealed by an earlier file of it? After it was given away, we may not change it. */
static bool is_sealed(const struct reopen *r, unsigned int index)
{
	const struct state_file *files = r->state->files;

	for (unsigned int i = 0; i < index; i++)
		if (files[i].pipe == files[index].pipe && !files[i].external &&
		    state_file_deleted(&files[i]))
			return true;
	return false;
}

int reopen_gone_seal(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_files; i++) {
		const struct state_file *file = &r->state->files[i];

		if (file->rec->kind == CKPT_FILE_FIFO && state_file_deleted(file) &&
		    !file->external && !is_sealed(r, i))
			ret = reopen_seal_fd(r, file, r->pipes[file->pipe - r->state->pipes][1]);
	}
	return ret;
}
