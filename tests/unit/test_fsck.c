// SPDX-License-Identifier: GPL-2.0-only
/*
 * fsck: what it finds, what it repairs, and what it never touches.
 */
#include "base/error.h"
#include "tests/unit/keep_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/key.h"
#include "image/writer.h"
#include "supervisor/catalog/fsck.h"
#include "supervisor/catalog/pin.h"

struct how {
	bool deep, repair, alive;
	int64_t decided;	/* 0: as it is now */
	void (*meanwhile)(const struct disk *d);	/* before the job's turn comes */
};

static json_t *asks(const struct disk *d, const struct how *how)
{
	json_t *record = NULL, *asked;
	struct ckpt_error error = {};

	catalog_job_read(&d->catalog, d->job, &record, &error);
	asked = fsck_asked(&d->catalog, d->job, LABEL, record, how->alive);
	if (how->decided)
		json_object_set_new(asked, "decided_to", json_integer(how->decided));
	json_decref(record);
	return asked;
}

/* The result; of the job and of all else. */
static json_t *check(const struct disk *d, const struct how *how)
{
	struct fsck fsck = {
		.listing = disk_listing(d), .node = "here", .deep = how->deep,
		.repair = how->repair, .findings = json_array(), .left_alone = json_array(),
	};
	json_t *result, *asked = asks(d, how);
	char problem[512];

	fsck_index(&fsck, d->index);
	fsck_strangers(&fsck);
	if (how->meanwhile)
		how->meanwhile(d);
	fsck_job(&fsck, asked);
	json_decref(asked);
	catalog_index_close(fsck.listing.index, problem, sizeof(problem));
	result = fsck_result(&fsck);
	json_decref(fsck.findings);
	json_decref(fsck.left_alone);
	return result;
}

/* Kinds of the findings, as "unfinished, pin_gone"; "!" before those that were repaired. */
static const char *kinds(const struct disk *d, const struct how *how)
{
	static char text[1024];
	json_t *result = check(d, how), *finding;
	int open = 0;
	size_t i, len = 0;

	text[0] = '\0';
	json_array_foreach(json_object_get(result, "findings"), i, finding) {
		bool done = json_is_true(json_object_get(finding, "repaired"));

		assert_non_null(json_string_value(json_object_get(finding, "means")));
		assert_non_null(json_string_value(json_object_get(finding, "text")));
		assert_null(json_object_get(finding, "failed"));
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%s", len ? ", " : "",
					done ? "!" : "",
					json_string_value(json_object_get(finding, "kind")));
		open += !done;
	}
	assert_int_equal(json_integer_value(json_object_get(result, "open")), open);
	json_decref(result);
	return text;
}

static const char *look(const struct disk *d)
{
	return kinds(d, &(struct how) { 0 });
}

static const char *repair(const struct disk *d)
{
	return kinds(d, &(struct how) { .repair = true });
}

static size_t left_alone(const struct disk *d, const struct how *how)
{
	json_t *result = check(d, how);
	size_t n = json_array_size(json_object_get(result, "left_alone"));

	json_decref(result);
	return n;
}

static void test_clean(void **state)
{
	struct disk *d = *state;
	struct ckpt_error error = {};

	assert_string_equal(look(d), "");
	disk_store(d, 1);
	disk_store_parts(d, 2, true);
	assert_int_equal(pin_set(&d->catalog, d->job, 1, 0, "n", &error), 0);
	assert_string_equal(look(d), "");
	assert_string_equal(repair(d), "");
	assert_string_equal(kinds(d, &(struct how) { .deep = true, .alive = true }), "");
	assert_string_equal(disk_generations(d), "1 2");
}

