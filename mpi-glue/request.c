// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: completion of one request, start, cancel, free.
 *
 * A slot lives from the call that made the request to the one that completes it; a persistent
 * request's slot until MPI_Request_free. The library sets its own handle to null on completion,
 * and the slot is then given back: nothing is guessed from the kind of request.
 *
 * Waiting is a loop around the library's test, left at safe points (quiesce.h). A request that the
 * glue thread found complete (REQ_DONE) has a null real handle, or is inactive in the lower half,
 * so that the library passes over it; its status and code are kept here for the application.
 *
 * An error in a request goes to its communicator's error handler, as the standard says. An error
 * in an array of requests goes where the library sends it: to the communicator of the first
 * request that failed, or to MPI_COMM_WORLD (ABI_ARRAY_FAILS_WORLD). An error in any other call on
 * requests goes to MPI_COMM_WORLD.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/completion.h"
#include "mpi-glue/own.h"
#include "mpi-glue/rebuild.h"
#include "mpi/calls.h"

/* Two arrays that the lower half reads until the request completes. */
struct owned {
	void *first, *second;
};

void request_own(MPI_Request request, void *first, void *second)
{
	struct vrequest *req = (struct vrequest *)vobj_req(request);
	struct owned *owned = req ? malloc(sizeof(*owned)) : NULL;

	if (!owned)		/* the arrays leak: the library may still read them */
		return;
	owned->first = first;
	owned->second = second;
	req->owned = owned;
}

static void forget_done(struct vrequest *req)
{
	free(req->done);
	req->done = NULL;
	req->flags &= ~(uint32_t)REQ_DONE;
	/* with several threads the flag stays: another thread may be keeping a request just now */
	if (!__atomic_sub_fetch(&glue.nr_done, 1, __ATOMIC_RELAXED) && !glue.multiple)
		glue.kept &= ~(uint32_t)KEPT_REQUESTS;
}

void request_put_slow(struct vrequest *req)
{
	struct owned *owned = req->owned;

	if (owned) {
		free(owned->first);
		free(owned->second);
		free(owned);
		req->owned = NULL;
	}
	if (req->flags & REQ_DONE)
		forget_done(req);
	if (req->made_by) {
		ref_put(vobj_dtype(req->dtype));
		ref_put(req->comm);
		req->made_by = 0;
	}
	req->flags = 0;
	vobj_put(&req->obj);
}

void request_record(MPI_Request request, unsigned int call, void *buf, MPI_Count count,
		    MPI_Datatype dtype, int rank, int tag)
{
	struct vrequest *req = (struct vrequest *)vobj_req(request);

	if (unlikely(!req))
		return;
	req->buf = buf;
	req->count = count;
	req->dtype = dtype;
	req->rank = rank;
	req->tag = tag;
	req->made_by = (uint16_t)call;
	req->order = post_order();
	req->peer = world_rank_of((struct vcomm *)req->comm, rank);
	if (rank == MPI_ANY_SOURCE) {
		req->flags |= REQ_ANY;
		own_choice(OWN_ANY_SOURCE);
	}
	ref_get(vobj_dtype(dtype));
	ref_get(req->comm);
}

void request_keep(struct vrequest *req, const MPI_Status *status, int rc)
{
	struct done *done = malloc(sizeof(*done));

	if (!done)		/* no memory: told as complete later, with an empty status */
		return;
	done->status = *status;
	done->rc = rc;
	req->done = done;
	req->flags |= REQ_DONE;
	__atomic_add_fetch(&glue.nr_done, 1, __ATOMIC_RELAXED);
	__atomic_or_fetch(&glue.kept, (uint32_t)KEPT_REQUESTS, __ATOMIC_RELAXED);
}

int request_of_kept(struct kept *kept, struct vobj *comm, void *buf, MPI_Count count,
		    MPI_Datatype dtype, MPI_Request *ret_request)
{
	MPI_Request request = wrap_request(glue.real_request_null, comm, REQ_RECV);
	struct vrequest *req = (struct vrequest *)vobj_req(request);
	MPI_Status status;
	bool received;
	int rc;

	if (!req)
		return MPI_ERR_INTERN;
	memset(&status, 0, sizeof(status));
	rc = kept_deliver(kept, buf, count, dtype, &status, &received);
	if (!received) {
		request_put(req);
		return rc;
	}
	req->flags &= ~(uint32_t)REQ_ACTIVE;
	request_keep(req, &status, rc);
	*ret_request = request;
	return MPI_SUCCESS;
}

