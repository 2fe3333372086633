// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying generations to other levels, on real images and directories; and what the levels say of
 * themselves then.
 */
#include "tests/unit/keep_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "image/key.h"
#include "supervisor/holdings.h"
#include "supervisor/outcome.h"
#include "supervisor/pin.h"
#include "supervisor/promotion.h"
#include "supervisor/unwanted.h"

/* A disk with levels: A in images/../a, and so on. */
struct box {
	struct disk *d;
	struct tiers tiers;
	json_t *events;
	json_t *bad;
	json_t *unwanted;
};

static void add_level(struct box *b, const char *name)
{
	char place[128];

	disk_run(b->d, "mkdir -p -m 700 '%s/%s'", b->d->dir, name);
	snprintf(place, sizeof(place), "posix:%s/%s", b->d->dir, name);
	assert_int_equal(tiers_set(&b->tiers, name, place), 0);
}

/* How many images each level has room for; and of how many questions at first the answer is that it is full. */
static unsigned int room_for, full_at_first;

/* In the place of the C library's: what a level asks before it copies. */
int statvfs(const char *path, struct statvfs *fs)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	unsigned int n = 0;

	if (!dir)
		return -1;
	while ((entry = readdir(dir)))
		n += strstr(entry->d_name, ".gen-") && entry->d_name[0] != '.';
	closedir(dir);
	*fs = (struct statvfs) { .f_frsize = 4096, .f_blocks = 1 << 20, .f_bavail = 1 << 20 };
	if ((room_for && n >= room_for) || full_at_first)
		fs->f_bavail = 0;
	full_at_first -= full_at_first ? 1 : 0;
	return 0;
}

static void set(struct box *b, const char *name, const char *value)
{
	assert_int_equal(tiers_set(&b->tiers, name, value), 0);
}

static int setup(void **state)
{
	struct box *b = calloc(1, sizeof(*b));
	void *disk;

	if (disk_setup(&disk))
		return -1;
	b->d = disk;
	b->events = json_array();
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct box *b = *state;
	void *disk = b->d;

	tiers_done(&b->tiers);
	json_decref(b->events);
	json_decref(b->bad);
	json_decref(b->unwanted);
	free(b);
	return disk_teardown(&disk);
}

static void on_event(json_t *event, void *arg)
{
	struct box *b = arg;

	json_array_append_new(b->events, event);
}

static json_t *run_as(struct box *b, const char *node)
{
	struct promotion p = {
		.catalog = &b->d->catalog, .tiers = &b->tiers, .node = node, .bad = b->bad,
		.state_dir = strcmp(node, "a") ? NULL : b->d->dir, .usable = ~0u,
		.secret = b->d->env.secret, .event = on_event, .arg = b,
	};
	json_t *outcome, *targets;

	json_array_clear(b->events);
	targets = json_pack("[{s:I, s:s, s:o, s:O*}]", "job", (json_int_t)b->d->job, "label", LABEL,
			    "generations", catalog_generations(&b->d->catalog, b->d->job),
			    "unwanted", b->unwanted);
	p.targets = targets;
	outcome = promotion_run(&p);
	json_decref(targets);
	if (!outcome_is_ok(outcome))
		fail_msg("%s", json_dumps(outcome, 0));
	json_decref(b->bad);
	b->bad = json_incref(json_object_get(json_object_get(outcome, "result"), "bad"));
	return outcome;
}

/* "3a 3b 2a": what was copied, in that order; "-1a" removed, "!1a" failed, "+1" merged. */
static const char *story(const struct box *b)
{
	static char text[1024];
	const json_t *event;
	size_t i, len = 0;

	text[0] = '\0';
	json_array_foreach(b->events, i, event) {
		const char *mark = json_object_get(event, "copied") ? "" :
				   json_object_get(event, "merged") ? "+" :
				   json_object_get(event, "removed") ? "-" : "!";

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%lld%s", len ? " " : "", mark,
					(long long)json_integer_value(json_object_get(event, "generation")),
					json_string_value(json_object_get(event, "level")) ?: "");
	}
	return text;
}

static void promote(struct box *b, const char *node, const char *what)
{
	json_t *outcome = run_as(b, node);
	const json_t *result = json_object_get(outcome, "result");

	assert_string_equal(story(b), what);
	assert_int_equal(json_object_size(json_object_get(result, "levels")), 0);
	assert_int_equal(json_integer_value(json_object_get(result, "left")), 0);
	json_decref(outcome);
}

