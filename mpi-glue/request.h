/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests as blocking calls and the drain use them. The caller is inside a call (quiesce.h).
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
 * Repeat @call in the lower half until @finished, an error, or a hold (or TESTS_AT_ONCE times).
 * The arguments are evaluated in the lower half: no calls in them.
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

/* Between two rounds in the lower half: stop at a safe point if held, else yield the processor. */
static inline void between(struct call_mark *mark)
{
	if (wanted_out())
		quiesce_safe_point(mark);
	else
		sched_yield();
}

/*
 * A tag with which no rank sends in MPI_COMM_WORLD. A probe for it makes the library progress; a
 * probe that finds a message at once does not.
 */
int quiet_tag(void);

/* Test @real until it is complete or a hold is raised. Returns the library's code. */
int test_below(MPI_Request *real, int *flag, MPI_Status *status);

/* Wait for @request, with its error handler; stops at safe points meanwhile. */
int wait_inside(MPI_Request *request, MPI_Status *status, struct call_mark *mark,
		unsigned int call);

/* Keep the arguments for a restart; takes references to @dtype and the communicator. */
void request_record(MPI_Request request, unsigned int call, void *buf, MPI_Count count,
		    MPI_Datatype dtype, int rank, int tag);
/* Note that @request reads or writes @file collectively with the file's other members. */
void request_of_file(MPI_Request request, MPI_File file);
/* Test the active @req in the lower half; its completion is kept, or ends an orphan. */
void request_look(struct vrequest *req);
/* @req is complete: keep @status and @rc until the application asks for them. */
void request_keep(struct vrequest *req, const MPI_Status *status, int rc);

/*
 * Make the request of a receive that @kept completes: nothing in the lower half, status and code
 * kept. On failure there is no request, and the caller still owns @kept.
 */
int request_of_kept(struct kept *kept, struct vobj *comm, void *buf, MPI_Count count,
		    MPI_Datatype dtype, MPI_Request *ret_request);

/* @req is complete, or persistent and inactive again; count its message as @status tells. */
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
 * The application freed the active @req, whose end has to be counted. The functions on orphans
 * are orphan.c's.
 */
void orphan_request(struct vrequest *req);
/*
 * The application frees @comm, which has an identity: release its slot; the real communicator is
 * freed when all members have freed theirs. Waits for nobody. Returns a code of MPI.
 */
int orphan_comm(struct vcomm *comm);
/* An orphan is complete; @real is the handle after its last test. */
void orphan_end(struct vrequest *req, MPI_Request real);
/* Test all orphans, and begin those barriers that have become possible. */
void orphans_look(void);
/* callback.c: the functions of a generalised request are Fortran's. */
void grequest_fortran(struct vrequest *req);
/* Restart: start @req anew, and complete it if it was complete. Returns a code of MPI. */
int grequest_again(struct vrequest *req);
/* Restart: the freed communicator of @req exists again, not yet freed by all members. */
void orphan_again(struct vrequest *req);
/* Wait until all members have freed every communicator that this rank has freed. */
void orphans_settle(void);

/* Return the next position among receives and requests of files. */
static inline __attribute__((always_inline)) uint64_t post_order(void)
{
	if (unlikely(glue.multiple))
		return __atomic_add_fetch(&glue.posted, 1, __ATOMIC_RELAXED);
	return ++glue.posted;
}

/* A wrapper made @request for a send: note the receiver's world rank. */
static inline __attribute__((always_inline)) void request_sent(MPI_Request request, int32_t peer)
{
	struct vrequest *req = (struct vrequest *)vobj_req(request);

	if (likely(req))
		req->peer = peer;
}

#endif
