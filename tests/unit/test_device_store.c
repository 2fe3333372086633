// SPDX-License-Identifier: GPL-2.0-only
/*
 * The history of devices on disk, and judging with it: kept over a restart and beside the
 * collector's tables, bounded, without losing what was usual; other nodes are asked before a
 * device is accused; what is avoided then.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/outcome.h"
#include "supervisor/iotrace/device_judge.h"
#include "supervisor/iotrace/device_store.h"
#include "supervisor/iotrace/io_store.h"

#define MB	1000000

static char dir[] = "/tmp/device.XXXXXX";
static char path[64];

static struct device_store *opened(void)
{
	struct device_store *store;
	struct ckpt_error error;

	assert_int_equal(device_store_open(path, true, &store, &error), 0);
	return store;
}

static void commit(struct device_store *store)
{
	struct ckpt_error error;

	assert_int_equal(device_store_commit(store, &error), 0);
}

/* ------------------------------------------------------------------- store */

static const struct device_id disk = { .level = "L1", .id = "0123" };
static const struct device_id other = { .level = "L1", .id = "4567" };

static void put(struct device_store *store, const struct device_id *id, enum device_speed speed,
		int generation)
{
	const struct device_probe p = {
		.series = 7, .job = 7, .generation = generation, .bytes = 64.0 * MB, .seconds = 2,
		.speed = speed, .usual = speed ? 40.0 * MB : 0,
	};

	device_store_add(store, id, &p, 1000 + generation);
}

static void test_kept(void **state)
{
	static struct device_probe probes[DEVICE_KEPT + 1];
	struct device_store *store = NULL;
	struct ckpt_error error;
	json_t *rows;

	assert_int_equal(device_store_open(path, false, &store, &error), -ENOENT);
	store = opened();
	device_store_begin(store);
	put(store, &disk, DEVICE_UNJUDGED, 1);
	put(store, &disk, DEVICE_USUAL, 2);
	put(store, &disk, DEVICE_SLOW, 3);
	device_store_put(store, &disk, DEVICE_DEGRADED, "vdb", 2000);
	commit(store);
	device_store_begin(store);
	device_store_peers(store, &disk, 7, 3, 4, 5.0 * MB);
	device_store_put(store, &disk, DEVICE_DEGRADED, "vdb", 3000);
	commit(store);
	device_store_close(store);
	assert_int_equal(device_store_open(path, false, &store, &error), 0);
	assert_int_equal(device_store_probes(store, &disk, probes), 3);
	assert_int_equal(probes[2].generation, 3);
	assert_int_equal(probes[2].speed, DEVICE_SLOW);
	assert_int_equal(probes[2].peers, 4);
	assert_int_equal(device_store_state(store, &disk), DEVICE_DEGRADED);
	assert_int_equal(device_store_state(store, &other), DEVICE_UNKNOWN);
	rows = device_store_rows(store);
	assert_int_equal(json_array_size(rows), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "state")),
			    "degraded");
	/* since the state changed, not since it was last seen */
	assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 0), "since")),
			 2000);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 0), "probes")), 3);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 0), "in_row")), 1);
	json_decref(rows);
	device_store_close(store);
}