/* States of a generation on all levels, as "here missing". */
static const char *states(const struct box *b, int64_t generation, int nodes)
{
	struct holdings_scope scope = { .tiers = &b->tiers, .node = "a", .label = LABEL };
	json_t *scan, *levels, *level;
	struct image_key *key = NULL;
	struct image_error error;
	static char text[256];
	size_t i, len = 0;

	assert_int_equal(image_key_load(b->d->key, &key, &error), 0);
	scope.key = key;
	scan = holdings_scan(&scope);
	levels = holdings_levels(&b->tiers, scan, holdings_of(scan, LABEL, generation), nodes,
				 catalog_has(&b->d->catalog, b->d->job, generation));
	text[0] = '\0';
	json_array_foreach(levels, i, level)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? " " : "",
					json_string_value(json_object_get(level, "state")));
	json_decref(levels);
	json_decref(scan);
	image_key_destroy(key);
	return text;
}

static void damage(const struct box *b, const char *path, const char *file, long at)
{
	char name[256];

	snprintf(name, sizeof(name), "../%s/%s", path, file);
	disk_flip(b->d, name, at);
}

/* ------------------------------------------------------------------- tests */

static void test_copies(void **state)
{
	struct box *b = *state;

	add_level(b, "p");
	add_level(b, "q");
	set(b, "q.every", "2");
	disk_store(b->d, 1);
	disk_store(b->d, 2);
	disk_store(b->d, 3);
	promote(b, "a", "3p 2p 2q 1p");
	promote(b, "a", "");
	assert_string_equal(states(b, 2, 0), "here here here");
	assert_string_equal(states(b, 3, 0), "here here missing");
	/* one that was lost there comes again; L1 may have gone */
	disk_run(b->d, "rm -r '%s/p/a/" LABEL ".gen-3'", b->d->dir);
	disk_run(b->d, "rm -r '%s/1/gen-1'", b->d->images);
	disk_store(b->d, 4);
	promote(b, "a", "4p 4q 3p");
	assert_string_equal(states(b, 1, 0), "missing here missing");
}

/* Of a job over nodes each node copies its own part. */
static void test_parts(void **state)
{
	struct box *b = *state;

	add_level(b, "p");
	disk_store_parts(b->d, 1, true);
	disk_store_parts(b->d, 2, false);
	promote(b, "a", "1p");
	assert_string_equal(states(b, 1, 2), "here partial");
	promote(b, "c", "");
	promote(b, "b", "1p");
	assert_string_equal(states(b, 1, 2), "here here");
	/* it counts, for the rule, when all have theirs there */
	set(b, "p.keep", "1");
	disk_store_parts(b->d, 3, true);
	promote(b, "a", "3p");
	promote(b, "b", "3p -1p");
	promote(b, "a", "-1p");
	assert_string_equal(states(b, 3, 2), "here here");
}

/* What L1 has not any more counts on a level as well, or a level would keep all of it. */
static void test_parts_kept(void **state)
{
	struct box *b = *state;
	int64_t n;

	add_level(b, "p");
	for (n = 1; n <= 4; n++)
		disk_store_parts(b->d, n, true);
	promote(b, "a", "4p 3p 2p 1p");
	promote(b, "b", "4p 3p 2p 1p");
	disk_run(b->d, "rm -r '%s/1/gen-1' '%s/1/gen-2'", b->d->images, b->d->images);
	set(b, "p.keep", "4");
	disk_store_parts(b->d, 5, true);
	promote(b, "a", "5p");
	promote(b, "b", "5p -1p");
	promote(b, "a", "-1p");
	assert_string_equal(states(b, 2, 2), "missing here");
	/* of L1 nothing is left: then it is not known what could be restarted from, and nothing goes */
	disk_run(b->d, "rm -r '%s'/1/gen-*", b->d->images);
	set(b, "p.keep", "1");
	promote(b, "a", "");
}

