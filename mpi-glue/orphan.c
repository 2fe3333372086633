// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the program has let go of and the lower half has not: receives that were freed while
 * active, and communicators that other members have not freed yet.
 *
 * An orphan is a request in its slot that no handle leads to. It is tested when more of them come,
 * by the drain, and before MPI_Finalize. Receives are kept as their messages must be counted; a
 * message of a freed communicator, or a count of it, must not outlive it in some ranks only, so a
 * communicator goes when a barrier of its members says that all have freed it. Nobody
 * waits for that: MPI_Comm_free is local in the libraries, and programs free in any order.
 */
#include "mpi-glue/collective.h"
#include "mpi-glue/request.h"
#include "mpi/calls.h"

/* Freed receives are looked after when there are so many more. */
#define ORPHANS_AT_ONCE	64

LOWER_TEXT void orphan_end(struct vrequest *req, MPI_Request real)
{
	struct vcomm *comm = (struct vcomm *)req->comm;

	if (real != glue.real_request_null)
		lower_MPI_Request_free(&real);
	if (req->flags & REQ_LEAVING) {
		MPI_Comm left = (MPI_Comm)comm->left;

		lower_MPI_Comm_free(&left);
		glue.leaving--;
	}
	glue.orphans--;
	req->flags &= ~(uint32_t)(REQ_ORPHAN | REQ_LEAVING);
	request_put(req);
}

LOWER_TEXT static void look_after(void)
{
	const struct vtable *table = &glue.table[VK_REQ];

	for (uint32_t i = 0; i < table->top && glue.orphans; i++) {
		struct vrequest *req = (struct vrequest *)vobj_at(VK_REQ, i);
		MPI_Request real;
		MPI_Status status;
		int flag = 0;

		if (!req || !(req->flags & REQ_ORPHAN))
			continue;
		real = real_req(virt_req(&req->obj));
		if (lower_MPI_Test(&real, &flag, &status) || !flag)
			continue;
		request_finished(req, &status);
		orphan_end(req, real);
	}
}

void orphan_receive(struct vrequest *req)
{
	req->flags |= REQ_ORPHAN;
	if (!(++glue.orphans % ORPHANS_AT_ONCE))
		look_after();
}

LOWER_TEXT int orphan_comm(struct vcomm *comm)
{
	MPI_Comm real = (MPI_Comm)comm->obj.real;
	struct vrequest *req;
	MPI_Request request;
	int rc = lower_MPI_Ibarrier(real, &request);

	if (rc)
		return rc;
	req = request_new((uintptr_t)request, &comm->obj, REQ_ORPHAN | REQ_LEAVING);
	if (!req)
		return MPI_ERR_NO_MEM;
	request_record(virt_req(&req->obj), CALL_MPI_Comm_free, NULL, 0, MPI_BYTE,
		       MPI_PROC_NULL, 0);
	comm->left = comm->obj.real;
	vobj_release(&comm->obj);
	glue.orphans++;
	glue.leaving++;
	look_after();
	return 0;
}

LOWER_TEXT void orphans_settle(void)
{
	GLUE_CALL(MPI_Finalize);

	while (glue.leaving) {
		look_after();
		if (glue.leaving)
			between(&mark);
	}
}
