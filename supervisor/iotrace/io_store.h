/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The record of jobs' I/O on one node: STATE_DIR/io.db, a SQLite file.
 *
 * The collector writes one transaction a second; reports are read by other processes at the same
 * time. A kill of the collector loses the transaction that was not committed, and nothing else.
 *
 * One watch of a job (the collector's, from "watch" to the job's end) is a span. Counters and
 * files are stored as they stand, under the span's number, so that writing them again changes
 * nothing; samples are added up. A report adds up the spans.
 *
 * Samples of one second are kept for a day, of ten seconds for a week, of five minutes for a
 * year; jobs and their files for a year after their end.
 */
#ifndef STILLPOINT_IO_STORE_H
#define STILLPOINT_IO_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "supervisor/iotrace/bpf/io_trace.h"

#define IO_STORE_FILE	"io.db"

struct io_store;

/* @writer: make what is missing. -ENOENT: there is no record yet. -EUCLEAN: it is damaged. */
int io_store_open(const char *path, bool writer, struct io_store **ret_store,
		  struct ckpt_error *error);
/*
 * io_store_put_aside() - rename a damaged file (-EUCLEAN) to PATH.damaged, so that a new one can be
 *	begun; 0 or negative errno
 */
int io_store_put_aside(const char *path);
void io_store_close(struct io_store *store);	/* NULL is fine */

/* ------------------------------------------------------ the collector's */

/* The first error since io_store_begin() undoes all until io_store_commit(), which returns it. */
void io_store_begin(struct io_store *store);
int io_store_commit(struct io_store *store, struct ckpt_error *error);

struct io_store_span {
	int64_t job, span;	/* @span: milliseconds since 1970 of its begin */
	uid_t uid;
	const char *name;
	const char *source;	/* "bpf" or "proc" */
	const char *why;	/* why not "bpf", or what is not seen; "" */
};

void io_store_put_span(struct io_store *store, const struct io_store_span *span);
void io_store_end_span(struct io_store *store, int64_t job, int64_t span, int64_t ended_s);
/* @before: what was stored last; its equal counters are left out. */
void io_store_put_counts(struct io_store *store, int64_t job, int64_t span,
			 const struct io_counts *counts, const struct io_counts *before);
/* Add what came since @before to the samples of second @now. */
void io_store_add_sample(struct io_store *store, int64_t job, int64_t now,
			 const struct io_counts *counts, const struct io_counts *before);
void io_store_put_missed(struct io_store *store, int64_t job, int64_t span, uint64_t missed);
void io_store_put_file(struct io_store *store, const struct io_file_key *key,
		       const struct io_file *file);
void io_store_put_name(struct io_store *store, const struct io_name *name);
/* Rows of counters, samples and files that were written through this handle. */
int64_t io_store_rows(const struct io_store *store);
/* Forget what is older than it is to be. */
void io_store_expire(struct io_store *store, int64_t now);

/* -------------------------------------------------------------- reports */

/* Owner of the job's last span; -ENOENT: it was never watched. */
int io_store_owner(struct io_store *store, int64_t job, uid_t *ret_uid);
/* [{"began", "source", "why", "ended", "missed"}], oldest first. */
json_t *io_store_spans(struct io_store *store, int64_t job);
/* The counters of all spans. */
int io_store_counts(struct io_store *store, int64_t job, struct io_counts *ret_counts);

struct io_store_sample {
	int64_t time;
	uint64_t reads, writes, read_bytes, write_bytes, meta;
};

typedef void (*io_sample_fn)(const struct io_store_sample *sample, void *arg);
/* Call @fn for the job's samples of @resolution seconds (1, 10, 300) from @since on, by time. */
int io_store_samples(struct io_store *store, int64_t job, int resolution, int64_t since,
		     io_sample_fn fn, void *arg);

typedef void (*io_store_file_fn)(const struct io_file_key *key, const struct io_file *file,
				 const char *name, bool partial, void *arg);
/* Call @fn for the job's files, those with most bytes first; @name: NULL, not known. */
int io_store_files(struct io_store *store, int64_t job, io_store_file_fn fn, void *arg);

/* The jobs with samples from @since on: [{"job", "uid", "name", and sums}], busiest first. */
json_t *io_store_top(struct io_store *store, int64_t since);

#endif /* STILLPOINT_IO_STORE_H */
