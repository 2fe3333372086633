// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion of requests in arrays: MPI_Waitall, Waitany, Waitsome, and their tests.
 *
 * The library is asked about all requests at once, with their real handles in the application's
 * order. Waiting is a loop around the library's test, left at safe points, after which the real
 * handles are taken anew. Requests already known to be complete go first: calls for any or some
 * of an array return these.
 *
 * MPICH's test of all ends at once when one request has failed, its wait does not: the others are
 * then waited for one by one. Open MPI's tests do not return errors of persistent requests, its
 * waits do: here those errors come from statuses (ABI_ERRORS_LOST), or from tests of one request
 * at a time.
 *
 * Requests of files are never passed to these calls of the library: each is tested before
 * (request_io.c), and null in the array of real handles. So the library's answer "none is active"
 * may be wrong for the application's array.
 */
#include "mpi-glue/completion.h"
#include "mpi-glue/own.h"
#include "mpi/calls.h"

/* Return the index of the first request that is known to be complete; -1: none. */
static int find_done(int count, const MPI_Request requests[])
{
	if (likely(!(glue.kept & KEPT_REQUESTS)))
		return -1;
	for (int i = 0; i < count; i++)
		if (request_is_done((struct vrequest *)vobj_req(requests[i])))
			return i;
	return -1;
}

