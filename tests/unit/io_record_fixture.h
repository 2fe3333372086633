/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the tests of phases: records of jobs' I/O in a directory of the test's own, and jobs,
 * seconds and phases to be put into them.
 */
#ifndef STILLPOINT_TESTS_IO_RECORD_FIXTURE_H
#define STILLPOINT_TESTS_IO_RECORD_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "supervisor/iotrace/io_store_phases.h"

#define MB	1000000.0

static char dir[] = "/tmp/ioanomaly.XXXXXX";

static inline int record_begin(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static inline int record_end(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static inline struct io_store *store_of(const char *name, bool writer)
{
	struct ckpt_error error;
	struct io_store *store;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(io_store_open(path, writer, &store, &error), 0);
	return store;
}

static inline void commit(struct io_store *store)
{
	struct ckpt_error error;

	if (io_store_commit(store, &error))
		fail_msg("%s", error.text);
}

/* A job that is watched from @began on; its key. In a transaction. */
static inline int64_t watch(struct io_store *store, int64_t number, uid_t uid,
			    const char *program, int64_t began)
{
	const struct io_store_job job = {
		.number = number, .uuid = "0123", .uid = uid, .name = "x", .nodes = "",
		.program = program, .ranks = 4,
	};
	const int64_t key = io_store_key(&job);

	io_store_put_job(store, &job);
	io_store_put_span(store, &(const struct io_store_span){
		.job = key, .span = began * 1000, .source = "bpf", .why = "",
	});
	return key;
}

/* The job wrote @bytes in second @now, by operations of @size, and did @meta others. */
static inline void second(struct io_store *store, int64_t job, int64_t now, double bytes,
			  double size, double meta)
{
	const struct io_counts before = {}, counts = {
		.op[IO_WRITE] = { .count = (__u64)(bytes / size), .bytes = (__u64)bytes },
		.op[IO_OPEN] = { .count = (__u64)meta },
	};

	io_store_add_sample(store, job, now, &counts, &before);
}

static inline void seconds(struct io_store *store, int64_t job, int64_t from, int64_t nr,
			   double bytes)
{
	int64_t i;

	for (i = 0; i < nr; i++)
		second(store, job, from + i, bytes, MB, 0);
}

/* A phase that begins in each of @nr seconds, all of them alike. */
static inline void put_phases(struct io_store *store, int64_t job, int64_t first, int64_t nr)
{
	struct anomaly_phase p = {
		.job = job, .seconds = 10, .kind = ANOMALY_WRITE, .bytes = { 0, 1000 }, .nr = 1,
	};
	int64_t i;

	for (i = first; i < first + nr; i++) {
		p.began = i;
		io_store_put_phase(store, &p);
	}
}

#endif /* STILLPOINT_TESTS_IO_RECORD_FIXTURE_H */
