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

#include "tests/unit/faulty_writer.h"
#include "tests/unit/image_fixture.h"

/* One attempt; the errno it ended with, and how many operations it took. */
static int attempt(const struct scratch *s, const char *dir, const struct model *m,
		   enum fault_kind kind, int left, int *ret_ops)
{
	struct image_options options = { .generation = 3, .job = "job" };
	struct image_error error = {};
	struct image_writer *real;
	struct image *img;
	int err, ops = 0;

	assert_int_equal(image_writer_posix_create(dir, &real, &error), 0);
	err = image_create(faulty_writer(real, kind, &left, &ops), s->key, &options, &img,
			   &error);
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
		*ret_ops = ops;
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
		assert_int_equal(WEXITSTATUS(status), FAULT_EXIT);
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
