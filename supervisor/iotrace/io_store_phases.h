/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Phases of jobs in the record (io_store.h), as later runs are compared with them (anomaly.h), and
 * the jobs that used the node at the same time.
 *
 * The collector stores a phase when it is over. A job keeps its newest IO_STORE_PHASES, a user the
 * newest IO_STORE_USER_PHASES of all jobs, so that nobody's phases cost another user rows. In a
 * file that is full they go as io_store_make_room() says.
 */
#ifndef STILLPOINT_IO_STORE_PHASES_H
#define STILLPOINT_IO_STORE_PHASES_H

#include "supervisor/iotrace/anomaly.h"
#include "supervisor/iotrace/io_store.h"

#define IO_STORE_PHASES		500
#define IO_STORE_USER_PHASES	20000
#define IO_STORE_GROUP		512	/* newest phases of a group that a report looks at */

/* ------------------------------------------------------ the collector's */

/* In a transaction. A phase of the same job and second is replaced. */
void io_store_put_phase(struct io_store *store, const struct anomaly_phase *phase);
/* Forget the oldest phases of @job and its user above the bounds; in a transaction. */
void io_store_trim_phases(struct io_store *store, int64_t job);
/* The second after the job's newest phase; 0: it has none. */
int64_t io_store_phases_end(struct io_store *store, int64_t job);

/* -------------------------------------------------------------- reports */

/*
 * io_store_group() - the newest phases that are to be compared with those of @job
 * @ret_phases: room for IO_STORE_GROUP, oldest first
 *
 * Those of @kind of all jobs of its user, program and number of ranks; without a program those of
 * the job alone. Return: their number, or -EIO.
 */
int io_store_group(struct io_store *store, int64_t job, enum anomaly_kind kind,
		   struct anomaly_phase *ret_phases);

/*
 * io_store_own() - the newest phases of @job itself that ended after @since, of any kind
 * @ret_phases: room for @max, oldest first
 * @ret_all: how many there are
 *
 * Return: their number, or -EIO.
 */
int io_store_own(struct io_store *store, int64_t job, int64_t since, int max,
		 struct anomaly_phase *ret_phases, int64_t *ret_all);

struct io_store_other {
	int64_t key, number;
	uid_t uid;
	double rate, meta;	/* bytes, and operations on names, a second */
	bool many_to_one;	/* most of its bytes went to one file of several processes */
};

typedef void (*io_store_other_fn)(const struct io_store_other *other, void *arg);
/*
 * io_store_others() - call @fn for each other job that used the node from @from to @until
 * @now: tells which samples there still are: of a second, of ten, of five minutes
 *
 * 0 or -EIO.
 */
int io_store_others(struct io_store *store, int64_t job, int64_t from, int64_t until, int64_t now,
		    io_store_other_fn fn, void *arg);

struct io_store_recent {
	int64_t key, number;
	uid_t uid;
	const char *name;
};

typedef void (*io_store_recent_fn)(const struct io_store_recent *job, void *arg);
/* Call @fn for the jobs of @uid, 0: of all users, with phases since then, the newest first. */
int io_store_recent(struct io_store *store, uid_t uid, int64_t since, io_store_recent_fn fn,
		    void *arg);

#endif /* STILLPOINT_IO_STORE_PHASES_H */
