// SPDX-License-Identifier: GPL-2.0-only
/*
 * Phases in the record of jobs' I/O, and their judgement: what is stored when, the bounds, a record
 * without phases; and how many anomalies of each kind are found in generated records, with the
 * right cause.
 */
#include "tests/unit/io_record_fixture.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/iotrace/io_anomaly.h"
#include "supervisor/iotrace/io_series.h"

#define NOW	1000000000	/* of all records here; as good as any other */
#define DAY	86400

static int group(struct io_store *store, int64_t job, struct anomaly_phase *phases)
{
	return io_store_group(store, job, ANOMALY_WRITE, phases);
}

/* ------------------------------------------------------------------- store */

/* A phase is stored when it is over, once and whole; at the job's end all that is left. */
static void test_noted(void **state)
{
	struct anomaly_phase *phases = calloc(IO_STORE_GROUP, sizeof(*phases));
	struct io_store *store = store_of("noted", true);
	int64_t job, since = 1000;

	io_store_begin(store);
	job = watch(store, 1, 1000, "a", 1000);
	seconds(store, job, 1000, 20, 10 * MB);
	seconds(store, job, 1100, 10, 10 * MB);
	/* the second one goes on */
	since = io_series_note(store, job, since, 1110, false);
	assert_int_equal(group(store, job, phases), 1);
	assert_int_equal(phases[0].began, 1000);
	assert_int_equal(phases[0].seconds, 20);
	assert_int_equal(phases[0].bytes[1], 200 * MB);
	assert_int_equal(phases[0].operations[1], 200);
	assert_int_equal(phases[0].nr, 20);
	assert_int_equal(since, 1100);
	seconds(store, job, 1110, 5, 20 * MB);
	since = io_series_note(store, job, since, 1130, false);
	assert_int_equal(group(store, job, phases), 2);
	assert_int_equal(phases[1].began, 1100);
	assert_int_equal(phases[1].seconds, 15);
	assert_true(phases[1].rates[0] < 11 * MB && phases[1].rates[14] > 19 * MB);
	assert_int_equal(io_store_phases_end(store, job), 1115);
	/* asked again, nothing is stored twice */
	assert_int_equal(io_series_note(store, job, since, 1130, false), since);
	assert_int_equal(group(store, job, phases), 2);
	/* one that goes on for hours is stored in parts, which follow each other */
	seconds(store, job, 2000, 3700, 10 * MB);
	since = io_series_note(store, job, since, 5700, false);
	assert_int_equal(group(store, job, phases), 3);
	assert_int_equal(phases[2].seconds, 3700);
	assert_int_equal(phases[2].nr, ANOMALY_RATES);
	seconds(store, job, 5700, 100, 10 * MB);
	io_series_note(store, job, since, 5800, true);
	assert_int_equal(group(store, job, phases), 4);
	assert_int_equal(phases[3].began, 5700);
	assert_int_equal(phases[3].seconds, 100);
	commit(store);
	io_store_close(store);
	free(phases);
}

static void count_job(const struct io_store_recent *job, void *arg)
{
	int64_t *sum = arg;

	sum[0]++;
	sum[1] = job->number;
}

/* A job and a user keep the newest ones; nobody loses any to another user. */
static void test_bounds(void **state)
{
	struct anomaly_phase *phases = calloc(IO_STORE_GROUP, sizeof(*phases));
	struct io_store *store = store_of("bounds", true);
	int64_t other, first, job = 0, sum[2] = {};
	int i;

	io_store_begin(store);
	other = watch(store, 1000, 2000, "b", 1000);
	put_phases(store, other, 1, 5);
	first = watch(store, 1, 1000, "", 1000);
	put_phases(store, first, 100, IO_STORE_PHASES + 7);
	io_store_trim_phases(store, first);
	assert_int_equal(group(store, first, phases), IO_STORE_PHASES);
	assert_int_equal(phases[0].began, 107);
	for (i = 2; i <= IO_STORE_USER_PHASES / IO_STORE_PHASES + 1; i++) {
		job = watch(store, i, 1000, "", 1000);
		put_phases(store, job, i * 10000, IO_STORE_PHASES);
	}
	io_store_trim_phases(store, job);
	assert_int_equal(group(store, first, phases), 0);
	assert_int_equal(group(store, job, phases), IO_STORE_PHASES);
	assert_int_equal(group(store, other, phases), 5);
	commit(store);
	assert_int_equal(io_store_recent(store, 2000, 0, count_job, sum), 0);
	assert_int_equal(sum[0], 1);
	assert_int_equal(sum[1], 1000);
	sum[0] = 0;
	assert_int_equal(io_store_recent(store, 0, 30000, count_job, sum), 0);
	assert_int_equal(sum[0], IO_STORE_USER_PHASES / IO_STORE_PHASES - 1);
	/* phases leave with their job */
	io_store_begin(store);
	io_store_end_span(store, job, 1000000, 1001);
	io_store_expire(store, 1001 + 366 * DAY);
	commit(store);
	assert_int_equal(group(store, job, phases), 0);
	io_store_close(store);
	free(phases);
}

