// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generations from other levels, when L1 has lost or damaged them: on real images.  Jobs that L1
 * does not know are test_fetch_job.c's.
 */
#include "tests/unit/fetch_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "image/key.h"
#include "supervisor/storage/fetch_record.h"
#include "supervisor/catalog/generation.h"
#include "base/outcome.h"

static void test_in_l1(void **state)
{
	struct box *b = *state;

	box_store(b, 2);
	assert_int_equal(box_fetch(b), 2);
	box_expect_steps(b, 0, "");
	b->fetch.generation = 1;
	b->fetch.deep = true;
	assert_int_equal(box_fetch(b), 1);
	box_expect_steps(b, 0, "");
	b->fetch.generation = 3;
	assert_int_equal(box_fetch(b), -ENOENT);
}

/* L1 has lost it: the cheapest level that is good, else the next, else the generation before. */
static void test_order(void **state)
{
	struct box *b = *state;

	box_store(b, 2);
	box_wipe(b, "images/1/gen-2");
	b->fetch.dry_run = true;
	assert_int_equal(box_fetch(b), 2);
	box_expect_steps(b, 2, "would be fetched from level p");
	assert_string_equal(disk_generations(b->d), "1");
	b->fetch.dry_run = false;
	assert_int_equal(box_fetch(b), 2);
	box_expect_steps(b, 2, "fetched from level p");
	box_is_good(b, "1/gen-2", 2);
	box_wipe(b, "images/1/gen-2");
	box_damage(b, "p/a/" LABEL ".gen-2/pages");
	assert_int_equal(box_fetch(b), 2);
	box_expect_steps(b, 3, "fetched from level q");
	box_is_good(b, "1/gen-2", 2);
	box_wipe(b, "images/1/gen-2");
	box_damage(b, "q/a/" LABEL ".gen-2/manifest");
	assert_int_equal(box_fetch(b), 1);
	box_expect_steps(b, 4, "no good one is left anywhere");
	assert_string_equal(disk_generations(b->d), "1");
	/* one that was asked for has no substitute */
	b->fetch.generation = 2;
	assert_int_equal(box_fetch(b), -EBADMSG);
	assert_string_equal(disk_generations(b->d), "1");
	disk_run(b->d, "! ls -A '%s/1' | grep tmp", b->d->images);
}

/* In L1 and damaged: replaced by what is good, and by nothing else. */
static void test_damaged(void **state)
{
	struct box *b = *state;

	box_store(b, 1);
	disk_flip(b->d, "1/gen-1/pages", 100);
	/* a look from outside does not see it */
	assert_int_equal(box_fetch(b), 1);
	box_expect_steps(b, 0, "");
	b->fetch.deep = true;
	assert_int_equal(box_fetch(b), 1);
	box_expect_steps(b, 2, "fetched from level p");
	box_is_good(b, "1/gen-1", 1);
	b->fetch.deep = false;
	disk_flip(b->d, "1/gen-1/manifest", 60);
	assert_int_equal(box_fetch(b), 1);
	box_is_good(b, "1/gen-1", 1);
	disk_run(b->d, "truncate -s 10 '%s/1/gen-1/index'", b->d->images);
	assert_int_equal(box_fetch(b), 1);
	box_is_good(b, "1/gen-1", 1);
	disk_run(b->d, "rm '%s/1/gen-1/manifest'", b->d->images);
	assert_int_equal(box_fetch(b), 1);
	box_is_good(b, "1/gen-1", 1);
	/* another generation in its place */
	disk_store(b->d, 2);
	disk_run(b->d, "rm -r '%s/1/gen-1'; mv '%s/1/gen-2' '%s/1/gen-1'", b->d->images,
		 b->d->images, b->d->images);
	/* that is good, and not removed */
	assert_int_equal(box_fetch(b), -ESTALE);
	box_is_good(b, "1/gen-1", 2);
	box_wipe(b, "images/1/gen-1");
	assert_int_equal(box_fetch(b), 1);
	box_is_good(b, "1/gen-1", 1);
	/* nothing good anywhere: what is left stays */
	box_wipe(b, "p/a");
	box_damage(b, "q/a/" LABEL ".gen-1/pages");
	disk_flip(b->d, "1/gen-1/pages", 100);
	b->fetch.deep = true;
	assert_int_equal(box_fetch(b), -EBADMSG);
	assert_true(disk_has(b->d, "1/gen-1/pages"));
}

/*
 * Who swept what a fetch had left was cut off, too: what remains is no image, and in nobody's
 * way.
 */
