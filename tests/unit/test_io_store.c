// SPDX-License-Identifier: GPL-2.0-only
/*
 * The store of iotrace/: sums over spans, samples, retention, a writer that is killed; jobs of one
 * number are kept apart, and a record of the first version is begun anew.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/iotrace/io_store.h"

#define DAY	86400

static char dir[] = "/tmp/iostore.XXXXXX";

static int begin(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static struct io_store *store_of(const char *name, bool writer)
{
	struct ckpt_error error;
	struct io_store *store;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(io_store_open(path, writer, &store, &error), 0);
	return store;
}

/* One second of job @job's span @span, after which it has written @count times 100 bytes. */
static void put_second(struct io_store *store, int64_t job, int64_t span, int64_t now, __u64 count,
		       __u64 before_count)
{
	const struct io_counts before = {
		.op[IO_WRITE] = { .count = before_count, .bytes = 100 * before_count },
		.hist[IO_WRITE_SIZE][7] = before_count,
	};
	const struct io_counts counts = {
		.op[IO_WRITE] = { .count = count, .bytes = 100 * count },
		.hist[IO_WRITE_SIZE][7] = count,
	};

	io_store_put_counts(store, job, span, &counts, &before);
	io_store_add_sample(store, job, now, &counts, &before);
}

static void commit(struct io_store *store)
{
	struct ckpt_error error;

	assert_int_equal(io_store_commit(store, &error), 0);
}

static void put_span(struct io_store *store, int64_t job, int64_t began_s)
{
	const struct io_store_span span = {
		.job = job, .span = began_s * 1000, .source = "bpf", .why = "",
	};

	io_store_put_span(store, &span);
}

static void add_sample(const struct io_store_sample *sample, void *arg)
{
	uint64_t *sum = arg;

	sum[0]++;
	sum[1] += sample->writes;
}

static void expect_samples(struct io_store *store, int64_t job, int resolution, uint64_t nr,
			   uint64_t writes)
{
	uint64_t sum[2] = {};

	assert_int_equal(io_store_samples(store, job, resolution, 0, add_sample, sum), 0);
	assert_int_equal(sum[0], nr);
	assert_int_equal(sum[1], writes);
}

static void test_spans(void **state)
{
	struct io_store *store = store_of("spans", true);
	struct io_counts counts;
	json_t *spans;

	io_store_begin(store);
	put_span(store, 7, 1000);
	put_second(store, 7, 1000000, 1000, 5, 0);
	put_second(store, 7, 1000000, 1001, 8, 5);
	/* the same again, as after a transaction whose end was not seen */
	put_second(store, 7, 1000000, 1001, 8, 8);
	io_store_end_span(store, 7, 1000000, 1002);
	put_span(store, 7, 2000);
	put_second(store, 7, 2000000, 2003, 4, 0);
	put_second(store, 8, 2000000, 2003, 100, 0);
	/* one end, and of each second a counter, a bucket and three samples; nothing for nothing */
	assert_int_equal(io_store_rows(store), 1 + 4 * 5);
	commit(store);
	assert_int_equal(io_store_counts(store, 7, &counts), 0);
	assert_int_equal(counts.op[IO_WRITE].count, 12);
	assert_int_equal(counts.op[IO_WRITE].bytes, 1200);
	assert_int_equal(counts.hist[IO_WRITE_SIZE][7], 12);
	spans = io_store_spans(store, 7);
	assert_int_equal(json_array_size(spans), 2);
	json_decref(spans);
	expect_samples(store, 7, 1, 3, 12);
	expect_samples(store, 7, 10, 2, 12);
	expect_samples(store, 7, 300, 2, 12);
	io_store_close(store);
}