/* In a full file phases go when no files of ended jobs are left: the oldest, of who has most. */
static void test_room(void **state)
{
	struct anomaly_phase *phases = calloc(IO_STORE_GROUP, sizeof(*phases));
	struct io_store *store = store_of("room", true);
	int64_t few, old, new;
	int i;

	io_store_begin(store);
	few = watch(store, 1, 1000, "", 1000);
	old = watch(store, 2, 1001, "", 1000);
	new = watch(store, 3, 1001, "", 1000);
	put_phases(store, few, 1, 50);
	put_phases(store, old, 1000, 1000);
	put_phases(store, new, 2000, 20000);
	io_store_put_file(store, &(const struct io_file_key){ .job = (__u64)few },
			  &(const struct io_file){ .opens = 1 });
	io_store_end_span(store, few, 1000000, 1001);
	commit(store);
	assert_false(io_store_make_room(store));
	io_store_bound(store, 512 << 10);
	/* the file, then phases */
	assert_true(io_store_make_room(store));
	assert_int_equal(group(store, old, phases), IO_STORE_GROUP);
	assert_true(io_store_make_room(store));
	assert_int_equal(group(store, old, phases), 0);
	for (i = 0; i < 30 && io_store_make_room(store); i++)
		;
	assert_in_range(i, 1, 20);
	assert_int_equal(group(store, few, phases), 50);
	/* the newest ones are kept */
	assert_int_equal(group(store, new, phases), IO_STORE_GROUP);
	assert_int_equal(phases[IO_STORE_GROUP - 1].began, 21999);
	io_store_close(store);
	free(phases);
}

/* Runs of one user's program at one scale are compared, and no others. */
static void test_groups(void **state)
{
	struct anomaly_phase *phases = calloc(IO_STORE_GROUP, sizeof(*phases));
	struct io_store *store = store_of("groups", true);
	const struct io_store_job wide = {
		.number = 5, .uuid = "0123", .uid = 1000, .name = "x", .nodes = "", .program = "a",
		.ranks = 8,
	};
	int64_t jobs[6];
	int i;

	io_store_begin(store);
	jobs[0] = watch(store, 1, 1000, "a", 1000);
	jobs[1] = watch(store, 2, 1000, "a", 1000);
	jobs[2] = watch(store, 3, 1000, "b", 1000);
	jobs[3] = watch(store, 4, 1001, "a", 1000);
	io_store_put_job(store, &wide);
	jobs[4] = io_store_key(&wide);
	jobs[5] = watch(store, 6, 1000, NULL, 1000);
	for (i = 0; i < 6; i++)
		put_phases(store, jobs[i], 100 + i, 1);
	commit(store);
	assert_int_equal(group(store, jobs[0], phases), 2);
	assert_int_equal(phases[0].job, jobs[0]);
	assert_int_equal(phases[1].job, jobs[1]);
	assert_int_equal(io_store_group(store, jobs[0], ANOMALY_READ, phases), 0);
	for (i = 2; i < 6; i++)
		assert_int_equal(group(store, jobs[i], phases), 1);
	io_store_close(store);
	free(phases);
}