static void test_leftovers(void **state)
{
	struct disk *d = *state;

	disk_store(d, 1);
	disk_store_parts(d, 2, true);
	disk_run(d,
		 "cd '%s/1' && mkdir .tmp-gen-3 && touch .tmp-gen-3/pages && mkdir .rm-gen-0 && "
		 "touch .rm-gen-0/state && mkdir gen-2/node-1/.tmp-image",
		 d->images);
	/* in any order */
	assert_int_equal(strlen(look(d)), strlen("unfinished, half_removed, unfinished"));
	assert_true(disk_has(d, "1/.tmp-gen-3/pages"));
	assert_int_equal(strlen(repair(d)), strlen("!unfinished, !half_removed, !unfinished"));
	assert_false(disk_has(d, "1/.tmp-gen-3"));
	assert_false(disk_has(d, "1/.rm-gen-0"));
	assert_false(disk_has(d, "1/gen-2/node-1/.tmp-image"));
	assert_string_equal(look(d), "");
	assert_string_equal(disk_generations(d), "1 2");
}

/* A writer that lives is not disturbed, nor what a job that runs may be making. */
static void test_left_alone(void **state)
{
	struct image_options options = { .generation = 2, .job = LABEL };
	struct disk *d = *state;
	struct ckpt_error error;
	struct image_writer *w;
	struct image_key *key;
	struct image *img;
	char holder[80];

	disk_store(d, 1);
	assert_int_equal(image_key_load(d->key, &key, &error), 0);
	assert_int_equal(image_writer_posix_create(disk_path(d, "1/gen-2"), &w, &error), 0);
	assert_int_equal(image_create(w, key, &options, &img, &error), 0);
	assert_int_equal(image_state_add(img, 7, 1, "x", 1), 0);
	assert_int_equal(left_alone(d, &(struct how) { .repair = true }), 1);
	assert_string_equal(repair(d), "");
	assert_int_equal(image_commit(img, &error), 0);
	image_destroy(img);
	image_key_destroy(key);
	assert_string_equal(disk_generations(d), "1 2");

	disk_store_parts(d, 3, false);
	assert_int_equal(left_alone(d, &(struct how) { .repair = true, .alive = true }), 1);
	assert_string_equal(kinds(d, &(struct how) { .repair = true, .alive = true }), "");
	assert_true(disk_has(d, "1/gen-3/node-0/image/manifest"));
	/* a later one was committed: 3 is decided, whether the job runs or not */
	disk_store(d, 4);
	assert_string_equal(kinds(d, &(struct how){.repair = true, .alive = true}), "!uncommitted");
	assert_false(disk_has(d, "1/gen-3"));
	/* and what appeared after it was known that the job does not run */
	disk_store_parts(d, 5, false);
	assert_string_equal(kinds(d, &(struct how) { .repair = true, .decided = 4 }), "");
	assert_string_equal(repair(d), "!uncommitted");
	assert_string_equal(disk_generations(d), "1 2 4");

	/* another node may write what looks left over, and does if it is restarting the job */
	disk_run(d, "cd '%s/1' && mkdir .tmp-gen-6 && touch .tmp-gen-6/pages", d->images);
	assert_int_equal(left_alone(d, &(struct how) { .repair = true, .alive = true }), 1);
	assert_int_equal(catalog_claim(&d->catalog, 1, "there", false, holder, sizeof(holder)), 0);
	assert_string_equal(repair(d), "unfinished");
	assert_true(disk_has(d, "1/.tmp-gen-6/pages"));
	catalog_unclaim(&d->catalog, 1, "there");
	assert_string_equal(repair(d), "!unfinished");
}

static void test_uncommitted(void **state)
{
	struct disk *d = *state;

	disk_store_parts(d, 1, true);
	disk_store_parts(d, 2, false);
	disk_run(d, "mkdir '%s/1/gen-3' '%s/1/gen-4' '%s/1/gen-4/node-0' '%s/1/gen-2/node-7'",
		 d->images, d->images, d->images, d->images);
	disk_file(d, "1/gen-2/.parts.json.new", "{");
	assert_string_equal(look(d), "uncommitted, uncommitted, uncommitted");
	assert_string_equal(repair(d), "!uncommitted, !uncommitted, !uncommitted");
	assert_string_equal(look(d), "");
	assert_false(disk_has(d, "1/gen-2"));
	assert_false(disk_has(d, "1/gen-3"));
	assert_false(disk_has(d, "1/gen-4"));
	assert_string_equal(disk_generations(d), "1");
}

