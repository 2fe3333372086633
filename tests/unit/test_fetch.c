// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generations from other levels, when L1 has lost or damaged them: on real images.
 */
#include "tests/unit/keep_fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "image/key.h"
#include "image/reader.h"
#include "supervisor/fetch.h"
#include "supervisor/generation.h"
#include "supervisor/outcome.h"
#include "supervisor/promotion.h"

struct box {
	struct disk *d;
	struct tiers tiers;
	json_t *steps;
	struct fetch fetch;
};

static void add_level(struct box *b, const char *name)
{
	char place[128];

	disk_run(b->d, "mkdir -p -m 700 '%s/%s'", b->d->dir, name);
	snprintf(place, sizeof(place), "posix:%s/%s", b->d->dir, name);
	assert_int_equal(tiers_set(&b->tiers, name, place), 0);
}

static int setup(void **state)
{
	struct box *b = calloc(1, sizeof(*b));
	void *disk;

	if (disk_setup(&disk))
		return -1;
	b->d = disk;
	add_level(b, "p");
	add_level(b, "q");
	b->fetch = (struct fetch) {
		.catalog = &b->d->catalog, .tiers = &b->tiers, .node = "a", .job = b->d->job,
		.label = LABEL,
	};
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct box *b = *state;
	void *disk = b->d;

	tiers_done(&b->tiers);
	json_decref(b->steps);
	free(b);
	return disk_teardown(&disk);
}

static void promote_as(struct box *b, const char *node)
{
	json_t *outcome, *targets = json_pack("[{s:I, s:s, s:o}]", "job", (json_int_t)b->d->job, "label",
					      LABEL, "generations",
					      catalog_generations(&b->d->catalog, b->d->job));
	const struct promotion p = {
		.catalog = &b->d->catalog, .tiers = &b->tiers, .node = node, .usable = ~0u,
		.targets = targets,
	};

	outcome = promotion_run(&p);
	assert_true(outcome_is_ok(outcome));
	json_decref(outcome);
	json_decref(targets);
}

static void store(struct box *b, int64_t generations)
{
	int64_t n;

	for (n = 1; n <= generations; n++)
		disk_store(b->d, n);
	promote_as(b, "a");
}

/* The generation, or a negative errno; steps are kept. */
static int64_t fetch(struct box *b)
{
	json_t *outcome = fetch_run(&b->fetch);
	const json_t *result = json_object_get(outcome, "result");
	int64_t got = result ? json_integer_value(json_object_get(result, "generation")) :
		      outcome_errno(outcome);

	json_decref(b->steps);
	b->steps = json_array();
	if (result)
		json_array_extend(b->steps, json_object_get(result, "steps"));
	else
		json_array_append(b->steps, json_object_get(json_object_get(outcome, "error"), "text"));
	json_decref(outcome);
	return got;
}

static void expect_steps(const struct box *b, size_t nr, const char *last)
{
	const char *text = json_string_value(json_array_get(b->steps, nr - 1));

	if (json_array_size(b->steps) != nr || (nr && !strstr(text, last)))
		fail_msg("%zu steps: %s", json_array_size(b->steps), json_dumps(b->steps, 0));
}

static void wipe(const struct box *b, const char *name)
{
	disk_run(b->d, "rm -rf '%s/%s'", b->d->dir, name);
}

static void damage(const struct box *b, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "../%s", name);
	disk_flip(b->d, path, 100);
}

static void is_good(const struct box *b, const char *name, int64_t generation)
{
	struct image_expect expect = { .generation = (uint64_t)generation, .job = LABEL };
	struct image_error error = { "" };
	struct image_key *key = NULL;

	assert_int_equal(image_key_load(b->d->key, &key, &error), 0);
	if (image_verify(disk_path(b->d, "%s", name), key, &expect, true, NULL, NULL, &error))
		fail_msg("%s", error.text);
	image_key_destroy(key);
}

