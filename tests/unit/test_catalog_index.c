// SPDX-License-Identifier: GPL-2.0-only
/*
 * The index of generations: it is used when it is fresh, and whatever happens to its file a
 * list says what the manifests say.
 */
#include "tests/unit/keep_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/catalog/catalog_index.h"

#define FLIPS	300

static char problem[512];

/* Rows of all generations, by way of the index; what was said of it is in problem. */
static json_t *list(const struct disk *d)
{
	struct listing listing = disk_listing(d);
	json_t *all = catalog_generations(&d->catalog, d->job), *rows;
	char late[512];

	listing.index = catalog_index_open(d->index, &d->catalog, problem, sizeof(problem));
	rows = listing_rows(&listing, all);
	catalog_index_close(listing.index, late, sizeof(late));
	if (!problem[0])
		strcpy(problem, late);
	json_decref(all);
	return rows;
}

/* The same without it. */
static json_t *read_all(const struct disk *d)
{
	struct listing listing = disk_listing(d);
	json_t *all = catalog_generations(&d->catalog, d->job);
	json_t *rows = listing_rows(&listing, all);

	json_decref(all);
	return rows;
}

static void same(const struct disk *d)
{
	json_t *rows = list(d), *truth = read_all(d);

	assert_true(json_array_size(truth) > 0);
	assert_true(json_equal(rows, truth));
	json_decref(rows);
	json_decref(truth);
}

static int64_t count(const struct disk *d)
{
	struct catalog_index *index = catalog_index_open(d->index, &d->catalog, problem,
							 sizeof(problem));
	int64_t n = catalog_index_count(index, d->job);
	char late[512];

	catalog_index_close(index, late, sizeof(late));
	return n;
}

/* Has the index say that generation 1 has 4711 bytes. */
static void lie(const struct disk *d)
{
	struct catalog_index *index = catalog_index_open(d->index, &d->catalog, problem,
							 sizeof(problem));
	json_t *row = json_pack("{s:i, s:i}", "generation", 1, "bytes_stored", 4711);
	char late[512];

	assert_non_null(index);
	catalog_index_put(index, d->job, 1, LABEL, catalog_index_stamp(&d->catalog, d->job, 1),
			  row);
	catalog_index_close(index, late, sizeof(late));
	assert_string_equal(late, "");
	json_decref(row);
}

static bool lies(const struct disk *d)
{
	json_t *rows = list(d);
	bool yes = json_integer_value(json_object_get(json_array_get(rows, 0), "bytes_stored")) ==
		   4711;

	json_decref(rows);
	return yes;
}

static void test_fresh_and_stale(void **state)
{
	struct disk *d = *state;

	disk_store(d, 1);
	disk_store(d, 2);
	same(d);
	assert_string_equal(problem, "");
	assert_int_equal(count(d), 2);
	same(d);
	/* what is fresh is believed: that is the point of it */
	lie(d);
	assert_true(lies(d));
	/* replaced: the same bytes in another file */
	disk_run(d, "cd '%s/1/gen-1' && cp -p manifest m && mv m manifest", d->images);
	assert_false(lies(d));
	lie(d);
	/* touched, and damaged in place with its time put back */
	disk_run(d, "touch '%s/1/gen-1/manifest'", d->images);
	assert_false(lies(d));
	lie(d);
	disk_run(d,
		 "cd '%s/1/gen-1' && cp -p manifest ../../m && printf x | dd of=manifest bs=1 "
		 "seek=20 conv=notrunc 2>/dev/null && touch -r ../../m manifest && rm ../../m",
		 d->images);
	assert_false(lies(d));
	same(d);
	/* one that cannot be read is not indexed, one that is gone is forgotten */
	disk_run(d, "rm -r '%s/1/gen-2'", d->images);
	same(d);
	disk_run(d, "rm -r '%s/1/gen-1'", d->images);
	json_decref(list(d));
	assert_int_equal(count(d), 0);
}

static void test_parts(void **state)
{
	struct disk *d = *state;
	uint64_t stamp, before;

	disk_store_parts(d, 1, false);
	assert_int_equal(catalog_index_stamp(&d->catalog, d->job, 1), 0);
	disk_run(d, "rm -r '%s/1/gen-1'", d->images);
	disk_store_parts(d, 1, true);
	stamp = catalog_index_stamp(&d->catalog, d->job, 1);
	assert_true(stamp);
	same(d);
	lie(d);
	assert_true(lies(d));
	before = stamp;
	disk_run(d, "mv '%s/1/gen-1/node-1' '%s/away'", d->images, d->dir);
	assert_true(catalog_index_stamp(&d->catalog, d->job, 1) != before);
	assert_false(lies(d));
	same(d);	/* the row says what is missing */
	disk_run(d, "mv '%s/away' '%s/1/gen-1/node-1'", d->dir, d->images);
	disk_run(d, "touch '%s/1/gen-1/node-1/image/manifest'", d->images);
	same(d);
	catalog_generation_uncommit(&d->catalog, d->job, 1);
	assert_int_equal(catalog_index_stamp(&d->catalog, d->job, 1), 0);
}

