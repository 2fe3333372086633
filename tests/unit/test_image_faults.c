// SPDX-License-Identifier: GPL-2.0-only
/*
 * A writer that fails, tears or dies at its n-th operation, for every n: an image
 * is either committed and whole or not there at all, nothing is left behind, and
 * the next attempt succeeds.  With every writer there is, as far as this machine
 * permits it; and the writes that io_uring says failed, or were short.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/error.h"
#include "image/writer_uring.h"
#include "tests/unit/faulty_writer.h"
#include "tests/unit/image_fixture.h"

/* what the tests of this group write with */
static int (*create_writer)(const char *dir, struct image_writer **ret_writer,
			    struct ckpt_error *error);

/* One attempt; the errno it ended with, and how many operations it took. */
static int attempt(const struct scratch *s, const char *dir, const struct model *m,
		   enum fault_kind kind, int left, int *ret_ops)
{
	struct image_options options = { .generation = 3, .job = "job",
					 .encrypt = image_key_has_secret(s->key) };
	struct ckpt_error error = {};
	struct image_writer *real;
	struct image *img;
	int err, ops = 0;

	assert_int_equal(create_writer(dir, &real, &error), 0);
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
	.mms = 2, .pages = 500, .records = 60, .blobs = 2, .incompressible = 1,
};