static inline MPI_Status *status_at(MPI_Status *statuses, int i)
{
	return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/* True: some requests have failed; false: the arguments were wrong, and nothing was done. */
LOWER_TEXT static bool is_in_status(int rc)
{
	int class = MPI_SUCCESS;

	lower_MPI_Error_class(rc, &class);
	return class == MPI_ERR_IN_STATUS;
}

/* Return the communicator whose error handler serves @req failing in an array; NULL: WORLD. */
static inline struct vobj *array_comm(const struct vrequest *req)
{
	return req && !ABI_ARRAY_FAILS_WORLD ? req->comm : NULL;
}

/*
 * Return that communicator for the first request that failed among @n, which @indices names if
 * given. Without statuses: for the first request that has a communicator.
 */
LOWER_TEXT static struct vobj *failed_comm(int n, const MPI_Request requests[], const int indices[],
					   const MPI_Status statuses[], int rc)
{
	if (ABI_ARRAY_FAILS_WORLD || !is_in_status(rc))
		return NULL;
	for (int i = 0; i < n; i++) {
		const struct vrequest *req =
			(struct vrequest *)vobj_req(requests[indices ? indices[i] : i]);

		if (!req)
			continue;
		if (statuses == MPI_STATUSES_IGNORE
			    ? req->comm != NULL
			    : statuses[i].MPI_ERROR != MPI_SUCCESS &&
				      statuses[i].MPI_ERROR != MPI_ERR_PENDING)
			return array_comm(req);
	}
	return NULL;
}

/*
 * After a test of all that failed, is @req still under way? The real handle of a request that
 * the library has completed is null; for a persistent one the status tells. Without a status, a
 * test tells; a completion that this test itself finds is as good.
 */
LOWER_TEXT static bool is_pending(const struct vrequest *req, MPI_Request *real,
				  const MPI_Status *status)
{
	int flag = 0;

	if (!req || *real == glue.real_request_null)
		return false;
	if (!(req->flags & REQ_PERSISTENT))
		return true;
	if (status != MPI_STATUS_IGNORE)
		return status->MPI_ERROR == MPI_ERR_PENDING;
	return !lower_MPI_Test(real, &flag, MPI_STATUS_IGNORE) && !flag;
}

/*
 * Some requests have failed, and Open MPI has freed every request of the array whose status has
 * an error, also requests that it did not report. For a receive from any source among these the
 * sender is not known.
 */
static void settle_freed(int count, MPI_Request requests[], const MPI_Request real[])
{
	for (int i = 0; i < count; i++) {
		const struct vrequest *req = (struct vrequest *)vobj_req(requests[i]);

		if (req && !(req->flags & REQ_IO) && real[i] == glue.real_request_null &&
		    real_req(requests[i]) != glue.real_request_null)
			request_settle(&requests[i], real[i], true, MPI_STATUS_IGNORE);
	}
}

/* Return the error of @req, if the library's test of all succeeded without returning it. */
static inline int lost_error(const struct vrequest *req, const MPI_Status *status)
{
	if (likely(!req || !(req->flags & ABI_ERRORS_LOST)) || status == MPI_STATUS_IGNORE)
		return MPI_SUCCESS;
	return status->MPI_ERROR;
}

/*
 * Settle the requests that are complete after a test of all: @all of them, or some, as others
 * failed. @below: the library's code. Returns that code, or MPI_ERR_IN_STATUS if a request failed
 * whose error the code does not show; *ret_comm: the communicator whose error handler to run.
 */
static int settle_all(int count, MPI_Request requests[], MPI_Request real[],
		      MPI_Status statuses[], bool all, int below, struct vobj **ret_comm)
{
	bool some = false;
	int rc = below;

	if (unlikely(rc)) {
		*ret_comm = failed_comm(count, requests, NULL, statuses, rc);
		some = !all && is_in_status(rc);
	}
	for (int i = 0; i < count; i++) {
		struct vrequest *req = (struct vrequest *)vobj_req(requests[i]);
		MPI_Status *status = status_at(statuses, i);

		if (likely(!request_is_done(req))) {
			bool complete = likely(all) || (some && !is_pending(req, &real[i], status));
			int lost = likely(!below) ? lost_error(req, status) : MPI_SUCCESS;

			if (unlikely(lost) && !rc) {
				*ret_comm = array_comm(req);
				rc = MPI_ERR_IN_STATUS;
			}
			request_settle(&requests[i], real[i], complete, status);
			/*
			 * MPICH's wait sets MPI_ERROR, its test does not; a request before this
			 * one may have failed
			 */
			if (likely(!below) && status != MPI_STATUS_IGNORE)
				status->MPI_ERROR = lost;
			continue;
		}
		if (request_tell(req, status) && !rc) {
			*ret_comm = array_comm(req);
			rc = MPI_ERR_IN_STATUS;
		}
		if (status != MPI_STATUS_IGNORE)
			status->MPI_ERROR = req->done->rc;
		request_told(&requests[i], req);
	}
	if (unlikely(below))
		settle_freed(count, requests, real);
	return rc;
}

/* Like wait_inside(), but without the error handler, which the caller runs once for the array. */
LOWER_TEXT static int wait_one(MPI_Request *request, MPI_Status *status, struct call_mark *mark)
{
	struct vrequest *req = (struct vrequest *)vobj_req(*request);
	MPI_Request real;
	int rc, flag;

	for (;;) {
		if (request_is_done(req)) {
			rc = request_tell(req, status);
			request_told(request, req);
			return rc;
		}
		real = real_req(*request);
		rc = test_below(&real, &flag, status);
		if (flag || rc)
			break;
		if (req)
			progress_request(req);
		between(mark);
	}
	request_settle(request, real, true, status);
	return rc;
}

/*
 * Show in the status page what the thread waits for: the first request that is not complete. Each
 * is asked for, which costs, so this is done again ever more seldom; @tries: waits so far.
 */
LOWER_TEXT static void show_first(int n, const MPI_Request requests[], const MPI_Request real[],
				  unsigned int tries)
{
	if ((tries & (tries - 1)) && tries % (1u << 16))
		return;
	for (int i = 0; i < n; i++) {
		const struct vrequest *req = (struct vrequest *)vobj_req(requests[i]);
		int flag = 0;

		if (!req || !(req->flags & REQ_ACTIVE) ||
		    lower_MPI_Request_get_status(real[i], &flag, MPI_STATUS_IGNORE) || flag)
			continue;
		progress_request(req);
		return;
	}
}

/* The same for a call that ends with any of the requests. */
static void show_any(int n, const MPI_Request requests[])
{
	const struct vrequest *only = NULL;
	int nr = 0;

	for (int i = 0; i < n; i++) {
		const struct vrequest *req = (struct vrequest *)vobj_req(requests[i]);

		if (!req || !(req->flags & REQ_ACTIVE))
			continue;
		only = req;
		nr++;
	}
	if (nr == 1)
		progress_request(only);
	else if (nr)
		progress_waits(STATUS_RECEIVES, -1, 0, 0);
}

/* A request has failed with @rc, and complete ones are settled: wait for the rest one by one. */
LOWER_TEXT static void wait_rest(int count, MPI_Request requests[], MPI_Status statuses[], int rc,
				 struct call_mark *mark)
{
	if (!is_in_status(rc))
		return;
	for (int i = 0; i < count; i++) {
		const struct vrequest *req = (struct vrequest *)vobj_req(requests[i]);
		MPI_Status *status = status_at(statuses, i);

		if (!req || !(req->flags & (REQ_ACTIVE | REQ_DONE)))
			continue;
		rc = wait_one(&requests[i], status, mark);
		if (status != MPI_STATUS_IGNORE)
			status->MPI_ERROR = rc;
	}
}

/* Wait until no request of a file is under way, then take the real handles into @real anew. */
static void wait_io(int count, const MPI_Request requests[], MPI_Request *real,
		    struct call_mark *mark)
{
	while (io_test_array(count, requests, real))
		between(mark);
	reals_of(real, count, requests);
}

/*
 * Wait one by one for requests that MPICH's test of all cannot take: MPIR_Request_get_error()
 * does not know their kind.
 */
LOWER_TEXT static int wait_each(int count, MPI_Request requests[], MPI_Status statuses[],
				struct call_mark *mark, struct vobj **ret_comm)
{
	int failed = 0;

	for (int i = 0; i < count; i++) {
		struct vobj *comm = array_comm((struct vrequest *)vobj_req(requests[i]));
		MPI_Status *status = status_at(statuses, i);
		int rc = wait_one(&requests[i], status, mark);

		if (status != MPI_STATUS_IGNORE)
			status->MPI_ERROR = rc;
		if (rc && !failed) {
			failed = MPI_ERR_IN_STATUS;
			*ret_comm = comm;
		}
	}
	return failed;
}

LOWER_TEXT int PMPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
	GLUE_CALL(MPI_Waitall);
	int n = COUNT(count), flag = 0, own = 0, rc;
	MPI_Request *real = array_of(MPI_Request, n);
	uint32_t flags = reals_of(real, n, requests);
	MPI_Status *use = statuses;
	struct vobj *comm = NULL;
	unsigned int tries = 0;

	if (needs_status(flags, ALL_NEED_STATUS) && statuses == MPI_STATUSES_IGNORE)
		own = n;
	if (unlikely(own))
		use = array_of(MPI_Status, own);
	if (unlikely(flags & REQ_IO))
		wait_io(n, requests, real, &mark);
	if (unlikely(flags & REQ_ALONE)) {
		rc = wait_each(n, requests, use, &mark, &comm);
		goto out;
	}
	for (;;) {
		rc = UNTIL_OUT(MPI_Testall, flag, count, real, &flag, use);
		if (likely(flag) || rc)
			break;
		show_first(n, requests, real, tries++);
		between(&mark);
		reals_of(real, n, requests);
	}
	rc = settle_all(n, requests, real, use, flag, rc, &comm);
	if (unlikely(rc && !flag))
		wait_rest(n, requests, use, rc, &mark);
out:
	array_drop(real, n, false);
	if (unlikely(own))
		array_drop(use, own, false);
	return unlikely(rc) ? fail_vcomm(comm, rc, CALL_MPI_Waitall) : rc;
}
MPI_ALIAS(MPI_Waitall);

