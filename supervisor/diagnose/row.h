/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The row of a rank, made of its status page and of samples of the thread that says most of it.
 *
 * A row as it goes from node to node and to programs (docs/user/diagnose.md):
 *
 *	{"rank": 3, "life": "alive", "call": "MPI_Allreduce", "doing": "collective",
 *	 "comm": "1", "sequence": 120049, "peer": 2, "tag": 7, "waited_ms": 31000,
 *	 "calls": 7120, "moved": false, "held": false, "begun": [["1", 120049]],
 *	 "recent": [{"call": "MPI_Allreduce", "doing": "collective", "comm": "1",
 *		"sequence": 120049, "began_ms": 31000}, {"call": "MPI_Irecv"}, ...],
 *	 "thread": {"pid": 88, "tid": 88, "state": "R", "samples": 4, "steady": true,
 *		"busy": true, "in_library": false,
 *		"place": {"path": "/a/b", "build_id": "...", "address": 4660, "function": 4608}}}
 *
 * Pages are the job's own, and may hold anything: all numbers are taken as they are, and texts
 * come from tables of this daemon. No I/O.
 */
#ifndef STILLPOINT_DIAGNOSE_ROW_H
#define STILLPOINT_DIAGNOSE_ROW_H

#include <jansson.h>
#include <sys/types.h>

#include "mpi-glue/status_page.h"
#include "shim/proto.h"
#include "supervisor/diagnose/place.h"

/* One reading of a rank's page. */
struct reading {
	struct shim_progress head;
	struct status_thread thread[STATUS_THREADS];
	struct status_comm *comm;	/* head.nr_comms of them; freed by reading_done() */
	struct status_ring *ring;	/* of the first @nr_rings threads; NULL; likewise */
	unsigned int nr_rings;
};

void reading_done(struct reading *r);
/* The entry of thread @tid; NULL. */
const struct status_thread *reading_thread(const struct reading *r, uint32_t tid);
/* The thread that says most; NULL: the rank shows none. */
const struct status_thread *reading_main(const struct reading *r);

/*
 * row_make() - the row, but for "moved" and "thread"
 * @t: reading_main()
 * @now_ns: the clock that the rank reads as CLOCK_MONOTONIC, at the reading
 * @held: the rank stands still for a checkpoint
 */
json_t *row_make(const struct reading *r, const struct status_thread *t, uint64_t now_ns,
		 bool held);

/* Add "recent", the last calls that @t began, from the latest; @nr at most. */
void row_recent(json_t *row, const struct status_ring *ring, const struct status_thread *t,
		unsigned int mpi, uint64_t now_ns, unsigned int nr);

/* The samples of one thread, taken together; as in struct fact_rank. */
struct seen {
	pid_t pid, tid;
	unsigned int samples;
	char state;
	bool steady, placed, in_library, busy;
	struct place place;	/* of the last sample with one */
};

/* The row's "thread"; a new reference. */
json_t *row_thread(const struct seen *seen);
/*
 * True if a thread at @place, whose program counter is @ip, is in the MPI library, or may be on its
 * way there: in the C library or in Stillpoint's.
 */
bool row_in_library(const struct place *place, uint64_t ip);
/* True if both are in one function; or at one address, if no function is known. */
bool row_same_place(const struct place *a, const struct place *b);
/* The place as JSON; a new reference. */
json_t *row_place(const struct place *place);

/* call_names.c: the name of call @nr (from 1) of the library @mpi, enum ranks_mpi; NULL. */
const char *call_name(unsigned int mpi, uint32_t nr);

#endif /* STILLPOINT_DIAGNOSE_ROW_H */
