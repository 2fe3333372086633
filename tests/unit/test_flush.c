// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying generations to other levels, on real images and directories; and what the levels say of
 * themselves then.  What goes wrong with either: test_flush_faults.c.
 */
#include "base/error.h"
#include "tests/unit/flush_box.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "image/key.h"
#include "base/outcome.h"
#include "supervisor/catalog/pin.h"
#include "supervisor/storage/flush.h"
#include "supervisor/storage/tombstone.h"

/* ------------------------------------------------------------------- tests */

static void test_copies(void **state)
{
	struct box *b = *state;

	add_level(b, "p");
	add_level(b, "q");
	set_level(b, "q.every", "2");
	disk_store(b->d, 1);
	disk_store(b->d, 2);
	disk_store(b->d, 3);
	flush_all(b, "a", "3p 2p 2q 1p");
	flush_all(b, "a", "");
	assert_string_equal(states(b, 2, 0), "here here here");
	assert_string_equal(states(b, 3, 0), "here here missing");
	/* one that was lost there comes again; L1 may have gone */
	disk_run(b->d, "rm -r '%s/p/a/" LABEL ".gen-3'", b->d->dir);
	disk_run(b->d, "rm -r '%s/1/gen-1'", b->d->images);
	disk_store(b->d, 4);
	flush_all(b, "a", "4p 4q 3p");
	assert_string_equal(states(b, 1, 0), "missing here missing");
}

/*
 * What a level has of other jobs costs nothing, unless so many are looked at that one list is
 * cheaper.
 */
static void test_of_many(void **state)
{
	struct box *b = *state;
	int fd;

	add_level(b, "p");
	disk_store(b->d, 1);
	flush_all(b, "a", "1p");
	disk_run(b->d, "cp -r '%s/p/a/" LABEL ".gen-1' '%s/p/a/2-0123456789abcdef.gen-1'",
		 b->d->dir, b->d->dir);
	fd = watch(b, "p/a/2-0123456789abcdef.gen-1");
	disk_store(b->d, 2);
	flush_all(b, "a", "2p");
	assert_string_equal(states(b, 2, 0), "here here");
	b->others = 7;
	disk_store(b->d, 3);
	flush_all(b, "a", "3p");
	assert_false(opened(fd));
	b->others = 8;
	disk_store(b->d, 4);
	flush_all(b, "a", "4p");
	assert_true(opened(fd));
	close(fd);
}

/* Of a job over nodes each node copies its own part. */
static void test_parts(void **state)
{
	struct box *b = *state;

	add_level(b, "p");
	disk_store_parts(b->d, 1, true);
	disk_store_parts(b->d, 2, false);
	flush_all(b, "a", "1p");
	assert_string_equal(states(b, 1, 2), "here partial");
	flush_all(b, "c", "");
	flush_all(b, "b", "1p");
	assert_string_equal(states(b, 1, 2), "here here");
	/* it counts, for the rule, when all have theirs there */
	set_level(b, "p.keep", "1");
	disk_store_parts(b->d, 3, true);
	flush_all(b, "a", "3p");
	flush_all(b, "b", "3p -1p");
	flush_all(b, "a", "-1p");
	assert_string_equal(states(b, 3, 2), "here here");
}

/*
 * Other nodes' images are read when something is to go, and then only those of the generations
 * that stay: not at each commit, and not all of them.
 */