static void test_half_swept(void **state)
{
	struct box *b = *state;

	box_store(b, 1);
	box_wipe(b, "images/1/gen-1");
	disk_run(b->d, "mkdir '%s/1/.tmp-got-1--1' && touch '%s/1/.tmp-got-1--1/pages'",
		 b->d->images, b->d->images);
	assert_int_equal(box_fetch(b), 1);
	box_expect_steps(b, 2, "fetched from level p");
	box_is_good(b, "1/gen-1", 1);
	disk_run(b->d, "! ls -A '%s/1' | grep tmp", b->d->images);
}

/* The disk does not give it back: a copy does, and the generation before is no substitute. */
static void test_bad_sector(void **state)
{
	struct box *b = *state;

	box_store(b, 2);
	disk_break(b->d, "1/gen-2/manifest");
	assert_int_equal(box_fetch(b), 2);
	box_expect_steps(b, 2, "fetched from level p");
	box_is_good(b, "1/gen-2", 2);
	disk_break(b->d, "1/gen-2/pages");
	b->fetch.deep = true;
	assert_int_equal(box_fetch(b), 2);
	box_expect_steps(b, 2, "fetched from level p");
	box_is_good(b, "1/gen-2", 2);
	/* nor is it removed where there is nothing better */
	box_wipe(b, "p/a");
	box_wipe(b, "q/a");
	disk_break(b->d, "1/gen-2/pages");
	assert_int_equal(box_fetch(b), -EIO);
	box_expect_steps(b, 1, "(1:1)");
	disk_break(b->d, NULL);
	box_is_good(b, "1/gen-2", 2);
}

static void test_parts(void **state)
{
	struct box *b = *state;

	disk_store_parts(b->d, 1, true);
	disk_store_parts(b->d, 2, true);
	box_flush_as(b, "a");
	assert_int_equal(box_fetch(b), 2);
	box_expect_steps(b, 0, "");
	/*
	 * the list of its nodes cannot be read just now: that does not make an older one the
	 * newest
	 */
	disk_run(b->d, "cd '%s/1/gen-2' && mv parts.json kept && ln -s parts.json parts.json",
		 b->d->images);
	assert_int_equal(box_fetch(b), -ELOOP);
	disk_run(b->d, "cd '%s/1/gen-2' && mv kept parts.json", b->d->images);
	assert_int_equal(box_fetch(b), 2);
	/* node b's is nowhere but in L1, and that is damaged */
	disk_flip(b->d, "1/gen-2/node-1/image/manifest", 60);
	assert_int_equal(box_fetch(b), 1);
	box_flush_as(b, "b");
	box_wipe(b, "images/1/gen-1/node-1");
	b->fetch.generation = 1;
	assert_int_equal(box_fetch(b), 1);
	box_expect_steps(b, 2, "image of node b: fetched from level p");
	box_is_good(b, "1/gen-1/node-1/image", 1);
	/* without the list of its nodes, and images that do not tell it */
	box_wipe(b, "images/1/gen-1");
	assert_int_equal(box_fetch(b), -EBADMSG);
	assert_false(disk_has(b->d, "1/gen-1/parts.json"));
}

/* Where image directories are not shared a node gets what it needs, and no more. */
static void test_apart(void **state)
{
	struct box *b = *state;
	json_t *ranks;

	b->fetch.parts = json_pack("[i]", 1);
	disk_store_parts(b->d, 1, true);
	disk_store_parts(b->d, 2, true);
	box_flush_as(b, "a");
	box_flush_as(b, "b");
	/* another's image has to be somewhere, and it is not said where */
	box_wipe(b, "images/1/gen-2/node-0");
	assert_int_equal(box_fetch(b), 2);
	box_expect_steps(b, 0, "");
	assert_false(disk_has(b->d, "1/gen-2/node-0/image"));
	box_wipe(b, "images/1/gen-2/node-1");
	assert_int_equal(box_fetch(b), 2);
	box_expect_steps(b, 2, "image of node b: fetched from level p");
	box_is_good(b, "1/gen-2/node-1/image", 2);
	assert_false(disk_has(b->d, "1/gen-2/node-0/image"));
	/* nowhere: it is no generation to restart from, for nobody */
	disk_run(b->d, "rm -r '%s'/?/a/*.gen-2.node-0", b->d->dir);
	assert_int_equal(box_fetch(b), 1);
	/* on a node that knows nothing of it but which ranks it had */
	box_wipe(b, "images/1/gen-1");
	ranks = json_pack("{s:[ss], s:[ss], s:b}", "map", "0-1", "2-3", "nodes", "a", "b", "apart",
			  1);
	b->fetch.ranks = ranks;
	b->fetch.generation = 1;
	b->fetch.dry_run = true;
	assert_int_equal(box_fetch(b), 1);
	box_expect_steps(b, 2, "image of node b: would be fetched from level p");
	assert_false(disk_has(b->d, "1/gen-1"));
	b->fetch.dry_run = false;
	assert_int_equal(box_fetch(b), 1);
	box_is_good(b, "1/gen-1/node-1/image", 1);
	assert_false(disk_has(b->d, "1/gen-1/node-0"));
	assert_true(disk_has(b->d, "1/gen-1/parts.json"));
	json_decref(ranks);
	json_decref((json_t *)b->fetch.parts);
	b->fetch.parts = NULL;
}