/* One that stands on others is merged when a level wants it, and only then. */
static void test_merged(void **state)
{
	struct box *b = *state;
	int64_t n;

	add_level(b, "p");
	add_level(b, "q");
	set(b, "p.every", "2");
	set(b, "q.every", "4");
	disk_store(b->d, 1);
	for (n = 2; n <= 4; n++)
		disk_store_upon(b->d, n);
	promote(b, "a", "+4 4p 4q +2 2p");
	assert_string_equal(states(b, 4, 0), "here here here");
	assert_true(disk_has(b->d, "1/gen-3/base1"));
	assert_false(disk_has(b->d, "1/gen-4/base1"));
	assert_false(disk_has(b->d, "1/gen-2/base1"));
	promote(b, "a", "");
	/* each is whole by itself */
	disk_run(b->d, "rm -r '%s/1/gen-1' '%s/1/gen-2'", b->d->images, b->d->images);
	disk_store_upon(b->d, 5);
	disk_store_upon(b->d, 6);
	promote(b, "a", "+6 6p");
}

/* One that cannot be merged is not copied, and levels are not blamed; a damaged one is said to be. */
static void test_unmerged(void **state)
{
	struct box *b = *state;
	json_t *outcome;
	int dir;

	add_level(b, "p");
	disk_store(b->d, 1);
	disk_store_upon(b->d, 2);
	/* somebody merges it: later, then */
	disk_run(b->d, "mkdir '%s/1/.tmp-merged-gen-2'", b->d->images);
	dir = open(disk_path(b->d, "1/.tmp-merged-gen-2"), O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(dir, LOCK_EX), 0);
	promote(b, "a", "1p");
	close(dir);
	/* a page of generation 1, in the file of that name: its other name is gen-1/pages */
	disk_flip(b->d, "1/gen-2/base1", 100);
	outcome = run_as(b, "a");
	assert_string_equal(story(b), "!2");
	assert_true(json_is_true(json_object_get(json_array_get(b->events, 0), "damaged")));
	assert_non_null(json_object_get(b->bad, LABEL ".gen-2"));
	assert_int_equal(json_object_size(json_object_get(json_object_get(outcome, "result"),
							  "levels")), 0);
	json_decref(outcome);
	assert_true(disk_has(b->d, "1/gen-2/base1"));
	promote(b, "a", "");
}

/* Who copies does not have the secret, who merges needs it; that it is away is no fault of the image. */
static void test_encrypted(void **state)
{
	struct box *b = *state;
	struct image_error error;
	json_t *outcome;
	char secret[80];

	snprintf(secret, sizeof(secret), "%s/secret", b->d->dir);
	assert_int_equal(image_key_create(secret, &error), 0);
	b->d->env.secret = secret;
	add_level(b, "p");
	disk_store(b->d, 1);
	disk_store_upon(b->d, 2);
	disk_run(b->d, "mv '%s' '%s.away'", secret, secret);
	outcome = run_as(b, "a");
	assert_string_equal(story(b), "!2 1p");
	assert_non_null(strstr(json_string_value(json_object_get(json_array_get(b->events, 0), "text")),
			       secret));
	assert_int_equal(json_object_size(b->bad), 0);
	json_decref(outcome);
	assert_true(disk_has(b->d, "1/gen-2/base1"));
	disk_run(b->d, "mv '%s.away' '%s'", secret, secret);
	promote(b, "a", "+2 2p");
	assert_string_equal(states(b, 2, 0), "here here");
	assert_false(disk_has(b->d, "1/gen-2/base1"));
}

static void test_damage(void **state)
{
	struct box *b = *state;
	json_t *outcome;

	add_level(b, "p");
	disk_store(b->d, 1);
	disk_store(b->d, 2);
	disk_flip(b->d, "1/gen-2/pages", 100);
	outcome = run_as(b, "a");
	assert_string_equal(story(b), "!2p 1p");
	assert_non_null(json_object_get(b->bad, LABEL ".gen-2"));
	assert_int_equal(json_object_size(json_object_get(json_object_get(outcome, "result"),
							  "levels")), 0);
	json_decref(outcome);
	/* it is not tried each time */
	promote(b, "a", "");
	assert_string_equal(states(b, 2, 0), "here missing");
	/* damage of the copy's manifest: it is made anew, as long as the original is good */
	damage(b, "p/a/" LABEL ".gen-1", "manifest", 60);
	assert_string_equal(states(b, 1, 0), "here damaged");
	promote(b, "a", "1p");
	assert_string_equal(states(b, 1, 0), "here here");
	damage(b, "p/a/" LABEL ".gen-1", "manifest", 60);
	disk_flip(b->d, "1/gen-1/pages", 100);
	outcome = run_as(b, "a");
	assert_string_equal(story(b), "!1p");
	json_decref(outcome);
	assert_true(disk_has(b->d, "../p/a/" LABEL ".gen-1/manifest"));
}

