// SPDX-License-Identifier: GPL-2.0-only
/*
 * Judging a job's own phases: the newest ones are judged however many other runs have had since,
 * and the others are counted; a checkpoint of the job is a cause; and a report without verdicts.
 */
#include "tests/unit/io_record_fixture.h"

#include <sqlite3.h>

#include "base/outcome.h"
#include "supervisor/iotrace/io_anomaly.h"
#include "supervisor/iotrace/io_report.h"
#include "supervisor/iotrace/io_series.h"

static int judge(struct io_store *store, int64_t job, int64_t since, const json_t *history,
		 struct io_judged *judged, uint64_t *ret_left_out)
{
	return io_anomaly_judge(store, &(const struct io_anomaly_of){
		.job = job, .uid = 1000, .since = since, .now = 2000000, .history = history,
	}, judged, ret_left_out);
}

/* A later run of the program has had more phases than a group has. */
static void test_after_many_others(void **state)
{
	struct io_store *store = store_of("many", true);
	struct io_judged judged[IO_JUDGED_MAX];
	uint64_t left_out = 7;
	int64_t old, other;
	int i;

	io_store_begin(store);
	old = watch(store, 1, 1000, "a", 1000);
	other = watch(store, 2, 1000, "a", 1000);
	put_phases(store, old, 1000, 3);
	put_phases(store, other, 2000, IO_STORE_GROUP + 100);
	commit(store);
	assert_int_equal(judge(store, old, 0, NULL, judged, &left_out), 3);
	assert_int_equal(left_out, 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(judged[i].began, 1000 + i);
		assert_int_equal(judged[i].kind, ANOMALY_WRITE);
		assert_int_equal(judged[i].judgement.verdict, ANOMALY_USUAL);
		assert_int_equal(judged[i].judgement.compared, ANOMALY_MAX);
	}
	/* the newest of a job with very many; what was left out is said */
	assert_int_equal(judge(store, other, 0, NULL, judged, &left_out), IO_JUDGED_MAX);
	assert_int_equal(left_out, IO_STORE_GROUP + 100 - IO_JUDGED_MAX);
	assert_int_equal(judged[0].began, 2000 + IO_STORE_GROUP + 100 - IO_JUDGED_MAX);
	assert_int_equal(judged[IO_JUDGED_MAX - 1].began, 2000 + IO_STORE_GROUP + 99);
	/* those that ended before are not asked for: each takes 10 seconds */
	assert_int_equal(judge(store, old, 1011, NULL, judged, &left_out), 1);
	assert_int_equal(left_out, 0);
	assert_int_equal(judged[0].began, 1002);
	assert_int_equal(judge(store, old, 5000, NULL, judged, &left_out), 0);
	io_store_close(store);
}

/* Phases of each kind are compared with their own, and come in the order of time. */
static void test_kinds(void **state)
{
	struct io_store *store = store_of("kinds", true);
	struct io_judged judged[IO_JUDGED_MAX];
	struct anomaly_phase p = { .seconds = 10, .nr = 1 };
	uint64_t left_out;
	int i;

	io_store_begin(store);
	p.job = watch(store, 1, 1000, "a", 1000);
	for (i = 0; i < 20; i++) {
		p.began = 1000 + 100 * i;
		p.kind = i % 2 ? ANOMALY_READ : ANOMALY_MIXED;
		p.bytes[0] = i % 2 ? 5000 : 1000;
		io_store_put_phase(store, &p);
	}
	commit(store);
	assert_int_equal(judge(store, p.job, 0, NULL, judged, &left_out), 20);
	for (i = 0; i < 20; i++) {
		assert_int_equal(judged[i].began, 1000 + 100 * i);
		assert_int_equal(judged[i].kind, i % 2 ? ANOMALY_READ : ANOMALY_MIXED);
		assert_int_equal(judged[i].judgement.compared, 9);
	}
	io_store_close(store);
}

/* Seconds of about 100 MB each. */
static void steady(struct io_store *store, int64_t job, int64_t from, int64_t nr)
{
	int64_t i;

	for (i = 0; i < nr; i++)
		second(store, job, from + i, MB * (double)(97 + i * 5 % 7), MB, 0);
}

static enum anomaly_cause cause_with(struct io_store *store, int64_t job, json_t *history)
{
	struct io_judged judged[IO_JUDGED_MAX];
	uint64_t left_out;

	assert_int_equal(judge(store, job, 0, history, judged, &left_out), 1);
	assert_int_equal(judged[0].judgement.verdict, ANOMALY_ABNORMAL);
	json_decref(history);
	return judged[0].cause;
}