/* ------------------------------------------------------------------- tests */

static void test_in_l1(void **state)
{
	struct box *b = *state;

	store(b, 2);
	assert_int_equal(fetch(b), 2);
	expect_steps(b, 0, "");
	b->fetch.generation = 1;
	b->fetch.deep = true;
	assert_int_equal(fetch(b), 1);
	expect_steps(b, 0, "");
	b->fetch.generation = 3;
	assert_int_equal(fetch(b), -ENOENT);
}

/* L1 has lost it: the cheapest level that is good, else the next, else the generation before. */
static void test_order(void **state)
{
	struct box *b = *state;

	store(b, 2);
	wipe(b, "images/1/gen-2");
	b->fetch.dry_run = true;
	assert_int_equal(fetch(b), 2);
	expect_steps(b, 2, "would be fetched from level p");
	assert_string_equal(disk_generations(b->d), "1");
	b->fetch.dry_run = false;
	assert_int_equal(fetch(b), 2);
	expect_steps(b, 2, "fetched from level p");
	is_good(b, "1/gen-2", 2);
	wipe(b, "images/1/gen-2");
	damage(b, "p/a/" LABEL ".gen-2/pages");
	assert_int_equal(fetch(b), 2);
	expect_steps(b, 3, "fetched from level q");
	is_good(b, "1/gen-2", 2);
	wipe(b, "images/1/gen-2");
	damage(b, "q/a/" LABEL ".gen-2/manifest");
	assert_int_equal(fetch(b), 1);
	expect_steps(b, 4, "no good one is left anywhere");
	assert_string_equal(disk_generations(b->d), "1");
	/* one that was asked for has no substitute */
	b->fetch.generation = 2;
	assert_int_equal(fetch(b), -EBADMSG);
	assert_string_equal(disk_generations(b->d), "1");
	disk_run(b->d, "! ls -A '%s/1' | grep tmp", b->d->images);
}

/* In L1 and damaged: replaced by what is good, and by nothing else. */
static void test_damaged(void **state)
{
	struct box *b = *state;

	store(b, 1);
	disk_flip(b->d, "1/gen-1/pages", 100);
	/* a look from outside does not see it */
	assert_int_equal(fetch(b), 1);
	expect_steps(b, 0, "");
	b->fetch.deep = true;
	assert_int_equal(fetch(b), 1);
	expect_steps(b, 2, "fetched from level p");
	is_good(b, "1/gen-1", 1);
	b->fetch.deep = false;
	disk_flip(b->d, "1/gen-1/manifest", 60);
	assert_int_equal(fetch(b), 1);
	is_good(b, "1/gen-1", 1);
	disk_run(b->d, "truncate -s 10 '%s/1/gen-1/index'", b->d->images);
	assert_int_equal(fetch(b), 1);
	is_good(b, "1/gen-1", 1);
	disk_run(b->d, "rm '%s/1/gen-1/manifest'", b->d->images);
	assert_int_equal(fetch(b), 1);
	is_good(b, "1/gen-1", 1);
	/* another generation in its place */
	disk_store(b->d, 2);
	disk_run(b->d, "rm -r '%s/1/gen-1'; mv '%s/1/gen-2' '%s/1/gen-1'", b->d->images, b->d->images,
		 b->d->images);
	/* that is good, and not removed */
	assert_int_equal(fetch(b), -ESTALE);
	is_good(b, "1/gen-1", 2);
	wipe(b, "images/1/gen-1");
	assert_int_equal(fetch(b), 1);
	is_good(b, "1/gen-1", 1);
	/* nothing good anywhere: what is left stays */
	wipe(b, "p/a");
	damage(b, "q/a/" LABEL ".gen-1/pages");
	disk_flip(b->d, "1/gen-1/pages", 100);
	b->fetch.deep = true;
	assert_int_equal(fetch(b), -EBADMSG);
	assert_true(disk_has(b->d, "1/gen-1/pages"));
}