/* Of what has gone from L1 nothing is remembered: its number may come back with another image. */
static void test_gone(void **state)
{
	struct box *b = *state;

	add_level(b, "p");
	disk_store(b->d, 1);
	disk_store(b->d, 2);
	disk_flip(b->d, "1/gen-1/manifest", 60);
	disk_flip(b->d, "1/gen-2/pages", 100);
	promote(b, "a", "!1 !2p");
	assert_int_equal(json_object_size(b->bad), 2);
	disk_run(b->d, "rm -r '%s/1/gen-2'", b->d->images);
	promote(b, "a", "");
	assert_int_equal(json_object_size(b->bad), 1);
	disk_store(b->d, 2);
	promote(b, "a", "2p");
}

/* Somebody has just given it its name, or the disk fails for a while: the next run copies it. */
static void test_passing(void **state)
{
	struct box *b = *state;
	int dir;

	add_level(b, "p");
	disk_store(b->d, 1);
	disk_store(b->d, 2);
	dir = open(disk_path(b->d, "1/gen-2"), O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(dir, LOCK_EX), 0);
	promote(b, "a", "1p");
	assert_int_equal(json_object_size(b->bad), 0);
	close(dir);
	disk_break(b->d, "1/gen-2/manifest");
	promote(b, "a", "!2");
	assert_int_equal(json_object_size(b->bad), 0);
	disk_break(b->d, NULL);
	promote(b, "a", "2p");
}

/* A sector of L1 that cannot be read is not the levels' fault: they get what else there is. */
static void test_bad_sector(void **state)
{
	struct box *b = *state;
	const json_t *result;
	json_t *outcome;

	add_level(b, "p");
	disk_store(b->d, 1);
	disk_store(b->d, 2);
	disk_break(b->d, "1/gen-2/pages");
	outcome = run_as(b, "a");
	result = json_object_get(outcome, "result");
	assert_string_equal(story(b), "!2p 1p");
	assert_int_equal(json_object_size(json_object_get(result, "levels")), 0);
	json_decref(outcome);
	assert_string_equal(states(b, 1, 0), "here here");
	disk_store(b->d, 3);
	promote(b, "a", "3p");
}

/* What is no image that levels take: said once, and nobody's fault. */
static void test_no_source(void **state)
{
	struct box *b = *state;

	add_level(b, "p");
	disk_store(b->d, 1);
	disk_store(b->d, 2);
	disk_flip(b->d, "1/gen-2/manifest", 60);
	promote(b, "a", "!2 1p");
	promote(b, "a", "");
}

/* A level that is not there is left out, and the others are not. */
static void test_absent_level(void **state)
{
	struct box *b = *state;
	const json_t *why;
	json_t *outcome;

	add_level(b, "p");
	add_level(b, "q");
	disk_store(b->d, 1);
	promote(b, "a", "1p 1q");
	/* as of a file system that is not mounted: the bare directory is not filled */
	disk_run(b->d, "mv '%s/p' '%s/away' && mkdir -m 700 '%s/p'", b->d->dir, b->d->dir, b->d->dir);
	disk_store(b->d, 2);
	outcome = run_as(b, "a");
	assert_string_equal(story(b), "2q");
	why = json_object_get(json_object_get(json_object_get(outcome, "result"), "levels"), "p");
	assert_int_equal(json_integer_value(json_object_get(why, "errno")), ESTALE);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(outcome, "result"),
							    "left")), 2);
	json_decref(outcome);
	assert_false(disk_has(b->d, "../p/a"));
	disk_run(b->d, "rmdir '%s/p'", b->d->dir);
	outcome = run_as(b, "a");
	why = json_object_get(json_object_get(json_object_get(outcome, "result"), "levels"), "p");
	assert_int_equal(json_integer_value(json_object_get(why, "errno")), ENOENT);
	json_decref(outcome);
	assert_string_equal(states(b, 1, 0), "here unknown here");
	disk_run(b->d, "mv '%s/away' '%s/p'", b->d->dir, b->d->dir);
	promote(b, "a", "2p");
}