static json_int_t run_of_image(struct box *b)
{
	struct image_key *key;
	json_int_t run;

	assert_int_equal(image_key_load(b->d->key, &key, NULL), 0);
	run = fetch_record_run(&b->fetch, key, 1);
	image_key_destroy(key);
	return run;
}

/*
 * A node that was lost is back, with a generation of that number that the run which goes on
 * never had.
 */
static void test_two_runs(void **state)
{
	struct box *b = *state;
	json_t *ranks = json_pack("{s:[ss], s:[ss], s:b}", "map", "0-1", "2-3", "nodes", "a", "b",
				  "apart", 1);
	json_t *parts = json_pack("[i]", 1), *of_run = json_integer(2);

	b->d->record = "{\"job\": 1, \"uuid\": \"0123456789abcdef\", \"uid\": 17, \"run\": 2}";
	disk_store_parts(b->d, 1, true);
	box_flush_as(b, "b");
	box_wipe(b, "images/1/gen-1");
	b->d->record = "{\"job\": 1, \"uuid\": \"0123456789abcdef\", \"uid\": 17, \"run\": 1}";
	disk_store_parts(b->d, 1, true);
	box_wipe(b, "images/1/gen-1/node-0");
	b->fetch.parts = parts;
	b->fetch.ranks = ranks;
	b->fetch.generation = 1;
	/* nobody says which run is meant: what is here is believed */
	assert_int_equal(box_fetch(b), 1);
	box_expect_steps(b, 0, "");
	b->fetch.of_run = of_run;
	assert_int_equal(box_fetch(b), 1);
	box_expect_steps(b, 2, "image of node b: fetched from level p");
	box_is_good(b, "1/gen-1/node-1/image", 1);
	assert_int_equal(run_of_image(b), 2);
	/* nor is it taken from a level */
	json_integer_set(of_run, 3);
	assert_int_equal(box_fetch(b), -EBADMSG);
	assert_int_equal(run_of_image(b), 2);
	json_decref(of_run);
	json_decref(parts);
	json_decref(ranks);
}

/* What is elsewhere is said to be there, and what is here can be said of all the same. */
static void test_describe_apart(void **state)
{
	struct box *b = *state;
	json_t *ranks = json_pack("{s:[ss], s:[ss], s:b}", "map", "0-1", "2-3", "nodes", "a", "b",
				  "apart", 1), *outcome, *result;
	struct ckpt_error error = {};

	disk_store_parts(b->d, 1, false);
	assert_int_equal(catalog_generation_commit(&b->d->catalog, b->d->job, 1, ranks, &error), 0);
	box_wipe(b, "images/1/gen-1/node-0");
	outcome = generation_describe(&b->d->env, &b->d->catalog, b->d->job, 1, LABEL);
	assert_true(outcome_is_ok(outcome));
	result = json_object_get(outcome, "result");
	assert_int_equal(json_array_size(json_object_get(result, "nodes")), 2);
	assert_int_equal(json_array_size(json_object_get(result, "parts")), 1);
	json_decref(outcome);
	/* our own is lost */
	box_wipe(b, "images/1/gen-1/node-1");
	outcome = generation_describe(&b->d->env, &b->d->catalog, b->d->job, 1, LABEL);
	assert_int_equal(outcome_errno(outcome), -ENOENT);
	json_decref(outcome);
	/* in a directory of all nodes it is one that is missing */
	json_object_del(ranks, "apart");
	disk_store_parts(b->d, 2, false);
	assert_int_equal(catalog_generation_commit(&b->d->catalog, b->d->job, 2, ranks, &error), 0);
	box_wipe(b, "images/1/gen-2/node-0");
	outcome = generation_describe(&b->d->env, &b->d->catalog, b->d->job, 2, LABEL);
	assert_int_equal(outcome_errno(outcome), -ENOENT);
	json_decref(outcome);
	json_decref(ranks);
}