void request_finished_slow(struct vrequest *req, const MPI_Status *status)
{
	int cancelled = 0, source = req->rank;

	if (!(req->flags & REQ_ACTIVE))
		return;
	/* only settle_freed() passes no status for a request whose status matters */
	if (status == MPI_STATUS_IGNORE)
		return;
	if (req->flags & REQ_CANCELLED)
		PMPI_Test_cancelled(status, &cancelled);
	if (cancelled) {
		if (req->flags & REQ_SEND)
			count_not_sent(req->peer);
		return;
	}
	if (!(req->flags & REQ_RECV))
		return;
	if (req->flags & REQ_ANY)
		source = status->MPI_SOURCE;
	count_received(req->comm, source);
}

/* Tell the kept status and code. MPI_ERROR of a single status must keep its value. */
int request_tell(struct vrequest *req, MPI_Status *status)
{
	const struct done *done = req->done;

	if (status != MPI_STATUS_IGNORE) {
		int error = status->MPI_ERROR;

		*status = done->status;
		status->MPI_ERROR = error;
	}
	return done->rc;
}

void request_told(MPI_Request *request, struct vrequest *req)
{
	if (req->flags & REQ_PERSISTENT) {
		forget_done(req);
		return;
	}
	*request = MPI_REQUEST_NULL;
	request_put(req);
}

int request_fail(MPI_Request request, int rc, unsigned int call)
{
	const struct vrequest *req = (struct vrequest *)vobj_req(request);

	return fail_vcomm(req ? req->comm : NULL, rc, call);
}

LOWER_TEXT void request_look(struct vrequest *req)
{
	MPI_Request real = real_req(virt_req(&req->obj));
	MPI_Status status;
	int flag = 0, rc;

	memset(&status, 0, sizeof(status));
	rc = lower_MPI_Test(&real, &flag, &status);
	if (!flag && !rc)
		return;
	request_finished(req, &status);
	req->obj.real = (uintptr_t)real;
	if (req->flags & REQ_ORPHAN)
		orphan_end(req, real);
	else
		request_keep(req, &status, rc);
}

LOWER_TEXT int quiet_tag(void)
{
	int flag = 0, *highest;

	if (lower_MPI_Comm_get_attr(real_comm(MPI_COMM_WORLD), MPI_TAG_UB, &highest, &flag) ||
	    !flag)
		return MPI_ANY_TAG;
	return *highest;
}

LOWER_TEXT int test_below(MPI_Request *real, int *flag, MPI_Status *status)
{
	*flag = 0;
	return UNTIL_OUT(MPI_Test, *flag, real, flag, status);
}

int wait_inside(MPI_Request *request, MPI_Status *status, struct call_mark *mark,
		unsigned int call)
{
	struct vrequest *req = (struct vrequest *)vobj_req(*request);
	MPI_Status own, *use = status;
	MPI_Request real;
	int rc, flag;

	if (status == MPI_STATUS_IGNORE && req && needs_status(req->flags, NEEDS_STATUS))
		use = &own;
	for (;;) {
		if (unlikely(glue.kept & KEPT_REQUESTS) && request_is_done(req)) {
			rc = request_tell(req, status);
			if (rc)
				rc = fail_vcomm(req->comm, rc, call);
			request_told(request, req);
			return rc;
		}
		if (io_has_to_wait(req)) {
			between(mark);
			continue;
		}
		real = real_req(*request);
		rc = test_below(&real, &flag, use);
		if (likely(flag) || rc)
			break;
		if (req) {	/* for people who ask what the thread waits for */
			glue_self.peer = req->peer;
			glue_self.tag = req->tag;
			progress_request(req);
		}
		between(mark);
	}
	if (unlikely(rc))
		rc = request_fail(*request, rc, call);
	request_settle(request, real, true, use);
	return rc;
}

int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
	GLUE_CALL(MPI_Wait);
	return wait_inside(request, status, &mark, CALL_MPI_Wait);
}
MPI_ALIAS(MPI_Wait);

LOWER_TEXT int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	GLUE_CALL(MPI_Test);
	struct vrequest *req = (struct vrequest *)vobj_req(*request);
	MPI_Status own, *use = status;
	MPI_Request real;
	int rc;

	own_choice(OWN_WHETHER);
	if (req && collective_waits(req->flags)) {
		*flag = 0;
		return MPI_SUCCESS;
	}
	if (unlikely(glue.kept & KEPT_REQUESTS) && request_is_done(req)) {
		*flag = 1;
		rc = request_tell(req, status);
		if (rc)
			rc = fail_vcomm(req->comm, rc, CALL_MPI_Test);
		request_told(request, req);
		return rc;
	}
	if (io_has_to_wait(req)) {
		*flag = 0;
		return MPI_SUCCESS;
	}
	if (status == MPI_STATUS_IGNORE && req && needs_status(req->flags, NEEDS_STATUS))
		use = &own;
	real = real_req(*request);
	rc = lower_MPI_Test(&real, flag, use);
	if (unlikely(rc))
		rc = request_fail(*request, rc, CALL_MPI_Test);
	request_settle(request, real, *flag, use);
	return rc;
}
MPI_ALIAS(MPI_Test);