/* Committed: said, and never touched. */
static void test_damaged(void **state)
{
	struct disk *d = *state;
	int64_t n;

	for (n = 1; n <= 4; n++)
		disk_store(d, n);
	for (n = 5; n <= 8; n++)
		disk_store_parts(d, n, true);
	disk_flip(d, "1/gen-1/manifest", 40);
	assert_int_equal(truncate(disk_path(d, "1/gen-2/pages"), 5), 0);
	disk_run(d, "cd '%s/1' && rm -r gen-3 && cp -r gen-4 gen-3", d->images); /* another's */
	disk_file(d, "1/gen-4/notes", "mine");
	disk_run(d, "rm -r '%s/1/gen-5/node-1'", d->images);
	disk_flip(d, "1/gen-6/node-0/image/manifest", 40);
	disk_file(d, "1/gen-7/parts.json", "{}");
	disk_run(d, "cd '%s/1/gen-8' && mv node-0 x && mv node-1 node-0 && mv x node-1", d->images);
	assert_string_equal(look(d), "foreign, damaged, damaged, damaged, missing_part, damaged, "
				     "damaged, damaged, damaged");
	assert_string_equal(repair(d), "foreign, damaged, damaged, damaged, missing_part, damaged, "
				       "damaged, damaged, damaged");
	assert_string_equal(disk_generations(d), "1 2 3 4 5 6 7 8");
	/* the manifest is gone: it was whole once, and may be put back */
	disk_run(d,
		 "cd '%s/1' && rm -r gen-1 gen-2 gen-3 gen-5 gen-6 gen-7 gen-8 gen-4/notes && mv "
		 "gen-4/manifest .",
		 d->images);
	assert_string_equal(repair(d), "no_manifest");
	disk_run(d, "cd '%s/1' && mv manifest gen-4", d->images);
	assert_string_equal(repair(d), "");
}

static void test_deep(void **state)
{
	struct disk *d = *state;

	disk_store(d, 1);
	disk_store_parts(d, 2, true);
	disk_flip(d, "1/gen-1/pages", 100);
	disk_flip(d, "1/gen-2/node-1/image/pages", 100);
	assert_string_equal(look(d), "");
	assert_string_equal(kinds(d, &(struct how){.deep = true, .repair = true}), "damaged, "
										   "damaged");
	assert_string_equal(disk_generations(d), "1 2");
}

static void test_pins_and_claims(void **state)
{
	struct disk *d = *state;
	struct ckpt_error error = {};
	char holder[80];

	disk_store(d, 1);
	disk_store(d, 2);
	assert_int_equal(pin_set(&d->catalog, d->job, 1, 0, "n", &error), 0);
	assert_int_equal(pin_set(&d->catalog, d->job, 2, 0, "n", &error), 0);
	disk_run(d, "rm -r '%s/1/gen-1'", d->images);
	disk_file(d, "1/pin-2.json", "?");
	assert_string_equal(look(d), "pin_gone, pin_damaged");
	assert_string_equal(repair(d), "!pin_gone, pin_damaged");
	assert_false(disk_has(d, "1/pin-1.json"));
	assert_true(pin_has(&d->catalog, d->job, 2));
	assert_int_equal(pin_set(&d->catalog, d->job, 2, 0, "n", &error), 0);
	assert_string_equal(look(d), "");
	assert_int_equal(catalog_claim(&d->catalog, d->job, "here", false, holder, sizeof(holder)),
			 0);
	assert_string_equal(look(d), "stale_claim");
	assert_string_equal(kinds(d, &(struct how) { .alive = true }), "");
	assert_int_equal(catalog_claim(&d->catalog, d->job, "there", true, holder, sizeof(holder)),
			 0);
	assert_string_equal(look(d), "");
}

