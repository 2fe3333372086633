// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fetching a job that L1 does not know: which one has its number, whose it is, and what is
 * known of it from its images alone.
 */
#include "tests/unit/fetch_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* L1 is empty: the job is found by its number. */
static void test_unknown_job(void **state)
{
	struct box *b = *state;
	json_t *record;
	struct ckpt_error error = {};

	box_store(b, 2);
	box_wipe(b, "images/1");
	b->fetch.label = NULL;
	b->fetch.node = "another";
	b->fetch.job = 7;
	assert_int_equal(box_fetch(b), -ENOENT);
	assert_false(disk_has(b->d, "7"));
	b->fetch.job = 1;
	/* its images say what the job is, or it is of no use */
	assert_int_equal(box_fetch(b), -ENODATA);
	box_wipe(b, "images/1");
	box_wipe(b, "p/a");
	box_wipe(b, "q/a");
	b->fetch.label = LABEL;
	b->fetch.node = "a";
	disk_run(b->d, "mkdir '%s/1'", b->d->images);
	b->d->record = "{\"job\": 1, \"uuid\": \"0123456789abcdef\", \"uid\": 17, \"state\": "
		       "\"running\", \"node\": \"a\", \"floor\": 1}";
	box_store(b, 3);
	b->d->record = NULL;
	box_wipe(b, "images/1");
	b->fetch.label = NULL;
	b->fetch.generation = 2;
	b->fetch.uid = 18;
	assert_int_equal(box_fetch(b), -EPERM);
	assert_false(disk_has(b->d, "1"));
	b->fetch.uid = 17;
	assert_int_equal(box_fetch(b), 2);
	box_is_good(b, "1/gen-2", 2);
	assert_int_equal(catalog_job_read(&b->d->catalog, 1, &record, &error), 0);
	assert_int_equal(json_integer_value(json_object_get(record, "floor")), 3);
	assert_string_equal(json_string_value(json_object_get(record, "state")), "running");
	json_decref(record);
	/* two image directories have made a job of that number */
	disk_run(b->d, "cp -r '%s/p/a/" LABEL ".gen-1' '%s/p/a/1-fedcba9876543210.gen-1'",
		 b->d->dir, b->d->dir);
	assert_int_equal(box_fetch(b), -ENOTUNIQ);
}

/* A name on a level that no image has uses up no numbers. */
static void test_names_only(void **state)
{
	struct box *b = *state;
	json_t *record;
	struct ckpt_error error = {};

	disk_run(b->d, "rm -r '%s/1'; mkdir '%s/1'", b->d->images, b->d->images);
	b->d->record = "{\"job\": 1, \"uuid\": \"0123456789abcdef\", \"uid\": 17, \"state\": "
		       "\"running\", \"node\": \"a\"}";
	box_store(b, 2);
	box_wipe(b, "images/1");
	disk_run(b->d, "mkdir '%s/p/a/" LABEL ".gen-999999999' '%s/p/a/" LABEL ".gen-999999999999'",
		 b->d->dir, b->d->dir);
	b->fetch.label = NULL;
	b->fetch.generation = 1;
	assert_int_equal(box_fetch(b), 1);
	assert_int_equal(catalog_job_read(&b->d->catalog, 1, &record, &error), 0);
	assert_int_equal(json_integer_value(json_object_get(record, "floor")), 2);
	json_decref(record);
}

/*
 * Of a job that L1 does not know: whose it is comes before any copy, and one fetch before the
 * next.
 */
static void test_strangers(void **state)
{
	struct box *b = *state;
	int lock = -1;

	b->d->record = "{\"job\": 1, \"uuid\": \"0123456789abcdef\", \"uid\": 17, \"state\": "
		       "\"running\", \"node\": \"a\"}";
	box_store(b, 1);
	box_wipe(b, "images/1");
	b->fetch.label = NULL;
	b->fetch.uid = 18;
	limit_files(100);
	assert_int_equal(box_fetch(b), -EPERM);
	b->fetch.dry_run = true;
	assert_int_equal(box_fetch(b), -EPERM);
	b->fetch.dry_run = false;
	limit_files(RLIM_INFINITY);
	assert_false(disk_has(b->d, "1"));
	b->fetch.uid = 17;
	disk_run(b->d, "mkdir '%s/1'", b->d->images);
	assert_int_equal(catalog_lock(&b->d->catalog, 1, &lock), 0);
	assert_int_equal(box_fetch(b), -EBUSY);
	close(lock);
	assert_int_equal(box_fetch(b), 1);
}

static void store_of_run(struct box *b, int64_t generation, const char *record)
{
	b->d->record = record;
	disk_store(b->d, generation);
	b->d->record = NULL;
}

/* A node that was lost comes back and copies what it had taken, after the job went on elsewhere. */
static void test_given_up(void **state)
{
	static const char *const runs[] = {
		"{\"job\": 1, \"uuid\": \"0123456789abcdef\", \"uid\": 17, \"run\": 1}",
		"{\"job\": 1, \"uuid\": \"0123456789abcdef\", \"uid\": 17, \"run\": 2}",
	};
	struct box *b = *state;

	store_of_run(b, 5, runs[0]);
	box_flush_as(b, "a");
	box_wipe(b, "images/1/gen-5");
	store_of_run(b, 2, runs[1]);
	b->fetch.node = "b";
	assert_int_equal(box_fetch(b), 2);
	assert_string_equal(disk_generations(b->d), "2");
	box_expect_steps(b, 3, "given up before generation 2");
	b->fetch.generation = 5;
	assert_int_equal(box_fetch(b), 5);
	/* an older one of the same run does not say that */
	store_of_run(b, 1, runs[0]);
	box_wipe(b, "images/1/gen-2");
	b->fetch.generation = 0;
	assert_int_equal(box_fetch(b), 5);
}

static const char *state_fetched_by(struct box *b, const char *node)
{
	static char text[32];
	json_t *record;
	struct ckpt_error error = {};

	box_wipe(b, "images/1");
	b->fetch.node = node;
	assert_int_equal(box_fetch(b), 1);
	assert_int_equal(catalog_job_read(&b->d->catalog, 1, &record, &error), 0);
	snprintf(text, sizeof(text), "%s", json_string_value(json_object_get(record, "state")));
	json_decref(record);
	return text;
}

/* It was ended by its checkpoint; what its node did with it since another does not know. */
static void test_ended_by_it(void **state)
{
	struct box *b = *state;

	b->d->record = "{\"job\": 1, \"uuid\": \"0123456789abcdef\", \"uid\": 17, \"state\": "
		       "\"running\", \"node\": \"a\"}";
	b->d->note = "{\"killed\": true}";
	box_store(b, 1);
	b->fetch.label = NULL;
	assert_string_equal(state_fetched_by(b, "another"), "running");
	assert_string_equal(state_fetched_by(b, "a"), "saved");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_unknown_job, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_names_only, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_strangers, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_given_up, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_ended_by_it, fetch_setup, fetch_teardown),
	};

	return cmocka_run_group_tests_name("fetch_job", tests, NULL, NULL);
}