/* A record of the release before: read as it is, and taken over by a collector. */
static void test_second_version(void **state)
{
	struct io_store *store = store_of("second", true);
	struct anomaly_phase *phases = calloc(IO_STORE_GROUP, sizeof(*phases));
	struct io_counts counts;
	char path[128];
	sqlite3 *db;
	int64_t job;

	io_store_begin(store);
	job = watch(store, 1, 1000, "a", 1000);
	second(store, job, 1000, 1000, 100, 0);
	io_store_put_counts(store, job, 1000000, &(const struct io_counts){
		.op[IO_READ].count = 3 }, &(const struct io_counts){});
	commit(store);
	io_store_close(store);
	snprintf(path, sizeof(path), "%s/second", dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "DROP TABLE phase; DROP INDEX job_program; "
		"DROP INDEX job_files; ALTER TABLE job DROP COLUMN program; ALTER TABLE job DROP "
		"COLUMN ranks; ALTER TABLE job DROP COLUMN files; PRAGMA user_version = 2;", NULL,
		NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	store = store_of("second", false);
	assert_int_equal(io_store_counts(store, job, &counts), 0);
	assert_int_equal(counts.op[IO_READ].count, 3);
	assert_int_equal(group(store, job, phases), 0);
	assert_int_equal(io_store_recent(store, 0, 0, NULL, NULL), 0);
	io_store_close(store);
	store = store_of("second", true);
	assert_int_equal(io_store_counts(store, job, &counts), 0);
	assert_int_equal(counts.op[IO_READ].count, 3);
	io_store_begin(store);
	watch(store, 1, 1000, "a", 2000);
	put_phases(store, job, 100, 2);
	commit(store);
	assert_int_equal(group(store, job, phases), 2);
	io_store_close(store);
	free(phases);
}

static void take_other(const struct io_store_other *other, void *arg)
{
	struct io_store_other *list = arg;

	list[other->number] = *other;
}

static void test_others(void **state)
{
	struct io_store *store = store_of("others", true);
	struct io_store_other list[5] = {};
	const struct io_file file = { .flags = IO_FILE_WRITERS,
				      .side[1] = { .count = 5, .bytes = 100 * (__u64)MB } };
	int64_t jobs[5];
	int i;

	io_store_begin(store);
	for (i = 1; i < 5; i++)
		jobs[i] = watch(store, i, 1000 + (uid_t)i, "a", NOW);
	seconds(store, jobs[1], NOW, 10, 50 * MB);
	seconds(store, jobs[2], NOW - 5, 10, 50 * MB);
	io_store_put_file(store, &(const struct io_file_key){ .job = (__u64)jobs[2] }, &file);
	for (i = 0; i < 10; i++)
		second(store, jobs[3], NOW + i, 10, 10, 500);
	seconds(store, jobs[4], NOW + 10, 10, 50 * MB);
	commit(store);
	assert_int_equal(io_store_others(store, jobs[1], NOW, NOW + 10, NOW + 60, take_other, list),
			 0);
	assert_int_equal(list[1].number, 0);
	assert_int_equal(list[2].uid, 1002);
	assert_int_equal(list[2].rate, 25 * MB);
	assert_true(list[2].many_to_one);
	assert_int_equal(list[3].meta, 500);
	assert_false(list[3].many_to_one);
	assert_int_equal(list[4].number, 0);
	/* a day later there are ten seconds at least */
	assert_int_equal(io_store_others(store, jobs[1], NOW + 3, NOW + 9, NOW + 2 * DAY,
					 take_other, list), 0);
	assert_int_equal(list[2].rate, 25 * MB);
	assert_int_equal(list[4].number, 0);
	assert_int_equal(io_store_others(store, jobs[1], NOW, NOW + 10, NOW + 10 * DAY, take_other,
					 list), 0);
	assert_int_equal((int)(list[4].rate / MB), 500 / 300);
	io_store_close(store);
}

/* ---------------------------------------------------------------- how good */

#define PROGRAMS	10
#define RUNS		24
#define BAD		3	/* of the runs of a program */

struct kind {
	const char *name;
	double slower;
	double rate, meta;	/* of a job beside it; 0: there is none */
	double size;		/* of the operations */
	bool one_file;		/* the job beside it is an N-1 */
	enum anomaly_cause cause;
	double recall, precision, causes;	/* at least */
};

static double place(void)
{
	return (double)rand() / RAND_MAX;
}

static double normal(void)
{
	double sum = 0;
	int i;

	for (i = 0; i < 12; i++)
		sum += place();
	return sum - 6;
}

/* The job beside job @number, of the same user if that is even; its number is 1000 more. */
static void beside(struct io_store *store, const struct kind *kind, int64_t number, int64_t from,
		   int64_t nr)
{
	const int64_t job = watch(store, 1000 + number, number % 2 ? 1001 : 1000, "beside", from);
	const struct io_file file = {
		.flags = kind->one_file ? IO_FILE_WRITERS : 0,
		.side[1] = { .count = 5, .bytes = 100 * (__u64)MB, .processes = 0xf },
	};
	int64_t i;

	io_store_put_file(store, &(const struct io_file_key){ .job = (__u64)job }, &file);
	for (i = 0; i < nr; i++)
		second(store, job, from + i, kind->rate + 1, 10000, kind->meta);
}

/* Run @number of a program, which begins at @from; if @bad, with what @kind says. */
static void run(struct io_store *store, const struct kind *kind, const char *program,
		int64_t number, int64_t from, bool bad)
{
	static const struct kind quiet = { .rate = 2 * MB };
	const double rate = 100 * MB * (1 + 0.01 * normal()) * (bad ? 1 - kind->slower : 1);
	const int64_t nr = (int64_t)(100 * MB * (25 + 5 * (place() - 0.5)) / rate);
	const int64_t job = watch(store, number, 1000, program, from);
	int64_t i;

	for (i = 0; i < nr; i++)
		second(store, job, from + i, rate * (1 + 0.1 * normal()),
		       bad && kind->size > 0 ? kind->size : MB, 5);
	if (bad && kind->rate + kind->meta > 0)
		beside(store, kind, number, from, nr);
	else if (number % 3 == 0)
		beside(store, &quiet, number, from, nr);
	io_series_note(store, job, from, from + nr + 10, true);
	io_store_end_span(store, job, from * 1000, from + nr + 10);
}

static int64_t began_of(int64_t number)
{
	return NOW - DAY + 300 + 300 * number;
}

struct score {
	unsigned int bad, found, accused, explained;
};

static void score_run(struct io_store *store, const struct kind *kind, int64_t number, bool bad,
		      struct score *score)
{
	const struct io_store_job job = { .number = number, .uuid = "0123", .uid = 1000 };
	const bool any = number % 5 == 0;
	struct io_judged judged[IO_JUDGED_MAX];
	bool found = false;
	uint64_t left_out;
	int n, i;

	n = io_anomaly_judge(store, &(const struct io_anomaly_of){
		.job = io_store_key(&job), .uid = 1000, .any = any, .now = NOW }, judged,
		&left_out);
	assert_int_equal(n, 1);
	assert_int_equal(left_out, 0);
	for (i = 0; i < n; i++) {
		found |= judged[i].judgement.verdict == ANOMALY_ABNORMAL;
		score->explained += found && bad && judged[i].cause == kind->cause;
		if (judged[i].cause != ANOMALY_NEIGHBOUR)
			assert_int_equal(judged[i].by, 0);
		else	/* a job of another user has no name, but for root */
			assert_int_equal(judged[i].by, number % 2 && !any ? 0 : 1000 + number);
	}
	score->bad += bad;
	score->found += found && bad;
	score->accused += found && !bad;
}

static void score_kind(const struct kind *kind)
{
	struct io_store *store = store_of(kind->name, true);
	const int64_t at = RUNS / (BAD + 1);
	struct score score = {};
	double recall, precision, causes;
	char program[20];
	int64_t number;

	srand(1);
	io_store_begin(store);
	for (number = 1; number <= PROGRAMS * RUNS; number++) {
		snprintf(program, sizeof(program), "p%d", (int)(number % PROGRAMS));
		run(store, kind, program, number, began_of(number),
		    number / PROGRAMS % at == at - 1 && number / PROGRAMS < BAD * at);
	}
	commit(store);
	for (number = 1; number <= PROGRAMS * RUNS; number++)
		score_run(store, kind, number, number / PROGRAMS % at == at - 1 &&
			  number / PROGRAMS < BAD * at, &score);
	io_store_close(store);
	recall = (double)score.found / score.bad;
	precision = score.found ? (double)score.found / (score.found + score.accused) : 0;
	causes = score.found ? (double)score.explained / score.found : 0;
	print_message("%-22s recall %.2f, precision %.2f, causes %.2f (of %u runs)\n", kind->name,
		      recall, precision, causes, score.bad);
	assert_int_equal(score.bad, PROGRAMS * BAD);
	assert_true(recall >= kind->recall && precision >= kind->precision &&
		    causes >= kind->causes);
}

static void test_how_good(void **state)
{
	static const struct kind kinds[] = {
		{ .name = "slow disk, 10 %", .slower = 0.1, .cause = ANOMALY_UNTOLD,
		  .recall = 0.85, .precision = 0.85, .causes = 0.99 },
		{ .name = "slow disk, 20 %", .slower = 0.2, .cause = ANOMALY_UNTOLD,
		  .recall = 0.99, .precision = 0.85, .causes = 0.99 },
		{ .name = "slow disk, 50 %", .slower = 0.5, .cause = ANOMALY_UNTOLD,
		  .recall = 0.99, .precision = 0.85, .causes = 0.99 },
		{ .name = "noisy neighbour", .slower = 0.4, .rate = 80 * MB,
		  .cause = ANOMALY_NEIGHBOUR, .recall = 0.99, .precision = 0.85, .causes = 0.99 },
		{ .name = "N-1 writer beside", .slower = 0.3, .rate = 5 * MB, .one_file = true,
		  .cause = ANOMALY_NEIGHBOUR, .recall = 0.99, .precision = 0.85, .causes = 0.99 },
		{ .name = "many small files beside", .slower = 0.3, .meta = 500,
		  .cause = ANOMALY_NEIGHBOUR, .recall = 0.99, .precision = 0.85, .causes = 0.99 },
		{ .name = "small operations", .slower = 0.4, .size = 4096,
		  .cause = ANOMALY_OPERATIONS, .recall = 0.99, .precision = 0.85, .causes = 0.99 },
	};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		score_kind(&kinds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_noted), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_room), cmocka_unit_test(test_groups),
		cmocka_unit_test(test_second_version),
		cmocka_unit_test(test_others), cmocka_unit_test(test_how_good),
	};

	return cmocka_run_group_tests_name("io_anomaly", tests, record_begin, record_end);
}