static void test_records(void **state)
{
	struct disk *d = *state;

	disk_run(d, "mkdir '%s/7' '%s/9' '%s/other'", d->images, d->images, d->images);
	disk_file(d, "9/job.json", "{\"sealed\"");
	assert_string_equal(repair(d), "no_record, record");
	assert_true(disk_has(d, "7"));
	d->catalog.dir = "/nonexistent";
	assert_string_equal(repair(d), "no_catalog");
}

static void test_index(void **state)
{
	struct disk *d = *state;
	struct catalog_index *index;
	char problem[512];
	json_t *row;

	disk_store(d, 1);
	assert_string_equal(repair(d), "");
	row = json_pack("{s:i}", "generation", 1);
	index = catalog_index_open(d->index, &d->catalog, problem, sizeof(problem));
	assert_int_equal(catalog_index_count(index, 0), 1);	/* built by the repair */
	catalog_index_put(index, d->job, 1, LABEL, catalog_index_stamp(&d->catalog, d->job, 1),
			  row);
	catalog_index_put(index, d->job, 8, LABEL, 1, row);
	catalog_index_close(index, problem, sizeof(problem));
	json_decref(row);
	assert_string_equal(look(d), "index");
	assert_string_equal(look(d), "index");
	assert_string_equal(repair(d), "!index");
	assert_string_equal(look(d), "");
	index = catalog_index_open(d->index, &d->catalog, problem, sizeof(problem));
	assert_int_equal(catalog_index_count(index, 0), 1);
	catalog_index_close(index, problem, sizeof(problem));
	disk_run(d,
		 "echo 'not a database, and long enough for one: "
		 ".........................................................................' >'%s'",
		 d->index);
	assert_string_equal(look(d), "!index");
	unlink(d->index);
	assert_string_equal(look(d), "");
}

static void is_merged(const struct disk *d)
{
	disk_run(d, "touch '%s/1/gen-1/manifest'", d->images);
}

/* What was read before it changed is not said of what it is now. */
static void test_index_meanwhile(void **state)
{
	struct disk *d = *state;
	struct catalog_index *index;
	char problem[512];

	disk_store(d, 1);
	disk_before_read(d, "1/gen-1/pages", is_merged);
	assert_string_equal(kinds(d, &(struct how) { .deep = true, .repair = true }), "");
	index = catalog_index_open(d->index, &d->catalog, problem, sizeof(problem));
	assert_int_equal(catalog_index_count(index, 0), 0);
	catalog_index_close(index, problem, sizeof(problem));
	assert_string_equal(kinds(d, &(struct how) { .deep = true, .repair = true }), "");
	index = catalog_index_open(d->index, &d->catalog, problem, sizeof(problem));
	assert_int_equal(catalog_index_count(index, 0), 1);
	catalog_index_close(index, problem, sizeof(problem));
}

/* Somebody removes generations just now: all is said, nothing is done. */
static void test_locked(void **state)
{
	struct disk *d = *state;
	int lock;

	disk_store(d, 1);
	disk_run(d, "mkdir '%s/1/.rm-gen-9'", d->images);
	assert_int_equal(catalog_lock(&d->catalog, d->job, &lock), 0);
	assert_string_equal(repair(d), "half_removed");
	close(lock);
	assert_string_equal(repair(d), "!half_removed");
}

/* As who restarts it writes it; @run 0: as it is. */
static void becomes(const struct disk *d, const char *state, const char *node, int run)
{
	json_t *record;
	struct ckpt_error error = {};

	assert_int_equal(catalog_job_read(&d->catalog, d->job, &record, &error), 0);
	json_object_set_new(record, "state", json_string(state));
	json_object_set_new(record, "node", json_string(node));
	if (run)
		json_object_set_new(record, "run", json_integer(run));
	assert_int_equal(catalog_job_write(&d->catalog, d->job, record, &error), 0);
	json_decref(record);
}