/*
 * A phase with fifteen slow seconds, which lost twelve by them. A checkpoint in these explains
 * that, if it took half as long; a restart, or a copy to a level, does not.
 */
static void test_checkpoint(void **state)
{
	static const int64_t at = 900000;
	struct io_store *store = store_of("checkpoint", true);
	int64_t job, i;

	io_store_begin(store);
	for (i = 0; i < 24; i++) {
		job = watch(store, 1 + i, 1000, "a", 100000 + 1000 * i);
		steady(store, job, 100000 + 1000 * i, 20);
		io_series_note(store, job, 100000 + 1000 * i, 100100 + 1000 * i, true);
	}
	job = watch(store, 100, 1000, "a", at);
	steady(store, job, at, 10);
	seconds(store, job, at + 10, 15, 20 * MB);
	steady(store, job, at + 25, 10);
	io_series_note(store, job, at, at + 100, true);
	commit(store);
	assert_int_equal(cause_with(store, job, NULL), ANOMALY_UNTOLD);
	assert_int_equal(cause_with(store, job, json_pack("[{s:I, s:i, s:I}]", "taken",
		(json_int_t)at + 10, "generation", 1, "total_ns", (json_int_t)14000000000)),
		ANOMALY_CHECKPOINT);
	/* one that is too short, and several that together are not */
	assert_int_equal(cause_with(store, job, json_pack("[{s:I, s:i, s:I}]", "taken",
		(json_int_t)at + 10, "generation", 1, "total_ns", (json_int_t)3000000000)),
		ANOMALY_UNTOLD);
	assert_int_equal(cause_with(store, job, json_pack("[{s:I, s:i, s:I}, {s:I, s:i, s:I}]",
		"taken", (json_int_t)at + 10, "generation", 1, "total_ns", (json_int_t)5000000000,
		"taken", (json_int_t)at + 18, "generation", 2, "total_ns", (json_int_t)5000000000)),
		ANOMALY_CHECKPOINT);
	/* at another time; a restart; a copy */
	assert_int_equal(cause_with(store, job, json_pack("[{s:I, s:i, s:I}, {s:I, s:i, s:I}]",
		"taken", (json_int_t)at - 20, "generation", 1, "total_ns", (json_int_t)19000000000,
		"taken", (json_int_t)at + 35, "generation", 2, "total_ns", (json_int_t)9000000000)),
		ANOMALY_UNTOLD);
	assert_int_equal(cause_with(store, job, json_pack(
		"[{s:I, s:i, s:I}, {s:I, s:i, s:s, s:I}]", "taken", (json_int_t)at + 10, "restart",
		1, "total_ns", (json_int_t)14000000000, "taken", (json_int_t)at + 10, "generation",
		1, "level", "a", "total_ns", (json_int_t)14000000000)), ANOMALY_UNTOLD);
	io_store_close(store);
}

/* The part of a report as a worker tells it; its outcome. */
static json_t *part_of(int64_t number)
{
	const struct io_store_job job = { .number = number, .uuid = "0123", .uid = 1000 };
	const struct common common = {
		.config = { .state_dir = dir, .image_dir = dir, .node = (char *)(uintptr_t)"n0",
			    .degraded_devices = (char *)(uintptr_t)"off" },
		.catalog = { .dir = dir },
	};

	return io_report_part(&common, &job, NULL, false);
}

/* Phases that cannot be read cost the report its verdicts, and nothing else. */
static void test_unreadable(void **state)
{
	struct io_store *store = store_of(IO_STORE_FILE, true);
	json_t *outcome, *part;
	char path[128];
	sqlite3 *db;
	int64_t job;

	io_store_begin(store);
	job = watch(store, 1, 1000, "a", 1000);
	put_phases(store, job, 1000, 3);
	commit(store);
	io_store_close(store);
	outcome = part_of(1);
	assert_true(outcome_is_ok(outcome));
	part = json_object_get(json_object_get(outcome, "result"), "part");
	assert_int_equal(json_array_size(json_object_get(part, "judged")), 3);
	json_decref(outcome);
	snprintf(path, sizeof(path), "%s/%s", dir, IO_STORE_FILE);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "ALTER TABLE phase RENAME COLUMN rates TO other", NULL,
				      NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	outcome = part_of(1);
	assert_true(outcome_is_ok(outcome));
	part = json_object_get(json_object_get(outcome, "result"), "part");
	assert_null(json_object_get(part, "judged"));
	assert_int_equal(json_integer_value(json_object_get(part, "left_out")), 0);
	assert_int_equal(json_array_size(json_object_get(part, "spans")), 1);
	json_decref(outcome);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_after_many_others), cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_checkpoint), cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests_name("io_own", tests, record_begin, record_end);
}
