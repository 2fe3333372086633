// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many records of jobs' I/O one core stores and merges: build/bin/bench/io_store [SECONDS].
 *
 * A record is a row that the collector gives to its file in a second: a file that a job has used,
 * the name of a new one, a counter, a bucket, a sample. Each second of the collector is a
 * transaction with RECORDS of them, of JOBS jobs; first all files are new, then known ones change,
 * then a tenth is new. Last, parts of nodes with 128 files each become a report, as io_ask.c merges
 * them. Printed are medians over the seconds: of the processor's time of this thread, which SQLite
 * and the kernel's writing are in, and of the time with the disk.
 *
 * The file is made in the current directory and removed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/iotrace/io_merge.h"
#include "supervisor/iotrace/io_store.h"

#define FILE_NAME	"io_store.bench.db"
#define JOBS		16
#define RECORDS		100000
#define SECONDS		15
#define NODES		64
#define BEGAN		1700000000

struct bench {
	struct io_store *store;
	int64_t key[JOBS];
	struct io_counts counts[JOBS];
	int64_t now;
	uint64_t files[JOBS];		/* inodes so far */
	double cpu[SECONDS], wall[SECONDS], records[SECONDS];
};

static double bench_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int bench_compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double bench_median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), bench_compare);
	return v[n / 2];
}

static int bench_jobs(struct bench *b)
{
	struct io_store_span span = { .source = "bpf", .why = "" };
	struct ckpt_error error;
	char uuid[32];
	int i;

	io_store_begin(b->store);
	for (i = 0; i < JOBS; i++) {
		const struct io_store_job job = {
			.number = i + 1, .uuid = uuid, .uid = 1000, .name = "bench", .nodes = "",
			.program = "bench", .ranks = 1,
		};

		snprintf(uuid, sizeof(uuid), "bench-%d", i);
		b->key[i] = io_store_key(&job);
		span.job = b->key[i];
		span.span = BEGAN * 1000LL;
		io_store_put_job(b->store, &job);
		io_store_put_span(b->store, &span);
	}
	if (!io_store_commit(b->store, &error))
		return 0;
	fprintf(stderr, "io_store: %s\n", error.text);
	return -1;
}

/* One file of job @job that has changed, and its name if it is new; the number of records. */
static int bench_file(struct bench *b, int job, uint64_t ino, bool new)
{
	const struct io_file_key key = { .job = (__u64)b->key[job], .ino = ino, .dev = 8 };
	const __u64 n = (__u64)(b->now - BEGAN);
	const struct io_file file = {
		.side[1] = { .count = n, .bytes = n * 4096, .sequential = n, .processes = 3 },
		.opens = 1, .born = ino, .flags = IO_FILE_NAMED,
	};
	struct io_name name = { .key = key, .born = ino };

	io_store_put_file(b->store, &key, &file);
	if (!new)
		return 1;
	snprintf(name.path, sizeof(name.path), "/scratch/user/run-%d/output/part-%08llu.dat", job,
		 (unsigned long long)ino);
	io_store_put_name(b->store, &name);
	return 2;
}

/* One transaction of @records, of which files are @new in a hundred. */
static int bench_second(struct bench *b, int records, int new, int second)
{
	const int64_t before = io_store_rows(b->store);
	const double cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID);
	const double wall = bench_clock(CLOCK_MONOTONIC);
	int done = 0, names = 0, i;
	struct ckpt_error error;
	uint64_t turn[JOBS] = { 0 };

	b->now++;
	io_store_begin(b->store);
	for (i = 0; done < records; i++) {
		const int job = i % JOBS;
		const bool is_new = i / JOBS % 100 < new || turn[job] >= b->files[job];
		const int n = bench_file(b, job, is_new ? b->files[job]++ : turn[job]++, is_new);

		names += n - 1;
		done += n;
	}
	for (i = 0; i < JOBS; i++) {
		const struct io_counts last = b->counts[i];

		b->counts[i].op[IO_WRITE].count += (__u64)records / JOBS;
		b->counts[i].op[IO_WRITE].bytes += (__u64)records / JOBS * 4096;
		b->counts[i].hist[IO_WRITE_SIZE][13] += (__u64)records / JOBS;
		io_store_put_counts(b->store, b->key[i], BEGAN * 1000LL, &b->counts[i], &last);
		io_store_add_sample(b->store, b->key[i], b->now, &b->counts[i], &last);
	}
	if (io_store_commit(b->store, &error)) {
		fprintf(stderr, "io_store: %s\n", error.text);
		return -1;
	}
	b->cpu[second] = bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
	b->wall[second] = bench_clock(CLOCK_MONOTONIC) - wall;
	b->records[second] = (double)(io_store_rows(b->store) - before + names);
	return 0;
}