LOWER_TEXT int PMPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	GLUE_CALL(MPI_Request_get_status);
	struct vrequest *req = (struct vrequest *)vobj_req(request);
	int rc;

	own_choice(OWN_WHETHER);
	if (req &&
	    (collective_waits(req->flags) || (unlikely(req->flags & REQ_IO) && !io_test(req)))) {
		*flag = 0;
		return MPI_SUCCESS;
	}
	if (unlikely(glue.kept & KEPT_REQUESTS) && request_is_done(req)) {
		*flag = 1;
		rc = request_tell(req, status);
		if (!ABI_GET_STATUS_FAILS)
			rc = MPI_SUCCESS;
	} else {
		rc = lower_MPI_Request_get_status(real_req(request), flag, status);
	}
	return unlikely(rc) ? fail_world(rc, CALL_MPI_Request_get_status) : rc;
}
MPI_ALIAS(MPI_Request_get_status);

/* Mark a persistent request active and count its send, before the library starts it. */
static void begin_one(struct vrequest *req)
{
	if (!req)
		return;
	req->flags |= REQ_ACTIVE;
	if (req->flags & REQ_SEND)
		channel_add(glue.sent, req->peer);
	if (req->flags & REQ_RECV)
		req->order = post_order();
}

/* Take the kept message for @req, if it is a receive and there is such a message; or NULL. */
static struct kept *kept_of(const struct vrequest *req)
{
	if (likely(!(glue.kept & KEPT_MESSAGES)) || !req || !(req->flags & REQ_RECV))
		return NULL;
	return kept_take(req->comm, req->rank, req->tag);
}

/*
 * Complete the started receive @req with @kept, also if the message was too long. If @kept could
 * not be received, it is put back as if it had not been taken.
 */
static int start_kept(struct vrequest *req, struct kept *kept)
{
	/* another thread's receive may use the same type, and revive it as well */
	static pthread_mutex_t reviving = PTHREAD_MUTEX_INITIALIZER;
	struct vobj *dtype = vobj_dtype(req->dtype);
	bool received = false, freed = dtype && dtype->freed;
	MPI_Status status;
	int rc;

	memset(&status, 0, sizeof(status));
	if (freed)
		pthread_mutex_lock(&reviving);
	rc = dtype_revive(dtype);
	if (!rc)
		rc = kept_deliver(kept, req->buf, req->count, req->dtype, &status, &received);
	dtype_bury(dtype);
	if (freed)
		pthread_mutex_unlock(&reviving);
	if (!received) {
		kept_return(kept);
		return rc;
	}
	request_keep(req, &status, rc);
	req->flags &= ~(uint32_t)REQ_ACTIVE;
	return MPI_SUCCESS;
}

/* Undo begin_one(): the library did not start @req. */
static void not_begun(struct vrequest *req)
{
	if (!req)
		return;
	req->flags &= ~(uint32_t)REQ_ACTIVE;
	if (req->flags & REQ_SEND)
		count_not_sent(req->peer);
}

LOWER_TEXT static int start_inside(MPI_Request *request, unsigned int call)
{
	struct vrequest *req = (struct vrequest *)vobj_req(*request);
	struct kept *kept;
	MPI_Request real;
	int rc;

	begin_one(req);
	kept = kept_of(req);
	real = real_req(*request);
	rc = unlikely(kept) ? start_kept(req, kept) : lower_MPI_Start(&real);
	if (unlikely(rc)) {
		not_begun(req);
		return fail_world(rc, call);
	}
	if (req && likely(!kept))
		req->obj.real = (uintptr_t)real;
	return rc;
}

int PMPI_Start(MPI_Request *request)
{
	GLUE_CALL(MPI_Start);
	return start_inside(request, CALL_MPI_Start);
}
MPI_ALIAS(MPI_Start);