LOWER_TEXT int PMPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	GLUE_CALL(MPI_Testall);
	int n = COUNT(count), own = 0, rc;
	MPI_Request *real = array_of(MPI_Request, n);
	uint32_t flags = reals_of(real, n, requests);
	MPI_Status *use = statuses;
	struct vobj *comm = NULL;

	own_choice(OWN_WHETHER);
	if (needs_status(flags, ALL_NEED_STATUS) && statuses == MPI_STATUSES_IGNORE)
		own = n;
	if (unlikely(own))
		use = array_of(MPI_Status, own);
	*flag = 0;
	if (collective_waits(flags) ||
	    (unlikely(flags & REQ_IO) && io_test_array(n, requests, real)))
		rc = MPI_SUCCESS;
	else
		rc = lower_MPI_Testall(count, real, flag, use);
	if (*flag || rc)
		rc = settle_all(n, requests, real, use, *flag, rc, &comm);
	array_drop(real, n, false);
	if (unlikely(own))
		array_drop(use, own, false);
	return unlikely(rc) ? fail_vcomm(comm, rc, CALL_MPI_Testall) : rc;
}
MPI_ALIAS(MPI_Testall);

/* After a test of any: settle the request that is complete, or report the call's failure. */
static int settle_one(int count, MPI_Request requests[], const MPI_Request real[], int indx,
		      const MPI_Status *status, int rc, unsigned int call)
{
	struct vobj *comm = NULL;

	if (indx >= 0 && indx < count) {
		comm = array_comm((struct vrequest *)vobj_req(requests[indx]));
		request_settle(&requests[indx], real[indx], true, status);
	}
	if (likely(!rc))
		return rc;
	settle_freed(count, requests, real);
	return fail_vcomm(comm, rc, call);
}

