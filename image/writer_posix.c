// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plain writer: write(2), fsync(2), rename(2) on a local file system.
 *
 * Past the page cache where the file system can do that (O_DIRECT): an image is
 * not read soon, and the job wants its memory.  Appends are made for it; the end
 * of a file, which is no whole page, goes through the cache.
 *
 * Owns the temporary directory .tmp-NAME beside the final NAME, from begin to
 * publish or discard.  While it lives its directory is locked with flock(2), so
 * that image_sweep() and a second writer know a dead writer's leftovers from a
 * living one's work.
 *
 * Every name is resolved relative to the parent directory, opened once; symlinks
 * in place of our own names are not followed.  Publishing is one rename of the
 * directory; if it cannot be made durable it is taken back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "image/place.h"
#include "image/writer.h"

#define ALIGN		4096U
#define KICK_BYTES	(8U << 20)	/* start writeback this often */

struct posix_writer {
	struct image_writer base;
	struct place place;	/* parent directory and names */
	char *path;
	int dir;		/* the temporary directory, locked */
	bool published;
};

struct image_wfile {
	int fd;
	bool direct;
	uint64_t len;
	uint64_t kicked;
};

static struct posix_writer *to_posix(struct image_writer *w)
{
	return (struct posix_writer *)w;	/* base is the first member */
}

static int posix_begin(struct image_writer *w)
{
	struct posix_writer *pw = to_posix(w);
	int err;

	err = place_check_free(&pw->place);
	if (err)
		return err;
	pw->dir = place_make_tmp(&pw->place);
	return pw->dir < 0 ? pw->dir : 0;
}

static int posix_open(struct image_writer *w, const char *name,
		      struct image_wfile **ret_file)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
	struct posix_writer *pw = to_posix(w);
	struct image_wfile *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->fd = openat(pw->dir, name, flags | O_DIRECT, 0600);
	f->direct = f->fd >= 0;
	if (f->fd < 0 && errno == EINVAL) {
		/* some file systems create the file before they refuse */
		unlinkat(pw->dir, name, 0);
		f->fd = openat(pw->dir, name, flags, 0600);
	}
	if (f->fd < 0) {
		int err = -errno;

		free(f);
		return err;
	}
	*ret_file = f;
	return 0;
}

/* From here on through the cache. */
static int leave_direct(struct image_wfile *f)
{
	int flags = fcntl(f->fd, F_GETFL);

	if (flags < 0 || fcntl(f->fd, F_SETFL, flags & ~O_DIRECT) < 0)
		return -errno;
	f->direct = false;
	f->kicked = f->len;
	return 0;
}

static int posix_append(struct image_wfile *f, const void *buf, size_t len)
{
	const char *p = buf;
	int err;

	while (len) {
		ssize_t n;

		if (f->direct && ((uintptr_t)p | f->len | len) % ALIGN) {
			err = leave_direct(f);
			if (err)
				return err;
		}
		n = write(f->fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EINVAL && f->direct) {	/* wants more alignment */
			err = leave_direct(f);
			if (err)
				return err;
			continue;
		}
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		p += n;
		len -= (size_t)n;
		f->len += (uint64_t)n;
	}
	if (!f->direct && f->len - f->kicked >= KICK_BYTES) {
		/* a hint: the fsync at the end then finds little to do */
		sync_file_range(f->fd, (off_t)f->kicked,
				(off_t)(f->len - f->kicked),
				SYNC_FILE_RANGE_WRITE);
		f->kicked = f->len;
	}
	return 0;
}

static int posix_sync(struct image_wfile *f)
{
	return fsync(f->fd) < 0 ? -errno : 0;
}

static int posix_close(struct image_wfile *f)
{
	int err = close(f->fd) < 0 && errno != EINTR ? -errno : 0;

	free(f);
	return err;
}

static int posix_rename(struct image_writer *w, const char *from, const char *to)
{
	struct posix_writer *pw = to_posix(w);

	return renameat(pw->dir, from, pw->dir, to) < 0 ? -errno : 0;
}

static int posix_sync_dir(struct image_writer *w)
{
	return fsync(to_posix(w)->dir) < 0 ? -errno : 0;
}

static int posix_publish(struct image_writer *w)
{
	struct posix_writer *pw = to_posix(w);
	const struct place *p = &pw->place;
	int err;

	/* replaces an empty directory, refuses anything else */
	if (renameat(p->parent, p->tmp, p->parent, p->name) < 0)
		return errno == ENOTEMPTY || errno == ENOTDIR ? -EEXIST : -errno;
	if (fsync(p->parent) < 0) {
		err = -errno;
		if (renameat(p->parent, p->name, p->parent, p->tmp) < 0)
			pw->published = true;	/* cannot take it back */
		return err;
	}
	pw->published = true;
	return 0;
}

static void posix_discard(struct image_writer *w)
{
	struct posix_writer *pw = to_posix(w);

	if (pw->dir < 0 || pw->published)
		return;
	place_empty(pw->dir);
	unlinkat(pw->place.parent, pw->place.tmp, AT_REMOVEDIR);
	close(pw->dir);
	pw->dir = -1;
}

static void posix_destroy(struct image_writer *w)
{
	struct posix_writer *pw = to_posix(w);

	posix_discard(w);
	if (pw->dir >= 0)
		close(pw->dir);
	place_done(&pw->place);
	free(pw->path);
	free(pw);
}

static const struct image_writer_ops posix_ops = {
	.begin = posix_begin,
	.open = posix_open,
	.append = posix_append,
	.sync = posix_sync,
	.close = posix_close,
	.rename = posix_rename,
	.sync_dir = posix_sync_dir,
	.publish = posix_publish,
	.discard = posix_discard,
	.destroy = posix_destroy,
};

int image_writer_posix_create(const char *dir, struct image_writer **ret_writer,
			      struct image_error *error)
{
	struct posix_writer *pw = calloc(1, sizeof(*pw));
	int err;

	if (!pw)
		return image_error_set(error, -ENOMEM, "out of memory");
	pw->base.ops = &posix_ops;
	pw->dir = -1;
	err = place_open(&pw->place, dir, error);
	if (err) {
		free(pw);
		return err;
	}
	pw->path = strdup(dir);
	if (!pw->path) {
		posix_destroy(&pw->base);
		return image_error_set(error, -ENOMEM, "out of memory");
	}
	pw->base.name = pw->path;
	*ret_writer = &pw->base;
	return 0;
}
