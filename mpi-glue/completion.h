/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Completing requests: what goes around the library's word on one. For the calls on one request
 * (request.c) and on arrays of them (request_array.c), and for those of files (request_io.c).
 *
 * The application is told of a completion once, and the slot goes back then: by request_settle()
 * when the library has just said it, in the handle that it left; by request_tell() and
 * request_told() when somebody found the request complete before and kept that (REQ_DONE). What
 * is kept is null or inactive below, so the library passes over it in an array of reals_of().
 *
 * Requests of files are tested by request_io.c alone, one at a time and in its order; they never
 * go below in an array.
 */
#ifndef MPI_GLUE_COMPLETION_H
#define MPI_GLUE_COMPLETION_H

#include "mpi-glue/drain.h"
#include "mpi-glue/request.h"

/* Without its status it cannot be told what this one received, or whether it was cancelled. */
#define NEEDS_STATUS	(REQ_ANY | REQ_CANCELLED)
/* And where all of an array are asked about. */
#define ALL_NEED_STATUS	(NEEDS_STATUS | ABI_TESTALL_STATUS)

/*
 * Of requests with @flags, where @of them need it; another thread may cancel one while it is
 * waited for.
 */
static inline bool needs_status(uint32_t flags, uint32_t of)
{
	return flags & of || unlikely(glue.multiple);
}

static inline bool request_is_done(const struct vrequest *req)
{
	return req && (req->flags & REQ_DONE);
}

/* What a kept completion says. @status may be MPI_STATUS_IGNORE. Returns the request's code. */
int request_tell(struct vrequest *req, MPI_Status *status);
/* The application has been told: the slot is free, or the persistent request inactive. */
void request_told(MPI_Request *request, struct vrequest *req);
/* Run the error handler for @request, which failed with @rc; what @call returns. */
int request_fail(MPI_Request request, int rc, unsigned int call);

/*
 * The library has said of @request what @real is now: null, it is done with it; else it is not,
 * or it is a persistent one that is inactive again if @complete. @status as in
 * request_finished().
 */
static inline __attribute__((always_inline)) void
request_settle(MPI_Request *request, MPI_Request real, bool complete, const MPI_Status *status)
{
	struct vrequest *req = (struct vrequest *)vobj_req(*request);

	if (unlikely(!req))
		return;
	if (real == glue.real_request_null) {
		request_finished(req, status);
		*request = MPI_REQUEST_NULL;
		request_put(req);
		return;
	}
	if (complete)
		request_finished(req, status);
	req->obj.real = (uintptr_t)real;
}

/*
 * A collective among those with @flags is not told of yet: kept_come_and_go(). For a test: it
 * tells of none.
 */
static inline bool collective_waits(uint32_t flags)
{
	return unlikely(glue.kept & KEPT_MESSAGES) && (flags & REQ_COLLECTIVE) &&
	       kept_come_and_go();
}

/* What the library will complain of is nothing to us. */
#define COUNT(n)	((n) > 0 ? (n) : 0)

/* Real handles into @real, which has room for @count; returns the flags of all together. */
static inline __attribute__((always_inline)) uint32_t
reals_of(MPI_Request *real, int count, const MPI_Request requests[])
{
	uint32_t flags = 0;

	for (int i = 0; i < count; i++) {
		const struct vrequest *req = (struct vrequest *)vobj_req(requests[i]);

		real[i] = real_req(requests[i]);
		if (likely(req))
			flags |= req->flags;
	}
	return flags;
}

/*
 * One look at @req, or at those of its file that have to be complete before it. True: it is
 * complete, which is kept, or nothing is under way.
 */
bool io_test(struct vrequest *req);
/* Nothing has to be complete before @req may be tested; else one look at what has. */
bool io_turn(struct vrequest *req, bool alone);

/* The same, of any request. @req may be NULL. */
static inline bool io_has_to_wait(struct vrequest *req)
{
	return req && unlikely(req->flags & REQ_IO_ORDERED) && !io_turn(req, false);
}

/*
 * One look at each request of a file in the array; how many are not complete. @real: none of
 * them
 */
int io_test_array(int count, const MPI_Request requests[], MPI_Request *real);

#endif
