// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pins, and removing what a rule does not keep, on real images.
 */
#include "base/error.h"
#include "tests/unit/keep_fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image/key.h"
#include "image/reader.h"
#include "image/writer.h"
#include "supervisor/auto/pruner.h"
#include "base/outcome.h"
#include "supervisor/catalog/pin.h"
#include "supervisor/catalog/trust.h"
#include "supervisor/storage/prune.h"
#include "supervisor/storage/level_config.h"

/* -------------------------------------------------------------------- pins */

static void test_pin_names(void **state)
{
	static const char *const bad[] = {
		"pin-.json", "pin-0.json", "pin--1.json", "pin-01.json", "pin-1.json.new", "pin-1",
		".pin-1.json", "pin-1x.json", "pin- 1.json", "pin-+1.json",
		"pin-99999999999999999999999.json",
	};
	char name[PIN_NAME_MAX];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(pin_number(bad[i]), 0);
	pin_name(INT64_MAX, name);
	assert_true(pin_number(name) == INT64_MAX);
	pin_name(17, name);
	assert_string_equal(name, "pin-17.json");
}

static void test_pin(void **state)
{
	struct disk *d = *state;
	json_t *record, *list;
	struct ckpt_error error = {};

	disk_store(d, 1);
	disk_store_parts(d, 2, true);
	assert_false(pin_has(&d->catalog, d->job, 1));
	assert_int_equal(pin_clear(&d->catalog, d->job, 1), -ENOENT);
	assert_int_equal(pin_set(&d->catalog, d->job, 3, 0, "n", &error), -ENOENT);
	assert_int_equal(pin_set(&d->catalog, d->job, 2, 17, "n", &error), 0);
	assert_int_equal(pin_set(&d->catalog, d->job, 2, 18, "m", &error), 0);
	assert_true(pin_has(&d->catalog, d->job, 2));
	assert_int_equal(pin_read(&d->catalog, d->job, 2, &record, &error), 0);
	assert_int_equal(json_integer_value(json_object_get(record, "by")), 17);
	json_decref(record);
	list = pin_list(&d->catalog, d->job);
	assert_int_equal(json_array_size(list), 1);
	assert_int_equal(json_integer_value(json_array_get(list, 0)), 2);
	json_decref(list);
	/* damaged, it holds all the same, and can be written anew */
	disk_file(d, "1/pin-2.json", "{");
	assert_true(pin_has(&d->catalog, d->job, 2));
	assert_int_equal(pin_read(&d->catalog, d->job, 2, &record, &error), -EBADMSG);
	assert_int_equal(pin_set(&d->catalog, d->job, 2, 19, "n", &error), 0);
	assert_int_equal(pin_read(&d->catalog, d->job, 2, &record, &error), 0);
	json_decref(record);
	/* another generation's is damaged */
	disk_run(d, "cp '%s/1/pin-2.json' '%s/1/pin-1.json'", d->images, d->images);
	assert_int_equal(pin_read(&d->catalog, d->job, 1, &record, &error), -EBADMSG);
	assert_int_equal(pin_clear(&d->catalog, d->job, 1), 0);
	assert_int_equal(pin_clear(&d->catalog, d->job, 2), 0);
	assert_false(pin_has(&d->catalog, d->job, 2));
	/* a dangling link is a pin, too */
	assert_int_equal(symlink("nowhere", disk_path(d, "1/pin-1.json")), 0);
	assert_true(pin_has(&d->catalog, d->job, 1));
}

/* ------------------------------------------------------------------- trust */

