// SPDX-License-Identifier: GPL-2.0-only
/*
 * What checkpoints have cost, on disk, and the advice that comes of it: torn and foreign lines,
 * a file that is full, durations, and an interval with what it is based on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/auto/advice.h"
#include "base/duration.h"
#include "supervisor/catalog/history.h"
#include "supervisor/auto/interval.h"
#include "base/outcome.h"
#include "supervisor/restart/restart_times.h"

struct disk {
	char dir[64];
	char file[96];
	struct catalog catalog;
	int64_t job;
};

static int setup(void **state)
{
	struct disk *d = calloc(1, sizeof(*d));

	strcpy(d->dir, "/tmp/test-history-XXXXXX");
	if (!mkdtemp(d->dir))
		return -1;
	d->catalog = (struct catalog) { .dir = d->dir, .key = "/nonexistent" };
	if (catalog_job_create(&d->catalog, &d->job))
		return -1;
	snprintf(d->file, sizeof(d->file), "%s/%lld/%s", d->dir, (long long)d->job, HISTORY_FILE);
	*state = d;
	return 0;
}

static int teardown(void **state)
{
	struct disk *d = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", d->dir);
	if (system(command))
		return -1;
	free(d);
	return 0;
}

static void append_text(const struct disk *d, const char *text, size_t len)
{
	int fd = open(d->file, O_WRONLY | O_APPEND | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
}

static json_t *row(int64_t generation, int64_t pause_ms, int64_t total_ms)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "taken", (json_int_t)(1000 + generation),
			 "generation", (json_int_t)generation,
			 "pause_ns", (json_int_t)pause_ms * 1000000,
			 "total_ns", (json_int_t)total_ms * 1000000);
}

static void append(const struct disk *d, int64_t generation)
{
	json_t *one = row(generation, 10, 100);

	assert_int_equal(history_append(&d->catalog, d->job, one), 0);
	json_decref(one);
}

static size_t count(const struct disk *d)
{
	json_t *rows = history_read(&d->catalog, d->job);
	size_t n = json_array_size(rows);

	json_decref(rows);
	return n;
}

static void test_append_and_read(void **state)
{
	struct disk *d = *state;
	json_t *rows;

	assert_int_equal(count(d), 0);
	append(d, 1);
	append(d, 2);
	rows = history_read(&d->catalog, d->job);
	assert_int_equal(json_array_size(rows), 2);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 1), "generation")),
			 2);
	json_decref(rows);
	assert_int_equal(count(d), 2);
	/* It goes with the job. */
	assert_int_equal(catalog_job_remove(&d->catalog, d->job), 0);
	assert_int_equal(access(d->file, F_OK), -1);
	assert_int_equal(count(d), 0);
	rows = row(3, 1, 1);
	assert_int_equal(history_append(&d->catalog, d->job, rows), -ENOENT);
	json_decref(rows);
}

/* Cut at every byte: the lines before are read, and the next one is its own. */
static void test_torn(void **state)
{
	struct disk *d = *state;
	struct stat st;
	off_t whole, cut;

	append(d, 1);
	assert_int_equal(stat(d->file, &st), 0);
	whole = st.st_size;
	for (cut = 0; cut < whole; cut++) {
		unlink(d->file);
		append(d, 1);
		append(d, 2);
		assert_int_equal(truncate(d->file, whole + cut), 0);
		assert_int_equal(count(d), 1);
		append(d, 3);
		/* A line that lacks nothing but its end is one again. */
		assert_int_equal(count(d), cut == whole - 1 ? 3 : 2);
	}
}

