// SPDX-License-Identifier: GPL-2.0-only
/*
 * Levels in a directory: what a put, a get and a delete promise holds at every fault and
 * at every death.
 *
 * Several cases are ways in which other libraries lost a checkpoint: the old one
 * removed before the new one was in place, files written where they are looked for and
 * never synced, the newest chosen by its name, a copy deleted while it was fetched.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/error.h"
#include "tests/unit/faulty_writer.h"
#include "tests/unit/level_box.h"

/* Bit of the middle of a file. */
static void flip(const char *dir, const char *file)
{
	char path[512];
	uint8_t *data;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	data = load_file(path, &len);
	data[len / 2] ^= 4;
	store_file(path, data, len);
	free(data);
}

/* ------------------------------------------------------------- as it should */

static void there_and_back(void **state)
{
	struct level_space space;
	struct box b;

	box_init(&b, *state);
	put(&b, "j.gen-3");
	check_image(&b, in_level(&b, "j.gen-3"));
	assert_int_equal(list(&b).good, 1);
	assert_int_equal(level_verify(b.l, "j.gen-3", true, NULL, &b.error), 0);
	assert_int_equal(level_get(b.l, "j.gen-3", b.back, NULL, &b.error), 0);
	check_image(&b, b.back);
	assert_int_equal(level_get(b.l, "j.gen-3", b.back, NULL, &b.error), -EEXIST);
	assert_int_equal(level_space(b.l, &space, &b.error), 0);
	assert_true(space.free && space.free <= space.total);
	assert_int_equal(level_delete(b.l, "j.gen-3", &b.error), 0);
	assert_int_equal(list(&b).nr, 0);
	assert_int_equal(count_entries(b.top), 1);
	assert_int_equal(level_get(b.l, "j.gen-3", b.back, NULL, &b.error), -ENOENT);
	assert_int_equal(level_delete(b.l, "j.gen-3", &b.error), -ENOENT);
	box_done(&b);
}

/* An encrypted image on a node that does not have its secret: copied, listed, judged. */
static void without_the_secret(void **state)
{
	static const struct model_size size = {
		.mms = 1, .pages = 900, .records = 5, .blobs = 1, .incompressible = 1,
	};
	struct level_posix_options o = { .node = "n1" };
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "secret");
	struct image_key *none;
	struct image_reader *r;
	struct model m;
	struct box b;

	box_init(&b, s);
	model_init(&m, 7, &size);
	model_store(&m, s, dir, 4, "job", 1);
	assert_int_equal(image_key_from_bytes((const uint8_t *)"a key for tests, thirty-two long",
					      &none), 0);
	o.dir = b.top;
	o.key = none;
	level_close(b.l);
	assert_int_equal(level_posix_open(&o, &b.l, &b.error), 0);
	assert_int_equal(image_open(dir, none, NULL, &r, &b.error), -ENOKEY);
	assert_int_equal(level_put(b.l, "a", dir, NULL, &b.error), 0);
	assert_int_equal(list(&b).good, 1);
	assert_int_equal(level_verify(b.l, "a", true, NULL, &b.error), 0);
	assert_int_equal(level_get(b.l, "a", b.back, NULL, &b.error), 0);
	assert_int_equal(image_open(b.back, s->key, NULL, &r, &b.error), 0);
	model_compare(&m, r);
	image_close(r);
	flip(in_level(&b, "a"), "pages");
	assert_int_equal(level_verify(b.l, "a", true, NULL, &b.error), -EBADMSG);
	flip(dir, "blobs");
	assert_int_equal(level_put(b.l, "b", dir, NULL, &b.error), -EBADMSG);
	assert_int_equal(list(&b).nr, 1);
	image_key_destroy(none);
	model_done(&m);
	box_done(&b);
}

/* An image without memory and carried files has neither of their files. */
static void almost_empty(void **state)
{
	static const struct model_size none = { .records = 1 };
	struct scratch *s = *state;
	struct box b;
	struct model m;

	box_init(&b, s);
	model_init(&m, 7, &none);
	model_store(&m, s, scratch_path(s, "none"), 1, "job", 1);
	assert_int_equal(level_put(b.l, "a", scratch_path(s, "none"), NULL, &b.error), 0);
	assert_false(path_exists(in_level(&b, "a/pages")));
	assert_int_equal(level_get(b.l, "a", b.back, NULL, &b.error), 0);
	assert_int_equal(count_entries(b.back), 3);
	model_done(&m);
	box_done(&b);
}

