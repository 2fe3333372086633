// SPDX-License-Identifier: GPL-2.0-only
/*
 * A writer that fails, tears or dies at its n-th operation, in front of a real one.
 */
#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <cmocka.h>
#include <unistd.h>

#include "tests/unit/faulty_writer.h"

struct faulty_writer {
	struct image_writer base;
	struct image_writer *real;
	enum fault_kind kind;
	int *left;		/* operations until the fault; < 0: never */
	int *ops;		/* operations so far */
};

/* what the real writer calls a file is opaque: keep it beside our own */
struct faulty_file {
	struct faulty_writer *fw;
	struct image_wfile *real;
	int ended;		/* by an append that was no multiple of 4096 */
};

static struct faulty_writer *faulty(struct image_writer *w)
{
	return (struct faulty_writer *)w;
}

static struct faulty_file *faulty_f(struct image_wfile *f)
{
	return (struct faulty_file *)f;
}

static int hit(struct faulty_writer *fw)
{
	++*fw->ops;
	if (*fw->left < 0 || (*fw->left)-- > 0)
		return 0;
	if (fw->kind == FAULT_DIE)
		_exit(FAULT_EXIT);
	if (fw->kind == FAULT_SLOW) {
		*fw->left = -1;
		usleep(FAULT_SLOW_MS * 1000);
		return 0;
	}
	return fw->kind == FAULT_ENOSPC ? -ENOSPC : -EIO;
}

static int f_begin(struct image_writer *w)
{
	int err = hit(faulty(w));

	return err ? err : faulty(w)->real->ops->begin(faulty(w)->real);
}

static int f_open(struct image_writer *w, const char *name,
		  struct image_wfile **ret_file)
{
	struct faulty_file *ff;
	int err = hit(faulty(w));

	if (err)
		return err;
	ff = calloc(1, sizeof(*ff));
	assert_non_null(ff);
	ff->fw = faulty(w);
	err = ff->fw->real->ops->open(ff->fw->real, name, &ff->real);
	if (err) {
		free(ff);
		return err;
	}
	*ret_file = (struct image_wfile *)ff;
	return 0;
}

static int f_append(struct image_wfile *f, const void *buf, size_t len)
{
	struct faulty_file *ff = faulty_f(f);
	const struct image_writer_ops *ops = ff->fw->real->ops;
	int err;

	/* what the contract promises to every writer without buffers of its own */
	if (!ops->written) {
		assert_int_equal((uintptr_t)buf % 4096, 0);
		assert_false(ff->ended);
		ff->ended = len % 4096 != 0;
	}
	if (*ff->fw->left == 0 &&
	    (ff->fw->kind == FAULT_TORN || ff->fw->kind == FAULT_DIE))
		ops->append(ff->real, buf, len / 2);
	err = hit(ff->fw);
	return err ? err : ops->append(ff->real, buf, len);
}

static void f_written(struct image_wfile *f, uint64_t *ret_bytes, uint64_t *ret_ns)
{
	struct faulty_file *ff = faulty_f(f);

	ff->fw->real->ops->written(ff->real, ret_bytes, ret_ns);
}

static int f_sync(struct image_wfile *f)
{
	struct faulty_file *ff = faulty_f(f);
	int err = hit(ff->fw);

	return err ? err : ff->fw->real->ops->sync(ff->real);
}

static int f_close(struct image_wfile *f)
{
	struct faulty_file *ff = faulty_f(f);
	int err = hit(ff->fw);
	int other = ff->fw->real->ops->close(ff->real);

	free(ff);
	return err ? err : other;
}

static int f_rename(struct image_writer *w, const char *from, const char *to)
{
	int err = hit(faulty(w));

	return err ? err : faulty(w)->real->ops->rename(faulty(w)->real, from, to);
}

static int f_sync_dir(struct image_writer *w)
{
	int err = hit(faulty(w));

	return err ? err : faulty(w)->real->ops->sync_dir(faulty(w)->real);
}

static int f_publish(struct image_writer *w)
{
	int err = hit(faulty(w));

	return err ? err : faulty(w)->real->ops->publish(faulty(w)->real);
}

/* Before it, and when it is done: then it says that it is not. */
static int f_swap(struct image_writer *w, const char *name)
{
	int err = hit(faulty(w));

	if (!err)
		err = faulty(w)->real->ops->swap(faulty(w)->real, name);
	return err ? err : hit(faulty(w));
}

static void f_discard(struct image_writer *w)
{
	faulty(w)->real->ops->discard(faulty(w)->real);
}

static void f_destroy(struct image_writer *w)
{
	faulty(w)->real->ops->destroy(faulty(w)->real);
	free(w);
}

#define OPS								\
	.begin = f_begin, .open = f_open, .append = f_append, .sync = f_sync,	\
	.close = f_close, .rename = f_rename, .sync_dir = f_sync_dir,	\
	.publish = f_publish, .swap = f_swap, .discard = f_discard, .destroy = f_destroy

static const struct image_writer_ops faulty_ops = { OPS };
static const struct image_writer_ops faulty_buffer_ops = { OPS, .written = f_written };

struct image_writer *faulty_writer(struct image_writer *real, enum fault_kind kind,
				   int *left, int *ops)
{
	struct faulty_writer *fw = calloc(1, sizeof(*fw));

	assert_non_null(fw);
	fw->base.ops = real->ops->written ? &faulty_buffer_ops : &faulty_ops;
	fw->base.name = real->name;
	fw->real = real;
	fw->kind = kind;
	fw->left = left;
	fw->ops = ops;
	return &fw->base;
}

int faulty_create(const char *dir, struct image_writer **ret_writer, struct ckpt_error *error,
		  void *arg)
{
	struct image_writer *real;
	struct faulty_plan *p = arg;
	int err = image_writer_posix_create(dir, &real, error);

	if (!err)
		*ret_writer = faulty_writer(real, p->kind, &p->left, &p->ops);
	return err;
}