/* The disk does not give it back: a copy does, and the generation before is no substitute. */
static void test_bad_sector(void **state)
{
	struct box *b = *state;

	store(b, 2);
	disk_break(b->d, "1/gen-2/manifest");
	assert_int_equal(fetch(b), 2);
	expect_steps(b, 2, "fetched from level p");
	is_good(b, "1/gen-2", 2);
	disk_break(b->d, "1/gen-2/pages");
	b->fetch.deep = true;
	assert_int_equal(fetch(b), 2);
	expect_steps(b, 2, "fetched from level p");
	is_good(b, "1/gen-2", 2);
	/* nor is it removed where there is nothing better */
	wipe(b, "p/a");
	wipe(b, "q/a");
	disk_break(b->d, "1/gen-2/pages");
	assert_int_equal(fetch(b), -EIO);
	expect_steps(b, 1, "(1:1)");
	disk_break(b->d, NULL);
	is_good(b, "1/gen-2", 2);
}

static void test_parts(void **state)
{
	struct box *b = *state;

	disk_store_parts(b->d, 1, true);
	disk_store_parts(b->d, 2, true);
	promote_as(b, "a");
	assert_int_equal(fetch(b), 2);
	expect_steps(b, 0, "");
	/* node b's is nowhere but in L1, and that is damaged */
	disk_flip(b->d, "1/gen-2/node-1/image/manifest", 60);
	assert_int_equal(fetch(b), 1);
	promote_as(b, "b");
	wipe(b, "images/1/gen-1/node-1");
	b->fetch.generation = 1;
	assert_int_equal(fetch(b), 1);
	expect_steps(b, 2, "image of node b: fetched from level p");
	is_good(b, "1/gen-1/node-1/image", 1);
	/* without the list of its nodes, and images that do not tell it */
	wipe(b, "images/1/gen-1");
	assert_int_equal(fetch(b), -EBADMSG);
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
	promote_as(b, "a");
	promote_as(b, "b");
	/* another's image has to be somewhere, and it is not said where */
	wipe(b, "images/1/gen-2/node-0");
	assert_int_equal(fetch(b), 2);
	expect_steps(b, 0, "");
	assert_false(disk_has(b->d, "1/gen-2/node-0/image"));
	wipe(b, "images/1/gen-2/node-1");
	assert_int_equal(fetch(b), 2);
	expect_steps(b, 2, "image of node b: fetched from level p");
	is_good(b, "1/gen-2/node-1/image", 2);
	assert_false(disk_has(b->d, "1/gen-2/node-0/image"));
	/* nowhere: it is no generation to restart from, for nobody */
	disk_run(b->d, "rm -r '%s'/?/a/*.gen-2.node-0", b->d->dir);
	assert_int_equal(fetch(b), 1);
	/* on a node that knows nothing of it but which ranks it had */
	wipe(b, "images/1/gen-1");
	ranks = json_pack("{s:[ss], s:[ss], s:b}", "map", "0-1", "2-3", "nodes", "a", "b", "apart", 1);
	b->fetch.ranks = ranks;
	b->fetch.generation = 1;
	b->fetch.dry_run = true;
	assert_int_equal(fetch(b), 1);
	expect_steps(b, 2, "image of node b: would be fetched from level p");
	assert_false(disk_has(b->d, "1/gen-1"));
	b->fetch.dry_run = false;
	assert_int_equal(fetch(b), 1);
	is_good(b, "1/gen-1/node-1/image", 1);
	assert_false(disk_has(b->d, "1/gen-1/node-0"));
	assert_true(disk_has(b->d, "1/gen-1/parts.json"));
	json_decref(ranks);
	json_decref((json_t *)b->fetch.parts);
	b->fetch.parts = NULL;
}