static void test_hostile(void **state)
{
	static const char *const lines[] = {
		"\n",
		"[]\n",
		"7\n",
		"{}\n",
		"{\"taken\": 1}\n",
		"{\"generation\": 1}\n",
		"{\"taken\": \"x\", \"generation\": 1}\n",
		"{\"taken\": 1, \"generation\": 1, \"pause_ns\": -1}\n",
		"{\"taken\": 1, \"generation\": 1, \"pause_ns\": \"9\"}\n",
		"\xff\xfe\n",
		"{\"taken\": 1, \"generation\": 1e400}\n",
		"{\"taken\": 1, \"taken\": 2, \"generation\": 1}\n",
	};
	struct disk *d = *state;
	char noise[8192];
	json_t *big;
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		append_text(d, lines[i], strlen(lines[i]));
	append_text(d, "\0\0\n", 3);
	assert_int_equal(count(d), 0);
	srand(1);
	for (i = 0; i < sizeof(noise); i++)
		noise[i] = (char)rand();
	append_text(d, noise, sizeof(noise));
	append(d, 1);
	assert_int_equal(count(d), 1);
	big = json_object();
	for (i = 0; i < 500; i++) {
		char name[16];

		snprintf(name, sizeof(name), "name%zu", i);
		json_object_set_new(big, name, json_integer(1));
	}
	assert_int_equal(history_append(&d->catalog, d->job, big), -E2BIG);
	json_decref(big);
	/* No file of ours: neither followed nor written. */
	unlink(d->file);
	assert_int_equal(symlink("/dev/null", d->file), 0);
	big = row(1, 1, 1);
	assert_int_equal(history_append(&d->catalog, d->job, big), -ELOOP);
	assert_int_equal(count(d), 0);
	unlink(d->file);
	assert_int_equal(mkfifo(d->file, 0600), 0);
	assert_true(history_append(&d->catalog, d->job, big) < 0);
	assert_int_equal(count(d), 0);
	json_decref(big);
}

/* Never longer than it may be, always the newest. */
static void test_bounded(void **state)
{
	struct disk *d = *state;
	json_t *rows;
	struct stat st;
	int64_t i;
	size_t n;

	for (i = 1; i <= 5000; i++)
		append(d, i);
	assert_int_equal(stat(d->file, &st), 0);
	assert_true(st.st_size <= HISTORY_MAX && st.st_size > HISTORY_MAX / 3);
	rows = history_read(&d->catalog, d->job);
	n = json_array_size(rows);
	assert_true(n > 300);
	for (i = 0; i < (int64_t)n; i++)
		assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, (size_t)i),
								    "generation")),
				 5000 - (int64_t)n + 1 + i);
	json_decref(rows);
}

static void test_row(void **state)
{
	json_t *result = json_pack("{s:i, s:i, s:s, s:b, s:i, s:[ss]}", "pause_ns", 5, "total_ns",
				   -1, "dir", "/x", "killed", 1, "pages_ns", 7, "nodes", "a", "b");
	json_t *one = history_row(result, 3, 99);
	json_t *want = json_pack("{s:i, s:i, s:i, s:i, s:b, s:i}", "taken", 99, "generation", 3,
				 "pause_ns", 5, "pages_ns", 7, "killed", 1, "nodes", 2);

	assert_true(json_equal(one, want));
	json_decref(one);
	json_decref(want);
	json_decref(result);
}

/*
 * A restart over nodes: asked at 1000, fetched, tried, its first restore failed and was made
 * again, its ranks ran at 9000. What the engine took is in no total.
 */
static void test_restart(void **state)
{
	json_t *result =
		json_pack("{s:i, s:i, s:i}", "total_ns", 77, "memory_ns", 70, "processes", 4);
	json_t *want = json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "taken", 99, "restart", 3,
				 "total_ns", 8000, "fetch_ns", 100, "try_ns", 200,
				 "restore_ns", 300 + 400, "ranks_ns", 4600);
	struct restart_times times = { .asked = 1000 };
	struct disk *d = *state;
	json_t *row, *rows;

	restart_times_begin(&times, 1500);
	restart_times_end(&times, RESTART_FETCH, 1600);
	restart_times_begin(&times, 1600);
	restart_times_end(&times, RESTART_TRY, 1800);
	restart_times_begin(&times, 1800);
	restart_times_end(&times, RESTART_RESTORE, 2100);
	restart_times_begin(&times, 4000);
	restart_times_end(&times, RESTART_RESTORE, 4400);
	restart_times_begin(&times, 4400);
	restart_times_end(&times, RESTART_RANKS, 9000);
	restart_times_put(&times, 9000, result);
	row = history_restart_row(result, 3, 99);
	assert_true(json_equal(row, want));
	assert_int_equal(history_append(&d->catalog, d->job, row), 0);
	/* One that is no number is not believed. */
	json_object_set_new(row, "ranks_ns", json_string("7"));
	assert_int_equal(history_append(&d->catalog, d->job, row), 0);
	rows = history_read(&d->catalog, d->job);
	assert_int_equal(json_array_size(rows), 1);
	assert_true(json_equal(json_array_get(rows, 0), want));
	json_decref(rows);
	json_decref(row);
	json_decref(want);
	json_decref(result);
}

