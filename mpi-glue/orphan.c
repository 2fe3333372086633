// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects that the program has freed and the lower half still has: requests that were freed
 * while active, and communicators that other members have not freed yet.
 *
 * An orphan is a request in its slot that no handle of the program names. Orphans are tested
 * when more of them come, by the glue thread, and before MPI_Finalize. Freed receives are kept as
 * their messages must be counted, and freed cancelled sends as it is not known yet whether their
 * messages were sent.
 *
 * MPI_Comm_free is local in the libraries, and programs free in any order, so no call waits here.
 * But at a cut a communicator must be gone in all members or in none, as a restart makes it
 * again with all of them. So a communicator leaves in two steps, non-blocking barriers on itself:
 *
 *   1. Complete when all members have freed the communicator. Not counted as begun
 *      (collective.h): no member owes anything until then, a cut can be between, and a restart
 *      begins with this step again.
 *   2. Counted, and begun only by a member that knows that the others will begin it without
 *      their application. Complete at a cut, as non-blocking collectives are; then the real
 *      communicator is freed.
 *
 * Files and windows gather and count on the communicator they were made on, also when it was
 * freed: the first step waits until this rank has no file or window on it, so that the step comes
 * after their calls in all members.
 */
#include "mpi-glue/collective.h"
#include "mpi-glue/drain.h"
#include "mpi-glue/request.h"
#include "mpi/calls.h"

/* Orphans are tested each time so many more have come. */
#define ORPHANS_AT_ONCE	64

static void orphan_forget(struct vrequest *req)
{
	if (req->flags & REQ_LEAVING) {
		((struct vcomm *)req->comm)->left = 0;
		glue.leaving--;
	}
	glue.orphans--;
	req->flags &= ~(uint32_t)(REQ_ORPHAN | REQ_LEAVING | REQ_LEFT);
	request_put(req);
}

/*
 * Barriers of the first step. On an intercommunicator one barrier tells only that the other group
 * has come; the second tells that all have.
 */
static int rounds_of(const struct vcomm *comm)
{
	return comm->inter ? 2 : 1;
}

static bool is_used(const struct vobj *comm)
{
	for (uint32_t i = 0; i < glue.table[VK_FILE].top; i++) {
		const struct vfile *file = (struct vfile *)vobj_at(VK_FILE, i);

		if (file && !file->obj.freed && file->comm == comm)
			return true;
	}
	for (uint32_t i = 0; i < glue.table[VK_WIN].top; i++) {
		const struct vwin *win = (struct vwin *)vobj_at(VK_WIN, i);

		if (win && !win->obj.freed && win->comm == comm)
			return true;
	}
	return false;
}

/*
 * Begin the next barrier, if it may begin now. If the library fails, give the orphan up; the real
 * communicator then stays.
 * @at_end: MPI_Finalize: files and windows that the application did not close do not matter
 */
LOWER_TEXT static void begin_next(struct vrequest *req, bool at_end)
{
	struct vcomm *comm = (struct vcomm *)req->comm;
	MPI_Request real;

	if (req->count && !at_end && is_used(&comm->obj))
		return;
	if (!req->count && !quiesce_may_count(&comm->coll))
		return;
	if (!req->count)
		req->flags |= REQ_LEFT;
	comm->leaving = true;
	if (lower_MPI_Ibarrier((MPI_Comm)comm->left, &real)) {
		orphan_forget(req);
		return;
	}
	req->obj.real = (uintptr_t)real;
	req->flags |= REQ_ACTIVE;
}

LOWER_TEXT void orphan_end(struct vrequest *req, MPI_Request real)
{
	if (real != glue.real_request_null)
		lower_MPI_Request_free(&real);
	if (req->flags & REQ_LEFT) {
		struct vcomm *comm = (struct vcomm *)req->comm;
		MPI_Comm left = (MPI_Comm)comm->left;

		drain_last(comm);
		lower_MPI_Comm_free(&left);
	} else if (req->flags & REQ_LEAVING) {
		req->count--;
		begin_next(req, false);
		return;
	}
	orphan_forget(req);
}

static void orphan_look(bool at_end)
{
	const struct vtable *table = &glue.table[VK_REQ];

	for (uint32_t i = 0; i < table->top && glue.orphans; i++) {
		struct vrequest *req = (struct vrequest *)vobj_at(VK_REQ, i);

		if (!req || !(req->flags & REQ_ORPHAN))
			continue;
		if (req->flags & REQ_ACTIVE)
			request_look(req);
		else
			begin_next(req, at_end);
	}
}

/* Any thread may touch any orphan. Calls into the lower half under this lock do not block. */
static void orphan_lock(void)
{
	if (unlikely(glue.multiple))
		glue_lock(&glue.orphans_lock);
}

static void orphan_unlock(void)
{
	if (unlikely(glue.multiple))
		glue_unlock(&glue.orphans_lock);
}

void orphans_look(void)
{
	orphan_lock();
	orphan_look(false);
	orphan_unlock();
}

void orphan_request(struct vrequest *req)
{
	orphan_lock();
	req->flags |= REQ_ORPHAN;
	if (!(++glue.orphans % ORPHANS_AT_ONCE))
		orphan_look(false);
	orphan_unlock();
}

int orphan_comm(struct vcomm *comm)
{
	struct vrequest *req;

	orphan_lock();
	req = request_new(0, &comm->obj, REQ_ORPHAN | REQ_LEAVING);
	if (!req) {
		orphan_unlock();
		return MPI_ERR_NO_MEM;
	}
	request_record(virt_req(&req->obj), CALL_MPI_Comm_free, NULL, rounds_of(comm), MPI_BYTE,
		       MPI_PROC_NULL, 0);
	req->flags &= ~(uint32_t)REQ_ACTIVE;
	comm->left = comm->obj.real;
	vobj_release(&comm->obj);
	glue.orphans++;
	glue.leaving++;
	orphan_look(false);
	orphan_unlock();
	return 0;
}

/* Begin with the first step again, also if this rank had passed it: other members may not have. */
void orphan_again(struct vrequest *req)
{
	req->count = rounds_of((struct vcomm *)req->comm);
	req->flags &= ~(uint32_t)REQ_ACTIVE;
	req->obj.real = ABI_BITS(glue.real_request_null);
	begin_next(req, false);
}

/* Free every communicator left, as members that have freed theirs wait for all to do so. */
static void free_rest(void)
{
	for (uint32_t i = 2; i < glue.table[VK_COMM].top; i++) {
		struct vcomm *comm = (struct vcomm *)vobj_at(VK_COMM, i);

		if (comm && !comm->obj.freed && comm->coll.id)
			orphan_comm(comm);
	}
}

LOWER_TEXT void orphans_settle(void)
{
	GLUE_CALL(MPI_Finalize);

	free_rest();
	while (glue.leaving) {
		orphan_lock();
		orphan_look(true);
		orphan_unlock();
		if (glue.leaving)
			between(&mark);
	}
}
