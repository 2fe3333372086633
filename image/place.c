// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where an image lies, and how directories come and go there.
 *
 * A temporary (.tmp-NAME) or dying (.rm-NAME) directory belongs to whoever holds
 * its flock(2); without a holder it is a dead process's leftover and may be
 * removed.  A lock counts only if the locked directory still is the one under
 * that name: it may have been removed or renamed between open and lock.
 *
 * Only names that an image can have are ever unlinked; a directory that holds
 * anything else is left alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/error.h"
#include "image/format.h"
#include "image/place.h"
#include "image/stream.h"
#include "image/writer.h"

#define RM_PREFIX	".rm-"

#define OPEN_DIR	(O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)

static bool is_ours(const char *name)
{
	static const char *const names[] = {
		IMAGE_NAME_MANIFEST, IMAGE_NAME_MANIFEST_TMP,
		"state", "index", "pages", "blobs", IMAGE_NAME_PARITY,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	for (i = IMAGE_FILE_BASE; i < IMAGE_FILES; i++)
		if (!strcmp(name, image_file_names[i]))
			return true;
	return false;
}

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

void place_done(struct place *p)
{
	if (p->parent >= 0)
		close(p->parent);
	free(p->name);
	free(p->tmp);
	free(p->rm);
	*p = (struct place){ .parent = -1 };
}

static int make_names(struct place *p, const char *name)
{
	p->name = strdup(name);
	if (asprintf(&p->tmp, PLACE_TMP "%s", name) < 0)
		p->tmp = NULL;
	if (asprintf(&p->rm, RM_PREFIX "%s", name) < 0)
		p->rm = NULL;
	return p->name && p->tmp && p->rm ? 0 : -ENOMEM;
}

int place_open(struct place *p, const char *dir, struct ckpt_error *error)
{
	_cleanup_free_ char *copy = strdup(dir);
	const char *parent = ".";
	char *name, *slash;
	size_t len;
	int err;

	*p = (struct place){ .parent = -1 };
	if (!copy)
		return error_set(error, -ENOMEM, "out of memory");
	len = strlen(copy);
	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	name = copy;
	slash = strrchr(copy, '/');
	if (slash) {
		name = slash + 1;
		*slash = '\0';
		parent = slash == copy ? "/" : copy;
	}
	if (!*name || is_dot(name))
		return error_set(error, -EINVAL,
				       "%s: does not name an image directory", dir);
	err = make_names(p, name);
	if (err) {
		place_done(p);
		return error_set(error, err, "out of memory");
	}
	p->parent = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->parent < 0) {
		err = -errno;
		place_done(p);
		return error_set(error, err, "%s: %s", parent,
				       strerror(-err));
	}
	return 0;
}

int place_can_exchange(const struct place *p)
{
	_cleanup_free_ char *one = NULL, *two = NULL;
	int err = 0;

	/* The names begin with PLACE_TMP: a sweeper removes them if this process dies here. */
	if (asprintf(&one, PLACE_TMP "swap-%s", p->name) < 0)
		one = NULL;
	if (asprintf(&two, PLACE_TMP "swapped-%s", p->name) < 0)
		two = NULL;
	if (!one || !two)
		return -ENOMEM;
	mkdirat(p->parent, one, 0700);
	mkdirat(p->parent, two, 0700);
	if (renameat2(p->parent, one, p->parent, two, RENAME_EXCHANGE))
		err = errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? -EOPNOTSUPP : 0;
	unlinkat(p->parent, one, AT_REMOVEDIR);
	unlinkat(p->parent, two, AT_REMOVEDIR);
	return err;
}

char *place_beside(const char *dir, const char *prefix)
{
	size_t len = strlen(dir), name;
	char *path;

	while (len > 1 && dir[len - 1] == '/')
		len--;
	for (name = len; name && dir[name - 1] != '/'; name--)
		;
	if (asprintf(&path, "%.*s%s%.*s", (int)name, dir, prefix, (int)(len - name), dir + name) <
	    0)
		return NULL;
	return path;
}

/* 1: empty, 0: not, or negative errno. */
static int dir_is_empty(int dir)
{
	_cleanup_dir_ DIR *d = NULL;
	struct dirent *e;
	int fd = openat(dir, ".", OPEN_DIR);

	if (fd < 0)
		return -errno;
	d = fdopendir(fd);
	if (!d) {
		int err = -errno;

		close(fd);
		return err;
	}
	while ((e = readdir(d)))
		if (!is_dot(e->d_name))
			return 0;
	return 1;
}

int place_check_free(const struct place *p)
{
	_cleanup_fd_ int fd = openat(p->parent, p->name, OPEN_DIR);
	int empty;

	if (fd < 0)
		return errno == ENOENT ? 0 : -EEXIST;
	empty = dir_is_empty(fd);
	if (empty < 0)
		return empty;
	return empty ? 0 : -EEXIST;
}