/* What is elsewhere is said to be there, and what is here can be said of all the same. */
static void test_describe_apart(void **state)
{
	struct box *b = *state;
	json_t *ranks = json_pack("{s:[ss], s:[ss], s:b}", "map", "0-1", "2-3", "nodes", "a", "b",
				  "apart", 1), *outcome, *result;
	char why[256];

	disk_store_parts(b->d, 1, false);
	assert_int_equal(catalog_generation_commit(&b->d->catalog, b->d->job, 1, ranks, why,
						   sizeof(why)), 0);
	wipe(b, "images/1/gen-1/node-0");
	outcome = generation_describe(&b->d->env, &b->d->catalog, b->d->job, 1, LABEL);
	assert_true(outcome_is_ok(outcome));
	result = json_object_get(outcome, "result");
	assert_int_equal(json_array_size(json_object_get(result, "nodes")), 2);
	assert_int_equal(json_array_size(json_object_get(result, "parts")), 1);
	json_decref(outcome);
	/* our own is lost */
	wipe(b, "images/1/gen-1/node-1");
	outcome = generation_describe(&b->d->env, &b->d->catalog, b->d->job, 1, LABEL);
	assert_int_equal(outcome_errno(outcome), -ENOENT);
	json_decref(outcome);
	/* in a directory of all nodes it is one that is missing */
	json_object_del(ranks, "apart");
	disk_store_parts(b->d, 2, false);
	assert_int_equal(catalog_generation_commit(&b->d->catalog, b->d->job, 2, ranks, why,
						   sizeof(why)), 0);
	wipe(b, "images/1/gen-2/node-0");
	outcome = generation_describe(&b->d->env, &b->d->catalog, b->d->job, 2, LABEL);
	assert_int_equal(outcome_errno(outcome), -ENOENT);
	json_decref(outcome);
	json_decref(ranks);
}

/* L1 is empty: the job is found by its number. */
static void test_unknown_job(void **state)
{
	struct box *b = *state;
	json_t *record;
	char why[256];

	store(b, 2);
	wipe(b, "images/1");
	b->fetch.label = NULL;
	b->fetch.node = "another";
	b->fetch.job = 7;
	assert_int_equal(fetch(b), -ENOENT);
	assert_false(disk_has(b->d, "7"));
	b->fetch.job = 1;
	/* its images say what the job is, or it is of no use */
	assert_int_equal(fetch(b), -ENODATA);
	wipe(b, "images/1");
	wipe(b, "p/a");
	wipe(b, "q/a");
	b->fetch.label = LABEL;
	b->fetch.node = "a";
	disk_run(b->d, "mkdir '%s/1'", b->d->images);
	b->d->record = "{\"job\": 1, \"uuid\": \"0123456789abcdef\", \"uid\": 17, \"state\": \"running\", \"node\": \"a\", \"floor\": 1}";
	store(b, 3);
	b->d->record = NULL;
	wipe(b, "images/1");
	b->fetch.label = NULL;
	b->fetch.generation = 2;
	b->fetch.uid = 18;
	assert_int_equal(fetch(b), -EPERM);
	assert_false(disk_has(b->d, "1"));
	b->fetch.uid = 17;
	assert_int_equal(fetch(b), 2);
	is_good(b, "1/gen-2", 2);
	assert_int_equal(catalog_job_read(&b->d->catalog, 1, &record, why, sizeof(why)), 0);
	assert_int_equal(json_integer_value(json_object_get(record, "floor")), 3);
	assert_string_equal(json_string_value(json_object_get(record, "state")), "running");
	json_decref(record);
	/* two image directories have made a job of that number */
	disk_run(b->d, "cp -r '%s/p/a/" LABEL ".gen-1' '%s/p/a/1-fedcba9876543210.gen-1'", b->d->dir,
		 b->d->dir);
	assert_int_equal(fetch(b), -ENOTUNIQ);
}