LOWER_TEXT int PMPI_Startall(int count, MPI_Request requests[])
{
	GLUE_CALL(MPI_Startall);
	int n = COUNT(count), rc = 0;
	MPI_Request *real;

	if (unlikely(glue.kept & KEPT_MESSAGES)) {
		for (int i = 0; i < n && !rc; i++)
			rc = start_inside(&requests[i], CALL_MPI_Startall);
		return rc;
	}
	real = array_of(MPI_Request, n);
	for (int i = 0; i < n; i++)
		begin_one((struct vrequest *)vobj_req(requests[i]));
	reals_of(real, n, requests);
	rc = lower_MPI_Startall(count, real);
	for (int i = 0; i < n; i++) {
		struct vrequest *req = (struct vrequest *)vobj_req(requests[i]);

		if (unlikely(rc))
			not_begun(req);
		else if (likely(req))
			req->obj.real = (uintptr_t)real[i];
	}
	array_drop(real, n, false);
	return unlikely(rc) ? fail_world(rc, CALL_MPI_Startall) : rc;
}
MPI_ALIAS(MPI_Startall);

LOWER_TEXT int PMPI_Cancel(MPI_Request *request)
{
	GLUE_CALL(MPI_Cancel);
	struct vrequest *req = (struct vrequest *)vobj_req(*request);
	MPI_Request real;
	int rc;

	if (request_is_done(req))
		return MPI_SUCCESS;	/* too late to cancel, which MPI allows */
	real = real_req(*request);
	/*
	 * set before the library cancels: afterwards a waiting thread may have completed the
	 * request, and the slot may be another's
	 */
	if (likely(req))
		__atomic_or_fetch(&req->flags, (uint32_t)REQ_CANCELLED, __ATOMIC_RELAXED);
	rc = lower_MPI_Cancel(&real);
	if (likely(!rc))
		return rc;
	if (req)
		__atomic_and_fetch(&req->flags, ~(uint32_t)REQ_CANCELLED, __ATOMIC_RELAXED);
	return fail_world(rc, CALL_MPI_Cancel);
}
MPI_ALIAS(MPI_Cancel);

#define ACTIVE_RECEIVE	(REQ_RECV | REQ_ACTIVE)
#define CANCELLED_SEND	(REQ_SEND | REQ_ACTIVE | REQ_CANCELLED)

/*
 * The program frees a cancelled send: if the library knows already that nothing was sent, take
 * the send off the count.
 */
LOWER_TEXT static void cancelled_freed(struct vrequest *req)
{
	MPI_Status status;
	int flag = 0;

	memset(&status, 0, sizeof(status));
	if (!lower_MPI_Request_get_status(real_req(virt_req(&req->obj)), &flag, &status) && flag)
		request_finished(req, &status);
}

/* Does the end of @req have to be counted, so that it must be kept as an orphan? */
static bool is_awaited(struct vrequest *req)
{
	if ((req->flags & CANCELLED_SEND) == CANCELLED_SEND)
		cancelled_freed(req);
	return (req->flags & ACTIVE_RECEIVE) == ACTIVE_RECEIVE ||
	       (req->flags & CANCELLED_SEND) == CANCELLED_SEND;
}

/*
 * Free a generalized request. An incomplete one keeps its slot until it is complete: the program
 * still has a handle with which to complete it. An error is that of the program's free function:
 * the request is gone all the same.
 */
LOWER_TEXT static int free_general(MPI_Request *request, struct vrequest *req, MPI_Request real)
{
	uint32_t was =
		__atomic_fetch_or(&req->flags, (uint32_t)REQ_GENERAL_FREED, __ATOMIC_RELAXED);
	int rc = 0;

	*request = MPI_REQUEST_NULL;
	if (was & REQ_GENERAL_DONE) {
		rc = lower_MPI_Request_free(&real);
		request_put(req);
	}
	return rc ? fail_world(rc, CALL_MPI_Request_free) : rc;
}

/* The library may read an active request's arrays after this: they are leaked then. */
LOWER_TEXT int PMPI_Request_free(MPI_Request *request)
{
	GLUE_CALL(MPI_Request_free);
	struct vrequest *req = (struct vrequest *)vobj_req(*request);
	MPI_Request real = real_req(*request);
	int rc = 0;

	if (req && is_awaited(req)) {
		*request = MPI_REQUEST_NULL;
		orphan_request(req);
		return rc;
	}
	if (req && (req->flags & REQ_GENERAL))
		return free_general(request, req, real);
	if (!request_is_done(req) || (req->flags & REQ_PERSISTENT))
		rc = lower_MPI_Request_free(&real);
	if (unlikely(rc))
		return fail_world(rc, CALL_MPI_Request_free);
	*request = MPI_REQUEST_NULL;
	if (req) {
		if (req->flags & REQ_ACTIVE)
			req->owned = NULL;
		request_put(req);
	}
	return rc;
}
MPI_ALIAS(MPI_Request_free);