static void test_parts_read(void **state)
{
	struct box *b = *state;
	int fd[4];
	int64_t n;

	add_level(b, "p");
	set_level(b, "p.keep", "3");
	for (n = 1; n <= 3; n++)
		disk_store_parts(b->d, n, true);
	flush_all(b, "a", "3p 2p 1p");
	flush_all(b, "b", "3p 2p 1p");
	for (n = 1; n <= 3; n++) {
		char path[80];

		snprintf(path, sizeof(path), "p/b/" LABEL ".gen-%d.node-1", (int)n);
		fd[n] = watch(b, path);
	}
	flush_all(b, "a", "");
	assert_false(opened(fd[1]) || opened(fd[2]) || opened(fd[3]));
	/* as far as that is not there as a whole, one more stays */
	disk_store_parts(b->d, 4, true);
	flush_all(b, "a", "4p");
	assert_true(opened(fd[1]) && opened(fd[2]) && opened(fd[3]));
	flush_all(b, "b", "4p -1p");
	opened(fd[1]);
	opened(fd[2]);
	opened(fd[3]);
	flush_all(b, "a", "-1p");
	assert_false(opened(fd[1]));
	assert_true(opened(fd[2]) && opened(fd[3]));
	for (n = 1; n <= 3; n++)
		close(fd[n]);
}

/* What L1 has not any more counts on a level as well, or a level would keep all of it. */
static void test_parts_kept(void **state)
{
	struct box *b = *state;
	int64_t n;

	add_level(b, "p");
	for (n = 1; n <= 4; n++)
		disk_store_parts(b->d, n, true);
	flush_all(b, "a", "4p 3p 2p 1p");
	flush_all(b, "b", "4p 3p 2p 1p");
	disk_run(b->d, "rm -r '%s/1/gen-1' '%s/1/gen-2'", b->d->images, b->d->images);
	set_level(b, "p.keep", "4");
	disk_store_parts(b->d, 5, true);
	flush_all(b, "a", "5p");
	flush_all(b, "b", "5p -1p");
	flush_all(b, "a", "-1p");
	assert_string_equal(states(b, 2, 2), "missing here");
	/*
	 * of L1 nothing is left: then it is not known what could be restarted from, and
	 * nothing goes
	 */
	disk_run(b->d, "rm -r '%s'/1/gen-*", b->d->images);
	set_level(b, "p.keep", "1");
	flush_all(b, "a", "");
}

/* One that stands on others is merged when a level wants it, and only then. */
static void test_merged(void **state)
{
	struct box *b = *state;
	int64_t n;

	add_level(b, "p");
	add_level(b, "q");
	set_level(b, "p.every", "2");
	set_level(b, "q.every", "4");
	disk_store(b->d, 1);
	for (n = 2; n <= 4; n++)
		disk_store_upon(b->d, n);
	flush_all(b, "a", "+4 4p 4q +2 2p");
	assert_string_equal(states(b, 4, 0), "here here here");
	assert_true(disk_has(b->d, "1/gen-3/base1"));
	assert_false(disk_has(b->d, "1/gen-4/base1"));
	assert_false(disk_has(b->d, "1/gen-2/base1"));
	flush_all(b, "a", "");
	/* each is whole by itself */
	disk_run(b->d, "rm -r '%s/1/gen-1' '%s/1/gen-2'", b->d->images, b->d->images);
	disk_store_upon(b->d, 5);
	disk_store_upon(b->d, 6);
	flush_all(b, "a", "+6 6p");
}

/*
 * One that cannot be merged is not copied, and levels are not blamed; a damaged one is said to
 * be.
 */
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
	flush_all(b, "a", "1p");
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
	flush_all(b, "a", "");
}

/* What hinders a merge and passes keeps no image from the levels for good. */
static void test_unmerged_for_now(void **state)
{
	struct box *b = *state;
	json_t *outcome;

	add_level(b, "p");
	disk_store(b->d, 1);
	disk_store_upon(b->d, 2);
	disk_run(b->d, "echo in the way > '%s/1/.tmp-merged-gen-2'", b->d->images);
	outcome = run_as(b, "a");
	assert_string_equal(story(b), "!2 1p");
	assert_int_equal(json_object_size(b->bad), 0);
	json_decref(outcome);
	disk_run(b->d, "rm '%s/1/.tmp-merged-gen-2'", b->d->images);
	flush_all(b, "a", "+2 2p");
}

/*
 * Who copies does not have the secret, who merges needs it; that it is away is no fault of the
 * image.
 */