/* One that nobody fetched, tried or waited for has no such phase. */
static void test_restart_of_one_process(void **state)
{
	json_t *result = json_object();
	struct restart_times times = { .asked = 1000 };

	restart_times_begin(&times, 1100);
	restart_times_end(&times, RESTART_RESTORE, 1400);
	restart_times_put(&times, 1500, result);
	assert_int_equal(json_object_size(result), 2);
	assert_int_equal(json_integer_value(json_object_get(result, "total_ns")), 500);
	assert_int_equal(json_integer_value(json_object_get(result, "restore_ns")), 300);
	json_decref(result);
}

/* --------------------------------------------------------------- durations */

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		int err;
		int64_t ms;
	} rows[] = {
		{ "90", 0, 90000 }, { "90s", 0, 90000 }, { "250ms", 0, 250 }, { "15m", 0, 900000 },
		{ "15min", 0, 900000 }, { "1h30m", 0, 5400000 }, { "2.5d", 0, 216000000 },
		{ "1y", 0, 31536000000 }, { "0.5", 0, 500 }, { "2w", 0, 1209600000 },
		{ "", -EINVAL, 0 }, { "0", -ERANGE, 0 }, { "0s", -ERANGE, 0 }, { "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 }, { "nan", -EINVAL, 0 }, { "inf", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 }, { "1e9", -EINVAL, 0 }, { "1h30", -EINVAL, 0 },
		{ "1 h", -EINVAL, 0 }, { "1x", -EINVAL, 0 }, { "h", -EINVAL, 0 },
		{ "1.2.3", -EINVAL, 0 }, { ".", -EINVAL, 0 }, { "5000y", -ERANGE, 0 },
		{ "99999999999999999999999", -EINVAL, 0 }, { "0.0001", -ERANGE, 0 },
	};
	char text[32];
	int64_t ms;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ms = 0;
		if (duration_parse(rows[i].text, &ms) != rows[i].err || ms != rows[i].ms)
			fail_msg("%s: %lld", rows[i].text, (long long)ms);
	}
	assert_string_equal(duration_text(7, text), "7 ms");
	assert_string_equal(duration_text(2000, text), "2 s");
	assert_string_equal(duration_text(2500, text), "2.5 s");
	assert_string_equal(duration_text(90000, text), "1 min 30 s");
	assert_string_equal(duration_text(7980000, text), "2 h 13 min");
	assert_string_equal(duration_text(31536000000, text), "1 y");
}

/* ------------------------------------------------------------------ advice */

static double number(const json_t *outcome, const char *name)
{
	return json_number_value(json_object_get(json_object_get(outcome, "result"), name));
}