/* Open and lock @name; -EBUSY if another process holds it, -ENOENT if it went away. */
static int open_locked(int parent, const char *name)
{
	_cleanup_fd_ int fd = openat(parent, name, OPEN_DIR);
	struct stat a, b;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (fstat(fd, &a) < 0 ||
	    fstatat(parent, name, &b, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (a.st_ino != b.st_ino || a.st_dev != b.st_dev)
		return -ENOENT;
	return take_fd(&fd);
}

bool image_in_use(const char *dir)
{
	_cleanup_fd_ int fd = open(dir, OPEN_DIR);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/*
 * Remove an unlocked leftover.  A leftover with a manifest may have been an image a moment ago: its
 * rename has to be on disk before its files are removed.
 */
static int remove_stale(int parent, const char *name)
{
	_cleanup_fd_ int fd = open_locked(parent, name);
	int err;

	if (fd < 0)
		return fd;
	if (!faccessat(fd, IMAGE_NAME_MANIFEST, F_OK, AT_SYMLINK_NOFOLLOW) && fsync(parent) < 0)
		return -errno;
	err = place_empty(fd);
	if (err)
		return err;
	return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int place_make_tmp(const struct place *p)
{
	int tries, fd, err;

	for (tries = 0; tries < 8; tries++) {
		if (mkdirat(p->parent, p->tmp, 0700) == 0) {
			/* a sweeper may have been faster */
			fd = open_locked(p->parent, p->tmp);
			if (fd != -ENOENT)
				return fd;
			continue;
		}
		if (errno != EEXIST)
			return -errno;
		err = remove_stale(p->parent, p->tmp);
		if (err && err != -ENOENT)
			return err;
	}
	return -EBUSY;
}

int place_empty(int dir)
{
	_cleanup_dir_ DIR *d = NULL;
	struct dirent *e;
	int fd = openat(dir, ".", OPEN_DIR);
	int err = 0;

	if (fd < 0)
		return -errno;
	d = fdopendir(fd);
	if (!d) {
		err = -errno;
		close(fd);
		return err;
	}
	while ((e = readdir(d)))
		if (!is_dot(e->d_name) && !is_ours(e->d_name))
			return -ENOTEMPTY;
	rewinddir(d);
	while ((e = readdir(d))) {
		if (is_dot(e->d_name))
			continue;
		if (unlinkat(dir, e->d_name, 0) < 0 && errno != ENOENT)
			err = -errno;
	}
	return err;
}

static bool is_leftover(const char *name)
{
	return !strncmp(name, PLACE_TMP, strlen(PLACE_TMP)) ||
	       !strncmp(name, RM_PREFIX, strlen(RM_PREFIX));
}

int image_sweep(const char *parent, struct ckpt_error *error)
{
	_cleanup_dir_ DIR *d = opendir(parent);
	struct dirent *e;
	int removed = 0;

	if (!d)
		return error_set(error, -errno, "%s: %m", parent);
	while ((e = readdir(d))) {
		int err;

		if (!is_leftover(e->d_name))
			continue;
		err = remove_stale(dirfd(d), e->d_name);
		if (!err)
			removed++;
		else if (err == -EIO || err == -EROFS || err == -EACCES ||
			 err == -EPERM)
			return error_set(error, err, "%s/%s: %s", parent,
					       e->d_name, strerror(-err));
		/* in use, gone meanwhile, or not ours after all */
	}
	return removed;
}

/* Check that @dir holds an image (or parity over images), and nothing else. */
static int check_image_only(int dir)
{
	_cleanup_dir_ DIR *d = NULL;
	bool manifest = false;
	struct dirent *e;
	int fd = openat(dir, ".", OPEN_DIR);

	if (fd < 0)
		return -errno;
	d = fdopendir(fd);
	if (!d) {
		int err = -errno;

		close(fd);
		return err;
	}
	while ((e = readdir(d))) {
		if (is_dot(e->d_name))
			continue;
		if (!is_ours(e->d_name))
			return -ENOTEMPTY;
		if (!strcmp(e->d_name, IMAGE_NAME_MANIFEST) ||
		    !strcmp(e->d_name, IMAGE_NAME_PARITY))
			manifest = true;
	}
	return manifest ? 0 : -ENOENT;
}

static int remove_at(const struct place *p)
{
	_cleanup_fd_ int fd = open_locked(p->parent, p->name);
	int err;

	if (fd < 0)
		return fd;
	err = check_image_only(fd);
	if (err)
		return err;
	err = remove_stale(p->parent, p->rm);
	if (err && err != -ENOENT)
		return err;
	if (renameat(p->parent, p->name, p->parent, p->rm) < 0)
		return -errno;
	/* Make the rename durable before any of the image's files is removed. */
	if (fsync(p->parent) < 0)
		return -errno;
	err = place_empty(fd);
	if (err)
		return err;
	return unlinkat(p->parent, p->rm, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int place_drop(const char *dir)
{
	struct place p;
	int err = place_open(&p, dir, NULL);

	if (err)
		return err;
	err = remove_stale(p.parent, p.name);
	place_done(&p);
	return err;
}

int image_remove(const char *dir, struct ckpt_error *error)
{
	struct place p;
	int err;

	err = place_open(&p, dir, error);
	if (err)
		return err;
	err = remove_at(&p);
	place_done(&p);
	switch (err) {
	case 0:
		return 0;
	case -ENOENT:
		return error_set(error, err, "%s: there is no image", dir);
	case -ENOTEMPTY:
		return error_set(error, err,
				       "%s: holds files that are not an image's; remove it by hand",
				       dir);
	case -EBUSY:
		return error_set(error, err, "%s: in use", dir);
	default:
		return error_set(error, err, "%s: %s", dir, strerror(-err));
	}
}