static void test_retention(void **state)
{
	struct io_store *store = store_of("retention", true);
	const int64_t now = 400 * DAY;
	json_t *spans;

	io_store_begin(store);
	put_span(store, 1, now - 399 * DAY);
	io_store_end_span(store, 1, (now - 399 * DAY) * 1000, now - 398 * DAY);
	put_second(store, 1, (now - 399 * DAY) * 1000, now - 399 * DAY, 1, 0);
	put_span(store, 2, now - 399 * DAY);
	put_second(store, 2, (now - 399 * DAY) * 1000, now - 8 * DAY, 1, 0);
	put_second(store, 2, (now - 399 * DAY) * 1000, now - 2 * DAY, 2, 1);
	put_second(store, 2, (now - 399 * DAY) * 1000, now - 100, 3, 2);
	io_store_end_span(store, 2, (now - 399 * DAY) * 1000, now - 50);
	commit(store);
	io_store_begin(store);
	io_store_expire(store, now);
	commit(store);
	expect_samples(store, 2, 1, 1, 1);
	expect_samples(store, 2, 10, 2, 2);
	expect_samples(store, 2, 300, 3, 3);
	expect_samples(store, 1, 300, 0, 0);
	spans = io_store_spans(store, 1);
	assert_int_equal(json_array_size(spans), 0);
	json_decref(spans);
	spans = io_store_spans(store, 2);
	assert_int_equal(json_array_size(spans), 1);
	json_decref(spans);
	io_store_close(store);
}

static void take_file(const struct io_store_file *f, void *arg)
{
	snprintf(arg, 100, "%s %llu %d %s", f->name ? f->name : "-", f->file.side[1].bytes,
		 !!(f->file.flags & IO_FILE_WRITERS), f->place ? f->place : "-");
}

static void test_files(void **state)
{
	struct io_store *store = store_of("files", true);
	const struct io_file_key key = { .job = 3, .ino = 5, .dev = 1 };
	struct io_file file = {
		.side[1] = { .count = 2, .bytes = 10, .processes = 3 }, .born = 1,
		.flags = IO_FILE_NAMED | IO_FILE_WRITERS,
	};
	struct io_name name = { .key = key, .path = "/a b\n" };
	char text[100] = "";

	io_store_begin(store);
	io_store_put_file(store, &key, &file);
	file.side[1].bytes = 20;
	io_store_put_file(store, &key, &file);
	commit(store);
	assert_int_equal(io_store_files(store, 3, take_file, text), 0);
	assert_string_equal(text, "- 20 1 -");
	/* the entry had left the table, and came again */
	file.born = 2;
	file.side[1].bytes = 5;
	file.flags = IO_FILE_NAMED;
	io_store_begin(store);
	io_store_put_file(store, &key, &file);
	io_store_put_name(store, &name);
	io_store_put_place(store, 3, 1, "nfs a:/b");
	io_store_put_place(store, 4, 1, "nfs of another");
	commit(store);
	assert_int_equal(io_store_files(store, 3, take_file, text), 0);
	assert_string_equal(text, "/a b\n 25 1 nfs a:/b");
	io_store_close(store);
}

/* Files of an ended job go after a month, its counters stay. */
static void test_bounded(void **state)
{
	struct io_store *store = store_of("bounded", true);
	const int64_t now = 400 * DAY;
	const struct io_file file = { .opens = 1 };
	char text[100] = "";
	json_t *spans;

	io_store_begin(store);
	for (int job = 1; job < 4; job++) {
		put_span(store, job, now - 50 * DAY);
		io_store_put_file(store, &(struct io_file_key) { .job = (__u64)job }, &file);
	}
	io_store_end_span(store, 1, (now - 50 * DAY) * 1000, now - 31 * DAY);
	io_store_end_span(store, 2, (now - 50 * DAY) * 1000, now - 29 * DAY);
	io_store_expire(store, now);
	commit(store);
	for (int job = 1; job < 4; job++, *text = '\0') {
		assert_int_equal(io_store_files(store, job, take_file, text), 0);
		assert_int_equal(!*text, job == 1);	/* the third runs */
	}
	spans = io_store_spans(store, 1);
	assert_int_equal(json_array_size(spans), 1);
	json_decref(spans);
	io_store_close(store);
}

