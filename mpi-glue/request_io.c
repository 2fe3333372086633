// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of non-blocking reads and writes of files: when they are tested in the lower half, and
 * in which order.
 *
 * ROMIO's requests are generalized requests that progress only when they are tested. MPICH's
 * MPI_Testall tests complete ones again, and takes that for an error of its own (the
 * application's MPI_Waitall is MPI_Testall here), so each request is tested alone and kept when
 * it is complete.
 *
 * A collective request calls collectives of its file's communicator when it is tested: all ranks
 * must test the requests of a file in one order, or ranks wait for each other in different
 * requests. The drain tests every request; so the oldest request of a file is tested until it is
 * complete, and then the next, whichever request the caller asks for. All ranks began the
 * requests in one order.
 *
 * When several threads call, another thread may be using the older request: each request is then
 * on its own, and there are no checkpoints once a file of several processes was opened.
 */
#include "mpi-glue/completion.h"
#include "mpi/calls.h"

static bool is_under_way(const struct vrequest *req)
{
	return (req->flags & (REQ_ACTIVE | REQ_DONE)) == REQ_ACTIVE;
}

void request_of_file(MPI_Request request, MPI_File file)
{
	struct vrequest *req = (struct vrequest *)vobj_req(request);

	if (!req)
		return;
	req->file = vobj_file(file);
	req->order = post_order();
	req->flags |= REQ_IO_ORDERED;
}

/* Return the oldest request under way on the file of @req; @req itself, if none is older. */
static struct vrequest *first_of_file(struct vrequest *req, bool alone)
{
	const struct vtable *table = &glue.table[VK_REQ];
	struct vrequest *first = req;

	if (!(req->flags & REQ_IO_ORDERED) || (glue.several && !alone))
		return req;
	for (uint32_t i = 0; i < table->top; i++) {
		struct vrequest *other = (struct vrequest *)vobj_at(VK_REQ, i);

		if (other && (other->flags & REQ_IO_ORDERED) && other->file == req->file &&
		    other->order < first->order && is_under_way(other))
			first = other;
	}
	return first;
}

bool io_turn(struct vrequest *req, bool alone)
{
	for (;;) {
		struct vrequest *first = first_of_file(req, alone);

		if (first == req)
			return true;
		request_look(first);
		if (is_under_way(first))
			return false;
	}
}

bool io_test(struct vrequest *req)
{
	if (!is_under_way(req))
		return true;
	if (!io_turn(req, false))
		return false;
	request_look(req);
	return !is_under_way(req);
}

int io_test_array(int count, const MPI_Request requests[], MPI_Request *real)
{
	int n = 0;

	for (int i = 0; i < count; i++) {
		struct vrequest *req = (struct vrequest *)vobj_req(requests[i]);

		if (!req || !(req->flags & REQ_IO))
			continue;
		n += !io_test(req);
		real[i] = glue.real_request_null;
	}
	return n;
}