/* A name on a level that no image has uses up no numbers. */
static void test_names_only(void **state)
{
	struct box *b = *state;
	json_t *record;
	char why[256];

	disk_run(b->d, "rm -r '%s/1'; mkdir '%s/1'", b->d->images, b->d->images);
	b->d->record = "{\"job\": 1, \"uuid\": \"0123456789abcdef\", \"uid\": 17, \"state\": \"running\", \"node\": \"a\"}";
	store(b, 2);
	wipe(b, "images/1");
	disk_run(b->d, "mkdir '%s/p/a/" LABEL ".gen-999999999' '%s/p/a/" LABEL ".gen-999999999999'", b->d->dir,
		 b->d->dir);
	b->fetch.label = NULL;
	b->fetch.generation = 1;
	assert_int_equal(fetch(b), 1);
	assert_int_equal(catalog_job_read(&b->d->catalog, 1, &record, why, sizeof(why)), 0);
	assert_int_equal(json_integer_value(json_object_get(record, "floor")), 2);
	json_decref(record);
}

/* A level that is away: older generations only by number. */
static void test_silent(void **state)
{
	struct box *b = *state;

	store(b, 2);
	disk_run(b->d, "mv '%s/q' '%s/away'", b->d->dir, b->d->dir);
	/* nothing of it is needed, but said */
	assert_int_equal(fetch(b), 2);
	expect_steps(b, 1, "level q could not be asked");
	wipe(b, "images/1/gen-2");
	b->fetch.dry_run = true;
	assert_int_equal(fetch(b), -EHOSTUNREACH);
	b->fetch.dry_run = false;
	assert_int_equal(fetch(b), -EHOSTUNREACH);
	assert_string_equal(disk_generations(b->d), "1");
	b->fetch.generation = 2;
	assert_int_equal(fetch(b), 2);
	b->fetch.generation = 0;
	/* L1 knows it as the newest */
	assert_int_equal(fetch(b), 2);
	disk_flip(b->d, "1/gen-2/manifest", 60);
	assert_int_equal(fetch(b), 2);
	is_good(b, "1/gen-2", 2);
	/* but what is before it may not be all that is left */
	disk_flip(b->d, "1/gen-2/manifest", 60);
	damage(b, "p/a/" LABEL ".gen-2/manifest");
	assert_int_equal(fetch(b), -EHOSTUNREACH);
	b->fetch.generation = 1;
	assert_int_equal(fetch(b), 1);
	b->fetch.generation = 0;
	disk_run(b->d, "mv '%s/away' '%s/q'", b->d->dir, b->d->dir);
	assert_int_equal(fetch(b), 2);
	is_good(b, "1/gen-2", 2);
}

