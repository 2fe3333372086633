// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plain writer: pwrite(2) and fsync(2) on a local file system.
 *
 * Appends use O_DIRECT where the file system allows it; the end of a file, if not a
 * whole page, goes through the cache.  writer_dir.c does directory, lock and publishing.
 */
#include <errno.h>

#include "base/error.h"
#include "image/plain_file.h"
#include "image/writer_dir.h"

struct posix_writer {
	struct writer_dir wd;	/* first */
	bool cached;		/* O_DIRECT was refused for a file */
};

struct image_wfile {
	struct posix_writer *pw;
	struct plain_file plain;
	uint64_t len;
};

static struct posix_writer *to_posix(struct image_writer *w)
{
	return (struct posix_writer *)w;
}

static int posix_open(struct image_writer *w, const char *name,
		      struct image_wfile **ret_file)
{
	struct posix_writer *pw = to_posix(w);
	struct image_wfile *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->pw = pw;
	err = plain_file_create(&f->plain, pw->wd.dir, name);
	if (err) {
		free(f);
		return err;
	}
	*ret_file = f;
	return 0;
}

static int posix_append(struct image_wfile *f, const void *buf, size_t len)
{
	int err = plain_file_write(&f->plain, buf, len, f->len);

	if (err)
		return err;
	f->len += len;
	plain_file_kick(&f->plain, f->len);
	return 0;
}

static int posix_sync(struct image_wfile *f)
{
	return fsync(f->plain.fd) < 0 ? -errno : 0;
}

static int posix_close(struct image_wfile *f)
{
	int err = close(f->plain.fd) < 0 && errno != EINTR ? -errno : 0;

	f->pw->cached |= f->plain.refused;
	free(f);
	return err;
}

static const char *posix_way(const struct image_writer *w)
{
	return ((const struct posix_writer *)w)->cached ? "write, cached" : "write, direct";
}

static void posix_destroy(struct image_writer *w)
{
	struct posix_writer *pw = to_posix(w);

	writer_dir_done(&pw->wd);
	free(pw);
}

static const struct image_writer_ops posix_ops = {
	.begin = writer_dir_begin,
	.open = posix_open,
	.append = posix_append,
	.sync = posix_sync,
	.close = posix_close,
	.rename = writer_dir_rename,
	.sync_dir = writer_dir_sync,
	.publish = writer_dir_publish,
	.discard = writer_dir_discard,
	.link = writer_dir_link,
	.remove = writer_dir_remove,
	.swap = writer_dir_swap,
	.way = posix_way,
	.destroy = posix_destroy,
};

int image_writer_posix_create(const char *dir, struct image_writer **ret_writer,
			      struct ckpt_error *error)
{
	struct posix_writer *pw = calloc(1, sizeof(*pw));
	int err;

	if (!pw)
		return error_set(error, -ENOMEM, "out of memory");
	err = writer_dir_init(&pw->wd, &posix_ops, dir, error);
	if (err) {
		free(pw);
		return err;
	}
	*ret_writer = &pw->wd.base;
	return 0;
}
