// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pure parts of iotrace/ (patterns, judgements, devices, /proc/PID/io, metrics), and its store:
 * sums over spans, samples, retention, a writer that is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/iotrace/devices.h"
#include "supervisor/iotrace/io_metrics.h"
#include "supervisor/iotrace/io_store.h"
#include "supervisor/iotrace/open_files.h"
#include "supervisor/iotrace/phases.h"
#include "supervisor/iotrace/portrait.h"
#include "supervisor/iotrace/probes.h"
#include "supervisor/iotrace/source_proc.h"

#define DAY	86400

static char dir[] = "/tmp/iotrace.XXXXXX";

/* ----------------------------------------------------------------- portrait */

static void add_written(struct portrait *p, __u64 bytes, __u64 processes, bool shared)
{
	const struct io_file_key key = { .job = 1, .ino = p->files + 1, .dev = 8 << 20 | 1 };
	const struct io_file file = {
		.side[1] = { .count = 10, .bytes = bytes, .processes = processes },
		.flags = shared ? IO_FILE_WRITERS : 0,
	};

	portrait_add_file(p, &key, &file, "/x", false);
}

static void test_patterns(void **state)
{
	struct portrait none = {}, one = {}, own = {}, shared = {}, several = {}, log = {};
	int i;

	assert_string_equal(portrait_pattern(&none.side[1]), "");
	for (i = 0; i < 3; i++)
		add_written(&one, 100, 1 << 2, false);
	assert_string_equal(portrait_pattern(&one.side[1]), "1-1");
	for (i = 0; i < 4; i++)
		add_written(&own, 100, 1 << i, false);
	assert_string_equal(portrait_pattern(&own.side[1]), "N-N");
	add_written(&shared, 1000, 0xf, true);
	/* a log of one of them */
	add_written(&shared, 100, 1, false);
	assert_string_equal(portrait_pattern(&shared.side[1]), "N-1");
	add_written(&several, 1000, 0xf, true);
	add_written(&several, 1000, 0xf, true);
	assert_string_equal(portrait_pattern(&several.side[1]), "N-M");
	/* a log of all of them */
	add_written(&log, 100, 0xf, true);
	for (i = 0; i < 4; i++)
		add_written(&log, 1000, 1 << i, false);
	assert_string_equal(portrait_pattern(&log.side[1]), "N-N");
	/* two processes whose numbers are equal modulo 64 */
	add_written(&none, 1000, 1, true);
	assert_string_equal(portrait_pattern(&none.side[1]), "N-1");
	json_decref(none.list);
	json_decref(one.list);
	json_decref(own.list);
	json_decref(shared.list);
	json_decref(several.list);
	json_decref(log.list);
}

static void test_processes(void **state)
{
	assert_int_equal(portrait_processes(0), 0);
	assert_int_equal(portrait_processes(0xff), 8);
	assert_int_equal(portrait_processes(0xffffffff), 32);
	/* 40 bits of 64 are about 63 processes, if their numbers are random */
	assert_int_equal(portrait_processes((1ull << 40) - 1), 63);
	assert_int_equal(portrait_processes(~0ull), 64);
}

static void test_bottlenecks(void **state)
{
	struct portrait p = {};
	int i;

	assert_string_equal(portrait_bottleneck(&p), "");
	p.counts.op[IO_WRITE] = (struct io_op_counts){ .count = 5000, .bytes = 500000, .ns = 1000 };
	p.counts.hist[IO_WRITE_SIZE][7] = 5000;
	assert_non_null(strstr(portrait_bottleneck(&p), "small writes"));
	/* exactly 4 KiB is bucket 13 */
	p.counts.hist[IO_WRITE_SIZE][13] = 5000;
	p.counts.hist[IO_WRITE_SIZE][7] = 0;
	assert_string_equal(portrait_bottleneck(&p), "");
	p.counts.op[IO_OPEN].ns = 1001;
	assert_non_null(strstr(portrait_bottleneck(&p), "metadata"));
	p.counts.op[IO_FSYNC].ns = 3000;
	assert_non_null(strstr(portrait_bottleneck(&p), "fsync"));
	assert_false(portrait_many_small(&p));
	for (i = 0; i < PORTRAIT_MANY - 1; i++)
		add_written(&p, 100, 1, false);
	assert_false(portrait_many_small(&p));
	add_written(&p, 100, 1, false);
	assert_true(portrait_many_small(&p));
	assert_non_null(strstr(portrait_bottleneck(&p), "many small files"));
	for (i = 0; i < PORTRAIT_MANY; i++)
		add_written(&p, PORTRAIT_SMALL, 1, false);
	assert_false(portrait_many_small(&p));
	assert_int_equal(json_array_size(p.list), PORTRAIT_FILES);
	json_decref(p.list);
}