static void check_whole(const struct scratch *s, const char *dir, const struct model *m)
{
	struct ckpt_error error;
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
	struct ckpt_error error;
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

/* ------------------------------------------------- what the ring says */

struct ring_fault {
	int left;	/* writes until the fault */
	int nr;		/* writes so far */
	int res;	/* what is said instead; 0: half of the bytes */
	bool all;	/* of all writes from then on */
};

static int ring_fault(void *arg, uint64_t offset, uint32_t len, int res)
{
	struct ring_fault *rf = arg;
	bool now = rf->all ? rf->nr >= rf->left : rf->nr == rf->left;

	rf->nr++;
	assert_int_equal(offset % 4096, 0);
	assert_int_equal(len % 4096, 0);
	assert_int_equal(res, len);
	return !now ? res : rf->res ? rf->res : (int)(len / 2);
}

static int ring_attempt(const struct scratch *s, const char *dir, const struct model *m,
			struct ring_fault *rf)
{
	struct image_options options = { .generation = 3, .job = "job",
					 .encrypt = image_key_has_secret(s->key) };
	struct ckpt_error error = {};
	struct image_writer *w;
	struct image *img;
	int err;

	assert_int_equal(image_writer_uring_create(dir, &w, &error), 0);
	writer_uring_fault(w, ring_fault, rf);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	err = model_write(m, img, 0);
	if (err)
		assert_int_equal(image_commit(img, &error), err);
	else
		err = image_commit(img, &error);
	image_destroy(img);
	return err;
}

/* A write that fails is told, and if it is the last one of its file. */
static void every_write_fails(const struct scratch *s, int res)
{
	const char *dir = scratch_path(s, "image");
	struct model m;
	int n, err;

	model_init(&m, 11, &medium);
	for (n = 0; ; n++) {
		struct ring_fault rf = { .left = n, .res = res };

		err = ring_attempt(s, dir, &m, &rf);
		if (!err)
			break;
		assert_int_equal(err, res);
		assert_int_equal(count_entries(s->root), 0);
		assert_true(n < 1000);
	}
	assert_true(n >=
		    4); /* how many there are depends on what is packed, and so on the machine */
	check_whole(s, dir, &m);
	assert_int_equal(image_remove(dir, NULL), 0);
	model_done(&m);
}

static void ring_errors(void **state)
{
	every_write_fails(*state, -EIO);
	every_write_fails(*state, -ENOSPC);
}

/* What the kernel did not do is done by hand: the image is the same. */
static void mended(const struct scratch *s, int res, bool all)
{
	struct model m;
	int n;

	model_init(&m, 11, &medium);
	for (n = 0; n < 20; n += all ? 9 : 4) {
		struct ring_fault rf = { .left = n, .res = res, .all = all };
		const char *dir = scratch_path(s, "image");

		assert_int_equal(ring_attempt(s, dir, &m, &rf), 0);
		check_whole(s, dir, &m);
		assert_int_equal(image_remove(dir, NULL), 0);
	}
	model_done(&m);
}

static void ring_short_writes(void **state)
{
	mended(*state, 0, false);
	mended(*state, 0, true);
}

/* It wants more alignment; it is busy; it does not know such writes. */
static void ring_second_tries(void **state)
{
	mended(*state, -EOPNOTSUPP, false);
	mended(*state, -EINVAL, false);
	mended(*state, -EINVAL, true);
	mended(*state, -EAGAIN, true);
}

/* --------------------------------------------------------- way chosen */

static void write_and_look(const struct scratch *s, const char *way)
{
	struct image_options options = { .generation = 3, .job = "job",
					 .encrypt = image_key_has_secret(s->key) };
	const char *dir = scratch_path(s, "image");
	struct ckpt_error error = {};
	struct image_reader *r;
	struct image_writer *w;
	struct image *img;
	struct model m;

	model_init(&m, 11, &medium);
	assert_int_equal(image_writer_create(dir, &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	assert_int_equal(model_write(&m, img, 0), 0);
	assert_int_equal(image_commit(img, &error), 0);
	image_destroy(img);
	check_whole(s, dir, &m);
	assert_int_equal(image_open(dir, s->key, NULL, &r, &error), 0);
	if (way)
		assert_string_equal(image_get(r, "writer"), way);
	else
		assert_non_null(image_get(r, "writer"));
	image_close(r);
	model_done(&m);
}

/* As a container's filter does it, or kernel.io_uring_disabled. */
static void forbid_io_uring(int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { ARRAY_SIZE(code), code };

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
}

static void in_child(void (*fn)(const struct scratch *s, int arg), const struct scratch *s,
		     int arg)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		fn(s, arg);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(image_remove(scratch_path(s, "image"), NULL), 0);
}

static void forbidden(const struct scratch *s, int err)
{
	struct image_writer *w;

	forbid_io_uring(err);
	assert_int_equal(image_writer_uring_create(scratch_path(s, "image"), &w, NULL),
			 -EOPNOTSUPP);
	write_and_look(s, NULL);
}

static void io_uring_forbidden(void **state)
{
	in_child(forbidden, *state, EPERM);
	in_child(forbidden, *state, ENOSYS);
}

/* No memory may be locked: without registered buffers. */
static void limited(const struct scratch *s, int unused)
{
	struct rlimit none = { 0, 0 };

	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	write_and_look(s, NULL);
}

static void nothing_locked(void **state)
{
	in_child(limited, *state, 0);
}

static bool have_io_uring(void)
{
	struct image_writer *w;

	if (image_writer_uring_create("/tmp/x", &w, NULL))
		return false;
	w->ops->destroy(w);
	return true;
}

static int plain_setup(void **state)
{
	create_writer = image_writer_posix_create;
	return scratch_setup(state);
}

static int ring_setup(void **state)
{
	create_writer = image_writer_uring_create;
	return scratch_setup(state);
}

static int secret_setup(void **state)
{
	create_writer = image_writer_create;
	return scratch_setup_secret(state);
}

#define SECRET(f) { #f ", encrypted", f, secret_setup, scratch_teardown, NULL }
#define PLAIN(f) { #f ", plain", f, plain_setup, scratch_teardown, NULL }
#define RING(f) { #f ", ring", f, ring_setup, scratch_teardown, NULL }

static const struct CMUnitTest always[] = {
	PLAIN(disk_full),
	PLAIN(io_errors),
	PLAIN(torn_writes),
	PLAIN(dying_writer),
	PLAIN(previous_image_stays),
	PLAIN(io_uring_forbidden),
	SECRET(disk_full),
	SECRET(io_errors),
	SECRET(torn_writes),
	SECRET(dying_writer),
	SECRET(previous_image_stays),
};

static const struct CMUnitTest with_ring[] = {
	PLAIN(disk_full),
	PLAIN(io_errors),
	PLAIN(torn_writes),
	PLAIN(dying_writer),
	PLAIN(previous_image_stays),
	PLAIN(io_uring_forbidden),
	SECRET(disk_full),
	SECRET(io_errors),
	SECRET(torn_writes),
	SECRET(dying_writer),
	SECRET(previous_image_stays),
	RING(disk_full),
	RING(io_errors),
	RING(torn_writes),
	RING(dying_writer),
	RING(previous_image_stays),
	RING(ring_errors),
	RING(ring_short_writes),
	RING(ring_second_tries),
	RING(nothing_locked),
};

int main(void)
{
	return have_io_uring() ? cmocka_run_group_tests(with_ring, NULL, NULL) :
	       cmocka_run_group_tests(always, NULL, NULL);
}