static void test_killed(void **state)
{
	struct ckpt_error error;
	struct io_counts counts;
	struct io_store *store;
	char path[128];
	pid_t child;
	int status;

	snprintf(path, sizeof(path), "%s/none", dir);
	assert_int_equal(io_store_open(path, false, &store, &error), -ENOENT);
	child = fork();
	if (!child) {
		store = store_of("killed", true);
		io_store_begin(store);
		put_span(store, 9, 1000);
		put_second(store, 9, 1000000, 1000, 5, 0);
		if (io_store_commit(store, &error))
			_exit(1);
		io_store_begin(store);
		put_second(store, 9, 1000000, 1001, 6, 5);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	store = store_of("killed", false);
	assert_int_equal(io_store_counts(store, 9, &counts), 0);
	assert_int_equal(counts.op[IO_WRITE].count, 5);
	expect_samples(store, 9, 1, 1, 5);
	io_store_close(store);
}

/* Watch a job for a second, in which it writes @count times, and put a file with its name. */
static void put_job(struct io_store *store, const struct io_store_job *job, __u64 count)
{
	const int64_t key = io_store_key(job);
	struct io_name name = { .key = { .job = (__u64)key, .ino = 5, .dev = 1 } };
	const struct io_file file = { .side[1] = { .count = count, .bytes = count } };

	snprintf(name.path, sizeof(name.path), "/of/%s", job->name);
	io_store_begin(store);
	io_store_put_job(store, job);
	put_span(store, key, 1000);
	put_second(store, key, 1000000, 1000, count, 0);
	io_store_put_file(store, &name.key, &file);
	io_store_put_name(store, &name);
	commit(store);
}

/* Jobs of one number, of another image directory or another owner, see nothing of each other. */
static void test_jobs_apart(void **state)
{
	const struct io_store_job jobs[] = {
		{ 7, "aaaa", 1000, "first", "[\"n1\", \"n2\"]", "p", 2 },
		{ 7, "bbbb", 1000, "second", "", "p", 2 },
		{ 7, "aaaa", 1001, "third", "", NULL, 0 },
		{ 8, "aaaa", 1000, "fourth", "", NULL, 0 },
	};
	const struct io_store_job none = { .number = 7, .uuid = "cccc", .uid = 1000 };
	struct io_store *store = store_of("apart", true);
	struct io_counts counts;
	char text[100], want[100];
	json_t *nodes, *top;
	int64_t key = 0;
	size_t i;

	for (i = 0; i < 4; i++)
		put_job(store, &jobs[i], i + 1);
	for (i = 0; i < 4; i++) {
		assert_int_equal(io_store_find(store, &jobs[i], &key, &nodes), 0);
		assert_int_equal(key, io_store_key(&jobs[i]));
		assert_int_equal(json_array_size(nodes), i ? 0 : 2);
		json_decref(nodes);
		assert_int_equal(io_store_counts(store, key, &counts), 0);
		assert_int_equal(counts.op[IO_WRITE].count, i + 1);
		snprintf(want, sizeof(want), "/of/%s %zu 0 -", jobs[i].name, i + 1);
		assert_int_equal(io_store_files(store, key, take_file, text), 0);
		assert_string_equal(text, want);
		expect_samples(store, key, 1, 1, i + 1);
	}
	assert_int_equal(io_store_find(store, &none, &key, &nodes), -ENOENT);
	top = io_store_top(store, 0);
	assert_int_equal(json_array_size(top), 4);
	assert_string_equal(json_string_value(json_object_get(json_array_get(top, 0), "name")),
			    "fourth");
	assert_int_equal(json_integer_value(json_object_get(json_array_get(top, 1), "uid")), 1001);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(top, 1), "job")), 7);
	json_decref(top);
	/* a job leaves with its last span */
	io_store_begin(store);
	io_store_end_span(store, key, 1000000, 1001);
	io_store_expire(store, 1001 + 366 * DAY);
	commit(store);
	assert_int_equal(io_store_find(store, &jobs[3], &key, &nodes), -ENOENT);
	io_store_close(store);
}