static void test_rates(void **state)
{
	struct portrait p = { .counts.op[IO_WRITE] = { .count = 3, .bytes = 6000 } };
	const json_t *rate;
	json_t *json;

	portrait_add_sample(&p, 1, 0, 0);
	portrait_add_sample(&p, 1, 0, 2000);
	portrait_add_sample(&p, 10, 0, 4000);
	json = portrait_json(&p, 60);
	rate = json_object_get(json, "write_rate");
	assert_int_equal(json_integer_value(json_object_get(rate, "mean")), 100);
	assert_int_equal(json_integer_value(json_object_get(rate, "active")), 6000 / 11);
	assert_int_equal(json_integer_value(json_object_get(rate, "peak")), 2000);
	json_decref(json);
}

/* ------------------------------------------------------------------ phases */

#define MIB	1048576.0

static void expect_phases(const double *rate, size_t n, const struct io_phase *want, int nr)
{
	struct io_phase got[16];
	int i;

	assert_int_equal(phases_find(rate, n, got, 16), nr);
	for (i = 0; i < nr; i++) {
		assert_int_equal(got[i].begin, want[i].begin);
		assert_int_equal(got[i].seconds, want[i].seconds);
	}
}

static void test_phases(void **state)
{
	double rate[200] = { 0 };
	int i;

	assert_int_equal(phases_find(rate, 0, NULL, 0), 0);
	expect_phases(rate, 200, NULL, 0);
	/* a burst of one second is none, and a trickle is none */
	rate[20] = 100 * MIB;
	for (i = 30; i < 40; i++)
		rate[i] = MIB / 2;
	expect_phases(rate, 200, NULL, 0);
	for (i = 60; i < 80; i++)
		rate[i] = 100 * MIB;
	for (i = 100; i < 110; i++)
		rate[i] = 50 * MIB;
	expect_phases(rate, 200, (const struct io_phase[]){ { 60, 20 }, { 100, 10 } }, 2);
	/* a gap of three seconds is closed, one of four is not */
	rate[70] = rate[71] = rate[72] = 0;
	rate[103] = rate[104] = rate[105] = rate[106] = 0;
	expect_phases(rate, 200, (const struct io_phase[]){ { 60, 20 }, { 100, 3 }, { 107, 3 } },
		      3);
	/* no more than there is room for */
	assert_int_equal(phases_find(rate, 200, NULL, 0), 3);
	expect_phases(rate + 60, 10, (const struct io_phase[]){ { 0, 10 } }, 1);
}

/* Noise around a level, from a fixed series of numbers. */
static void test_phases_noise(void **state)
{
	struct io_phase got[16];
	double rate[512];
	uint32_t seed = 1;
	int i, nr;

	for (i = 0; i < 512; i++) {
		seed = seed * 1664525 + 1013904223;
		/* a third of these seconds would be active, were it not for the wavelet */
		rate[i] = 8 * MIB * (double)(seed >> 8) / (1 << 24);
		if (i >= 128 && i < 256)
			rate[i] += 100 * MIB;
	}
	nr = phases_find(rate, 512, got, 16);
	assert_int_equal(nr, 1);
	assert_int_equal(got[0].begin, 128);
	assert_int_equal(got[0].seconds, 128);
}

/* ------------------------------------------------------------------ probes */

static void test_probes(void **state)
{
	/* 100 MB/s, give or take some, one of them very slow */
	const struct probe earlier[] = {
		{ 1, 1e9, 10 }, { 2, 1e9, 10.5 }, { 3, 1.1e9, 11 }, { 4, 1e9, 9.5 }, { 5, 1e9, 40 },
		{ 6, 1e6, 10 },
	};
	const struct probe now = { 7, 1e9, 16 }, usual = { 7, 1e9, 13 }, small = { 7, 1e6, 10 };
	const struct probe shared[] = {
		{ 1, 1e9, 10 }, { 2, 1e9, 30 }, { 3, 1e9, 5 }, { 4, 1e9, 20 }, { 5, 1e9, 8 },
	};
	double rate = 0;

	/* too few, also where others are of another size */
	assert_int_equal(probe_judge(earlier, 4, &now, &rate), PROBE_UNKNOWN);
	assert_int_equal(probe_judge(earlier, 6, &small, &rate), PROBE_UNKNOWN);
	assert_int_equal(probe_judge(earlier, 6, &now, &rate), PROBE_SLOW);
	assert_true(rate == 1e8);
	assert_int_equal(probe_judge(earlier, 6, &usual, &rate), PROBE_USUAL);
	/* half as fast is nothing new on a device whose rates differ so much */
	assert_int_equal(probe_judge(shared, 5, &(const struct probe){ 6, 1e9, 20 }, &rate),
			 PROBE_USUAL);
}