/* Removed, and a level could not do that: only by number. */
static void test_unwanted(void **state)
{
	struct box *b = *state;
	json_t *unwanted;

	store(b, 3);
	wipe(b, "images/1/gen-3");
	wipe(b, "images/1/gen-2");
	unwanted = json_pack("{s:[i], s:[i]}", "p", 3, "q", 3);
	b->fetch.unwanted = unwanted;
	assert_int_equal(fetch(b), 2);
	/* another level that has it was not meant */
	wipe(b, "images/1/gen-2");
	json_object_del(unwanted, "q");
	assert_int_equal(fetch(b), 3);
	wipe(b, "images/1/gen-3");
	json_object_set_new(unwanted, "q", json_pack("[{s:i}]", "to", 3));
	json_object_set_new(unwanted, "p", json_pack("[i, {s:i}]", 2, "to", 3));
	assert_int_equal(fetch(b), 1);
	wipe(b, "images/1/gen-1");
	assert_int_equal(fetch(b), -ENOENT);
	expect_steps(b, 1, "(1:3)");
	b->fetch.generation = 2;
	assert_int_equal(fetch(b), 2);
	b->fetch.generation = 0;
	assert_int_equal(fetch(b), 2);
	json_decref(unwanted);
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The newest is good and there is no room for it: that is no reason to go back to an older one. */
static void test_no_room(void **state)
{
	struct box *b = *state;

	store(b, 2);
	wipe(b, "images/1/gen-2");
	limit_files(100);
	assert_true(fetch(b) < 0);
	assert_int_not_equal(fetch(b), -EBADMSG);
	limit_files(RLIM_INFINITY);
	assert_string_equal(disk_generations(b->d), "1");
	assert_int_equal(fetch(b), 2);
	/* another's image in its place: the same */
	disk_run(b->d, "rm -r '%s/1/gen-2'; cp -r '%s/1/gen-1' '%s/1/gen-2'", b->d->images, b->d->images,
		 b->d->images);
	assert_int_equal(fetch(b), -ESTALE);
	b->fetch.generation = 1;
	assert_int_equal(fetch(b), 1);
}

/* Of a job that L1 does not know: whose it is comes before any copy, and one fetch before the next. */
static void test_strangers(void **state)
{
	struct box *b = *state;
	int lock = -1;

	b->d->record = "{\"job\": 1, \"uuid\": \"0123456789abcdef\", \"uid\": 17, \"state\": \"running\", \"node\": \"a\"}";
	store(b, 1);
	wipe(b, "images/1");
	b->fetch.label = NULL;
	b->fetch.uid = 18;
	limit_files(100);
	assert_int_equal(fetch(b), -EPERM);
	b->fetch.dry_run = true;
	assert_int_equal(fetch(b), -EPERM);
	b->fetch.dry_run = false;
	limit_files(RLIM_INFINITY);
	assert_false(disk_has(b->d, "1"));
	b->fetch.uid = 17;
	disk_run(b->d, "mkdir '%s/1'", b->d->images);
	assert_int_equal(catalog_lock(&b->d->catalog, 1, &lock), 0);
	assert_int_equal(fetch(b), -EBUSY);
	close(lock);
	assert_int_equal(fetch(b), 1);
}

static const char *state_fetched_by(struct box *b, const char *node)
{
	static char text[32];
	json_t *record;
	char why[256];

	wipe(b, "images/1");
	b->fetch.node = node;
	assert_int_equal(fetch(b), 1);
	assert_int_equal(catalog_job_read(&b->d->catalog, 1, &record, why, sizeof(why)), 0);
	snprintf(text, sizeof(text), "%s", json_string_value(json_object_get(record, "state")));
	json_decref(record);
	return text;
}

/* It was ended by its checkpoint; what its node did with it since another does not know. */
static void test_ended_by_it(void **state)
{
	struct box *b = *state;

	b->d->record = "{\"job\": 1, \"uuid\": \"0123456789abcdef\", \"uid\": 17, \"state\": \"running\", \"node\": \"a\"}";
	b->d->note = "{\"killed\": true}";
	store(b, 1);
	b->fetch.label = NULL;
	assert_string_equal(state_fetched_by(b, "another"), "running");
	assert_string_equal(state_fetched_by(b, "a"), "saved");
}

static void test_killed(void **state)
{
	struct box *b = *state;
	struct timespec wait = { 0 };
	unsigned int turn;
	pid_t pid;

	store(b, 2);
	b->fetch.deep = true;
	for (turn = 0; turn < 10; turn++) {
		if (turn % 2)
			disk_run(b->d, "rm -rf '%s/1/gen-2'", b->d->images);
		else if (disk_has(b->d, "1/gen-2/pages"))
			disk_flip(b->d, "1/gen-2/pages", 100);
		pid = fork();
		if (!pid)
			_exit(fetch(b) != 2);
		wait.tv_nsec = 500000L * (turn + 1) * (turn + 1);
		nanosleep(&wait, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		is_good(b, "1/gen-1", 1);
	}
	assert_int_equal(fetch(b), 2);
	is_good(b, "1/gen-2", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_in_l1, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_sector, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_describe_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_job, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unwanted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_strangers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended_by_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
	};

	return cmocka_run_group_tests_name("fetch", tests, NULL, NULL);
}
