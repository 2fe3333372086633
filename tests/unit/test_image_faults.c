// SPDX-License-Identifier: GPL-2.0-only
/*
 * A writer that fails, tears or dies at its n-th operation, for every n: an image
 * is either committed and whole or not there at all, nothing is left behind, and
 * the next attempt succeeds.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/unit/image_fixture.h"

enum fault_kind { FAULT_ENOSPC, FAULT_EIO, FAULT_TORN, FAULT_DIE };

struct faulty_writer {
	struct image_writer base;
	struct image_writer *real;
	enum fault_kind kind;
	int left;		/* operations until the fault; < 0: never */
	int ops;		/* operations so far */
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
	fw->ops++;
	if (fw->left < 0 || fw->left-- > 0)
		return 0;
	if (fw->kind == FAULT_DIE)
		_exit(42);
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

	/* what the contract promises to every writer */
	assert_int_equal((uintptr_t)buf % 4096, 0);
	assert_false(ff->ended);
	ff->ended = len % 4096 != 0;
	if (ff->fw->left == 0 &&
	    (ff->fw->kind == FAULT_TORN || ff->fw->kind == FAULT_DIE))
		ops->append(ff->real, buf, len / 2);
	err = hit(ff->fw);
	return err ? err : ops->append(ff->real, buf, len);
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

static void f_discard(struct image_writer *w)
{
	faulty(w)->real->ops->discard(faulty(w)->real);
}

static void f_destroy(struct image_writer *w)
{
	faulty(w)->real->ops->destroy(faulty(w)->real);
	free(w);
}

static const struct image_writer_ops faulty_ops = {
	.begin = f_begin, .open = f_open, .append = f_append, .sync = f_sync,
	.close = f_close, .rename = f_rename, .sync_dir = f_sync_dir,
	.publish = f_publish, .discard = f_discard, .destroy = f_destroy,
};

/* One attempt; the errno it ended with, and how many operations it took. */
static int attempt(const struct scratch *s, const char *dir, const struct model *m,
		   enum fault_kind kind, int left, int *ret_ops)
{
	struct image_options options = { .generation = 3, .job = "job" };
	struct faulty_writer *fw = calloc(1, sizeof(*fw));
	struct image_error error = {};
	struct image *img;
	int err;

	assert_non_null(fw);
	fw->base.ops = &faulty_ops;
	fw->base.name = dir;
	fw->kind = kind;
	fw->left = left;
	assert_int_equal(image_writer_posix_create(dir, &fw->real, &error), 0);
	err = image_create(&fw->base, s->key, &options, &img, &error);
	if (err) {
		assert_true(error.text[0]);
		return err;
	}
	err = model_write(m, img, 0);
	if (err)
		assert_int_equal(image_commit(img, &error), err);
	else
		err = image_commit(img, &error);
	if (err && !error.text[0])
		fail_msg("no text for %d", err);
	if (ret_ops)
		*ret_ops = fw->ops;
	image_destroy(img);
	return err;
}

static const struct model_size medium = {
	.mms = 2, .pages = 1200, .records = 60, .blobs = 2, .incompressible = 1,
};

static void check_whole(const struct scratch *s, const char *dir, const struct model *m)
{
	struct image_error error;
	struct image_reader *r;

	if (image_open(dir, s->key, NULL, &r, &error))
		fail_msg("%s", error.text);
	model_compare(m, r);
	image_close(r);
	assert_int_equal(image_verify(dir, s->key, NULL, true, NULL, NULL, NULL), 0);
}

static void every_fault(const struct scratch *s, enum fault_kind kind)
{
	const char *dir = scratch_path(s, "image");
	struct model m;
	int n, err, ops;

	model_init(&m, 11, &medium);
	for (n = 0; ; n++) {
		err = attempt(s, dir, &m, kind, n, &ops);
		if (!err)
			break;
		assert_int_equal(err, kind == FAULT_ENOSPC ? -ENOSPC : -EIO);
		if (count_entries(s->root))
			fail_msg("fault at operation %d leaves something", n);
		assert_true(n < 1000);
	}
	/* begin, 4 files: open append… sync close, manifest, renames */
	assert_true(n >= 20 && n == ops);
	check_whole(s, dir, &m);
	model_done(&m);
}

static void disk_full(void **state)
{
	every_fault(*state, FAULT_ENOSPC);
}

static void io_errors(void **state)
{
	every_fault(*state, FAULT_EIO);
}

static void torn_writes(void **state)
{
	every_fault(*state, FAULT_TORN);
}

/* The process dies at every operation: then sweep, or simply write again. */
static void dying_writer(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "image");
	struct image_error error;
	struct model m;
	int n, status;

	model_init(&m, 11, &medium);
	for (n = 0; ; n++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			_exit(attempt(s, dir, &m, FAULT_DIE, n, NULL) ? 1 : 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == 0)
			break;
		assert_int_equal(WEXITSTATUS(status), 42);
		assert_false(path_exists(dir));
		/* one time swept, one time written over */
		if (n % 2)
			assert_int_equal(image_sweep(s->root, &error), 1);
		assert_true(n < 1000);
	}
	assert_int_equal(count_entries(s->root), 1);
	check_whole(s, dir, &m);
	model_done(&m);
}

/* A failed attempt beside a good image leaves that one alone. */
static void previous_image_stays(void **state)
{
	struct scratch *s = *state;
	struct model m;
	int n;

	model_init(&m, 11, &medium);
	assert_int_equal(attempt(s, scratch_path(s, "1"), &m, FAULT_EIO, -1, NULL), 0);
	for (n = 0; n < 40; n += 7)
		attempt(s, scratch_path(s, "2"), &m, FAULT_EIO, n, NULL);
	check_whole(s, scratch_path(s, "1"), &m);
	model_done(&m);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(disk_full),
		T(io_errors),
		T(torn_writes),
		T(dying_writer),
		T(previous_image_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
