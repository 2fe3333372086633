// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pure parts of iotrace/: patterns, judgements, devices, places, /proc/PID/io, metrics.
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

#include "supervisor/devices/devices.h"
#include "supervisor/iotrace/io_metrics.h"
#include "supervisor/iotrace/io_place.h"
#include "supervisor/iotrace/io_program.h"
#include "supervisor/iotrace/open_files.h"
#include "supervisor/iotrace/phases.h"
#include "supervisor/iotrace/portrait.h"
#include "supervisor/iotrace/probes.h"
#include "supervisor/iotrace/source_proc.h"

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

static void test_programs(void **state)
{
	static const struct {
		const char *name, *argv, *program;
	} rows[] = {
		{ "solver", "[\"/opt/solver\", \"in.dat\"]", "solver" },
		{ "python3", "[\"/usr/bin/python3\", \"-B\", \"/home/u/a.py\", \"b.py\"]",
		  "python3 a.py" },
		{ "python3.11", "[\"python3.11\", \"a.py\"]", "python3.11 a.py" },
		/* the owner's name for it, no script, and arguments that are not known */
		{ "mine", "[\"python3\", \"a.py\"]", "mine" },
		{ "bash", "[\"bash\", \"-l\"]", "bash" }, { "python3", "null", "python3" },
		{ "python3x", "[\"python3x\", \"a.py\"]", "python3x" },
		{ "sh", "[\"sh\", 7]", "sh" }, { "sh", "[7, \"a\"]", "sh" },
	};
	char text[IO_PROGRAM_MAX], name[300];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *argv = json_loads(rows[i].argv, JSON_DECODE_ANY, NULL);

		io_program(rows[i].name, argv, text);
		assert_string_equal(text, rows[i].program);
		json_decref(argv);
	}
	memset(name, 'x', sizeof(name));
	name[299] = '\0';
	io_program(name, NULL, text);
	assert_int_equal(strlen(text), 120);
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

/* A file system on a server has one name everywhere, any other one a name of this machine. */
static void test_places(void **state)
{
	static const char nfs[] = "36 1 0:45 / /home rw shared:5 - nfs4 srv:/export rw,vers=4.2";
	static const char disk[] = "28 1 259:3 / / rw - ext4 /dev/nvme0n1p3 rw";
	static const char drbd[] = "29 1 147:0 / /x rw - nfs /dev/odd rw";
	char place[IO_PLACE_MAX] = "", line[1024];

	assert_int_equal(io_place_parse(nfs, 45, "boot", place), 0);
	assert_string_equal(place, "nfs4 srv:/export");
	assert_int_equal(io_place_parse(nfs, 46, "boot", place), -ENOENT);
	assert_int_equal(io_place_parse(disk, 259 << 20 | 3, "boot", place), 0);
	assert_string_equal(place, "boot 259:3");
	/* a path says nothing to another node */
	assert_int_equal(io_place_parse(drbd, 147 << 20, "boot", place), 0);
	assert_string_equal(place, "boot 147:0");
	assert_int_equal(io_place_parse("28 1 259:3 / / rw", 259 << 20 | 3, "boot", place),
			 -ENOENT);
	assert_int_equal(io_place_parse("", 0, "boot", place), -ENOENT);
	/* a source that does not fit is none, also by one byte */
	snprintf(line, sizeof(line), "36 1 0:45 / /h rw - nfs4 %0*d rw", IO_PLACE_MAX - 6, 0);
	assert_int_equal(io_place_parse(line, 45, "boot", place), 0);
	assert_int_equal(strlen(place), IO_PLACE_MAX - 1);
	snprintf(line, sizeof(line), "36 1 0:45 / /h rw - nfs4 %0*d rw", IO_PLACE_MAX - 5, 0);
	assert_int_equal(io_place_parse(line, 45, "boot", place), -ENAMETOOLONG);
	snprintf(line, sizeof(line), "36 1 0:45 / /h rw - nfs4 %0*d rw", 600, 0);
	assert_int_equal(io_place_parse(line, 45, "boot", place), -ENAMETOOLONG);
	assert_int_equal(io_place_find(getpid(), 4095u << 20, place), -ENOENT);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_bottlenecks),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_programs), cmocka_unit_test(test_phases),
		cmocka_unit_test(test_phases_noise),
		cmocka_unit_test(test_probes),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_proc),
		cmocka_unit_test(test_open_files),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_metrics),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