static void test_retention(void **state)
{
	struct box *b = *state;
	char why[256];
	int64_t n;

	add_level(b, "p");
	set(b, "p.keep", "2");
	for (n = 1; n <= 4; n++)
		disk_store(b->d, n);
	promote(b, "a", "4p 3p");
	assert_int_equal(pin_set(&b->d->catalog, b->d->job, 3, 0, "a", why, sizeof(why)), 0);
	disk_store(b->d, 5);
	disk_store(b->d, 6);
	promote(b, "a", "6p 5p -4p");
	/* the newest copies are damaged: those before stay */
	damage(b, "p/a/" LABEL ".gen-6", "manifest", 60);
	disk_run(b->d, "rm -r '%s/1/gen-6' '%s/1/gen-5'", b->d->images, b->d->images);
	promote(b, "a", "4p");
	assert_string_equal(states(b, 5, 0), "missing here");
	assert_string_equal(states(b, 6, 0), "missing damaged");
}

/* A level that is full is pruned by its rule, and gets what there is room for then. */
static void test_full(void **state)
{
	struct box *b = *state;
	const json_t *result, *why;
	json_t *outcome;
	int64_t n;

	add_level(b, "p");
	for (n = 1; n <= 4; n++)
		disk_store(b->d, n);
	promote(b, "a", "4p 3p 2p 1p");
	room_for = 4;
	set(b, "p.keep", "2");
	disk_store(b->d, 5);
	promote(b, "a", "-1p -2p 5p -3p");
	/* one that does not fit is no reason to leave out what does */
	room_for = 0;
	set(b, "p.keep", "0");
	disk_store(b->d, 6);
	disk_store(b->d, 7);
	full_at_first = 1;
	outcome = run_as(b, "a");
	result = json_object_get(outcome, "result");
	assert_string_equal(story(b), "6p 3p 2p 1p");
	why = json_object_get(json_object_get(result, "levels"), "p");
	assert_int_equal(json_integer_value(json_object_get(why, "errno")), ENOSPC);
	assert_int_equal(json_integer_value(json_object_get(result, "left")), 1);
	json_decref(outcome);
	promote(b, "a", "7p");
	/* without a rule nothing goes, and it is said that it is full */
	room_for = 1;
	disk_store(b->d, 8);
	outcome = run_as(b, "a");
	assert_string_equal(story(b), "");
	assert_int_equal(json_object_size(json_object_get(json_object_get(outcome, "result"), "levels")), 1);
	json_decref(outcome);
	room_for = 0;
}

