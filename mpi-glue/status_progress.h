/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Progress of a rank, in its status page: its threads' calls, and collectives on communicators.
 *
 * For a diagnosis each thread says at all times, by plain stores, in its entry of thread[] which
 * call it is in, and shown[] has the number of collectives begun on each communicator. A reader
 * must take both for hints that may be torn, and compares two readings. They can be read while the
 * process is stopped.
 *
 * The ring of a thread has its last calls: call number N of the thread is in op[N % STATUS_OPS].
 * The entry after the newest one, the oldest, may be half overwritten.
 */
#ifndef MPI_GLUE_STATUS_PROGRESS_H
#define MPI_GLUE_STATUS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define STATUS_THREADS	32u	/* threads that have an entry; others are not shown */
#define STATUS_RINGS	4u	/* of the first of these entries; other threads have no ring */
#define STATUS_OPS	256u	/* calls that a thread's ring holds, a power of two */

/* Meaning of the fields of struct status_thread that describe its call. */
enum status_kind {
	STATUS_COLLECTIVE = 1,	/* @seq on @comm */
	STATUS_RECEIVES,	/* waits for a message of @peer with @tag */
	STATUS_SENDS,		/* waits until @peer receives the message with @tag */
	STATUS_ONE_SIDED,	/* waits for @peer, in an epoch of a window */
};

/**
 * struct status_thread - the call of one thread, written by this thread alone
 * @ops: calls begun so far
 * @call: 1 + number of the call among those of the rank's MPI library (mpi_calls.def); 0: outside
 * @tid: in the innermost PID namespace; 0: nobody's entry
 * @of: the value of @ops for which the fields below hold; others: nothing is known of the call
 * @kind: enum status_kind
 * @peer: in MPI_COMM_WORLD; STATUS_NONE: any
 * @since_ns: CLOCK_MONOTONIC of the node, to some milliseconds, when the wait began
 */
struct status_thread {
	uint64_t ops;
	uint32_t call;
	uint32_t tid;
	uint64_t of;
	uint32_t kind;
	uint32_t peer;
	int32_t tag;
	uint32_t pad;
	uint64_t comm;
	uint64_t seq;
	uint64_t since_ns;
};

/**
 * struct status_op - one call in the ring of a thread
 * @call: as in struct status_thread; 0: there was none yet
 * @kind, @peer, @tag, @comm, @seq, @since_ns: likewise; @kind 0: the others are not known
 */
struct status_op {
	uint32_t call;
	uint32_t kind;
	uint32_t peer;
	int32_t tag;
	uint64_t comm;
	uint64_t seq;
	uint64_t since_ns;
};

struct status_ring {
	struct status_op op[STATUS_OPS];
};

/* Collectives of one communicator; @id as its members agreed when it was made. */
struct status_comm {
	uint64_t id;
	uint64_t seq;		/* collectives that this rank has begun */
	uint64_t members;	/* how many ranks */
};

/*
 * A slot may get another communicator while a reader reads it: its id is 0 meanwhile. A reader
 * that finds the same id after reading the rest has all fields of one communicator.
 */
static inline void status_comm_write(struct status_comm *comm, uint64_t id, uint64_t members,
				     uint64_t seq)
{
	if (comm->id != id) {
		__atomic_store_n(&comm->id, 0, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		comm->members = members;
	}
	__atomic_store_n(&comm->seq, seq, __ATOMIC_RELEASE);
	__atomic_store_n(&comm->id, id, __ATOMIC_RELEASE);
}

/* Returns false if the slot has no communicator, or changes. */
static inline bool status_comm_read(const struct status_comm *comm, struct status_comm *ret_comm)
{
	ret_comm->id = __atomic_load_n(&comm->id, __ATOMIC_ACQUIRE);
	ret_comm->seq = __atomic_load_n(&comm->seq, __ATOMIC_ACQUIRE);
	ret_comm->members = __atomic_load_n(&comm->members, __ATOMIC_ACQUIRE);
	return ret_comm->id && __atomic_load_n(&comm->id, __ATOMIC_ACQUIRE) == ret_comm->id;
}

#endif
