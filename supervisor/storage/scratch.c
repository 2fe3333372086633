// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scratch directories; see scratch.h.
 *
 * Each process has a directory of its own in the base, named by its pid and locked as long
 * as the process lives. A process makes its directory under the base's lock, so that no
 * other takes the new directory for a leftover. Only images and parity are removed: any
 * other file stays, and so does its directory.
 */
#include "supervisor/storage/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "image/writer.h"

#define OPEN_DIR	(O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static void scratch_empty(const char *path)
{
	_cleanup_dir_ DIR *dir = opendir(path);
	struct ckpt_error unread;
	struct dirent *entry;
	char *image;

	image_sweep(path, &unread);
	while (dir && (entry = readdir(dir))) {
		if (is_dot(entry->d_name) || asprintf(&image, "%s/%s", path, entry->d_name) < 0)
			continue;
		image_remove(image, &unread);
		free(image);
	}
	rmdir(path);
}

/*
 * Lock; 0, or why not. On a file system without locks 0 is returned: directories are still
 * not shared, as their names contain the pid, but leftovers are not swept.
 */
static int scratch_lock(int fd, int how)
{
	while (flock(fd, how)) {
		if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* Remove leftovers. Call with the base's lock held. */
static void scratch_sweep(const char *base)
{
	_cleanup_dir_ DIR *dir = opendir(base);
	struct dirent *entry;
	char *path;
	int fd;

	while (dir && (entry = readdir(dir))) {
		if (is_dot(entry->d_name) || asprintf(&path, "%s/%s", base, entry->d_name) < 0)
			continue;
		fd = open(path, OPEN_DIR);
		if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
			scratch_empty(path);
		if (fd >= 0)
			close(fd);
		free(path);
	}
}

static int scratch_make(const char *base, struct scratch_dir *dir)
{
	unsigned int n = 0;
	int err;

	/* One process may have several. */
	do {
		free(dir->path);
		if (asprintf(&dir->path, "%s/%d-%u", base, (int)getpid(), n++) < 0) {
			dir->path = NULL;
			return -ENOMEM;
		}
		err = mkdir(dir->path, 0700) ? -errno : 0;
	} while (err == -EEXIST);
	if (err)
		return err;
	dir->lock = open(dir->path, OPEN_DIR);
	return dir->lock < 0 ? -errno : scratch_lock(dir->lock, LOCK_EX | LOCK_NB);
}

int scratch_dir_open(const char *base, struct scratch_dir *ret_dir, struct ckpt_error *error)
{
	struct scratch_dir dir = { .lock = -1 };
	_cleanup_fd_ int fd = -1;
	int err;

	if (mkdir(base, 0700) && errno != EEXIST)
		return error_set(error, -errno, "%.200s: %m", base);
	fd = open(base, OPEN_DIR);
	err = fd < 0 ? -errno : scratch_lock(fd, LOCK_EX);
	if (!err) {
		scratch_sweep(base);
		err = scratch_make(base, &dir);
	}
	if (err) {
		scratch_dir_close(&dir);
		return error_set(error, err, "%.200s: %s", base, strerror(-err));
	}
	*ret_dir = dir;
	return 0;
}

void scratch_dir_close(struct scratch_dir *dir)
{
	if (!dir->path)
		return;
	scratch_empty(dir->path);
	if (dir->lock >= 0)
		close(dir->lock);
	free(dir->path);
	*dir = (struct scratch_dir) { .lock = -1 };
}
