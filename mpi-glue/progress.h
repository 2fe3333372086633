/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Progress: each thread shows in the status page which call it is in, for a diagnosis.
 */
#ifndef MPI_GLUE_PROGRESS_H
#define MPI_GLUE_PROGRESS_H

#include <stdint.h>
#include <string.h>

#include "mpi-glue/status_progress.h"

struct counter;
struct glue_thread;
struct vrequest;

/* The thread whose entry is @shown, and whose ring is @ring, begins @call, 1 + enum call. */
static inline __attribute__((always_inline)) void progress_call(struct status_thread *shown,
								struct status_ring *ring,
								uint32_t call)
{
	const uint64_t ops = shown->ops + 1, call_no_kind = call;

	/* one store for both: every call pays for it */
	memcpy(&ring->op[ops % STATUS_OPS], &call_no_kind, sizeof(call_no_kind));
	__atomic_store_n(&shown->ops, ops, __ATOMIC_RELAXED);
	__atomic_store_n(&shown->call, call, __ATOMIC_RELAXED);
}

/* There is a page now. */
void progress_begin(void);
/* The thread's call is a collective, which @counter has counted. */
void progress_collective(const struct counter *counter);
/* The thread is about to wait to be let into a collective of @counter, not counted yet. */
void progress_gathers(const struct counter *counter);
/* The thread's call has to wait; @peer by world rank, negative: any; @kind: enum status_kind. */
void progress_waits(uint32_t kind, int32_t peer, int32_t tag, uint64_t comm);
/* As progress_waits(), for the one request @req, or NULL. */
void progress_request(const struct vrequest *req);
/* The thread's first call: take an entry of the page. The caller holds threads_lock. */
void progress_join(void);
/* The thread @self ends: give its entry back. The caller holds threads_lock. */
void progress_leave(struct glue_thread *self);

#endif