static void put_again(void **state)
{
	struct scratch *s = *state;
	struct box b;

	box_init(&b, s);
	put(&b, "a");
	put(&b, "a");		/* the very image: done already */
	model_store(&b.m, s, scratch_path(s, "other"), 3, "job", 0);
	assert_int_equal(level_put(b.l, "a", scratch_path(s, "other"), NULL, &b.error), -EEXIST);
	assert_non_null(strstr(b.error.text, "another image"));
	flip(in_level(&b, "a"), "pages");
	assert_int_equal(level_put(b.l, "a", b.image, NULL, &b.error), -EEXIST);
	assert_non_null(strstr(b.error.text, "delete it first"));
	assert_int_equal(level_delete(b.l, "a", &b.error), 0);
	put(&b, "a");
	box_done(&b);
}

static void names(void **state)
{
	char name[LEVEL_NAME_MAX + 1];
	char longest[LEVEL_NAME_MAX + 2];

	memset(longest, 'x', sizeof(longest));
	longest[LEVEL_NAME_MAX + 1] = '\0';
	assert_false(level_name_valid(longest));
	longest[LEVEL_NAME_MAX] = '\0';
	assert_true(level_name_valid(longest));
	assert_false(level_name_valid(""));
	assert_false(level_name_valid("."));
	assert_false(level_name_valid("../x"));
	assert_false(level_name_valid(".tmp-x"));
	assert_false(level_name_valid("a b"));
	assert_int_equal(level_name("12", 7, name), 0);
	assert_string_equal(name, "12.gen-7");
	assert_int_equal(level_name("a/b", 7, name), -EINVAL);
	assert_int_equal(level_name(longest, 7, name), -ENAMETOOLONG);
}

static void not_what_was_expected(void **state)
{
	struct image_expect expect = { .generation = 4 };
	struct level_options o = { .expect = &expect };
	struct image_key *other;
	struct box b;
	struct level_posix_options lo = { .node = "n1", .shared = true };

	box_init(&b, *state);
	assert_int_equal(level_put(b.l, "a", b.image, &o, &b.error), -ESTALE);
	expect = (struct image_expect){ .job = "else" };
	assert_int_equal(level_put(b.l, "a", b.image, &o, &b.error), -ESTALE);
	expect = (struct image_expect){ .id = (const uint8_t *)"thirty-two bytes of another id.." };
	assert_int_equal(level_put(b.l, "a", b.image, &o, &b.error), -ESTALE);
	assert_int_equal(level_put(b.l, "../a", b.image, NULL, &b.error), -EINVAL);
	assert_int_equal(level_put(b.l, "a", b.top, NULL, &b.error), -ENOENT);
	assert_int_equal(image_key_from_bytes((const uint8_t *)"another key of thirty-two bytes.",
					      &other), 0);
	lo.dir = b.top;
	lo.key = other;
	level_close(b.l);
	assert_int_equal(level_posix_open(&lo, &b.l, &b.error), 0);
	assert_int_equal(level_put(b.l, "a", b.image, NULL, &b.error), -EKEYREJECTED);
	assert_int_equal(list(&b).nr, 0);
	image_key_destroy(other);
	box_done(&b);
}

/* ------------------------------------------------------------------ faults */

/* Put or get with a fault at the @left-th operation. */
static int attempt(struct box *b, bool get, enum fault_kind kind, int left)
{
	struct faulty_plan plan = { .kind = kind, .left = left };
	struct level_writers writers = { faulty_create, &plan };
	struct level_options o = { .writers = &writers };
	int err;

	b->error.text[0] = '\0';
	err = get ? level_get(b->l, "old", b->back, &o, &b->error) :
		    level_put(b->l, "new", b->image, &o, &b->error);
	assert_true(!err || b->error.text[0]);
	return err;
}