static void bench_print(const char *what, double *cpu, double *wall, double *records, int n)
{
	const double c = bench_median(cpu, n), w = bench_median(wall, n),
		     r = bench_median(records, n);

	printf("%-28s %6.0f records: %8.0f a second of a core, %8.0f with the disk\n", what, r,
	       r / c, r / w);
}

/* So many seconds of @records; those of the first row of files are @new in a hundred. */
static int bench_seconds(struct bench *b, const char *what, int records, int new, int n)
{
	for (int i = 0; i < n; i++) {
		if (bench_second(b, records, new, i))
			return -1;
	}
	bench_print(what, b->cpu, b->wall, b->records, n);
	return 0;
}

/* -------------------------------------------------------------------- parts */

/* The part of node @node as that node sends it: half of its files are shared with all others. */
static json_t *bench_part(int node)
{
	static struct io_part part;
	json_t *json;
	char name[64];
	int i;

	part = (struct io_part){ .seconds = 60, .active_s = 30 };
	for (i = 0; i < IO_PART_FILES; i++) {
		const struct io_part_file file = {
			.key = { .ino = (__u64)(i % 2 ? i : node * IO_PART_FILES + i), .dev = 8 },
			.file.side[1] = { .count = 10, .bytes = 40960 },
			.name = name, .place = "nfs4 srv:/export",
		};

		snprintf(name, sizeof(name), "/scratch/user/output/part-%llu.dat",
			 (unsigned long long)file.key.ino);
		io_part_add_file(&part, &file);
	}
	part.spans = json_array();
	json = io_part_encode(&part);
	io_part_done(&part);
	return json;
}

/* Decode and merge the parts of NODES nodes, and make the report. */
static int bench_merge(struct bench *b, json_t *const *parts, int second)
{
	const double cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID);
	const double wall = bench_clock(CLOCK_MONOTONIC);
	struct io_merge *merge = io_merge_new();
	json_t *report = NULL;
	int i, err = merge ? 0 : -ENOMEM;

	for (i = 0; !err && i < NODES; i++) {
		static struct io_part part;
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		part = (struct io_part){ 0 };
		err = io_part_decode(parts[i], &part);
		if (!err)
			err = io_merge_add(merge, name, &part, 0);
		io_part_done(&part);
	}
	if (!err)
		report = io_merge_json(merge);
	io_merge_free(merge);
	if (!report)
		return -1;
	json_decref(report);
	b->cpu[second] = bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
	b->wall[second] = bench_clock(CLOCK_MONOTONIC) - wall;
	b->records[second] = NODES * IO_PART_FILES;
	return 0;
}

static int bench_parts(struct bench *b, int n)
{
	json_t *parts[NODES];
	int i, err = 0;

	for (i = 0; i < NODES; i++)
		parts[i] = bench_part(i);
	for (i = 0; !err && i < n; i++)
		err = bench_merge(b, parts, i);
	for (i = 0; i < NODES; i++)
		json_decref(parts[i]);
	if (!err)
		bench_print("files in parts of 64 nodes", b->cpu, b->wall, b->records, n);
	return err;
}

static void bench_remove(void)
{
	unlink(FILE_NAME);
	unlink(FILE_NAME "-wal");
	unlink(FILE_NAME "-shm");
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : SECONDS;
	struct bench b = { .now = BEGAN };
	struct ckpt_error error;
	int err;

	if (n < 1 || n > SECONDS) {
		fprintf(stderr, "usage: io_store [SECONDS], 1 to %d\n", SECONDS);
		return 2;
	}
	bench_remove();
	if (io_store_open(FILE_NAME, true, &b.store, &error)) {
		fprintf(stderr, "io_store: %s\n", error.text);
		return 1;
	}
	err = bench_jobs(&b) || bench_seconds(&b, "new files and their names", RECORDS, 100, n) ||
	      bench_seconds(&b, "known files that changed", RECORDS, 0, n) ||
	      bench_seconds(&b, "a tenth of the files new", RECORDS, 10, n) || bench_parts(&b, n);
	io_store_close(b.store);
	bench_remove();
	return err;
}