/* ------------------------------------------------------------------ texts */

static void test_devices(void **state)
{
	struct device_stats a, b;
	json_t *rates;

	assert_int_equal(device_parse(" 259       0 nvme0n1 100 5 2000 50 200 7 4000 300 2 900 "
				      "1200 0 0 0 0 10 20\n", &a), 0);
	assert_string_equal(a.name, "nvme0n1");
	assert_int_equal(a.in_flight, 2);
	/* as kernels before discards wrote it */
	assert_int_equal(device_parse("259 0 nvme0n1 150 5 3000 100 300 7 4000 500 0 1400 2000",
				      &b), 0);
	assert_int_equal(device_parse("259 0 nvme0n1 1 2 3", &b), -EBADMSG);
	rates = device_rates(&a, &b, 2000);
	assert_true(json_real_value(json_object_get(rates, "reads_per_s")) == 25);
	assert_true(json_real_value(json_object_get(rates, "read_bytes_per_s")) == 1000 * 512 / 2);
	assert_true(json_real_value(json_object_get(rates, "read_ms")) == 1);
	assert_true(json_real_value(json_object_get(rates, "write_ms")) == 2);
	assert_true(json_real_value(json_object_get(rates, "write_bytes_per_s")) == 0);
	assert_true(json_real_value(json_object_get(rates, "busy_percent")) == 25);
	json_decref(rates);
}