/* A level that is away: older generations only by number. */
static void test_silent(void **state)
{
	struct box *b = *state;

	box_store(b, 2);
	disk_run(b->d, "mv '%s/q' '%s/away'", b->d->dir, b->d->dir);
	/* nothing of it is needed, but said */
	assert_int_equal(box_fetch(b), 2);
	box_expect_steps(b, 1, "level q could not be asked");
	box_wipe(b, "images/1/gen-2");
	b->fetch.dry_run = true;
	assert_int_equal(box_fetch(b), -EHOSTUNREACH);
	b->fetch.dry_run = false;
	assert_int_equal(box_fetch(b), -EHOSTUNREACH);
	assert_string_equal(disk_generations(b->d), "1");
	b->fetch.generation = 2;
	assert_int_equal(box_fetch(b), 2);
	b->fetch.generation = 0;
	/* L1 knows it as the newest */
	assert_int_equal(box_fetch(b), 2);
	disk_flip(b->d, "1/gen-2/manifest", 60);
	assert_int_equal(box_fetch(b), 2);
	box_is_good(b, "1/gen-2", 2);
	/* but what is before it may not be all that is left */
	disk_flip(b->d, "1/gen-2/manifest", 60);
	box_damage(b, "p/a/" LABEL ".gen-2/manifest");
	assert_int_equal(box_fetch(b), -EHOSTUNREACH);
	b->fetch.generation = 1;
	assert_int_equal(box_fetch(b), 1);
	b->fetch.generation = 0;
	disk_run(b->d, "mv '%s/away' '%s/q'", b->d->dir, b->d->dir);
	assert_int_equal(box_fetch(b), 2);
	box_is_good(b, "1/gen-2", 2);
}

/* Removed, and a level could not do that: only by number. */
static void test_tombstone(void **state)
{
	struct box *b = *state;
	json_t *tombstones;

	box_store(b, 3);
	box_wipe(b, "images/1/gen-3");
	box_wipe(b, "images/1/gen-2");
	tombstones = json_pack("{s:[i], s:[i]}", "p", 3, "q", 3);
	b->fetch.tombstones = tombstones;
	assert_int_equal(box_fetch(b), 2);
	/* another level that has it was not meant */
	box_wipe(b, "images/1/gen-2");
	json_object_del(tombstones, "q");
	assert_int_equal(box_fetch(b), 3);
	box_wipe(b, "images/1/gen-3");
	json_object_set_new(tombstones, "q", json_pack("[{s:i}]", "to", 3));
	json_object_set_new(tombstones, "p", json_pack("[i, {s:i}]", 2, "to", 3));
	assert_int_equal(box_fetch(b), 1);
	box_wipe(b, "images/1/gen-1");
	assert_int_equal(box_fetch(b), -ENOENT);
	box_expect_steps(b, 1, "(1:3)");
	b->fetch.generation = 2;
	assert_int_equal(box_fetch(b), 2);
	b->fetch.generation = 0;
	assert_int_equal(box_fetch(b), 2);
	json_decref(tombstones);
}

/* The newest is good and there is no room for it: that is no reason to go back to an older one. */
static void test_no_room(void **state)
{
	struct box *b = *state;

	box_store(b, 2);
	box_wipe(b, "images/1/gen-2");
	limit_files(100);
	assert_true(box_fetch(b) < 0);
	assert_int_not_equal(box_fetch(b), -EBADMSG);
	limit_files(RLIM_INFINITY);
	assert_string_equal(disk_generations(b->d), "1");
	assert_int_equal(box_fetch(b), 2);
	/* another's image in its place: the same */
	disk_run(b->d, "rm -r '%s/1/gen-2'; cp -r '%s/1/gen-1' '%s/1/gen-2'", b->d->images,
		 b->d->images, b->d->images);
	assert_int_equal(box_fetch(b), -ESTALE);
	b->fetch.generation = 1;
	assert_int_equal(box_fetch(b), 1);
}

static void test_killed(void **state)
{
	struct box *b = *state;
	struct timespec wait = { 0 };
	unsigned int turn;
	pid_t pid;

	box_store(b, 2);
	b->fetch.deep = true;
	for (turn = 0; turn < 10; turn++) {
		if (turn % 2)
			disk_run(b->d, "rm -rf '%s/1/gen-2'", b->d->images);
		else if (disk_has(b->d, "1/gen-2/pages"))
			disk_flip(b->d, "1/gen-2/pages", 100);
		pid = fork();
		if (!pid)
			_exit(box_fetch(b) != 2);
		wait.tv_nsec = 500000L * (turn + 1) * (turn + 1);
		nanosleep(&wait, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		box_is_good(b, "1/gen-1", 1);
	}
	assert_int_equal(box_fetch(b), 2);
	box_is_good(b, "1/gen-2", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_in_l1, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_order, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_damaged, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_half_swept, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_bad_sector, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_parts, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_apart, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_two_runs, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_describe_apart, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_silent, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_tombstone, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_no_room, fetch_setup, fetch_teardown),
		cmocka_unit_test_setup_teardown(test_killed, fetch_setup, fetch_teardown),
	};

	return cmocka_run_group_tests_name("fetch", tests, NULL, NULL);
}