static void test_trust(void **state)
{
	struct disk *d = *state;
	struct ckpt_error error = {};
	json_t *why = json_pack("{s:i}", "wrong", 3), *record;

	assert_true(trust_is_file("trust-17.json") && trust_is_file(".trust-1.json.new"));
	assert_false(trust_is_file("trust-017.json") || trust_is_file("trust-1") ||
		     trust_is_file("trust-0.json") || trust_is_file("trust-1.json.x"));
	for (int g = 1; g < 5; g++)
		disk_store(d, (unsigned int)g);
	assert_int_equal(trust_choose(&d->catalog, d->job), 4);
	assert_int_equal(trust_get(&d->catalog, d->job, 4, NULL), TRUST_UNVERIFIED);
	assert_int_equal(trust_set(&d->catalog, d->job, 4, TRUST_SUSPECT, why, "n", &error), 0);
	assert_int_equal(trust_get(&d->catalog, d->job, 4, &record), TRUST_SUSPECT);
	assert_true(json_equal(json_object_get(record, "why"), why));
	json_decref(record);
	assert_int_equal(trust_choose(&d->catalog, d->job), 3);
	assert_int_equal(trust_set(&d->catalog, d->job, 2, TRUST_VERIFIED, NULL, "n", &error), 0);
	assert_int_equal(trust_choose(&d->catalog, d->job), 2);
	/* another generation's, and one that is damaged, are no reason to trust */
	disk_run(d, "cp '%s/1/trust-2.json' '%s/1/trust-3.json'", d->images, d->images);
	assert_int_equal(trust_get(&d->catalog, d->job, 3, NULL), TRUST_SUSPECT);
	disk_file(d, "1/trust-2.json", "{");
	assert_int_equal(trust_get(&d->catalog, d->job, 2, NULL), TRUST_SUSPECT);
	assert_int_equal(trust_choose(&d->catalog, d->job), 1);
	/* a generation takes it along */
	assert_int_equal(catalog_generation_remove(&d->catalog, d->job, 4, &error), 0);
	assert_false(disk_has(d, "1/trust-4.json"));
	for (int g = 1; g < 4; g++)
		assert_int_equal(catalog_generation_remove(&d->catalog, d->job, g, &error), 0);
	disk_file(d, "1/trust-9.json", "{");
	assert_int_equal(catalog_job_remove(&d->catalog, d->job), 0);
	json_decref(why);
}

/* A newest without a doubt is taken, however old the last vote is. */
static void check_preferred(const struct trust_item *items, size_t best)
{
	bool good = trust_is_good(items[best].trust), doubted = trust_is_doubted(items[best].trust);

	if (!trust_is_doubted(items[4].trust)) {
		assert_int_equal(best, 4);
		return;
	}
	/* else one at least as good as all, the newest of its kind; of doubted ones, the oldest */
	for (size_t i = 0; i < 5; i++) {
		assert_true(good || !trust_is_good(items[i].trust));
		if (doubted)
			assert_true(trust_is_doubted(items[i].trust) && !best);
		if (i > best && good)
			assert_false(trust_is_good(items[i].trust));
		if (i > best && !good && !doubted)
			assert_true(trust_is_doubted(items[i].trust));
	}
}

static void test_trust_prefer(void **state)
{
	struct trust_item items[5];

	for (unsigned int all = 0; all < 5 * 5 * 5 * 5 * 5; all++) {
		unsigned int code = all;
		size_t best;

		for (size_t i = 0; i < 5; i++, code /= 5)
			items[i] = (struct trust_item) { (int64_t)i + 1, (enum trust)(code % 5) };
		best = trust_prefer(items, 5);
		assert_true(best < 5);
		check_preferred(items, best);
	}
	assert_int_equal(trust_prefer(items, 0), 0);
}

/* What rm says, and that a removed job takes its pins along. */
static void test_pin_and_removal(void **state)
{
	struct disk *d = *state;
	json_t *outcome = pruner_pinned(7, 3);
	const char *text =
		json_string_value(json_object_get(json_object_get(outcome, "error"), "text"));
	int lock, again;
	struct ckpt_error failure = {};

	assert_non_null(strstr(text, "ckptctl unpin 7:3"));
	json_decref(outcome);
	disk_store(d, 1);
	assert_int_equal(pin_set(&d->catalog, d->job, 1, 0, "n", &failure), 0);
	assert_int_equal(catalog_lock(&d->catalog, d->job, &lock), 0);
	assert_int_equal(catalog_lock(&d->catalog, d->job, &again), -EBUSY);
	close(lock);
	assert_int_equal(catalog_lock(&d->catalog, 99, &lock), -ENOENT);
	assert_int_equal(catalog_generation_remove(&d->catalog, d->job, 1, &failure), 0);
	disk_file(d, "1/.pin-4.json.new", "");
	disk_file(d, "1/.restarting-n2", "n2");
	disk_run(d, "mkdir '%s/1/.tmp-gen-9'", d->images);
	assert_int_equal(catalog_job_remove(&d->catalog, d->job), 0);
	assert_false(disk_has(d, "1"));
}

