/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests as blocking calls and the drain see them. The caller is inside a call (quiesce.h).
 */
#ifndef MPI_GLUE_REQUEST_H
#define MPI_GLUE_REQUEST_H

#include <mpi.h>
#include <sched.h>

#include "mpi-glue/drain.h"

/* Fruitless tests before the processor is offered to another rank. */
#define TESTS_AT_ONCE	2000

static inline bool wanted_out(void)
{
	return unlikely(*(volatile uint32_t *)&glue.hold);
}

#define BELOW(name)	((__typeof__(P##name) *)glue.fn[CALL_##name])

/*
 * In the lower half until it is done, fails, or the thread is wanted out. Arguments are evaluated
 * below: no calls in them.
 */
#define UNTIL_OUT(call, finished, ...) ({ \
	unsigned long upper_ = glue_enter(CALL_##call); \
	int rc_, tests_ = TESTS_AT_ONCE; \
	do { \
		rc_ = BELOW(call)(__VA_ARGS__); \
	} while (!rc_ && !(finished) && !wanted_out() && --tests_); \
	lower_leave(upper_); \
	rc_; \
})

/* Between two rounds below: let the glue thread have its way, or another rank the processor. */
static inline void between(struct call_mark *mark)
{
	if (wanted_out())
		quiesce_safe_point(mark);
	else
		sched_yield();
}

/*
 * Of messages that nobody sends in MPI_COMM_WORLD. To look for one is to make progress: a
 * library that finds a message at once makes none.
 */
int quiet_tag(void);

/* Until @req is complete or a hold is raised. Returns the library's code. */
int test_below(MPI_Request *real, int *flag, MPI_Status *status);

/* Wait for @request, with its error handler; back at safe points as often as it takes. */
int wait_inside(MPI_Request *request, MPI_Status *status, struct call_mark *mark,
		unsigned int call);

/* The arguments, for a restart; @dtype and the communicator are referenced. */
void request_record(MPI_Request request, unsigned int call, void *buf, MPI_Count count,
		    MPI_Datatype dtype, int rank, int tag);
/* It reads or writes @file, together with the file's other members. */
void request_of_file(MPI_Request request, MPI_File file);
/* Test @req, which is active, below; its completion is kept, or ends an orphan. */
void request_look(struct vrequest *req);
/* Complete, and kept for the application's next look at it. */
void request_keep(struct vrequest *req, const MPI_Status *status, int rc);

/*
 * A receive that @kept completes: a request without anything below, which keeps what became of
 * it. Failure: there is no request, and @kept is still the caller's.
 */
int request_of_kept(struct kept *kept, struct vobj *comm, void *buf, MPI_Count count,
		    MPI_Datatype dtype, MPI_Request *ret_request);

/* It is complete, or a persistent one is inactive again; @status tells what it received. */
void request_finished_slow(struct vrequest *req, const MPI_Status *status);

static inline __attribute__((always_inline)) void
request_finished(struct vrequest *req, const MPI_Status *status)
{
	if (unlikely(req->flags & (REQ_ANY | REQ_CANCELLED)))
		request_finished_slow(req, status);
	else if ((req->flags & (REQ_RECV | REQ_ACTIVE)) == (REQ_RECV | REQ_ACTIVE))
		channel_add(glue.received, req->peer);
	if (unlikely(glue.multiple))	/* another thread may just cancel it */
		__atomic_and_fetch(&req->flags, ~(uint32_t)(REQ_ACTIVE | REQ_CANCELLED),
				   __ATOMIC_RELAXED);
	else
		req->flags &= ~(uint32_t)(REQ_ACTIVE | REQ_CANCELLED);
}

/*
 * The application freed this active request, whose end has to be counted. orphan.c, as the
 * next five.
 */
void orphan_request(struct vrequest *req);
/*
 * The application frees @comm, which is named: its slot is released, and the lower half's goes
 * when all members have freed it. Waits for nobody. Returns a code of MPI.
 */
int orphan_comm(struct vcomm *comm);
/* An orphan is complete; @real is what its test has left of it. */
void orphan_end(struct vrequest *req, MPI_Request real);
/* Test all of them, and begin what has become possible. */
void orphans_look(void);
/* callback.c: a generalised request's functions are Fortran's. */
void grequest_fortran(struct vrequest *req);
/* A restart: start it anew, and complete it if it was. Returns a code of MPI. */
int grequest_again(struct vrequest *req);
/* A restart: the communicator of this one is there again, not freed by all yet. */
void orphan_again(struct vrequest *req);
/* Wait until all members of what was freed have freed it. */
void orphans_settle(void);

/* The next place among receives, and among requests of files. */
static inline __attribute__((always_inline)) uint64_t post_order(void)
{
	if (unlikely(glue.multiple))
		return __atomic_add_fetch(&glue.posted, 1, __ATOMIC_RELAXED);
	return ++glue.posted;
}

/* A send's request was made by a wrapper. */
static inline __attribute__((always_inline)) void request_sent(MPI_Request request, int32_t peer)
{
	struct vrequest *req = (struct vrequest *)vobj_req(request);

	if (likely(req))
		req->peer = peer;
}

#endif