static int tell_one(MPI_Request requests[], int done, int *indx, MPI_Status *status,
		    unsigned int call)
{
	struct vrequest *req = (struct vrequest *)vobj_req(requests[done]);
	int rc = request_tell(req, status);

	*indx = done;
	if (rc)
		rc = fail_vcomm(array_comm(req), rc, call);
	request_told(&requests[done], req);
	return rc;
}

/* The library found nothing active, but @io requests of files are, which it was not asked about. */
static inline bool only_io(int found, int io)
{
	return unlikely(io) && found == MPI_UNDEFINED;
}

/* Like one test of any, request by request: find the first that is active and complete. */
LOWER_TEXT static int test_each(int count, const MPI_Request requests[], MPI_Request real[],
				int *indx, int *flag, MPI_Status *status)
{
	bool active = false;
	int rc;

	*flag = 0;
	for (int i = 0; i < count; i++) {
		const struct vrequest *req = (struct vrequest *)vobj_req(requests[i]);

		if (!req || !(req->flags & REQ_ACTIVE) || real[i] == glue.real_request_null)
			continue;
		active = true;
		rc = lower_MPI_Test(&real[i], flag, status);
		if (!*flag && !rc)
			continue;
		*indx = i;
		return rc;
	}
	*flag = !active;
	return MPI_SUCCESS;
}

/* If no request is active MPICH's wait sets an empty status, its test of any sets none: set it. */
LOWER_TEXT static void empty_status(MPI_Status *status)
{
	MPI_Request none = glue.real_request_null;
	int flag;

	lower_MPI_Test(&none, &flag, status);
}

LOWER_TEXT int PMPI_Waitany(int count, MPI_Request requests[], int *indx, MPI_Status *status)
{
	GLUE_CALL(MPI_Waitany);
	int n = COUNT(count), flag = 0, io = 0, done, rc;
	MPI_Request *real = array_of(MPI_Request, n);
	MPI_Status own, *use = status == MPI_STATUS_IGNORE ? &own : status;

	own_choice(OWN_WHICH);
	for (;;) {
		uint32_t flags = reals_of(real, n, requests);

		if (unlikely(flags & REQ_IO))
			io = io_test_array(n, requests, real);
		done = find_done(n, requests);
		if (unlikely(done >= 0)) {
			array_drop(real, n, false);
			return tell_one(requests, done, indx, status, CALL_MPI_Waitany);
		}
		*indx = MPI_UNDEFINED;
		if (unlikely(flags & ABI_ERRORS_LOST))
			rc = test_each(n, requests, real, indx, &flag, use);
		else
			rc = UNTIL_OUT(MPI_Testany, flag, count, real, indx, &flag, use);
		if (likely(flag && !only_io(*indx, io)) || rc)
			break;
		show_any(n, requests);
		between(&mark);
	}
	if (unlikely(*indx == MPI_UNDEFINED) && !rc)
		empty_status(use);
	rc = settle_one(n, requests, real, *indx, use, rc, CALL_MPI_Waitany);
	array_drop(real, n, false);
	return rc;
}
MPI_ALIAS(MPI_Waitany);

LOWER_TEXT int PMPI_Testany(int count, MPI_Request requests[], int *indx, int *flag,
			    MPI_Status *status)
{
	GLUE_CALL(MPI_Testany);
	int n = COUNT(count), io = 0, done, rc;
	MPI_Request *real = array_of(MPI_Request, n);
	uint32_t flags = reals_of(real, n, requests);
	MPI_Status own, *use = status == MPI_STATUS_IGNORE ? &own : status;

	own_choice(OWN_WHICH);
	if (collective_waits(flags)) {
		array_drop(real, n, false);
		*flag = 0;
		*indx = MPI_UNDEFINED;
		return MPI_SUCCESS;
	}
	if (unlikely(flags & REQ_IO))
		io = io_test_array(n, requests, real);
	done = find_done(n, requests);
	if (unlikely(done >= 0)) {
		array_drop(real, n, false);
		*flag = 1;
		return tell_one(requests, done, indx, status, CALL_MPI_Testany);
	}
	*indx = MPI_UNDEFINED;
	rc = lower_MPI_Testany(count, real, indx, flag, use);
	if (only_io(*indx, io))
		*flag = 0;
	rc = settle_one(n, requests, real, *flag || rc ? *indx : -1, use, rc, CALL_MPI_Testany);
	array_drop(real, n, false);
	return rc;
}
MPI_ALIAS(MPI_Testany);