/* Nobody knows whose rows by numbers alone are: they are dropped. The devices' history stays. */
static void test_first_version(void **state)
{
	const struct io_store_job job = { 7, "aaaa", 1000, "new", "", NULL, 0 };
	struct ckpt_error error;
	struct io_store *store;
	char path[128], text[100] = "";
	sqlite3_stmt *stmt = NULL;
	int64_t key = 0;
	json_t *nodes;
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/first", dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE span (job INTEGER, span INTEGER,"
		" uid INTEGER, name TEXT, source TEXT, why TEXT, ended INTEGER,"
		" PRIMARY KEY (job, span));"
		"CREATE TABLE name (job INTEGER, dev INTEGER, ino INTEGER, path TEXT,"
		" partial INTEGER, PRIMARY KEY (job, dev, ino));"
		"INSERT INTO span VALUES (7, 1000, 0, 'x', 'bpf', '', NULL);"
		"INSERT INTO name VALUES (7, 1, 5, '/secret', 0);"
		"CREATE TABLE device (level TEXT); INSERT INTO device VALUES ('L1');"
		"PRAGMA user_version = 1;", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(io_store_open(path, false, &store, &error), -ENOENT);
	store = store_of("first", true);
	assert_int_equal(io_store_find(store, &job, &key, &nodes), -ENOENT);
	put_job(store, &job, 3);
	assert_int_equal(io_store_find(store, &job, &key, &nodes), 0);
	json_decref(nodes);
	assert_int_equal(io_store_files(store, key, take_file, text), 0);
	assert_string_equal(text, "/of/new 3 0 -");
	io_store_close(store);
	store = store_of("first", false);
	assert_int_equal(io_store_find(store, &job, &key, &nodes), 0);
	json_decref(nodes);
	io_store_close(store);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT (SELECT count(*) FROM device), "
		"(SELECT count(*) FROM name WHERE path = '/secret')", -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(stmt, 0), 1);
	assert_int_equal(sqlite3_column_int(stmt, 1), 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

static void put_many(struct io_store *store, int64_t job, __u64 first, __u64 nr)
{
	struct io_name name = { .key = { .job = (__u64)job, .dev = 1 } };
	const struct io_file file = { .opens = 1, .side[1] = { .count = 1, .bytes = 5 } };
	__u64 i;

	for (i = first; i < first + nr; i++) {
		name.key.ino = i;
		snprintf(name.path, sizeof(name.path), "/f%llu", i);
		io_store_put_file(store, &name.key, &file);
		io_store_put_name(store, &name);
	}
}

static void count_file(const struct io_store_file *f, void *arg)
{
	int64_t *n = arg;

	n[0]++;
	n[1] += f->name ? 1 : 0;
	n[2] += (int64_t)f->file.side[1].bytes;
}

static void expect_files(struct io_store *store, int64_t job, int64_t nr, int64_t bytes, int full)
{
	int64_t n[3] = {};
	json_t *spans = io_store_spans(store, job);

	assert_int_equal(io_store_files(store, job, count_file, n), 0);
	assert_int_equal(n[0], nr);
	assert_int_equal(n[1], nr);
	assert_int_equal(n[2], bytes);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(
		spans, json_array_size(spans) - 1), "files_full")), full);
	json_decref(spans);
}

/* A job has its share of files, and no more; those that it has still change. */
static void test_shares(void **state)
{
	struct io_store *store = store_of("shares", true);
	const struct io_file_key key = { .job = 1, .dev = 1, .ino = 7 };
	const struct io_file file = { .side[1] = { .count = 2, .bytes = 1000 } };
	const int64_t bytes = 5 * (IO_STORE_FILES - 1) + 1000;
	int64_t rows;

	io_store_begin(store);
	put_span(store, 1, 1000);
	put_span(store, 2, 1000);
	rows = io_store_rows(store);
	put_many(store, 1, 0, IO_STORE_FILES);
	assert_int_equal(io_store_rows(store), rows + IO_STORE_FILES);
	commit(store);
	expect_files(store, 1, IO_STORE_FILES, 5 * IO_STORE_FILES, 0);
	io_store_begin(store);
	put_many(store, 1, IO_STORE_FILES, 5);
	io_store_put_file(store, &key, &file);
	put_many(store, 2, 0, 3);
	commit(store);
	expect_files(store, 1, IO_STORE_FILES, bytes, 1);
	expect_files(store, 2, 3, 15, 0);
	io_store_close(store);
	/* also with the next collector, whose first transaction comes to nothing */
	store = store_of("shares", true);
	io_store_begin(store);
	put_span(store, 1, 2000);
	put_many(store, 2, 10, 2);
	io_store_close(store);
	store = store_of("shares", true);
	io_store_begin(store);
	put_span(store, 1, 2000);
	put_many(store, 1, IO_STORE_FILES + 10, 5);
	commit(store);
	expect_files(store, 1, IO_STORE_FILES, bytes, 1);
	expect_files(store, 2, 3, 15, 0);
	io_store_close(store);
}