/* Daly's own value: a checkpoint of five minutes, a failure in a day, 117 minutes. */
static void test_advice(void **state)
{
	const struct advice_rates rates = {
		.mtbf_ms = 86400000, .from = "--mtbf", .nodes = 1, .slowdown = 0,
	};
	json_t *rows = json_array(), *outcome, *killed, *basis;

	json_array_append_new(rows, row(1, 300000, 300000));
	json_array_append_new(rows, row(2, 299000, 300000));
	json_array_append_new(rows, row(3, 900000, 900000));
	killed = row(4, 7000000, 7000000);
	json_object_set_new(killed, "killed", json_true());
	json_array_append_new(rows, killed);
	outcome = advice_make(7, rows, &rates);
	assert_true(outcome_is_ok(outcome));
	assert_true(fabs(number(outcome, "interval_ms") / 60000 - 117) < 0.5);
	assert_true(fabs(number(outcome, "young_ms") / 60000 - 120) < 0.1);
	assert_true(number(outcome, "efficiency") > 0.9 && number(outcome, "efficiency") < 0.96);
	basis = json_object_get(json_object_get(outcome, "result"), "based_on");
	assert_int_equal(json_integer_value(json_object_get(basis, "checkpoints")), 3);
	assert_int_equal(json_integer_value(json_object_get(basis, "left_out")), 1);
	assert_true(json_is_true(json_object_get(basis, "restart_assumed")));
	json_decref(outcome);
	json_array_append_new(rows, json_pack("{s:i, s:i, s:I, s:i}", "taken", 1, "restart", 2,
					      "total_ns", (json_int_t)60000000000,
					      "restore_ns", 5));
	/* of an earlier version: what the engine took alone */
	json_array_append_new(rows, json_pack("{s:i, s:i, s:i}", "taken", 1, "restart", 2,
					      "total_ns", 7));
	outcome = advice_make(7, rows, &rates);
	basis = json_object_get(json_object_get(outcome, "result"), "based_on");
	assert_int_equal(json_integer_value(json_object_get(basis, "restart_ns")), 60000000000);
	assert_int_equal(json_integer_value(json_object_get(basis, "restarts")), 1);
	json_decref(outcome);
	json_decref(rows);
}

/* A checkpoint that is durable after 300 s, and 5 s to notice that the job has to leave. */
static void test_advice_grace(void **state)
{
	struct advice_rates rates = { .mtbf_ms = 86400000, .from = "x", .nodes = 1 };
	json_t *rows = json_array(), *outcome, *grace;

	json_array_append_new(rows, row(1, 300000, 300000));
	outcome = advice_make(7, rows, &rates);
	assert_null(json_object_get(json_object_get(outcome, "result"), "grace"));
	json_decref(outcome);
	for (rates.grace_ms = 304999; rates.grace_ms <= 305000; rates.grace_ms++) {
		outcome = advice_make(7, rows, &rates);
		grace = json_object_get(json_object_get(outcome, "result"), "grace");
		assert_int_equal(json_integer_value(json_object_get(grace, "needs_ms")), 305000);
		assert_int_equal(json_is_true(json_object_get(grace, "fits")),
				 rates.grace_ms == 305000);
		json_decref(outcome);
	}
	json_decref(rows);
}

static void test_advice_of_nothing(void **state)
{
	struct advice_rates rates = { .node_mtbf_ms = 86400000, .from = "x", .nodes = 1 };
	json_t *rows = json_array(), *killed = row(1, 5, 5), *outcome;
	struct advice_costs costs;
	const char *why = NULL;
	int64_t ms;

	outcome = advice_make(7, rows, &rates);
	assert_int_equal(outcome_errno(outcome), -ENODATA);
	assert_non_null(strstr(json_string_value(
				       json_object_get(json_object_get(outcome, "error"), "text")),
			       "ckptctl checkpoint 7"));
	json_decref(outcome);
	json_object_set_new(killed, "killed", json_true());
	json_array_append_new(rows, killed);
	outcome = advice_make(7, rows, &rates);
	assert_int_equal(outcome_errno(outcome), -ENODATA);
	json_decref(outcome);
	/* More than there is time between failures. */
	json_array_append_new(rows, row(2, 3000, 3000));
	rates.mtbf_ms = 1000;
	outcome = advice_make(7, rows, &rates);
	assert_int_equal(outcome_errno(outcome), -ERANGE);
	json_decref(outcome);
	/* A guess grows with the memory, and works without any. */
	rates.mtbf_ms = 0;
	advice_guess(0, &costs);
	assert_int_equal(advice_interval(&costs, &rates, &ms, &why), 0);
	assert_true(ms > 1000 && ms < 100000);
	advice_guess(1ULL << 40, &costs);
	assert_int_equal(advice_interval(&costs, &rates, &ms, &why), 0);
	assert_true(ms > 3600000);
	json_decref(rows);
}