/* Answer a call for some requests with those already known to be complete. */
static int tell_some(int count, MPI_Request requests[], int *outcount, int indices[],
		     MPI_Status statuses[], unsigned int call)
{
	struct vobj *comm = NULL;
	int n = 0, rc = 0;

	for (int i = 0; i < count; i++) {
		struct vrequest *req = (struct vrequest *)vobj_req(requests[i]);
		MPI_Status *status = status_at(statuses, n);

		if (!request_is_done(req))
			continue;
		if (request_tell(req, status) && !rc) {
			rc = MPI_ERR_IN_STATUS;
			comm = array_comm(req);
		}
		if (status != MPI_STATUS_IGNORE)
			status->MPI_ERROR = req->done->rc;
		indices[n++] = i;
		request_told(&requests[i], req);
	}
	*outcount = n;
	return rc ? fail_vcomm(comm, rc, call) : 0;
}

static int settle_some(int count, MPI_Request requests[], const MPI_Request real[], int outcount,
		       const int indices[], MPI_Status statuses[], int rc, unsigned int call)
{
	struct vobj *comm = unlikely(rc) ? failed_comm(outcount, requests, indices, statuses, rc)
					 : NULL;

	for (int k = 0; k < outcount && outcount != MPI_UNDEFINED; k++)
		request_settle(&requests[indices[k]], real[indices[k]], true,
			       status_at(statuses, k));
	if (likely(!rc))
		return rc;
	settle_freed(count, requests, real);
	return fail_vcomm(comm, rc, call);
}

/* MPI_Waitsome and MPI_Testsome; @wait: wait until some requests are complete. */
LOWER_TEXT static int some(int incount, MPI_Request requests[], int *outcount, int indices[],
			   MPI_Status statuses[], bool wait, unsigned int call,
			   struct call_mark *mark)
{
	int n = COUNT(incount), own = 0, io = 0, rc;
	MPI_Request *real = array_of(MPI_Request, n);
	uint32_t flags = reals_of(real, n, requests);
	MPI_Status *use = statuses;

	if (needs_status(flags, NEEDS_STATUS) && statuses == MPI_STATUSES_IGNORE)
		own = n;
	if (unlikely(own))
		use = array_of(MPI_Status, own);
	for (;;) {
		if (unlikely(flags & REQ_IO))
			io = io_test_array(n, requests, real);
		if (unlikely(find_done(n, requests) >= 0)) {
			rc = tell_some(n, requests, outcount, indices, statuses, call);
			break;
		}
		*outcount = 0;
		if (!wait && collective_waits(flags)) {
			rc = MPI_SUCCESS;
			break;
		}
		if (wait)
			rc = UNTIL_OUT(MPI_Testsome, *outcount, incount, real, outcount, indices,
				       use);
		else
			rc = lower_MPI_Testsome(incount, real, outcount, indices, use);
		if (only_io(*outcount, io))
			*outcount = 0;
		if (likely(*outcount) || rc || !wait) {
			rc = settle_some(n, requests, real, *outcount, indices, use, rc, call);
			break;
		}
		show_any(n, requests);
		between(mark);
		reals_of(real, n, requests);
	}
	array_drop(real, n, false);
	if (unlikely(own))
		array_drop(use, own, false);
	return rc;
}

int PMPI_Waitsome(int incount, MPI_Request requests[], int *outcount, int indices[],
		  MPI_Status statuses[])
{
	GLUE_CALL(MPI_Waitsome);

	own_choice(OWN_WHICH);
	return some(incount, requests, outcount, indices, statuses, true, CALL_MPI_Waitsome, &mark);
}
MPI_ALIAS(MPI_Waitsome);

int PMPI_Testsome(int incount, MPI_Request requests[], int *outcount, int indices[],
		  MPI_Status statuses[])
{
	GLUE_CALL(MPI_Testsome);

	own_choice(OWN_WHICH);
	return some(incount, requests, outcount, indices, statuses, false, CALL_MPI_Testsome,
		    &mark);
}
MPI_ALIAS(MPI_Testsome);