static void runs_there(const struct disk *d)
{
	becomes(d, "running", "there", 0);
}

static void has_run_here(const struct disk *d)
{
	becomes(d, "lost", "here", 7);
}

static void is_claimed(const struct disk *d)
{
	char holder[80];

	assert_int_equal(catalog_claim(&d->catalog, d->job, "here", false, holder, sizeof(holder)),
			 0);
}

/* It was asked for when nobody had it; until its turn came somebody restarted it. */
static void test_restarted_meanwhile(void **state)
{
	void (*const others[])(const struct disk *d) = { runs_there, has_run_here, is_claimed };
	struct disk *d = *state;
	size_t i;

	disk_store(d, 1);
	disk_store_parts(d, 2, false);
	disk_store(d, 4);
	disk_run(d, "mkdir '%s/1/.tmp-gen-3'", d->images);
	becomes(d, "lost", "here", 0);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_null(strchr(kinds(d, &(struct how){.repair = true, .meanwhile = others[i]}),
				   '!'));
		assert_true(disk_has(d, "1/.tmp-gen-3"));
		assert_true(disk_has(d, "1/gen-2/node-0"));
		becomes(d, "lost", "here", 0);
	}
	/* that claim is left over by now; but a restart may take it once more */
	assert_null(strchr(kinds(d, &(struct how){.repair = true, .meanwhile = is_claimed}), '!'));
	assert_true(disk_has(d, "1/.tmp-gen-3"));
	/* and a restart that was under way when it was asked for may be so still */
	assert_null(strchr(kinds(d, &(struct how) { .repair = true, .alive = true }), '!'));
	assert_string_equal(repair(d), "stale_claim, !unfinished, !uncommitted");
	assert_false(disk_has(d, "1/.tmp-gen-3"));
}

/* Any mess: generations stay what they were, and a second repair finds nothing to do. */
static void test_any_mess(void **state)
{
	static const char *const messes[] = {
		"mkdir .tmp-gen-%d",
		"mkdir .rm-gen-%d",
		"mkdir -p gen-2%d/node-1/.tmp-image",
		"mkdir -p gen-2%d/node-0/image",
		"mkdir gen-3%d",
		"touch pin-4%d.json",
		"mkdir -p gen-5/node-%d",
		"mkdir -p gen-2%d/node-2 && touch gen-2%d/.parts.json.new",
		"rm -rf gen-5/node-%d",
	};
	struct disk *d = *state;
	unsigned int rng = 12345, i, k;
	char before[64], command[256];
	const char *after;

	disk_store(d, 3);
	disk_store_parts(d, 5, true);
	disk_store_parts(d, 6, true);
	strcpy(before, disk_generations(d));
	for (i = 0; i < 25; i++) {
		for (k = 0; k < 4; k++) {
			rng = rng * 1103515245 + 12345;
			snprintf(command, sizeof(command),
				 messes[(rng >> 16) % (sizeof(messes) / sizeof(messes[0]))],
				 (rng >> 8) % 8, (rng >> 8) % 8);
			disk_run(d, "cd '%s/1' && { %s; } 2>/dev/null || true", d->images, command);
		}
		repair(d);
		assert_string_equal(disk_generations(d), before);
		after = repair(d);
		assert_null(strchr(after, '!'));
	}
	assert_true(disk_has(d, "1/gen-3/pages"));
	assert_true(disk_has(d, "1/gen-6/node-1/image/pages"));
}

#define test(f) cmocka_unit_test_setup_teardown(f, disk_setup, disk_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(test_clean),
		test(test_leftovers),
		test(test_left_alone),
		test(test_uncommitted),
		test(test_damaged),
		test(test_deep),
		test(test_pins_and_claims),
		test(test_records),
		test(test_index),
		test(test_index_meanwhile),
		test(test_locked),
		test(test_restarted_meanwhile),
		test(test_any_mess),
	};

	return cmocka_run_group_tests_name("fsck", tests, NULL, NULL);
}
