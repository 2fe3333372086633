// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying to other levels when an image is damaged, busy, gone, or cannot be read, and a level
 * away or full: whose fault it is, what is done all the same, and what of it is remembered.
 */
#include "tests/unit/flush_box.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

/*
 * How many images each level has room for; and of how many questions at first the answer is
 * that it is full.
 */
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

/* So that no other image stands on it. */
static bool is_said_damaged(const struct box *b)
{
	return json_is_true(json_object_get(json_array_get(b->events, 0), "damaged"));
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
	assert_true(is_said_damaged(b));
	assert_non_null(json_object_get(b->bad, LABEL ".gen-2"));
	assert_int_equal(json_object_size(json_object_get(json_object_get(outcome, "result"),
							  "levels")), 0);
	json_decref(outcome);
	/* it is not tried each time */
	flush_all(b, "a", "");
	assert_string_equal(states(b, 2, 0), "here missing");
	/* damage of the copy's manifest: it is made anew, as long as the original is good */
	damage(b, "p/a/" LABEL ".gen-1", "manifest", 60);
	assert_string_equal(states(b, 1, 0), "here damaged");
	flush_all(b, "a", "1p");
	assert_string_equal(states(b, 1, 0), "here here");
	damage(b, "p/a/" LABEL ".gen-1", "manifest", 60);
	disk_flip(b->d, "1/gen-1/pages", 100);
	outcome = run_as(b, "a");
	assert_string_equal(story(b), "!1p");
	assert_true(is_said_damaged(b));
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
	flush_all(b, "a", "!1 !2p");
	assert_int_equal(json_object_size(b->bad), 2);
	disk_run(b->d, "rm -r '%s/1/gen-2'", b->d->images);
	flush_all(b, "a", "");
	assert_int_equal(json_object_size(b->bad), 1);
	disk_store(b->d, 2);
	flush_all(b, "a", "2p");
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
	flush_all(b, "a", "1p");
	assert_int_equal(json_object_size(b->bad), 0);
	close(dir);
	disk_break(b->d, "1/gen-2/manifest");
	flush_all(b, "a", "!2");
	assert_int_equal(json_object_size(b->bad), 0);
	disk_break(b->d, NULL);
	flush_all(b, "a", "2p");
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
	assert_true(is_said_damaged(b));
	assert_int_equal(json_object_size(json_object_get(result, "levels")), 0);
	json_decref(outcome);
	assert_string_equal(states(b, 1, 0), "here here");
	disk_store(b->d, 3);
	flush_all(b, "a", "3p");
}

/*
 * A copy whose manifest its level does not give back is as good as none; one of L1's that is
 * damaged replaces nothing.
 */
static void test_bad_copy(void **state)
{
	struct box *b = *state;

	add_level(b, "p");
	disk_store(b->d, 1);
	disk_store(b->d, 2);
	flush_all(b, "a", "2p 1p");
	/* its number is not to become that of the new one */
	disk_run(b->d, "ln '%s/p/a/" LABEL ".gen-1/manifest' '%s/kept'", b->d->dir, b->d->dir);
	disk_break(b->d, "../p/a/" LABEL ".gen-1/manifest");
	flush_all(b, "a", "1p");
	assert_string_equal(states(b, 1, 0), "here here");
	disk_break(b->d, "../p/a/" LABEL ".gen-2/manifest");
	disk_flip(b->d, "1/gen-2/pages", 100);
	flush_all(b, "a", "!2p");
	disk_break(b->d, NULL);
	assert_string_equal(states(b, 2, 0), "here here");
}

/* What is no image that levels take: said once, and nobody's fault. */
static void test_no_source(void **state)
{
	struct box *b = *state;

	add_level(b, "p");
	disk_store(b->d, 1);
	disk_store(b->d, 2);
	disk_flip(b->d, "1/gen-2/manifest", 60);
	flush_all(b, "a", "!2 1p");
	flush_all(b, "a", "");
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
	flush_all(b, "a", "1p 1q");
	/* as of a file system that is not mounted: the bare directory is not filled */
	disk_run(b->d, "mv '%s/p' '%s/away' && mkdir -m 700 '%s/p'", b->d->dir, b->d->dir,
		 b->d->dir);
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
	flush_all(b, "a", "2p");
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
	flush_all(b, "a", "4p 3p 2p 1p");
	room_for = 4;
	set_level(b, "p.keep", "2");
	disk_store(b->d, 5);
	flush_all(b, "a", "-1p -2p 5p -3p");
	/* one that does not fit is no reason to leave out what does */
	room_for = 0;
	set_level(b, "p.keep", "0");
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
	flush_all(b, "a", "7p");
	/* without a rule nothing goes, and it is said that it is full */
	room_for = 1;
	disk_store(b->d, 8);
	outcome = run_as(b, "a");
	assert_string_equal(story(b), "");
	assert_int_equal(json_object_size(
				 json_object_get(json_object_get(outcome, "result"), "levels")),
			 1);
	json_decref(outcome);
	room_for = 0;
}

#define T(f) cmocka_unit_test_setup_teardown(f, box_setup, box_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_damage),
		T(test_gone),
		T(test_passing),
		T(test_bad_sector),
		T(test_bad_copy),
		T(test_no_source),
		T(test_absent_level),
		T(test_full),
	};

	return cmocka_run_group_tests_name("flush, faults", tests, NULL, NULL);
}