/* Another job's under the number, another image directory, another key. */
static void test_other_origin(void **state)
{
	struct disk *d = *state;
	struct catalog_index *index;
	json_t *row;
	uint64_t stamp;

	disk_store(d, 1);
	lie(d);
	index = catalog_index_open(d->index, &d->catalog, problem, sizeof(problem));
	stamp = catalog_index_stamp(&d->catalog, d->job, 1);
	assert_null(catalog_index_get(index, d->job, 1, "1-fedcba9876543210", stamp));
	assert_null(catalog_index_get(index, 2, 1, LABEL, stamp));
	assert_null(catalog_index_get(index, d->job, 1, LABEL, stamp + 1));
	assert_null(catalog_index_get(index, d->job, 1, LABEL, 0));
	row = catalog_index_get(index, d->job, 1, LABEL, stamp);
	assert_non_null(row);
	json_decref(row);
	catalog_index_close(index, problem, sizeof(problem));

	disk_run(d, "cp -p '%s' '%s.2' && mv '%s.2' '%s'", d->key, d->key, d->key, d->key);
	assert_false(lies(d));
	assert_string_equal(problem, "");
	lie(d);
	disk_run(d, "mv '%s' '%s/elsewhere'", d->images, d->dir);
	strcpy(d->images + strlen(d->images) - 6, "elsewhere");
	assert_false(lies(d));
}

static void write_index(const struct disk *d, const char *text, size_t len)
{
	FILE *f = fopen(d->index, "w");

	fwrite(text, 1, len, f);
	fclose(f);
}

static void sql(const struct disk *d, const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(d->index, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void test_unusable(void **state)
{
	static const char garbage[8192] = "SQLite format 4";
	struct disk *d = *state;
	struct stat before, after;

	disk_store(d, 1);
	disk_store(d, 2);
	same(d);
	/* gone, empty, garbage, cut off */
	unlink(d->index);
	same(d);
	assert_string_equal(problem, "");
	write_index(d, "", 0);
	same(d);
	assert_int_equal(count(d), 2);
	write_index(d, garbage, sizeof(garbage));
	same(d);
	assert_non_null(strstr(problem, "made anew"));
	assert_int_equal(count(d), 2);
	assert_int_equal(truncate(d->index, 5000), 0);
	same(d);
	same(d);
	assert_int_equal(count(d), 2);
	/* of an older version: made anew without a word */
	sql(d, "PRAGMA user_version = 0; DROP TABLE generation; CREATE TABLE generation (x)");
	same(d);
	assert_int_equal(count(d), 2);
	/* of a newer one, or somebody else's: left alone */
	sql(d, "PRAGMA user_version = 99");
	assert_int_equal(stat(d->index, &before), 0);
	same(d);
	assert_non_null(strstr(problem, "newer version (99)"));
	sql(d, "PRAGMA application_id = 12345; PRAGMA user_version = 1");
	same(d);
	assert_non_null(strstr(problem, "not ours"));
	assert_int_equal(stat(d->index, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	/* no place for it, a directory in its place, a link */
	unlink(d->index);
	assert_int_equal(mkdir(d->index, 0700), 0);
	same(d);
	assert_non_null(strstr(problem, "not used"));
	rmdir(d->index);
	assert_int_equal(symlink("/etc/passwd", d->index), 0);
	same(d);
	assert_non_null(strstr(problem, "not used"));
	unlink(d->index);
	strcpy(d->index, "/nonexistent/index.db");
	same(d);
	assert_non_null(strstr(problem, "No such file"));
}

static void test_locked(void **state)
{
	struct disk *d = *state;
	struct timespec from, to;
	sqlite3 *db;
	int64_t n;

	disk_store(d, 1);
	same(d);
	for (n = 2; n <= 12; n++)
		disk_store(d, n);
	assert_int_equal(sqlite3_open(d->index, &db), SQLITE_OK);
	/* a writer of ours on another list: we read, and do not write */
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	same(d);
	assert_non_null(strstr(problem, "locked"));
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	/* nobody may read */
	assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	clock_gettime(CLOCK_MONOTONIC, &from);
	same(d);
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_non_null(strstr(problem, "locked"));
	assert_true(to.tv_sec - from.tv_sec < 4);	/* waited for once */
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_close(db);
	same(d);
	assert_int_equal(count(d), 12);
}

/* Whatever byte of it is wrong, a list is right. */
static void test_flipped(void **state)
{
	struct disk *d = *state;
	uint64_t rng = 88172645463325252ULL;
	json_t *truth;
	struct stat st;
	char *good;
	FILE *f;
	int i;

	disk_store(d, 1);
	disk_store_parts(d, 2, true);
	same(d);
	truth = read_all(d);
	assert_int_equal(stat(d->index, &st), 0);
	good = malloc((size_t)st.st_size);
	f = fopen(d->index, "r");
	assert_int_equal(fread(good, 1, (size_t)st.st_size, f), st.st_size);
	fclose(f);
	for (i = 0; i < FLIPS; i++) {
		long at;
		json_t *rows;

		rng ^= rng << 13;
		rng ^= rng >> 7;
		rng ^= rng << 17;
		/* half of them where the header is */
		at = (long)(rng >> 8) % (i % 2 ? st.st_size : 100);
		at = at < 0 ? -at : at;
		write_index(d, good, (size_t)st.st_size);
		f = fopen(d->index, "r+");
		fseek(f, at, SEEK_SET);
		fputc(good[at] ^ (1 << (rng & 7)), f);
		fclose(f);
		rows = list(d);
		assert_true(json_equal(rows, truth));
		json_decref(rows);
	}
	free(good);
	json_decref(truth);
}

#define test(f) cmocka_unit_test_setup_teardown(f, disk_setup, disk_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(test_fresh_and_stale),
		test(test_parts),
		test(test_other_origin),
		test(test_unusable),
		test(test_locked),
		test(test_flipped),
	};

	return cmocka_run_group_tests_name("catalog_index", tests, NULL, NULL);
}