static void test_proc(void **state)
{
	struct io_counts counts = {};
	pid_t child;
	int status;

	assert_int_equal(io_proc_parse("rchar: 10\nwchar: 20\nsyscr: 3\nsyscw: 4\nread_bytes: 0\n",
				       &counts), 0);
	assert_int_equal(io_proc_parse("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\n", &counts), 0);
	assert_int_equal(counts.op[IO_READ].bytes, 11);
	assert_int_equal(counts.op[IO_WRITE].count, 8);
	assert_int_equal(io_proc_parse("rchar: x", &counts), -EBADMSG);
	/* a child that has been waited for still counts */
	child = fork();
	if (!child) {
		char text[1000] = "";
		FILE *f = fopen("/dev/null", "w");

		_exit(fwrite(text, sizeof(text), 1, f) == 1 && !fclose(f) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(io_proc_counts(getpid(), &counts), 0);
	assert_true(counts.op[IO_WRITE].bytes >= 1000);
	assert_int_equal(io_proc_counts(child, &counts), -ESRCH);
}

static void take_open(const struct io_name *name, void *arg)
{
	char *want = arg;

	if (!strcmp(name->path, want))
		want[0] = '\0';
}

static void test_open_files(void **state)
{
	char path[128];
	uint64_t ino;
	int mount, fd;
	__u32 dev;

	assert_int_equal(open_files_parse_info("pos:\t0\nflags:\t0100000\nmnt_id:\t28\n"
					       "ino:\t131\n", &ino, &mount), 0);
	assert_int_equal(ino, 131);
	assert_int_equal(mount, 28);
	assert_int_equal(open_files_parse_info("pos:\t0\nmnt_id:\t28\n", &ino, &mount), -EBADMSG);
	assert_int_equal(open_files_parse_mount("28 1 259:3 / / rw - ext4 x rw", 28, &dev), 0);
	assert_int_equal(dev, 259 << 20 | 3);
	assert_int_equal(open_files_parse_mount("28 1 259:3 / / rw", 2, &dev), -ENOENT);
	snprintf(path, sizeof(path), "%s/open", dir);
	fd = creat(path, 0600);
	assert_true(fd >= 0);
	open_files_each(getpid(), 1, take_open, path);
	assert_string_equal(path, "");
	close(fd);
}

static void test_metrics(void **state)
{
	struct io_counts before = {}, now = {};
	struct io_metrics m = { .jobs = 2, .rows = 31 };
	char *text = NULL;
	size_t size = 0;
	FILE *f;

	now.op[IO_WRITE] = (struct io_op_counts){ .count = 5, .bytes = 700, .ns = 3000000000 };
	now.hist[IO_WRITE_NS][11] = 3;
	now.hist[IO_WRITE_NS][IO_BUCKETS - 1] = 2;
	io_metrics_add(&m, &now, &before);
	before = now;
	now.op[IO_WRITE].count = 6;
	io_metrics_add(&m, &now, &before);
	m.devices = json_pack("[{s:s, s:s, s:i, s:I, s:f, s:i}]", "level", "L1", "state",
			      "degraded", "probes", 12, "time", (json_int_t)1764444444, "rate",
			      12.5e6, "in_row", 3);
	f = open_memstream(&text, &size);
	assert_int_equal(io_metrics_print(&m, f), 0);
	json_decref(m.devices);
	fclose(f);
	assert_non_null(strstr(text, "\nckpt_io_operations_total{op=\"write\"} 6\n"));
	assert_non_null(strstr(text, "\nckpt_io_bytes_total{op=\"write\"} 700\n"));
	assert_non_null(strstr(text, "_bucket{op=\"write\",le=\"2.048e-06\"} 3\n"));
	assert_non_null(strstr(text, "_bucket{op=\"write\",le=\"137.438953\"} 3\n"));
	assert_non_null(strstr(text, "_bucket{op=\"write\",le=\"+Inf\"} 5\n"));
	assert_non_null(strstr(text, "_sum{op=\"write\"} 3.000000000\n"));
	assert_non_null(strstr(text, "\nckpt_io_jobs 2\n"));
	assert_non_null(strstr(text, "_state{level=\"L1\",state=\"degraded\"} 1\n"));
	assert_non_null(strstr(text, "_state{level=\"L1\",state=\"healthy\"} 0\n"));
	assert_non_null(strstr(text, "_timestamp_seconds{level=\"L1\"} 1764444444\n"));
	assert_non_null(strstr(text, "_usual_bytes_per_second{level=\"L1\"} 0\n"));
	assert_non_null(strstr(text, "\nckpt_io_rows_total 31\n"));
	free(text);
}

/* ------------------------------------------------------------------ store */

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

static void put_span(struct io_store *store, int64_t job, int64_t began_s, uid_t uid)
{
	const struct io_store_span span = {
		.job = job, .span = began_s * 1000, .uid = uid, .name = "x", .source = "bpf",
		.why = "",
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
	put_span(store, 7, 1000, 1001);
	put_second(store, 7, 1000000, 1000, 5, 0);
	put_second(store, 7, 1000000, 1001, 8, 5);
	/* the same again, as after a transaction whose end was not seen */
	put_second(store, 7, 1000000, 1001, 8, 8);
	io_store_end_span(store, 7, 1000000, 1002);
	put_span(store, 7, 2000, 1001);
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
	put_span(store, 1, now - 399 * DAY, 0);
	io_store_end_span(store, 1, (now - 399 * DAY) * 1000, now - 398 * DAY);
	put_second(store, 1, (now - 399 * DAY) * 1000, now - 399 * DAY, 1, 0);
	put_span(store, 2, now - 399 * DAY, 0);
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

static void take_file(const struct io_file_key *key, const struct io_file *file, const char *name,
		      bool partial, void *arg)
{
	snprintf(arg, 100, "%s %llu %d", name ? name : "-", file->side[1].bytes,
		 !!(file->flags & IO_FILE_WRITERS));
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
	assert_string_equal(text, "- 20 1");
	/* the entry had left the table, and came again */
	file.born = 2;
	file.side[1].bytes = 5;
	file.flags = IO_FILE_NAMED;
	io_store_begin(store);
	io_store_put_file(store, &key, &file);
	io_store_put_name(store, &name);
	commit(store);
	assert_int_equal(io_store_files(store, 3, take_file, text), 0);
	assert_string_equal(text, "/a b\n 25 1");
	io_store_close(store);
}

/* Files of an ended job go after a month, its counters stay. */
static void test_bounded(void **state)
{
	struct io_store *store = store_of("bounded", true);
	const int64_t now = 400 * DAY;
	const struct io_file file = { .opens = 1 };
	char text[100] = "";
	uid_t uid;

	io_store_begin(store);
	for (int job = 1; job < 4; job++) {
		put_span(store, job, now - 50 * DAY, 0);
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
	assert_int_equal(io_store_owner(store, 1, &uid), 0);
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
		put_span(store, 9, 1000, 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_bottlenecks),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_phases_noise),
		cmocka_unit_test(test_probes),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_proc),
		cmocka_unit_test(test_open_files),
		cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_retention),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_killed),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