/* Another image of that number: nothing is overwritten. */
static void test_taken(void **state)
{
	struct box *b = *state;
	json_t *outcome;

	add_level(b, "p");
	disk_store(b->d, 1);
	promote(b, "a", "1p");
	disk_run(b->d, "rm -r '%s/1/gen-1'", b->d->images);
	disk_store(b->d, 1);
	/* it is not taken for a copy, and said once */
	promote(b, "a", "!1p");
	promote(b, "a", "");
	assert_non_null(json_object_get(b->bad, "p/" LABEL ".gen-1"));
	assert_true(disk_has(b->d, "../p/a/" LABEL ".gen-1/manifest"));
	/* once it is removed there, ours comes; other jobs' stay as they are */
	json_object_set_new(b->bad, "p/2-0123456789abcdef.gen-1", json_string("x"));
	json_object_set_new(b->bad, "1-0123456789abcde.gen-1", json_string("x"));
	disk_run(b->d, "cp -r '%s/p/a/" LABEL ".gen-1' '%s/old'; rm -r '%s/p/a/" LABEL ".gen-1'", b->d->dir,
		 b->d->dir, b->d->dir);
	promotion_forget(b->bad, LABEL);
	assert_int_equal(json_object_size(b->bad), 2);
	promote(b, "a", "1p");
	assert_int_equal(json_object_size(b->bad), 2);
	disk_run(b->d, "rm -r '%s/p/a/" LABEL ".gen-1'; mv '%s/old' '%s/p/a/" LABEL ".gen-1'", b->d->dir,
		 b->d->dir, b->d->dir);
	disk_run(b->d, "mv '%s/p/a/" LABEL ".gen-1' '%s/p/a/" LABEL ".gen-2'", b->d->dir, b->d->dir);
	disk_store(b->d, 2);
	outcome = run_as(b, "a");
	json_decref(outcome);
	assert_true(disk_has(b->d, "../p/a/" LABEL ".gen-2/manifest"));
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static uint64_t bytes_copied(const struct box *b)
{
	const json_t *event;
	uint64_t bytes = 0;
	size_t i;

	json_array_foreach(b->events, i, event)
		bytes += (uint64_t)json_integer_value(json_object_get(event, "bytes"));
	return bytes;
}

static void test_limit(void **state)
{
	struct box *b = *state;
	double began, took, least;

	add_level(b, "p");
	set(b, "p.limit", "20K");
	disk_store(b->d, 1);
	disk_store(b->d, 2);
	began = seconds();
	promote(b, "a", "2p 1p");
	took = seconds() - began;
	/* without what may go at once, and what is owed at the end */
	least = (double)bytes_copied(b) / 2 / 20480 - 0.11;
	if (took < least)
		fail_msg("%.2f s, at least %.2f expected", took, least);
}

/* Ended at any instant: the next run goes on, and nothing is left over. */
static void test_killed(void **state)
{
	struct box *b = *state;
	struct timespec wait = { 0 };
	unsigned int turn;
	int64_t n;
	pid_t pid;

	add_level(b, "p");
	for (n = 1; n <= 6; n++)
		disk_store(b->d, n);
	for (turn = 0; turn < 12; turn++) {
		pid = fork();
		if (!pid) {
			run_as(b, "a");
			_exit(0);
		}
		wait.tv_nsec = 400000L * (turn + 1) * (turn + 1);
		nanosleep(&wait, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		if (turn % 4 == 3)
			disk_run(b->d, "rm -rf '%s/p/a/" LABEL ".gen-3'", b->d->dir);
	}
	json_decref(run_as(b, "a"));
	promote(b, "a", "");
	for (n = 1; n <= 6; n++)
		assert_string_equal(states(b, n, 0), "here here");
	disk_run(b->d, "! ls -A '%s/p/a' | grep -v '^" LABEL "' | grep -v stillpoint-level", b->d->dir);
}

static void want_less(struct box *b, const char *level, int64_t generation, int64_t to)
{
	json_t *numbers = generation ? json_pack("[I]", (json_int_t)generation) : NULL;
	json_t *all = unwanted_add(b->unwanted, &b->tiers, level, numbers, to);

	json_decref(numbers);
	json_decref(b->unwanted);
	b->unwanted = all;
}

/* What could not be removed then goes now, unless it is the last. */
static void test_unwanted(void **state)
{
	struct box *b = *state;
	int64_t n;

	add_level(b, "p");
	add_level(b, "q");
	for (n = 1; n <= 4; n++)
		disk_store(b->d, n);
	promote(b, "a", "4p 4q 3p 3q 2p 2q 1p 1q");
	want_less(b, "q", 4, 0);
	want_less(b, "q", 4, 0);
	assert_int_equal(json_array_size(json_object_get(b->unwanted, "q")), 1);
	promote(b, "a", "-4q");
	promote(b, "a", "");
	assert_string_equal(states(b, 4, 0), "here here missing");
	/* L1 is lost: what is left on the other level is enough for that */
	disk_run(b->d, "rm -r '%s'/1/gen-*", b->d->images);
	want_less(b, NULL, 3, 0);
	promote(b, "a", "-3p -3q");
	/* all are to go, but nothing else would be left */
	want_less(b, NULL, 0, 4);
	promote(b, "a", "");
	assert_string_equal(states(b, 4, 0), "missing here missing");
	disk_store(b->d, 5);
	promote(b, "a", "5p 5q -1p -1q -2p -2q -4p");
	assert_string_equal(states(b, 5, 0), "here here here");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_copies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parts_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_merged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unmerged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_encrypted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_sector, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_passing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_source, setup, teardown),
		cmocka_unit_test_setup_teardown(test_absent_level, setup, teardown),
		cmocka_unit_test_setup_teardown(test_retention, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unwanted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
	};

	return cmocka_run_group_tests_name("promotion", tests, NULL, NULL);
}
