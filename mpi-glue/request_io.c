// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of non-blocking reads and writes of files: when they are tested below, and in which
 * order.
 *
 * ROMIO's are generalized requests that get on only when somebody tests them. MPICH's
 * MPI_Testall does so again with those that are complete, and takes that for an error of its
 * own (the application's MPI_Waitall is MPI_Testall here), so each is tested alone and kept
 * when it is complete.
 *
 * Collective ones call collectives of their file's communicator when they are tested: all ranks
 * must test those of a file in one order, or ranks wait for each other in different ones. The
 * drain tests everything; so the oldest of a file is tested until it is complete, and then the
 * next, whoever asks and whatever for. They were begun in one order on all ranks.
 *
 * When several threads call, another one may have the older one in hand: each is on its own then,
 * and there are no checkpoints once a file of several processes was opened.
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

/* The one of its file that has to get on first; @req itself, if none has to before it. */
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