/* Samples of an NFS mount: kept beside the probes, bounded, gone with the level's history. */
static void test_nfs(void **state)
{
	struct device_store *store = opened();
	struct ckpt_error error;
	char *none = NULL;
	const json_t *nfs;
	json_t *rows;
	sqlite3 *db;
	int i;

	device_store_begin(store);
	put(store, &disk, DEVICE_USUAL, 1);
	for (i = 1; i <= DEVICE_KEPT + 50; i++) {
		const struct nfs_sample s = {
			.age_s = 100 + (uint64_t)i, .writes = 10 * (uint64_t)i,
			.transmissions = 10 * (uint64_t)i, .rtt_ms = 70 * (uint64_t)i,
		};

		device_store_sample(store, &disk, &s, 1000 + i);
	}
	commit(store);
	rows = device_store_rows(store);
	nfs = json_object_get(json_array_get(rows, 0), "nfs");
	assert_int_equal(json_integer_value(json_object_get(nfs, "samples")), DEVICE_KEPT);
	assert_int_equal(json_integer_value(json_object_get(nfs, "writes")), 10);
	assert_true(json_number_value(json_object_get(nfs, "usual_write_ms")) == 7);
	json_decref(rows);
	device_store_begin(store);
	device_store_forget(store, "L1");
	put(store, &disk, DEVICE_USUAL, 2);
	commit(store);
	rows = device_store_rows(store);
	assert_null(json_object_get(json_array_get(rows, 0), "nfs"));
	json_decref(rows);
	device_store_close(store);
	/* the file of an earlier version has no such table: readers do, writers make it */
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "DROP TABLE device_nfs", NULL, NULL, &none), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(device_store_open(path, false, &store, &error), 0);
	rows = device_store_rows(store);
	assert_int_equal(json_array_size(rows), 1);
	json_decref(rows);
	device_store_begin(store);
	device_store_forget(store, "none");
	commit(store);
	device_store_close(store);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "DROP TABLE device_nfs", NULL, NULL, &none), SQLITE_OK);
	sqlite3_close(db);
	store = opened();
	device_store_begin(store);
	device_store_sample(store, &disk, &(struct nfs_sample){ .age_s = 1 }, 5000);
	device_store_sample(store, &disk, &(struct nfs_sample){ .age_s = 2, .writes = 3 }, 5001);
	commit(store);
	rows = device_store_rows(store);
	nfs = json_object_get(json_array_get(rows, 0), "nfs");
	assert_int_equal(json_integer_value(json_object_get(nfs, "writes")), 3);
	json_decref(rows);
	device_store_close(store);
}

static void test_bounded(void **state)
{
	static struct device_probe probes[DEVICE_KEPT + 1];
	struct device_store *store = opened();
	size_t n, i, slow = 0;

	device_store_begin(store);
	for (i = 1; i <= 20; i++)
		put(store, &disk, DEVICE_USUAL, (int)i);
	for (; i <= 2000; i++)
		put(store, &disk, DEVICE_SLOW, (int)i);
	put(store, &other, DEVICE_USUAL, 1);
	commit(store);
	n = device_store_probes(store, &disk, probes);
	assert_int_equal(n, 20 + DEVICE_SLOW_KEPT);
	assert_int_equal(probes[0].generation, 1);
	assert_int_equal(probes[n - 1].generation, 2000);
	device_store_begin(store);
	for (i = 0; i < 1000; i++)
		put(store, &disk, i % 2 ? DEVICE_UNJUDGED : DEVICE_USUAL, 3000 + (int)i);
	commit(store);
	n = device_store_probes(store, &disk, probes);
	for (i = 0; i < n; i++)
		slow += probes[i].speed == DEVICE_SLOW;
	assert_int_equal(slow, DEVICE_SLOW_KEPT);
	assert_int_equal(n, DEVICE_KEPT);
	assert_int_equal(device_store_probes(store, &other, probes), 1);
	/* a year later nothing is left of a disk that is gone */
	device_store_begin(store);
	device_store_add(store, &disk, &probes[0], 1000 + (DEVICE_DAYS + 1) * 86400LL);
	commit(store);
	assert_int_equal(device_store_probes(store, &other, probes), 0);
	device_store_begin(store);
	device_store_forget(store, "L1");
	commit(store);
	assert_int_equal(device_store_probes(store, &disk, probes), 0);
	device_store_close(store);
}

/* The collector's tables are in the same file, whoever makes it. */
static void test_beside_the_collector(void **state)
{
	struct device_store *store = opened();
	struct io_store *io;
	struct ckpt_error error;

	assert_int_equal(io_store_open(path, true, &io, &error), 0);
	device_store_begin(store);
	put(store, &disk, DEVICE_USUAL, 1);
	commit(store);
	device_store_close(store);
	io_store_begin(io);
	io_store_expire(io, 2000000000);
	assert_int_equal(io_store_commit(io, &error), 0);
	io_store_close(io);
	unlink(path);
	assert_int_equal(io_store_open(path, true, &io, &error), 0);
	io_store_close(io);
	store = opened();
	device_store_begin(store);
	put(store, &disk, DEVICE_USUAL, 1);
	commit(store);
	assert_int_equal(device_store_state(store, &disk), DEVICE_UNKNOWN);
	device_store_close(store);
}

static void test_damaged(void **state)
{
	FILE *f = fopen(path, "w");
	struct device_store *store = NULL;
	struct ckpt_error error;
	int i;

	for (i = 0; i < 1000; i++)
		fprintf(f, "this is no database %d\n", i);
	fclose(f);
	assert_int_equal(device_store_open(path, true, &store, &error), -EUCLEAN);
	assert_null(store);
}

