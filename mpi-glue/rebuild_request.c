// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of a restart: persistent requests are made again, receives are posted again in their
 * old order, generalized requests are started anew. Sends and all other requests are complete
 * (drain.c): nothing is sent here. A request that is complete and not yet told gets the new
 * library's null handle; the application's own handle never changes. Arguments are those of the
 * call that made the request (request_record()).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/rebuild.h"
#include "mpi-glue/request.h"
#include "mpi/calls.h"

typedef int init_fn(void *buf, int count, MPI_Datatype dtype, int rank, int tag, MPI_Comm comm,
		    MPI_Request *request);
typedef int init_large_fn(void *buf, MPI_Count count, MPI_Datatype dtype, int rank, int tag,
			  MPI_Comm comm, MPI_Request *request);

static bool is_large(unsigned int call)
{
	const char *name = call_symbol[call];
	size_t length = strlen(name);

	return length > 2 && !strcmp(name + length - 2, "_c");
}

/* Repeat the call that made @req: Irecv, Send_init, Recv_init, ... have the same parameters. */
LOWER_TEXT static int make_request(struct vrequest *req)
{
	MPI_Datatype dtype = real_dtype(req->dtype);
	MPI_Comm comm = (MPI_Comm)comm_below((struct vcomm *)req->comm);
	bool large = is_large(req->made_by);
	void *fn = glue.fn[req->made_by];
	unsigned long upper;
	MPI_Request real;
	int rc;

	if (req->flags & REQ_LEAVING) {
		orphan_again(req);
		return 0;
	}
	upper = glue_enter(req->made_by);
	rc = large ? ((init_large_fn *)fn)(req->buf, req->count, dtype, req->rank, req->tag, comm,
					   &real) :
		     ((init_fn *)fn)(req->buf, (int)req->count, dtype, req->rank, req->tag, comm,
				     &real);
	lower_leave(upper);
	if (rc)
		return rc;
	if ((req->flags & REQ_PERSISTENT) && (req->flags & REQ_ACTIVE))
		rc = lower_MPI_Start(&real);
	req->obj.real = ABI_BITS(real);
	return rc;
}

static int start_general(struct vrequest *req, char *ret_why, size_t size)
{
	int rc = grequest_again(req);

	if (rc)
		snprintf(ret_why, size, "a generalized request: code %d of the new library", rc);
	return rc;
}

static int by_order(const void *a, const void *b)
{
	const struct vrequest *x = *(struct vrequest *const *)a, *y = *(struct vrequest *const *)b;

	return (x->order > y->order) - (x->order < y->order);
}

int rebuild_requests(char *ret_why, size_t size)
{
	const struct vtable *table = &glue.table[VK_REQ];
	struct vrequest **all = malloc(((size_t)table->top + 1) * sizeof(*all));
	size_t n = 0;
	int rc = all ? 0 : -ENOMEM;

	for (uint32_t i = 0; !rc && i < table->top; i++) {
		struct vrequest *req = (struct vrequest *)vobj_at(VK_REQ, i);

		if (!req)
			continue;
		if (req->flags & REQ_GENERAL)
			rc = start_general(req, ret_why, size);
		else if (req->flags & (REQ_PERSISTENT | REQ_ACTIVE | REQ_LEAVING))
			all[n++] = req;
		else
			req->obj.real = ABI_BITS(glue.real_request_null);
	}
	if (!rc)
		qsort(all, n, sizeof(*all), by_order);
	for (size_t i = 0; i < n && !rc; i++) {
		rc = make_request(all[i]);
		if (rc)
			snprintf(ret_why, size, "request of %s: code %d of the new library",
				 call_symbol[all[i]->made_by] + 1, rc);
	}
	free(all);
	return rc ? -EIO : 0;
}