/* ------------------------------------------------------------------- prune */

static json_t *prune_with(const struct disk *d, struct prune *prune)
{
	json_t *entry;

	prune->listing = disk_listing(d);
	prune->node = "here";
	prune->generations = catalog_generations(&d->catalog, d->job);
	entry = prune_job(prune);
	json_decref((json_t *)prune->generations);
	return entry;
}

static json_t *prune_keep(const struct disk *d, unsigned int keep)
{
	struct prune prune = { .rule = { .keep = keep } };

	return prune_with(d, &prune);
}

static void keep(const struct disk *d, unsigned int n, const char *want)
{
	json_t *entry = prune_keep(d, n);

	assert_null(json_object_get(entry, "skipped"));
	assert_int_equal(json_array_size(json_object_get(entry, "failed")), 0);
	json_decref(entry);
	assert_string_equal(disk_generations(d), want);
}

static void skipped(const struct disk *d, const char *text)
{
	json_t *entry = prune_keep(d, 1);
	const char *why = json_string_value(json_object_get(entry, "skipped"));

	assert_non_null(why);
	assert_non_null(strstr(why, text));
	json_decref(entry);
}

static void test_prune(void **state)
{
	struct disk *d = *state;
	struct prune dry = { .rule = { .keep = 2, .keep_every = 5 }, .dry_run = true };
	int64_t n;
	json_t *entry;
	struct ckpt_error error = {};

	for (n = 1; n <= 8; n++)
		disk_store_either(d, n, n % 3);
	disk_store_parts(d, 9, false);	/* in the making: nobody's business */
	entry = prune_with(d, &dry);
	assert_int_equal(json_array_size(json_object_get(entry, "removed")), 5);
	assert_int_equal(json_array_size(json_object_get(entry, "kept")), 3);
	assert_true(json_integer_value(json_object_get(entry, "freed")) > 5 * 500);
	json_decref(entry);
	assert_string_equal(disk_generations(d), "1 2 3 4 5 6 7 8");
	assert_int_equal(pin_set(&d->catalog, d->job, 3, 0, "n", &error), 0);
	dry.dry_run = false;
	json_decref(prune_with(d, &dry));
	assert_string_equal(disk_generations(d), "3 5 7 8");
	assert_true(disk_has(d, "1/gen-9/node-1/image/manifest"));
	keep(d, 1, "3 8");
	assert_int_equal(pin_clear(&d->catalog, d->job, 3), 0);
	keep(d, 1, "8");
	keep(d, 1, "8");
}

static void test_prune_size(void **state)
{
	struct disk *d = *state;
	struct prune prune = { .rule = { .max_size = 1 } };
	struct listing listing = disk_listing(d);
	uint64_t one;
	json_t *row;
	int64_t n;

	for (n = 1; n <= 4; n++)
		disk_store(d, n);
	row = listing_row(&listing, 1);
	one = (uint64_t)json_integer_value(json_object_get(row, "bytes_stored"));
	json_decref(row);
	/* half a one more than two: a damaged one counts what it takes */
	disk_run(d, "printf x >>'%s/1/gen-1/pages'", d->images);
	prune.rule.max_size = 2 * one + one / 2;
	json_decref(prune_with(d, &prune));
	assert_string_equal(disk_generations(d), "3 4");
	prune.rule.max_size = 1;
	json_decref(prune_with(d, &prune));
	assert_string_equal(disk_generations(d), "4");
}