static const char *text_of(sqlite3 *db, const char *sql, char *text, size_t size)
{
	sqlite3_stmt *stmt = NULL;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	snprintf(text, size, "%s", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return text;
}

/* ------------------------------------------------------------------- judge */

static struct common common;
static char places[3][64];

static json_t *probe(const char *level, int generation, int rate, bool others)
{
	return json_pack("[{s:s, s:i, s:i, s:i, s:i, s:I, s:b}]", "level", level, "job", 7,
			 "generation", generation, "series", 7, "bytes", 64 * MB, "ns",
			 (json_int_t)64 * MB * 1000 / rate, "others", others);
}

/* Judge a probe at @rate MB/s; the level's state, and what is asked. */
static const char *judged(const char *level, int generation, int rate, bool others,
			  json_t **ret_ask)
{
	json_t *probes = probe(level, generation, rate, others);
	json_t *outcome = device_judge(&common, probes, NULL);
	json_t *result = json_object_get(outcome, "result"), *row;
	const char *state = NULL;
	size_t i;

	assert_true(outcome_is_ok(outcome));
	if (ret_ask)
		*ret_ask = json_deep_copy(json_object_get(result, "ask"));
	else
		assert_null(json_object_get(result, "ask"));
	json_array_foreach(json_object_get(result, "rows"), i, row) {
		if (!strcmp(json_string_value(json_object_get(row, "level")), level))
			state = json_string_value(json_object_get(row, "state"));
	}
	for (i = 0; i < DEVICE_STATES && strcmp(device_state_name((enum device_state)i), state);)
		i++;
	json_decref(probes);
	json_decref(outcome);
	return device_state_name((enum device_state)i);
}

static void usual(const char *level)
{
	int i;

	for (i = 1; i <= DEVICE_NEEDED; i++)
		assert_string_equal(judged(level, i, 100 + i % 2, false, NULL), "unknown");
	assert_string_equal(judged(level, i, 100, false, NULL), "healthy");
}

/* Nobody is accused before the other nodes were asked; their answer decides. */
static void test_others_are_asked(void **state)
{
	json_t *ask = NULL, *peers, *outcome;
	int turn;

	for (turn = 0; turn < 2; turn++) {
		usual("L1");
		judged("L1", 11, 40, true, &ask);
		assert_null(ask);
		judged("L1", 12, 40, true, &ask);
		assert_null(ask);
		assert_string_equal(judged("L1", 13, 40, true, &ask), "healthy");
		assert_int_equal(json_array_size(json_object_get(ask, "generations")), 3);
		json_decref(ask);
		peers = json_pack("{s:s, s:i, s:[{s:i, s:i, s:f}, {s:i, s:i, s:f}, "
				  "{s:i, s:i, s:f}]}", "level", "L1", "job", 7, "rates",
				  "generation", 11, "peers", 2, "rate", 1e8,
				  "generation", 12, "peers", 2, "rate", turn ? 41e6 : 1e8,
				  "generation", 13, "peers", 0, "rate", 0.0);
		outcome = device_judge(&common, NULL, peers);
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(json_object_get(
				json_object_get(outcome, "result"), "rows"), 0), "state")),
			turn ? "slow" : "degraded");
		assert_int_equal(json_array_size(json_object_get(json_object_get(outcome, "result"),
								 "changed")), 1);
		json_decref(peers);
		json_decref(outcome);
		unlink(path);
	}
}

/* Also not by a fourth one that was judged together with the third. */
static void test_asked_once_for_several(void **state)
{
	json_t *three = json_array(), *outcome, *ask;
	int i;

	usual("L1");
	for (i = 11; i <= 14; i++) {
		json_t *one = probe("L1", i, 40, true);

		json_array_extend(three, one);
		json_decref(one);
	}
	outcome = device_judge(&common, three, NULL);
	assert_int_equal(json_array_size(json_object_get(json_object_get(outcome, "result"),
							 "changed")), 0);
	ask = json_object_get(json_object_get(outcome, "result"), "ask");
	assert_int_equal(json_array_size(json_object_get(ask, "generations")), 3);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(ask, "generations"),
							   0)), 14);
	json_decref(three);
	json_decref(outcome);
}