/* A file that is nearly full loses the files of jobs that have ended, the first one first. */
static void test_room(void **state)
{
	struct io_store *store = store_of("room", true);
	struct ckpt_error error;
	int64_t job;
	int err = 0;

	io_store_bound(store, 2 << 20);
	assert_false(io_store_make_room(store));
	for (job = 1; job <= 3; job++) {
		io_store_begin(store);
		put_span(store, job, 1000 * job);
		put_many(store, job, 0, 4000);
		/* the third was watched by a collector that was killed */
		if (job < 3)
			io_store_end_span(store, job, 1000000 * job, 1000 * job + 500);
		commit(store);
	}
	io_store_close(store);
	store = store_of("room", true);
	io_store_bound(store, 2 << 20);
	/* the first, whose span is the oldest, goes on, until the file is full */
	io_store_begin(store);
	put_span(store, 1, 1000);
	commit(store);
	for (job = 0; !err && job < 100; job++) {
		io_store_begin(store);
		put_many(store, 1, (__u64)(10000 + 1000 * job), 1000);
		err = io_store_commit(store, &error);
	}
	assert_int_equal(err, -ENOSPC);
	assert_true(io_store_make_room(store));
	expect_files(store, 2, 0, 0, 0);
	expect_files(store, 3, 4000, 20000, 0);
	expect_files(store, 1, 4000 + 1000 * (job - 1), 5 * (4000 + 1000 * (job - 1)), 0);
	io_store_begin(store);
	put_many(store, 1, 500000, 1000);
	commit(store);
	/* full again, and again, until nobody is left who has ended */
	for (job = 0; !err || io_store_make_room(store); job++) {
		io_store_begin(store);
		put_many(store, 1, (__u64)(1000000 + 1000 * job), 1000);
		err = io_store_commit(store, &error);
	}
	assert_int_equal(err, -ENOSPC);
	expect_files(store, 3, 0, 0, 0);
	io_store_close(store);
}

/* The user with most files pays, though his jobs ended last. */
static void test_room_of_users(void **state)
{
	const struct io_store_job jobs[] = {
		{ 1, "aaaa", 1000, "few", "", NULL, 0 }, { 2, "aaaa", 1001, "many", "", NULL, 0 },
		{ 3, "aaaa", 1001, "many", "", NULL, 0 },
	};
	struct io_store *store = store_of("users", true);
	int64_t key[3];
	int i;

	io_store_begin(store);
	for (i = 0; i < 3; i++) {
		io_store_put_job(store, &jobs[i]);
		key[i] = io_store_key(&jobs[i]);
		put_span(store, key[i], 1000 * (i + 1));
		put_many(store, key[i], 0, i ? 7000 : 2000);
		io_store_end_span(store, key[i], 1000000 * (i + 1), 1000 * (i + 1) + 500);
	}
	commit(store);
	/* a job that is watched again keeps its number */
	io_store_begin(store);
	io_store_put_job(store, &jobs[1]);
	commit(store);
	assert_false(io_store_make_room(store));
	io_store_bound(store, 1 << 20);
	assert_true(io_store_make_room(store));
	expect_files(store, key[1], 0, 0, 0);
	expect_files(store, key[0], 2000, 10000, 0);
	expect_files(store, key[2], 7000, 35000, 0);
	io_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_retention),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_jobs_apart),
		cmocka_unit_test(test_first_version),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_room_of_users),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