/* Damage of any kind to the newest: the one before it is what is kept. */
static void test_prune_damaged(void **state)
{
	struct disk *d = *state;
	struct prune prune = { .rule = { .keep = 1 } };
	char problem[512];
	int64_t n;

	for (n = 1; n <= 5; n++)
		disk_store_either(d, n, n != 4);
	/* the index has seen all of them whole, and its rows stay fresh */
	prune.listing = disk_listing(d);
	prune.listing.index = catalog_index_open(d->index, &d->catalog, problem, sizeof(problem));
	prune.node = "here";
	prune.generations = catalog_generations(&d->catalog, d->job);
	json_decref(listing_rows(&prune.listing, prune.generations));
	assert_int_equal(truncate(disk_path(d, "1/gen-5/pages"), 10), 0);
	disk_run(d, "rm -r '%s/1/gen-4/node-1'", d->images);
	json_decref(prune_job(&prune));
	catalog_index_close(prune.listing.index, problem, sizeof(problem));
	json_decref((json_t *)prune.generations);
	assert_string_equal(disk_generations(d), "3 4 5");
	/* then that one, too: nothing is left that could be restarted from, and nothing goes */
	disk_flip(d, "1/gen-3/manifest", 30);
	keep(d, 1, "3 4 5");
	/* as when the key is not there */
	disk_store(d, 6);
	disk_store(d, 7);
	disk_run(d, "mv '%s' '%s.away'", d->key, d->key);
	keep(d, 1, "3 4 5 6 7");
	disk_run(d, "mv '%s.away' '%s'", d->key, d->key);
	keep(d, 1, "7");
}

static void test_prune_in_use(void **state)
{
	struct disk *d = *state;
	struct prune prune = { .rule = { .keep = 1 }, .undecided = 4 };
	struct image_reader *reader;
	struct ckpt_error error;
	struct image_key *key;
	struct ckpt_error failure = {};
	char holder[80];
	int64_t n;
	int lock;

	for (n = 1; n <= 4; n++)
		disk_store_either(d, n, n != 2);
	/* restored from on this node: one of one image, and one node's of several */
	assert_int_equal(image_key_load(d->key, &key, &error), 0);
	assert_int_equal(image_open(disk_path(d, "1/gen-1"), key, NULL, &reader, &error), 0);
	assert_false(catalog_generation_in_use(&d->catalog, d->job, 1));
	image_hold(reader);
	assert_true(catalog_generation_in_use(&d->catalog, d->job, 1));
	assert_int_equal(catalog_generation_remove(&d->catalog, d->job, 1, &failure),
			 -EBUSY);
	/* 4 may still be given up: it stands for none */
	json_decref(prune_with(d, &prune));
	assert_string_equal(disk_generations(d), "1 3 4");
	image_close(reader);
	disk_store_parts(d, 5, true);
	disk_store(d, 6);
	assert_int_equal(image_open(disk_path(d, "1/gen-5/node-1/image"), key, NULL, &reader,
				    &error),
			 0);
	image_hold(reader);
	assert_int_equal(catalog_generation_remove(&d->catalog, d->job, 5, &failure),
			 -EBUSY);
	keep(d, 1, "5 6");
	image_close(reader);
	image_key_destroy(key);
	keep(d, 1, "6");
	/* a restart on another node may be reading any of them; our own claim is an old one */
	disk_store(d, 7);
	assert_int_equal(catalog_claim(&d->catalog, d->job, "there", false, holder, sizeof(holder)),
			 0);
	skipped(d, "there");
	catalog_unclaim(&d->catalog, d->job, "there");
	assert_int_equal(catalog_lock(&d->catalog, d->job, &lock), 0);
	skipped(d, "just now");
	close(lock);
	assert_int_equal(catalog_claim(&d->catalog, d->job, "here", false, holder, sizeof(holder)),
			 0);
	keep(d, 1, "7");
}