static void test_encrypted(void **state)
{
	struct box *b = *state;
	struct ckpt_error error;
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
	assert_non_null(
		strstr(json_string_value(json_object_get(json_array_get(b->events, 0), "text")),
		       secret));
	assert_int_equal(json_object_size(b->bad), 0);
	json_decref(outcome);
	assert_true(disk_has(b->d, "1/gen-2/base1"));
	disk_run(b->d, "mv '%s.away' '%s'", secret, secret);
	flush_all(b, "a", "+2 2p");
	assert_string_equal(states(b, 2, 0), "here here");
	assert_false(disk_has(b->d, "1/gen-2/base1"));
}

static void test_retention(void **state)
{
	struct box *b = *state;
	struct ckpt_error error = {};
	int64_t n;

	add_level(b, "p");
	set_level(b, "p.keep", "2");
	for (n = 1; n <= 4; n++)
		disk_store(b->d, n);
	flush_all(b, "a", "4p 3p");
	assert_int_equal(pin_set(&b->d->catalog, b->d->job, 3, 0, "a", &error), 0);
	disk_store(b->d, 5);
	disk_store(b->d, 6);
	flush_all(b, "a", "6p 5p -4p");
	/* the newest copies are damaged: those before stay */
	damage(b, "p/a/" LABEL ".gen-6", "manifest", 60);
	disk_run(b->d, "rm -r '%s/1/gen-6' '%s/1/gen-5'", b->d->images, b->d->images);
	flush_all(b, "a", "4p");
	assert_string_equal(states(b, 5, 0), "missing here");
	assert_string_equal(states(b, 6, 0), "missing damaged");
}

/* Another image of that number: nothing is overwritten. */
static void test_taken(void **state)
{
	struct box *b = *state;
	json_t *outcome;

	add_level(b, "p");
	disk_store(b->d, 1);
	flush_all(b, "a", "1p");
	disk_run(b->d, "rm -r '%s/1/gen-1'", b->d->images);
	disk_store(b->d, 1);
	/* it is not taken for a copy, and said once */
	flush_all(b, "a", "!1p");
	flush_all(b, "a", "");
	assert_non_null(json_object_get(b->bad, "p/" LABEL ".gen-1"));
	assert_true(disk_has(b->d, "../p/a/" LABEL ".gen-1/manifest"));
	/* once it is removed there, ours comes; other jobs' stay as they are */
	json_object_set_new(b->bad, "p/2-0123456789abcdef.gen-1", json_string("x"));
	json_object_set_new(b->bad, "1-0123456789abcde.gen-1", json_string("x"));
	disk_run(b->d, "cp -r '%s/p/a/" LABEL ".gen-1' '%s/old'; rm -r '%s/p/a/" LABEL ".gen-1'",
		 b->d->dir, b->d->dir, b->d->dir);
	flush_forget(b->bad, LABEL);
	assert_int_equal(json_object_size(b->bad), 2);
	flush_all(b, "a", "1p");
	assert_int_equal(json_object_size(b->bad), 2);
	disk_run(b->d, "rm -r '%s/p/a/" LABEL ".gen-1'; mv '%s/old' '%s/p/a/" LABEL ".gen-1'",
		 b->d->dir, b->d->dir, b->d->dir);
	disk_run(b->d, "mv '%s/p/a/" LABEL ".gen-1' '%s/p/a/" LABEL ".gen-2'", b->d->dir,
		 b->d->dir);
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
	set_level(b, "p.limit", "20K");
	disk_store(b->d, 1);
	disk_store(b->d, 2);
	began = seconds();
	flush_all(b, "a", "2p 1p");
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
	flush_all(b, "a", "");
	for (n = 1; n <= 6; n++)
		assert_string_equal(states(b, n, 0), "here here");
	disk_run(b->d, "! ls -A '%s/p/a' | grep -v '^" LABEL "' | grep -v stillpoint-level",
		 b->d->dir);
}