/* A level that is slow is avoided if another is there, and the setting says so. */
static void test_avoid(void **state)
{
	struct level_configs levels;
	json_t *rows;

	usual("a");
	judged("a", 11, 40, false, NULL);
	judged("a", 12, 40, false, NULL);
	assert_string_equal(judged("a", 13, 40, false, NULL), "degraded");
	levels = common.config.levels;
	device_report_avoid(&common, &levels);
	assert_int_equal(levels.avoid, 0);
	common.config.degraded_devices = (char *)(uintptr_t)"avoid";
	device_report_avoid(&common, &levels);
	assert_int_equal(levels.avoid, 1);
	assert_false(levels.avoid_l1);
	rows = device_report(&common);
	assert_int_equal(json_array_size(rows), 3);
	assert_true(json_is_true(json_object_get(json_array_get(rows, 1), "avoided")));
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 1), "note")),
			    "new generations go to level b");
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 2), "state")),
			    "unknown");
	json_decref(rows);
	/* the only level: there is no other place */
	common.config.levels.nr = 1;
	rows = device_report(&common);
	assert_false(json_is_true(json_object_get(json_array_get(rows, 1), "avoided")));
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 1), "note")),
			    "no other level can take its generations");
	json_decref(rows);
	common.config.levels.nr = 2;
}

/* Copies read L1: while that is slow they say nothing of their level. */
static void test_copies_from_a_slow_l1(void **state)
{
	int i;

	usual("L1");
	usual("a");
	judged("L1", 11, 40, false, NULL);
	for (i = 11; i < 20; i++)
		assert_string_equal(judged("a", i, 40, false, NULL), "healthy");
	judged("L1", 12, 100, false, NULL);
	judged("a", 21, 40, false, NULL);
	judged("a", 22, 40, false, NULL);
	assert_string_equal(judged("a", 23, 40, false, NULL), "degraded");
}

static void test_missing_place(void **state)
{
	json_t *probes = probe("gone", 1, 100, false);
	json_t *outcome = device_judge(&common, probes, NULL);

	assert_true(outcome_is_ok(outcome));
	json_decref(outcome);
	json_decref(probes);
	rmdir(places[1]);
	probes = probe("a", 1, 100, false);
	outcome = device_judge(&common, probes, NULL);
	assert_true(outcome_is_ok(outcome));
	json_decref(outcome);
	json_decref(probes);
	mkdir(places[1], 0700);
}

static int setup(void **state)
{
	char place[80];
	int i;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/" IO_STORE_FILE, dir);
	common.config.state_dir = dir;
	common.config.image_dir = places[0];
	for (i = 0; i < 3; i++) {
		snprintf(places[i], sizeof(places[i]), "%s/%d", dir, i);
		mkdir(places[i], 0700);
	}
	for (i = 1; i < 3; i++) {
		snprintf(place, sizeof(place), "posix:%s", places[i]);
		assert_int_equal(level_configs_set(&common.config.levels, i == 1 ? "a" : "b",
						   place), 0);
	}
	return 0;
}

static int fresh(void **state)
{
	common.config.degraded_devices = (char *)(uintptr_t)"notify";
	unlink(path);
	return 0;
}

static int teardown(void **state)
{
	char name[80];
	int i;

	level_configs_done(&common.config.levels);
	for (i = 0; i < 3; i++)
		rmdir(places[i]);
	unlink(path);
	snprintf(name, sizeof(name), "%s-wal", path);
	unlink(name);
	snprintf(name, sizeof(name), "%s-shm", path);
	unlink(name);
	return rmdir(dir);
}

#define T(name) cmocka_unit_test_setup(test_##name, fresh)