/* L1 keeps the newest that a level takes until it is there: one for each level, and not more. */
static void test_prune_awaited(void **state)
{
	struct disk *d = *state;
	struct level_configs levels = { .nr = 0 };
	struct prune prune = { .rule = { .keep = 1 }, .levels = &levels, .dry_run = true };
	const json_t *row;
	json_t *entry;
	char place[128];
	int64_t n;

	disk_run(d, "mkdir -p -m 700 '%s/p/here' '%s/q'", d->dir, d->dir);
	snprintf(place, sizeof(place), "posix:%s/p", d->dir);
	assert_int_equal(level_configs_set(&levels, "p", place), 0);
	assert_int_equal(level_configs_set(&levels, "p.every", "4"), 0);
	snprintf(place, sizeof(place), "posix:%s/q", d->dir);
	assert_int_equal(level_configs_set(&levels, "q", place), 0);
	assert_int_equal(level_configs_set(&levels, "q.every", "3"), 0);
	for (n = 1; n <= 7; n++)
		disk_store_either(d, n, n != 5);
	entry = prune_with(d, &prune);
	assert_int_equal(json_array_size(json_object_get(entry, "removed")), 4);
	row = json_array_get(json_object_get(entry, "removed"), 2);
	assert_int_equal(json_integer_value(json_object_get(row, "generation")), 3);
	assert_string_equal(json_string_value(json_array_get(json_object_get(row, "missed"), 0)),
			    "q");
	row = json_array_get(json_object_get(entry, "removed"), 0);
	assert_null(json_object_get(row, "missed"));
	json_decref(entry);
	prune.dry_run = false;
	/* what is not to be there nobody waits for */
	prune.tombstones = json_pack("{s:[i, i]}", "q", 3, 6);
	json_decref(prune_with(d, &prune));
	assert_string_equal(disk_generations(d), "4 7");
	json_decref((json_t *)prune.tombstones);
	prune.tombstones = NULL;
	/* a level that cannot be asked; then it has got it */
	disk_run(d, "mv '%s/p' '%s/away'", d->dir, d->dir);
	json_decref(prune_with(d, &prune));
	assert_string_equal(disk_generations(d), "4 7");
	disk_run(d,
		 "mv '%s/away' '%s/p'; chmod 700 '%s/p' '%s/p/here'; cp -r '%s/1/gen-4' "
		 "'%s/p/here/" LABEL ".gen-4'",
		 d->dir, d->dir, d->dir, d->dir, d->images, d->dir);
	disk_run(d,
		 "printf 'stillpoint level 1\\nnode here\\nid 00112233445566778899aabbccddeeff\\n' "
		 ">'%s/p/here/.stillpoint-level'",
		 d->dir);
	json_decref(prune_with(d, &prune));
	assert_string_equal(disk_generations(d), "7");
	level_configs_done(&levels);
}

/* Did a level never get the first one that goes? */
static bool misses(const struct disk *d, struct prune *prune)
{
	json_t *entry = prune_with(d, prune);
	const json_t *row = json_array_get(json_object_get(entry, "removed"), 0);
	bool missed = json_object_get(row, "missed");

	assert_non_null(row);
	json_decref(entry);
	return missed;
}

/* The mount point without its file system: nothing is known of what was there. */
static void test_prune_unmounted(void **state)
{
	struct disk *d = *state;
	struct level_configs levels = { .nr = 0 };
	struct prune prune = { .rule = { .keep = 1 }, .levels = &levels, .dry_run = true };
	struct level_user user = { .node = "here", .state_dir = d->dir };
	struct image_key *key;
	struct ckpt_error error;
	struct level *level;
	char place[128];
	int64_t n;

	disk_run(d, "mkdir -m 700 '%s/p'", d->dir);
	snprintf(place, sizeof(place), "posix:%s/p", d->dir);
	assert_int_equal(level_configs_set(&levels, "p", place), 0);
	assert_int_equal(image_key_load(d->key, &key, &error), 0);
	user.key = key;
	assert_int_equal(level_config_open(&levels.conf[0], &user, &level, &error), 0);
	level_close(level);
	image_key_destroy(key);
	disk_run(d, "rm -r '%s/p/here'", d->dir);
	for (n = 1; n <= 3; n++)
		disk_store(d, n);
	/* to who does not remember that anything was there it looks as if nothing was copied */
	assert_true(misses(d, &prune));
	prune.state_dir = d->dir;
	assert_false(misses(d, &prune));
	level_configs_done(&levels);
}

/*
 * Another job's generations under our number: they lay there before the file system was
 * mounted, or it is the other way round.  No rule of ours is a reason to remove them, nor what
 * another key or version wrote.
 */
