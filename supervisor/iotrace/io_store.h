/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The record of jobs' I/O on one node: STATE_DIR/io.db, a SQLite file.
 *
 * The collector writes one transaction a second; reports are read by other processes at the same
 * time. A kill of the collector loses the transaction that was not committed, and nothing else.
 *
 * Rows are kept by a job's key, which follows from all that identifies the job: its number, its
 * uuid and its owner. So a number that is given again, by a new image directory or another node,
 * leads to no row of an older job. A record of the first version had the numbers alone: nobody can
 * tell whose its rows are, and a writer drops them. One of the second version had no phases
 * (io_store_phases.h); all else stays.
 *
 * One watch of a job (the collector's, from "watch" to the job's end) is a span. Counters and
 * files are stored as they stand, under the span's number, so that writing them again changes
 * nothing; samples are added up. A report adds up the spans.
 *
 * The file is bounded, and so is each job: beyond IO_STORE_FILES files, a job's new files are in
 * its sums alone. A file that is nearly full is rid of the files of jobs that have ended: of the
 * user who has most of them, the oldest first; their counters stay. When no such files are left,
 * the user with most phases loses the oldest of them.
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

#define IO_STORE_FILES	100000	/* rows of a job, and as many names */
#define IO_STORE_BYTES	(1LL << 30)

struct io_store;

#define IO_STORE_UUID	64	/* bytes of a job's uuid, with the end */

struct io_store_job {
	int64_t number;
	const char *uuid;
	uid_t uid;		/* owner */
	const char *name;	/* for people; not needed to find the job */
	const char *nodes;	/* the job's, as text of JSON, ["n1", ...]; "": this one alone */
	const char *program;	/* the same for each run of a program; NULL: not known */
	unsigned int ranks;	/* of the whole job; 0: it has none */
};

/* The key of the job's rows: above 0, and another one for each number, uuid and owner. */
int64_t io_store_key(const struct io_store_job *job);

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
	int64_t job, span;	/* @job: its key; @span: milliseconds since 1970 of its begin */
	const char *source;	/* "bpf" or "proc" */
	const char *why;	/* why not "bpf", or what is not seen; "" */
};

/* The job, before its first span; with other nodes or another name: these replace the old ones. */
void io_store_put_job(struct io_store *store, const struct io_store_job *job);
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
/* Say which file system a device of the job's files is (io_place.h). */
void io_store_put_place(struct io_store *store, int64_t job, uint32_t dev, const char *place);
/* Rows of counters, samples, files and phases that were written through this handle. */
int64_t io_store_rows(const struct io_store *store);
/* Forget what is older than it is to be. */
void io_store_expire(struct io_store *store, int64_t now);
/*
 * io_store_make_room() - if the file is nearly full, forget the files of one job that has ended:
 *	the first one of the user whose ended jobs have most; without such a job the oldest
 *	phases, some hundreds, of the user who has most
 *
 * A job that has a span of this handle that goes on has not ended. In a transaction of its own.
 * True: something was forgotten.
 */
bool io_store_make_room(struct io_store *store);
/* Let the file have at most so many bytes; io_store_open() has let it have IO_STORE_BYTES. */
void io_store_bound(struct io_store *store, int64_t bytes);

/* -------------------------------------------------------------- reports */

/*
 * io_store_find() - the key of a job that was watched here
 * @ret_nodes: the job's nodes at the last watch, a new reference; NULL: this node alone
 *
 * -ENOENT: no job of this number, uuid and owner was watched.
 */
int io_store_find(struct io_store *store, const struct io_store_job *job, int64_t *ret_key,
		  json_t **ret_nodes);
/*
 * [{"began", "source", "why", "ended", "missed", "names_lost", "files_lost", "files_full"}], oldest
 * first.
 */
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

struct io_store_file {
	struct io_file_key key;		/* its job is not set */
	struct io_file file;
	const char *name;		/* NULL: not known */
	bool partial;			/* the name is the last part of the path only */
	const char *place;		/* its file system; NULL: not known */
};

typedef void (*io_store_file_fn)(const struct io_store_file *file, void *arg);
/* Call @fn for the job's files, those with most bytes first. */
int io_store_files(struct io_store *store, int64_t job, io_store_file_fn fn, void *arg);

/* The jobs with samples from @since on: [{"job", "uid", "name", and sums}], busiest first. */
json_t *io_store_top(struct io_store *store, int64_t since);

#endif /* STILLPOINT_IO_STORE_H */