/* The older generation stays, at every instant; nothing of the new one does. */
static void every_fault(struct box *b, bool get, enum fault_kind kind)
{
	int n, err;

	for (n = 0; ; n++) {
		err = attempt(b, get, kind, n);
		if (!err)
			break;
		assert_int_equal(err, kind == FAULT_ENOSPC ? -ENOSPC : -EIO);
		assert_int_equal(count_entries(b->top), 2);	/* marker, old */
		assert_false(path_exists(b->back));
		assert_true(n < 200);
	}
	assert_true(n >= 20);
	check_image(b, in_level(b, "old"));
	check_image(b, get ? b->back : in_level(b, "new"));
}

static void faults_of_put(void **state)
{
	static const enum fault_kind kinds[] = { FAULT_ENOSPC, FAULT_EIO, FAULT_TORN };
	struct box b;
	size_t i;

	box_init(&b, *state);
	put(&b, "old");
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		every_fault(&b, false, kinds[i]);
		assert_int_equal(level_delete(b.l, "new", &b.error), 0);
	}
	box_done(&b);
}

static void faults_of_get(void **state)
{
	static const enum fault_kind kinds[] = { FAULT_ENOSPC, FAULT_EIO, FAULT_TORN };
	struct box b;
	size_t i;

	box_init(&b, *state);
	put(&b, "old");
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		every_fault(&b, true, kinds[i]);
		remove_image(b.back);
	}
	box_done(&b);
}

/* The process dies at every operation of a put. */
static void dying(void **state)
{
	struct box b;
	int n, status;

	box_init(&b, *state);
	put(&b, "old");
	for (n = 0; ; n++) {
		struct listing ls;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			_exit(attempt(&b, false, FAULT_DIE, n) ? 1 : 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == 0)
			break;
		assert_int_equal(WEXITSTATUS(status), FAULT_EXIT);
		ls = list(&b);
		assert_int_equal(ls.nr, 1);
		assert_string_equal(ls.names[0], "old");
		reopen(&b);
		assert_int_equal(count_entries(b.top), 2);
		assert_true(n < 200);
	}
	check_image(&b, in_level(&b, "old"));
	check_image(&b, in_level(&b, "new"));
	box_done(&b);
}

/* Deleting died after its first step: the image is gone, and then the rest. */
static void half_deleted(void **state)
{
	struct box b;

	box_init(&b, *state);
	put(&b, "a");
	assert_int_equal(rename(in_level(&b, "a"), in_level(&b, ".rm-a")), 0);
	assert_int_equal(unlink(in_level(&b, ".rm-a/state")), 0);
	assert_int_equal(list(&b).nr, 0);
	reopen(&b);
	assert_int_equal(count_entries(b.top), 1);
	box_done(&b);
}

/* ------------------------------------------------------------------ damage */

/* A copy that went bad is never handed out, whichever byte it is. */
static void damaged_copy(void **state)
{
	static const char *const files[] = { "manifest", "state", "index", "pages", "blobs" };
	struct box b;
	size_t i;

	box_init(&b, *state);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		put(&b, "a");
		flip(in_level(&b, "a"), files[i]);
		assert_int_equal(level_get(b.l, "a", b.back, NULL, &b.error), -EBADMSG);
		assert_non_null(strstr(b.error.text, files[i]));
		assert_false(path_exists(b.back));
		assert_int_equal(level_verify(b.l, "a", true, NULL, &b.error), -EBADMSG);
		assert_int_equal(level_delete(b.l, "a", &b.error), 0);
	}
	assert_int_equal(count_entries(b.s->root), 2);
	box_done(&b);
}

/* What is damaged is not spread, either. */
static void damaged_original(void **state)
{
	struct box b;

	box_init(&b, *state);
	flip(b.image, "pages");
	assert_int_equal(level_put(b.l, "a", b.image, NULL, &b.error), -EBADMSG);
	assert_non_null(strstr(b.error.text, b.image));
	assert_int_equal(count_entries(b.top), 1);
	box_done(&b);
}