static void want_less(struct box *b, const char *level, int64_t generation, int64_t to)
{
	json_t *numbers = generation ? json_pack("[I]", (json_int_t)generation) : NULL;
	json_t *all = tombstone_add(b->tombstones, &b->levels, level, numbers, to);

	json_decref(numbers);
	json_decref(b->tombstones);
	b->tombstones = all;
}

/* What could not be removed then goes now, unless it is the last. */
static void test_tombstone(void **state)
{
	struct box *b = *state;
	int64_t n;

	add_level(b, "p");
	add_level(b, "q");
	for (n = 1; n <= 4; n++)
		disk_store(b->d, n);
	flush_all(b, "a", "4p 4q 3p 3q 2p 2q 1p 1q");
	want_less(b, "q", 4, 0);
	want_less(b, "q", 4, 0);
	assert_int_equal(json_array_size(json_object_get(b->tombstones, "q")), 1);
	flush_all(b, "a", "-4q");
	flush_all(b, "a", "");
	assert_string_equal(states(b, 4, 0), "here here missing");
	/* L1 is lost: what is left on the other level is enough for that */
	disk_run(b->d, "rm -r '%s'/1/gen-*", b->d->images);
	want_less(b, NULL, 3, 0);
	flush_all(b, "a", "-3p -3q");
	/* all are to go, but nothing else would be left */
	want_less(b, NULL, 0, 4);
	flush_all(b, "a", "");
	assert_string_equal(states(b, 4, 0), "missing here missing");
	disk_store(b->d, 5);
	flush_all(b, "a", "5p 5q -1p -1q -2p -2q -4p");
	assert_string_equal(states(b, 5, 0), "here here here");
}

/*
 * Between two copies it may be told to end: the rules hold all the same, and what is left is
 * known.
 */
static void test_stopped(void **state)
{
	struct box *b = *state;
	json_t *outcome;
	int64_t n;

	add_level(b, "p");
	for (n = 1; n <= 3; n++)
		disk_store(b->d, n);
	b->stop_at = 1;
	outcome = run_as(b, "a");
	assert_string_equal(story(b), "3p");
	assert_int_equal(json_integer_value(
				 json_object_get(json_object_get(outcome, "result"), "left")),
			 2);
	json_decref(outcome);
	/* what is newer comes first, in the next run */
	disk_store(b->d, 4);
	set_level(b, "p.keep", "1");
	flush_all(b, "a", "4p -3p");
	b->stop_at = 0;
	flush_all(b, "a", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_copies, box_setup, box_teardown),
		cmocka_unit_test_setup_teardown(test_of_many, box_setup, box_teardown),
		cmocka_unit_test_setup_teardown(test_parts, box_setup, box_teardown),
		cmocka_unit_test_setup_teardown(test_parts_read, box_setup, box_teardown),
		cmocka_unit_test_setup_teardown(test_parts_kept, box_setup, box_teardown),
		cmocka_unit_test_setup_teardown(test_merged, box_setup, box_teardown),
		cmocka_unit_test_setup_teardown(test_unmerged, box_setup, box_teardown),
		cmocka_unit_test_setup_teardown(test_unmerged_for_now, box_setup, box_teardown),
		cmocka_unit_test_setup_teardown(test_encrypted, box_setup, box_teardown),
		cmocka_unit_test_setup_teardown(test_retention, box_setup, box_teardown),
		cmocka_unit_test_setup_teardown(test_taken, box_setup, box_teardown),
		cmocka_unit_test_setup_teardown(test_tombstone, box_setup, box_teardown),
		cmocka_unit_test_setup_teardown(test_stopped, box_setup, box_teardown),
		cmocka_unit_test_setup_teardown(test_limit, box_setup, box_teardown),
		cmocka_unit_test_setup_teardown(test_killed, box_setup, box_teardown),
	};

	return cmocka_run_group_tests_name("flush", tests, NULL, NULL);
}
