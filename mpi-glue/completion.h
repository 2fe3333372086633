/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Completing requests: the bookkeeping around the library's answer. Used by the calls on one
 * request (request.c), on arrays of requests (request_array.c) and on files (request_io.c).
 *
 * The application is told of a completion once, and then the slot is freed: by request_settle()
 * when the library has just reported the completion, in the handle that the library left; by
 * request_tell() and request_told() when somebody found the request complete earlier and kept
 * that (REQ_DONE). A kept completion is null or inactive in the lower half, so the library skips
 * it in an array of reals_of().
 *
 * Only request_io.c tests requests of files, one at a time and in its order; they never go to
 * the lower half in an array.
 */
#ifndef MPI_GLUE_COMPLETION_H
#define MPI_GLUE_COMPLETION_H

#include "mpi-glue/drain.h"
#include "mpi-glue/request.h"

/* Only the status tells from whom such a request received, or whether it was cancelled. */
#define NEEDS_STATUS	(REQ_ANY | REQ_CANCELLED)
/* The same for calls that ask about all requests of an array. */
#define ALL_NEED_STATUS	(NEEDS_STATUS | ABI_TESTALL_STATUS)

/*
 * True if requests with @flags need their status, where the flags @of call for it. With several
 * threads always true: another thread may cancel a request while it is waited for.
 */
static inline bool needs_status(uint32_t flags, uint32_t of)
{
	return flags & of || unlikely(glue.multiple);
}

static inline bool request_is_done(const struct vrequest *req)
{
	return req && (req->flags & REQ_DONE);
}

/* Report a kept completion. @status may be MPI_STATUS_IGNORE. Returns the request's code. */
int request_tell(struct vrequest *req, MPI_Status *status);
/* The application has been told: free the slot, or make the persistent request inactive. */
void request_told(MPI_Request *request, struct vrequest *req);
/* Run the error handler for @request, which failed with @rc; returns the code for @call. */
int request_fail(MPI_Request request, int rc, unsigned int call);

/*
 * The library has left @real in place of @request's real handle. Null: the library is done with
 * the request. Otherwise the request goes on, or is a persistent one, inactive again if
 * @complete. @status as in request_finished().
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
 * True if a test of requests with @flags must report no completion, as a collective is among
 * them and kept messages still come and go: kept_come_and_go().
 */
static inline bool collective_waits(uint32_t flags)
{
	return unlikely(glue.kept & KEPT_MESSAGES) && (flags & REQ_COLLECTIVE) &&
	       kept_come_and_go();
}

/* A negative count counts as none here; the library will report it. */
#define COUNT(n)	((n) > 0 ? (n) : 0)

/* Fill @real, which has room for @count, with the real handles; returns all flags, or-ed. */
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
 * Test @req once, or the requests of its file that have to be complete before it. True: @req is
 * complete, which is kept, or not under way.
 */
bool io_test(struct vrequest *req);
/* True if @req may be tested now; else test the requests that must be complete before it once. */
bool io_turn(struct vrequest *req, bool alone);

/* True if another request must be complete before @req, of any kind. @req may be NULL. */
static inline bool io_has_to_wait(struct vrequest *req)
{
	return req && unlikely(req->flags & REQ_IO_ORDERED) && !io_turn(req, false);
}

/*
 * Test each request of a file in the array once; returns the number that are not complete.
 * @real: the array of real handles, in which requests of files become null
 */
int io_test_array(int count, const MPI_Request requests[], MPI_Request *real);

#endif