/* The recorded history tells when the device got slow, and what avoid would have done. */
static void test_replay(void **state)
{
	static const char *const to[] = { "healthy", "degraded", "healthy" };
	static const char *const would[] = {
		"", "new generations go to level b", "the level gets its generations again"
	};
	json_t *outcome = device_replay(&common, "a");
	const json_t *result, *row;
	size_t i;

	/* nothing is recorded at all */
	assert_int_equal(outcome_errno(outcome), -ENOENT);
	json_decref(outcome);
	usual("a");
	for (i = 11; i <= 14; i++)
		judged("a", (int)i, 40, false, NULL);
	for (; i <= 16; i++)
		assert_string_equal(judged("a", (int)i, 100, false, NULL), "degraded");
	assert_string_equal(judged("a", (int)i, 100, false, NULL), "healthy");
	outcome = device_replay(&common, "a");
	result = json_object_get(outcome, "result");
	assert_int_equal(json_integer_value(json_object_get(result, "probes")), 16);
	assert_int_equal(json_integer_value(json_object_get(result, "degraded")), 4);
	assert_int_equal(json_array_size(json_object_get(result, "changes")), 3);
	json_array_foreach(json_object_get(result, "changes"), i, row) {
		assert_string_equal(json_string_value(json_object_get(row, "to")), to[i]);
		assert_string_equal(json_string_value(json_object_get(row, "would")), would[i]);
	}
	row = json_array_get(json_object_get(result, "changes"), 1);
	assert_int_equal(json_integer_value(json_object_get(row, "generation")), 13);
	json_decref(outcome);
	/* a level without history; L1, which has to be written in any case; no such level */
	outcome = device_replay(&common, "b");
	assert_int_equal(json_array_size(json_object_get(json_object_get(outcome, "result"),
							 "changes")), 0);
	json_decref(outcome);
	usual("L1");
	for (i = 11; i <= 13; i++)
		judged("L1", (int)i, 40, false, NULL);
	outcome = device_replay(&common, "L1");
	row = json_array_get(json_object_get(json_object_get(outcome, "result"), "changes"), 1);
	assert_string_equal(json_string_value(json_object_get(row, "would")),
			    "level a gets every generation, too");
	json_decref(outcome);
	outcome = device_replay(&common, "none");
	assert_int_equal(outcome_errno(outcome), -ENOENT);
	json_decref(outcome);
}

static bool owns(int64_t job, void *arg)
{
	return job == *(const int64_t *)arg;
}

/* A user who does not own the job learns the rates alone. */
static void test_hidden(void **state)
{
	int64_t mine = 7, none = 0;
	json_t *outcome, *changes, *rows, *row;

	usual("a");
	outcome = device_replay(&common, "a");
	changes = json_object_get(json_object_get(outcome, "result"), "changes");
	rows = device_report(&common);
	device_rows_hide(changes, owns, &mine);
	device_rows_hide(rows, owns, &mine);
	row = json_array_get(changes, 0);
	assert_int_equal(json_integer_value(json_object_get(row, "job")), 7);
	assert_int_equal(json_integer_value(json_object_get(row, "generation")), 9);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 1), "job")), 7);
	device_rows_hide(changes, owns, &none);
	device_rows_hide(rows, owns, &none);
	assert_null(json_object_get(row, "job"));
	assert_null(json_object_get(row, "generation"));
	assert_true(json_number_value(json_object_get(row, "rate")) > 0);
	row = json_array_get(rows, 1);
	assert_string_equal(json_string_value(json_object_get(row, "state")), "healthy");
	assert_null(json_object_get(row, "job"));
	assert_null(json_object_get(row, "generation"));
	json_decref(outcome);
	json_decref(rows);
}

/* Slow ones that are older than all that is kept of the others say nothing: gaps are between. */
static void test_replay_of_a_part(void **state)
{
	struct device_store *store;
	struct device_id id = { .level = "a" };
	json_t *outcome, *result;
	char fs[NAME_MAX];
	sqlite3 *db;
	int i;

	/* the file system's id, as the first probe puts it down */
	judged("a", 1, 100, false, NULL);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	id.id = text_of(db, "SELECT id FROM device WHERE level = 'a'", fs, sizeof(fs));
	sqlite3_close(db);
	store = opened();
	device_store_begin(store);
	/* one in ten is slow, and none follows another */
	for (i = 2; i <= 1000; i++)
		put(store, &id, i % 10 ? DEVICE_USUAL : DEVICE_SLOW, i);
	commit(store);
	device_store_close(store);
	outcome = device_replay(&common, "a");
	result = json_object_get(outcome, "result");
	assert_int_equal(json_integer_value(json_object_get(result, "degraded")), 0);
	assert_in_range(json_integer_value(json_object_get(result, "probes")), DEVICE_USUAL_KEPT,
			DEVICE_KEPT - 1);
	assert_int_equal(json_array_size(json_object_get(result, "changes")), 1);
	json_decref(outcome);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(kept), T(nfs), T(bounded),
		T(beside_the_collector), T(damaged), T(others_are_asked),
		T(asked_once_for_several),
		T(avoid), T(copies_from_a_slow_l1), T(replay), T(replay_of_a_part), T(hidden),
		T(missing_place),
	};

	return cmocka_run_group_tests_name("device_store", tests, setup, teardown);
}
