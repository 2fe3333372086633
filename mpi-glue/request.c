// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: completion, start, cancel, free.
 *
 * A slot lives from the call that made the request to the one that completes it; a persistent
 * one until MPI_Request_free. The library sets its own handle to null on completion, and that is
 * what gives the slot back here: nothing is guessed from the kind of request.
 *
 * An error is the communicator's of the first request that failed, as the standard says.
 */
#include <stdlib.h>
#include <string.h>

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

void request_put_slow(struct vrequest *req)
{
	struct owned *owned = req->owned;

	if (owned) {
		free(owned->first);
		free(owned->second);
		free(owned);
		req->owned = NULL;
	}
	vobj_put(&req->obj);
}

void message_comm(MPI_Message message, MPI_Comm comm)
{
	struct vmsg *msg = (struct vmsg *)vobj_msg(message);

	if (msg)
		msg->comm = vobj_comm(comm);
}

/* The library is done with it, or has not: as its handle says. */
static inline void settle(MPI_Request *request, MPI_Request real)
{
	struct vrequest *req = (struct vrequest *)vobj_req(*request);

	if (unlikely(!req))
		return;
	if (real == glue.real_request_null) {
		*request = MPI_REQUEST_NULL;
		request_put(req);
	} else {
		req->obj.real = (uintptr_t)real;
	}
}

static int fail_request(MPI_Request request, int rc, unsigned int call)
{
	const struct vrequest *req = (struct vrequest *)vobj_req(request);

	return fail_vcomm(req ? req->comm : NULL, rc, call);
}

LOWER_TEXT int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
	MPI_Request real = real_req(*request);
	int rc = lower_MPI_Wait(&real, status);

	if (unlikely(rc))
		rc = fail_request(*request, rc, CALL_MPI_Wait);
	settle(request, real);
	return rc;
}
MPI_ALIAS(MPI_Wait);

LOWER_TEXT int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	MPI_Request real = real_req(*request);
	int rc = lower_MPI_Test(&real, flag, status);

	if (unlikely(rc))
		rc = fail_request(*request, rc, CALL_MPI_Test);
	settle(request, real);
	return rc;
}
MPI_ALIAS(MPI_Test);

static MPI_Request *reals_of(MPI_Request *real, int count, const MPI_Request requests[])
{
	for (int i = 0; i < count; i++)
		real[i] = real_req(requests[i]);
	return real;
}

/* Of several: the communicator of the first that is there. */
static int settle_all(int count, MPI_Request requests[], MPI_Request *real, int rc,
		      unsigned int call)
{
	struct vobj *comm = NULL;

	for (int i = 0; unlikely(rc) && i < count && !comm; i++) {
		const struct vrequest *req = (struct vrequest *)vobj_req(requests[i]);

		comm = req ? req->comm : NULL;
	}
	for (int i = 0; i < count; i++)
		settle(&requests[i], real[i]);
	array_drop(real, count, false);
	return unlikely(rc) ? fail_vcomm(comm, rc, call) : rc;
}

#define COUNT(n)	((n) > 0 ? (n) : 0)

LOWER_TEXT int PMPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
	MPI_Request *real = reals_of(array_of(MPI_Request, COUNT(count)), count, requests);
	int rc = lower_MPI_Waitall(count, real, statuses);

	return settle_all(count, requests, real, rc, CALL_MPI_Waitall);
}
MPI_ALIAS(MPI_Waitall);

LOWER_TEXT int PMPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	MPI_Request *real = reals_of(array_of(MPI_Request, COUNT(count)), count, requests);
	int rc = lower_MPI_Testall(count, real, flag, statuses);

	return settle_all(count, requests, real, rc, CALL_MPI_Testall);
}
MPI_ALIAS(MPI_Testall);

LOWER_TEXT int PMPI_Waitany(int count, MPI_Request requests[], int *indx, MPI_Status *status)
{
	MPI_Request *real = reals_of(array_of(MPI_Request, COUNT(count)), count, requests);
	int rc = lower_MPI_Waitany(count, real, indx, status);

	return settle_all(count, requests, real, rc, CALL_MPI_Waitany);
}
MPI_ALIAS(MPI_Waitany);

LOWER_TEXT int PMPI_Testany(int count, MPI_Request requests[], int *indx, int *flag,
			    MPI_Status *status)
{
	MPI_Request *real = reals_of(array_of(MPI_Request, COUNT(count)), count, requests);
	int rc = lower_MPI_Testany(count, real, indx, flag, status);

	return settle_all(count, requests, real, rc, CALL_MPI_Testany);
}
MPI_ALIAS(MPI_Testany);

LOWER_TEXT int PMPI_Waitsome(int incount, MPI_Request requests[], int *outcount, int indices[],
			     MPI_Status statuses[])
{
	MPI_Request *real = reals_of(array_of(MPI_Request, COUNT(incount)), incount, requests);
	int rc = lower_MPI_Waitsome(incount, real, outcount, indices, statuses);

	return settle_all(incount, requests, real, rc, CALL_MPI_Waitsome);
}
MPI_ALIAS(MPI_Waitsome);

LOWER_TEXT int PMPI_Testsome(int incount, MPI_Request requests[], int *outcount, int indices[],
			     MPI_Status statuses[])
{
	MPI_Request *real = reals_of(array_of(MPI_Request, COUNT(incount)), incount, requests);
	int rc = lower_MPI_Testsome(incount, real, outcount, indices, statuses);

	return settle_all(incount, requests, real, rc, CALL_MPI_Testsome);
}
MPI_ALIAS(MPI_Testsome);

LOWER_TEXT int PMPI_Start(MPI_Request *request)
{
	MPI_Request real = real_req(*request);
	int rc = lower_MPI_Start(&real);

	if (unlikely(rc))
		return fail_request(*request, rc, CALL_MPI_Start);
	settle(request, real);
	return rc;
}
MPI_ALIAS(MPI_Start);

LOWER_TEXT int PMPI_Startall(int count, MPI_Request requests[])
{
	MPI_Request *real = reals_of(array_of(MPI_Request, COUNT(count)), count, requests);
	int rc = lower_MPI_Startall(count, real);

	return settle_all(count, requests, real, rc, CALL_MPI_Startall);
}
MPI_ALIAS(MPI_Startall);

LOWER_TEXT int PMPI_Cancel(MPI_Request *request)
{
	MPI_Request real = real_req(*request);
	int rc = lower_MPI_Cancel(&real);

	return unlikely(rc) ? fail_request(*request, rc, CALL_MPI_Cancel) : rc;
}
MPI_ALIAS(MPI_Cancel);

/* The library may read the arrays of a freed request until it completes: they are left. */
LOWER_TEXT int PMPI_Request_free(MPI_Request *request)
{
	struct vrequest *req = (struct vrequest *)vobj_req(*request);
	MPI_Request real = real_req(*request);
	int rc = lower_MPI_Request_free(&real);

	if (unlikely(rc))
		return fail_request(*request, rc, CALL_MPI_Request_free);
	if (req)
		req->owned = NULL;
	settle(request, glue.real_request_null);
	return rc;
}
MPI_ALIAS(MPI_Request_free);
