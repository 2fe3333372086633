// SPDX-License-Identifier: GPL-2.0-only
/*
 * Point to point: blocking calls as loops, receives that look at kept messages first.
 *
 * A blocking send or receive is the non-blocking one and tests until it is complete, in one trip
 * to the lower half. Only if the thread leaves that loop before completion does the request get a
 * slot with its arguments: the drain completes it or a restart posts it anew.
 *
 * Calls with large counts (MPICH) are the same functions with a wider parameter.
 */
#include <limits.h>
#include <stdlib.h>

#include "mpi-glue/own.h"
#include "mpi-glue/request.h"
#include "mpi/calls.h"

typedef int isend_fn(const void *buf, int count, MPI_Datatype dtype, int dest, int tag,
		     MPI_Comm comm, MPI_Request *request);

struct args {
	void *buf;
	MPI_Count count;
	MPI_Datatype dtype;
	int rank, tag;
	MPI_Comm comm;
	unsigned int call;	/* MPI_Irecv or MPI_Irecv_c: how to post it */
	bool large;
};

/* A message that was longer than its buffer has been received all the same, and counts so. */
static bool is_truncate(int rc)
{
	int class = MPI_SUCCESS;

	PMPI_Error_class(rc, &class);
	return class == MPI_ERR_TRUNCATE;
}

/* Give the real request of a receive a slot; MPI_REQUEST_NULL: the table is full. */
static MPI_Request recv_request(MPI_Request real, const struct args *a, uint32_t flags)
{
	MPI_Request request = wrap_request(real, vobj_comm(a->comm), flags | REQ_RECV);

	request_record(request, a->call, a->buf, a->count, a->dtype, a->rank, a->tag);
	return request;
}

static int recv_kept(struct kept *kept, const struct args *a, MPI_Status *status, unsigned int call)
{
	bool received;
	int rc = kept_deliver(kept, a->buf, a->count, a->dtype, status, &received);

	if (!received)
		kept_return(kept);
	return rc ? fail_comm(a->comm, rc, call) : rc;
}

static int irecv_kept(struct kept *kept, const struct args *a, MPI_Request *request,
		      unsigned int call)
{
	int rc = request_of_kept(kept, vobj_comm(a->comm), a->buf, a->count, a->dtype, request);

	if (!rc)
		return rc;
	kept_return(kept);
	return fail_comm(a->comm, rc, call);
}

/* Sends. */

static inline __attribute__((always_inline)) int
send_below(unsigned int call, bool large, const struct args *a, MPI_Request *real, int *flag)
{
	MPI_Datatype dtype = real_dtype(a->dtype);
	MPI_Comm comm = real_comm(a->comm);
	unsigned long upper = glue_enter(call);
	int tests = TESTS_AT_ONCE;
	int rc = large ? abi_isend_c(call, a->buf, a->count, dtype, a->rank, a->tag, comm, real) :
			 ((isend_fn *)glue.fn[call])(a->buf, (int)a->count, dtype, a->rank, a->tag,
						     comm, real);

	while (!rc) {
		rc = BELOW(MPI_Test)(real, flag, MPI_STATUS_IGNORE);
		if (*flag || wanted_out() || !--tests)
			break;
	}
	lower_leave(upper);
	return rc;
}

static inline __attribute__((always_inline)) int
send_inside(unsigned int below, bool large, const struct args *a, struct call_mark *mark,
	    unsigned int call)
{
	int32_t peer = count_sent(vobj_comm(a->comm), a->rank);
	MPI_Request real = glue.real_request_null, request;
	int flag = 0, rc;

	rc = send_below(below, large, a, &real, &flag);
	if (likely(flag && !rc))
		return rc;
	if (unlikely(rc)) {
		if (real == glue.real_request_null)
			count_not_sent(peer);
		return fail_comm(a->comm, rc, call);
	}
	request = wrap_request(real, vobj_comm(a->comm), REQ_SEND);
	request_sent(request, peer);
	return wait_inside(&request, MPI_STATUS_IGNORE, mark, call);
}