static void test_prune_foreign(void **state)
{
	struct disk *d = *state;
	struct prune prune = { .rule = { .keep = 1, .max_size = 1 } };
	const json_t *row;
	json_t *entry;
	int64_t n;

	d->label = "1-fedcba9876543210";
	for (n = 1; n <= 2; n++)
		disk_store_either(d, n, n == 1);
	d->label = NULL;
	disk_run(d, "mv '%s' '%s.first'", d->key, d->key);
	assert_int_equal(image_key_create(d->key, NULL), 0);
	disk_store(d, 3);
	disk_run(d, "mv '%s.first' '%s'", d->key, d->key);
	/* the job's own go as ever */
	for (n = 4; n <= 6; n++)
		disk_store_either(d, n, n != 5);
	entry = prune_with(d, &prune);
	assert_string_equal(disk_generations(d), "1 2 3 6");
	row = json_array_get(json_object_get(entry, "kept"), 0);
	assert_non_null(strstr(json_string_value(json_object_get(row, "why")), "another job's"));
	json_decref(entry);
}

/* Clocks go backwards, numbers do not: nothing but the number counts. */
static void test_prune_clock(void **state)
{
	struct disk *d = *state;

	disk_store(d, 1);
	disk_store(d, 2);
	disk_store(d, 3);
	disk_run(d, "touch -d 2099-01-01 '%s/1/gen-1' '%s/1/gen-1/manifest'", d->images, d->images);
	disk_run(d, "touch -d 1970-01-02 '%s/1/gen-3' '%s/1/gen-3/manifest'", d->images, d->images);
	keep(d, 2, "2 3");
}

/* A file of somebody else's: the others go, that is said, and nothing is half gone. */
static void test_prune_refused(void **state)
{
	struct disk *d = *state;
	json_t *entry;

	disk_store(d, 1);
	disk_store(d, 2);
	disk_store(d, 3);
	disk_file(d, "1/gen-1/notes.txt", "mine");
	entry = prune_keep(d, 1);
	assert_int_equal(json_array_size(json_object_get(entry, "failed")), 1);
	json_decref(entry);
	assert_string_equal(disk_generations(d), "1 3");
	assert_true(disk_has(d, "1/gen-1/notes.txt"));
	d->catalog.dir = "/nonexistent";
	skipped(d, "No such file");
}

static void all_whole(const struct disk *d)
{
	json_t *all = catalog_generations(&d->catalog, d->job), *number, *row;
	struct listing listing = disk_listing(d);
	size_t i;

	json_array_foreach(all, i, number) {
		row = listing_row(&listing, json_integer_value(number));
		assert_null(json_object_get(row, "error"));
		json_decref(row);
	}
	json_decref(all);
}

/* SIGKILL at any instant: whole generations, the last among them, and the next one goes on. */
static void test_prune_killed(void **state)
{
	struct disk *d = *state;
	int64_t top = 0;
	int i, status;
	pid_t pid;

	for (i = 0; i < 12; i++) {
		while (top < 6 * (i + 1)) {
			top++;
			disk_store_either(d, top, top % 2);
		}
		pid = fork();
		assert_true(pid >= 0);
		if (!pid) {
			json_decref(prune_keep(d, 1));
			_exit(0);
		}
		usleep((useconds_t)(i * i * 150));
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		all_whole(d);
		assert_true(catalog_last(&d->catalog, d->job) == top);
	}
	json_decref(prune_keep(d, 1));
	assert_true(image_sweep(disk_path(d, "1"), NULL) >= 0);
	all_whole(d);
	assert_int_equal(catalog_last(&d->catalog, d->job), top);
}

#define test(f) cmocka_unit_test_setup_teardown(f, disk_setup, disk_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pin_names),
		cmocka_unit_test(test_trust_prefer),
		test(test_pin),
		test(test_trust),
		test(test_pin_and_removal),
		test(test_prune),
		test(test_prune_size),
		test(test_prune_damaged),
		test(test_prune_in_use),
		test(test_prune_awaited),
		test(test_prune_unmounted),
		test(test_prune_foreign),
		test(test_prune_clock),
		test(test_prune_refused),
		test(test_prune_killed),
	};

	return cmocka_run_group_tests_name("keep", tests, NULL, NULL);
}