/* The newest name is not the newest image. */
static void listed_by_what_they_are(void **state)
{
	struct listing ls;
	struct box b;

	box_init(&b, *state);
	put(&b, "j.gen-1");
	put(&b, "j.gen-2");
	put(&b, "j.gen-3");
	put(&b, "j.gen-4");
	assert_int_equal(truncate(in_level(&b, "j.gen-2/pages"), 5000), 0);
	assert_int_equal(unlink(in_level(&b, "j.gen-3/index")), 0);
	assert_int_equal(unlink(in_level(&b, "j.gen-4/manifest")), 0);
	assert_int_equal(mkdir(in_level(&b, "j.gen-5"), 0700), 0);
	store_file(in_level(&b, "j.gen-6"), "x", 1);
	ls = list(&b);
	assert_int_equal(ls.nr, 5);
	assert_int_equal(ls.good, 1);
	assert_string_equal(ls.names[0], "j.gen-1");
	assert_int_equal(ls.errs[1], -EBADMSG);
	assert_int_equal(ls.errs[2], -EBADMSG);
	assert_int_equal(ls.errs[3], -ENOENT);
	assert_int_equal(ls.errs[4], -ENOENT);
	box_done(&b);
}

static void listed_by_their_beginning(void **state)
{
	struct listing ls;
	struct box b;

	box_init(&b, *state);
	put(&b, "1-a.gen-3");
	put(&b, "12-b.gen-3");
	put(&b, "1-a.gen-30");
	assert_int_equal(list_of(&b, "").good, 3);
	ls = list_of(&b, "1-");
	assert_int_equal(ls.nr, 2);
	assert_string_equal(ls.names[0], "1-a.gen-3");
	assert_string_equal(ls.names[1], "1-a.gen-30");
	assert_int_equal(list_of(&b, "12-b.gen-3").nr, 1);
	assert_int_equal(list_of(&b, "2").nr, 0);
	assert_int_equal(level_list(b.l, "1/", NULL, NULL, &b.error), -EINVAL);
	/* what is not asked for may be damaged */
	flip(in_level(&b, "12-b.gen-3"), "manifest");
	assert_int_equal(list_of(&b, "1-").good, 2);
	assert_int_equal(list_of(&b, "12-").good, 0);
	box_done(&b);
}

static void only_images_are_deleted(void **state)
{
	struct box b;

	box_init(&b, *state);
	put(&b, "a");
	store_file(in_level(&b, "a/thesis.tex"), "x", 1);
	assert_int_equal(level_delete(b.l, "a", &b.error), -ENOTEMPTY);
	check_image(&b, in_level(&b, "a"));
	box_done(&b);
}

struct meddler {
	struct box *b;
	int calls, delete, put;
};

static void meddle(uint64_t done, uint64_t total, void *arg)
{
	struct meddler *m = arg;
	struct ckpt_error error;

	m->calls++;
	m->delete = level_delete(m->b->l, "a", &error);
	m->put = level_put(m->b->l, "b", m->b->image, NULL, &error);
	assert_true(done <= total);
}

/* Nobody deletes what is fetched; two that write one name do not mix. */
static void in_use(void **state)
{
	struct meddler m = { .b = NULL };
	struct level_options o = { .progress = meddle, .arg = &m };
	struct box b;

	box_init(&b, *state);
	m.b = &b;
	put(&b, "a");
	assert_int_equal(level_get(b.l, "a", b.back, &o, &b.error), 0);
	assert_int_equal(m.delete, -EBUSY);
	assert_int_equal(m.put, 0);
	check_image(&b, b.back);
	assert_int_equal(level_delete(b.l, "b", &b.error), 0);
	assert_int_equal(level_put(b.l, "b", b.image, &o, &b.error), 0);
	assert_int_equal(m.put, -EBUSY);
	assert_int_equal(m.calls, 2);
	box_done(&b);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(there_and_back),
		T(without_the_secret),
		T(almost_empty),
		T(put_again),
		T(names),
		T(not_what_was_expected),
		T(faults_of_put),
		T(faults_of_get),
		T(dying),
		T(half_deleted),
		T(damaged_copy),
		T(damaged_original),
		T(listed_by_what_they_are),
		T(listed_by_their_beginning),
		T(only_images_are_deleted),
		T(in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