/* Never shorter than one takes; more nodes fail more often. */
static void test_advice_limits(void **state)
{
	struct advice_rates rates = { .node_mtbf_ms = 10000000, .from = "x", .nodes = 1 };
	json_t *rows = json_pack("[o]", row(1, 1, 600000)), *outcome;
	struct advice_costs costs;
	const char *why = NULL;
	int64_t one, many;

	outcome = advice_make(7, rows, &rates);
	assert_true(json_is_true(json_object_get(json_object_get(outcome, "result"), "limited")));
	assert_true(number(outcome, "interval_ms") >= 599000);
	json_decref(outcome);
	json_decref(rows);
	rows = json_pack("[o]", row(1, 1000, 1000));
	assert_true(advice_measure(rows, &costs));
	assert_int_equal(advice_interval(&costs, &rates, &one, &why), 0);
	rates.nodes = 100;
	assert_int_equal(advice_interval(&costs, &rates, &many, &why), 0);
	assert_true(many * 8 < one && many * 12 > one);
	json_decref(rows);
}

static void test_advice_levels(void **state)
{
	json_t *levels = json_pack("[{s:s, s:I}, {s:s, s:I, s:I}, {s:s, s:I}]",
				   "name", "local", "mtbf_ms", (json_int_t)36000000,
				   "name", "partner", "mtbf_ms", (json_int_t)360000000,
				   "cost_ns", (json_int_t)20000000000,
				   "name", "pfs", "mtbf_ms", (json_int_t)36000000000);
	const struct advice_rates rates = {
		.mtbf_ms = 36000000, .from = "x", .nodes = 1, .slowdown = 10, .levels = levels,
	};
	json_t *rows = json_pack("[o]", row(1, 1000, 1000)), *outcome, *list, *copy;

	outcome = advice_make(7, rows, &rates);
	assert_int_equal(outcome_errno(outcome), -ENODATA);
	json_decref(outcome);
	copy = json_pack("{s:i, s:i, s:s, s:I}", "taken", 1, "generation", 1, "level", "pfs",
			 "total_ns", (json_int_t)600000000000);
	json_array_append_new(rows, copy);
	outcome = advice_make(7, rows, &rates);
	assert_true(outcome_is_ok(outcome));
	list = json_object_get(json_object_get(outcome, "result"), "levels");
	assert_int_equal(json_array_size(list), 3);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "every")), 1);
	assert_true(json_integer_value(json_object_get(json_array_get(list, 1), "every")) > 1);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 2), "cost_ns")),
			 60000000000);
	json_decref(outcome);
	json_decref(rows);
	json_decref(levels);
}

static void test_medians(void **state)
{
	json_t *rows = json_pack("[o, o, o, o]", row(1, 1, 10), row(2, 2, 20), row(3, 300, 30),
				 json_pack("{s:i, s:i, s:i}", "taken", 1, "generation", 4,
					   "sync_ns", 5));
	json_t *medians = advice_medians(rows);

	assert_int_equal(json_integer_value(json_object_get(medians, "pause_ns")), 2000000);
	assert_int_equal(json_integer_value(json_object_get(medians, "sync_ns")), 5);
	assert_null(json_object_get(medians, "taken"));
	json_decref(medians);
	json_decref(rows);
	rows = json_array();
	medians = advice_medians(rows);
	assert_int_equal(json_object_size(medians), 0);
	json_decref(medians);
	json_decref(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_append_and_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_torn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounded, setup, teardown),
		cmocka_unit_test(test_row),
		cmocka_unit_test_setup_teardown(test_restart, setup, teardown),
		cmocka_unit_test(test_restart_of_one_process),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_advice),
		cmocka_unit_test(test_advice_grace),
		cmocka_unit_test(test_advice_of_nothing),
		cmocka_unit_test(test_advice_limits),
		cmocka_unit_test(test_advice_levels),
		cmocka_unit_test(test_medians),
	};

	return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