#define SENDS(X, s, type) \
	X(MPI_Send##s, MPI_Isend##s, s, type) \
	X(MPI_Ssend##s, MPI_Issend##s, s, type) \
	X(MPI_Rsend##s, MPI_Irsend##s, s, type)

#define LARGE(s)	(sizeof(#s) > 1)

#define SEND(name, below, s, type) \
LOWER_TEXT int P##name(const void *buf, type count, MPI_Datatype datatype, int dest, int tag, \
		       MPI_Comm comm) \
{ \
	GLUE_CALL(name); \
	const struct args a = { .buf = (void *)(uintptr_t)buf, .count = count, \
				.dtype = datatype, .rank = dest, .tag = tag, .comm = comm }; \
\
	return send_inside(CALL_##below, LARGE(s), &a, &mark, CALL_##name); \
} \
MPI_ALIAS(name);

#define SENDS_OF(s, type)	SENDS(SEND, s, type)
ABI_SIZES(SENDS_OF)

/* Receives. */

static inline __attribute__((always_inline)) int
recv_below(const struct args *a, MPI_Request *real, int *flag, MPI_Status *status)
{
	MPI_Datatype dtype = real_dtype(a->dtype);
	MPI_Comm comm = real_comm(a->comm);
	unsigned long upper = glue_enter(CALL_MPI_Irecv);
	int tests = TESTS_AT_ONCE;
	int rc = a->large ? abi_irecv_c(a->buf, a->count, dtype, a->rank, a->tag, comm, real) :
			    BELOW(MPI_Irecv)(a->buf, (int)a->count, dtype, a->rank, a->tag, comm,
					     real);

	while (!rc) {
		rc = BELOW(MPI_Test)(real, flag, status);
		if (*flag || wanted_out() || !--tests)
			break;
	}
	lower_leave(upper);
	return rc;
}

static inline __attribute__((always_inline)) int
recv_inside(const struct args *a, MPI_Status *status, struct call_mark *mark, unsigned int call)
{
	MPI_Request real = glue.real_request_null, request;
	struct kept *kept = kept_for(a->comm, a->rank, a->tag);
	MPI_Status own, *use = status;
	int flag = 0, rc;

	if (unlikely(a->rank == MPI_ANY_SOURCE))
		own_choice(OWN_ANY_SOURCE);
	if (unlikely(kept))
		return recv_kept(kept, a, status, call);
	if (unlikely(a->rank == MPI_PROC_NULL)) {	/* MPI_Recv fills in the status for it */
		rc = lower_MPI_Recv(a->buf, 0, real_dtype(a->dtype), a->rank, a->tag,
				    real_comm(a->comm), status);
		return rc ? fail_comm(a->comm, rc, call) : rc;
	}
	if (status == MPI_STATUS_IGNORE && a->rank == MPI_ANY_SOURCE)
		use = &own;
	rc = recv_below(a, &real, &flag, use);
	if (likely(flag || (rc && real == glue.real_request_null))) {
		if (likely(flag || is_truncate(rc)))
			count_received(vobj_comm(a->comm), a->rank == MPI_ANY_SOURCE ?
				       use->MPI_SOURCE : a->rank);
		return unlikely(rc) ? fail_comm(a->comm, rc, call) : rc;
	}
	request = recv_request(real, a, 0);
	return wait_inside(&request, status, mark, call);
}

static inline __attribute__((always_inline)) int
irecv_inside(const struct args *a, MPI_Request *request, unsigned int call)
{
	struct kept *kept = kept_for(a->comm, a->rank, a->tag);
	MPI_Request real;
	int rc;

	if (unlikely(a->rank == MPI_ANY_SOURCE))
		own_choice(OWN_ANY_SOURCE);
	if (unlikely(kept))
		return irecv_kept(kept, a, request, call);
	rc = a->large ? abi_irecv_large(a->buf, a->count, real_dtype(a->dtype), a->rank, a->tag,
					real_comm(a->comm), &real) :
			lower_MPI_Irecv(a->buf, (int)a->count, real_dtype(a->dtype), a->rank,
					a->tag, real_comm(a->comm), &real);
	if (unlikely(rc))
		return fail_comm(a->comm, rc, call);
	*request = recv_request(real, a, 0);
	return rc;
}

#define RECV_ARGS(s) { \
	.buf = buf, .count = count, .dtype = datatype, .rank = source, .tag = tag, \
	.comm = comm, .call = CALL_MPI_Irecv##s, .large = LARGE(s) }

#define RECV(s, type) \
LOWER_TEXT int PMPI_Recv##s(void *buf, type count, MPI_Datatype datatype, int source, int tag, \
			    MPI_Comm comm, MPI_Status *status) \
{ \
	GLUE_CALL(MPI_Recv##s); \
	const struct args a = RECV_ARGS(s); \
\
	return recv_inside(&a, status, &mark, CALL_MPI_Recv##s); \
} \
MPI_ALIAS(MPI_Recv##s); \
LOWER_TEXT int PMPI_Irecv##s(void *buf, type count, MPI_Datatype datatype, int source, int tag, \
			     MPI_Comm comm, MPI_Request *request) \
{ \
	GLUE_CALL(MPI_Irecv##s); \
	const struct args a = RECV_ARGS(s); \
\
	return irecv_inside(&a, request, CALL_MPI_Irecv##s); \
} \
MPI_ALIAS(MPI_Irecv##s);
ABI_SIZES(RECV)

/*
 * Ask the library whether it accepts the send's arguments; called if looks_wrong() doubts them.
 * The receive is posted before the send, and would take a message that a failed call must leave.
 */
LOWER_TEXT static int check_send(const struct args *s)
{
	MPI_Request real;
	int rc;

	if (s->rank == MPI_PROC_NULL || s->count > INT_MAX)
		return MPI_SUCCESS;
	rc = lower_MPI_Send_init(s->buf, (int)s->count, real_dtype(s->dtype), s->rank, s->tag,
				 real_comm(s->comm), &real);
	if (!rc && vobj_dtype(s->dtype))
		((struct vdtype *)vobj_dtype(s->dtype))->sendable = true;
	return rc ?: lower_MPI_Request_free(&real);
}

/*
 * True for no type, a freed type, or a type of the program's that is not known to be committed.
 */
static inline bool dtype_looks_wrong(MPI_Datatype dtype)
{
	const struct vdtype *desc = (struct vdtype *)vobj_dtype(dtype);

	return desc ? !desc->sendable || desc->obj.freed || !desc->obj.refs
		    : dtype == MPI_DATATYPE_NULL;
}

/* May the send's arguments be wrong? (A null buffer may be MPI_BOTTOM, and then right.) */
static inline bool looks_wrong(const struct args *s)
{
	return s->count < 0 || s->tag < 0 || (!s->buf && s->count) || dtype_looks_wrong(s->dtype) ||
	       world_rank_of((struct vcomm *)vobj_comm(s->comm), s->rank) < 0;
}

/* Post the receive first, then send, as two ranks may do this to each other. */
static inline __attribute__((always_inline)) int
sendrecv_inside(const struct args *s, const struct args *r, MPI_Status *status,
		struct call_mark *mark, unsigned int call)
{
	MPI_Request request;
	int rc, first;

	if (unlikely(r->rank == MPI_PROC_NULL)) {
		first = send_inside(s->call, s->large, s, mark, call);
		rc = recv_inside(r, status, mark, call);
		return first ? first : rc;
	}
	rc = unlikely(looks_wrong(s)) ? check_send(s) : MPI_SUCCESS;
	if (unlikely(rc))
		return fail_comm(s->comm, rc, call);
	rc = irecv_inside(r, &request, call);
	if (unlikely(rc))
		return rc;
	first = send_inside(s->call, s->large, s, mark, call);
	/* nothing was sent, so perhaps no message comes */
	if (unlikely(first))
		PMPI_Cancel(&request);
	rc = wait_inside(&request, status, mark, call);
	return first ? first : rc;
}

#define SENDRECV(s, type) \
LOWER_TEXT int PMPI_Sendrecv##s(const void *sendbuf, type sendcount, MPI_Datatype sendtype, \
				int dest, int sendtag, void *buf, type count, \
				MPI_Datatype datatype, int source, int tag, MPI_Comm comm, \
				MPI_Status *status) \
{ \
	GLUE_CALL(MPI_Sendrecv##s); \
	const struct args to = { .buf = (void *)(uintptr_t)sendbuf, .count = sendcount, \
				 .dtype = sendtype, .rank = dest, .tag = sendtag, .comm = comm, \
				 .call = CALL_MPI_Isend##s, .large = LARGE(s) }; \
	const struct args a = RECV_ARGS(s); \
\
	return sendrecv_inside(&to, &a, status, &mark, CALL_MPI_Sendrecv##s); \
} \
MPI_ALIAS(MPI_Sendrecv##s);
ABI_SIZES(SENDRECV)

/*
 * Pack from MPI_BOTTOM: MPICH packs nothing from address 0, so it gets another address and a type
 * whose displacement leads back to 0.
 */
LOWER_TEXT static int pack_bottom(int count, MPI_Datatype dtype, void *data, int size, int *place,
				  MPI_Comm comm)
{
	MPI_Aint back = -(MPI_Aint)(uintptr_t)data, lb, extent;
	MPI_Datatype type;
	int rc = lower_MPI_Type_get_true_extent(dtype, &lb, &extent);

	if (rc)
		return rc;
	if (!lb)	/* no addresses: a null pointer, which the library refuses */
		return lower_MPI_Pack(NULL, count, dtype, data, size, place, comm);
	rc = lower_MPI_Type_create_hindexed_block(1, count, &back, dtype, &type);
	if (rc)
		return rc;
	rc = lower_MPI_Type_commit(&type);
	if (!rc)
		rc = lower_MPI_Pack(data, 1, type, data, size, place, comm);
	lower_MPI_Type_free(&type);
	return rc;
}

/* Pack the message before it is sent, as the receive uses the same buffer. */
LOWER_TEXT static int pack_all(const struct args *a, void **ret_data, int *ret_size)
{
	MPI_Datatype dtype = real_dtype(a->dtype);
	MPI_Comm comm = real_comm(a->comm);
	int size, place = 0, rc;
	void *data;

	if (a->count > INT_MAX)
		return MPI_ERR_COUNT;
	rc = lower_MPI_Pack_size((int)a->count, dtype, comm, &size);
	if (rc)
		return rc;
	data = malloc((size_t)size + 1);
	if (!data)
		return MPI_ERR_NO_MEM;
	if (!a->buf)
		rc = pack_bottom((int)a->count, dtype, data, size, &place, comm);
	else
		rc = lower_MPI_Pack(a->buf, (int)a->count, dtype, data, size, &place, comm);
	if (rc) {
		free(data);
		return rc;
	}
	*ret_data = data;
	*ret_size = place;
	return 0;
}

static int replace_inside(const struct args *a, int dest, int sendtag, MPI_Status *status,
			  struct call_mark *mark, unsigned int call)
{
	struct args to = *a;
	int size = 0, rc;

	rc = pack_all(a, &to.buf, &size);
	if (rc)
		return fail_comm(a->comm, rc, call);
	to.count = size;
	to.dtype = MPI_PACKED;
	to.rank = dest;
	to.tag = sendtag;
	to.call = CALL_MPI_Isend;
	to.large = false;
	rc = sendrecv_inside(&to, a, status, mark, call);
	free(to.buf);
	return rc;
}

#define REPLACE(s, type) \
int PMPI_Sendrecv_replace##s(void *buf, type count, MPI_Datatype datatype, int dest, \
			     int sendtag, int source, int tag, MPI_Comm comm, \
			     MPI_Status *status) \
{ \
	GLUE_CALL(MPI_Sendrecv_replace##s); \
	const struct args a = RECV_ARGS(s); \
\
	return replace_inside(&a, dest, sendtag, status, &mark, CALL_MPI_Sendrecv_replace##s); \
} \
MPI_ALIAS(MPI_Sendrecv_replace##s);
ABI_SIZES(REPLACE)

/* The buffer is the application's memory; a restart attaches it again, as it is empty at a cut. */
#define BUFFER(s, type) \
LOWER_TEXT int PMPI_Buffer_attach##s(void *buffer, type size) \
{ \
	GLUE_CALL(MPI_Buffer_attach##s); \
	int rc = lower_MPI_Buffer_attach##s(buffer, size); \
\
	if (rc) \
		return fail_world(rc, CALL_MPI_Buffer_attach##s); \
	glue.bsend_buffer = buffer; \
	glue.bsend_size = size; \
	return rc; \
} \
MPI_ALIAS(MPI_Buffer_attach##s); \
LOWER_TEXT int PMPI_Buffer_detach##s(void *buffer_addr, type *size) \
{ \
	GLUE_CALL(MPI_Buffer_detach##s); \
	int rc = lower_MPI_Buffer_detach##s(buffer_addr, size); \
\
	if (rc) \
		return fail_world(rc, CALL_MPI_Buffer_detach##s); \
	glue.bsend_buffer = NULL; \
	glue.bsend_size = 0; \
	return rc; \
} \
MPI_ALIAS(MPI_Buffer_detach##s);
ABI_SIZES(BUFFER)
