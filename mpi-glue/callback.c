// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions of the application that the lower half calls: reductions, generalised requests, data
 * representations. Each gets a stub that switches to the upper FS base, raises the nesting
 * mark, translates handles, and calls the function. (Attribute functions and error handlers need
 * no stub: the upper half itself runs them.)
 *
 * MPI passes no user argument to a reduction, so every slot of the table of operations has a stub
 * of its own, which loads the slot's number into the fifth argument's register.
 */
#include <stdlib.h>

#include "mpi-glue/request.h"
#include "mpi/calls.h"

typedef void (*op_fn)(void *in, void *io, void *len, MPI_Datatype *dtype);

#define STR_(x)	#x
#define STR(x)	STR_(x)

/* 16 bytes each */
__asm__(".pushsection lower_text,\"ax\",@progbits\n"
	".balign 16\n"
	"op_stubs:\n"
	".set op_index, 0\n"
	".rept " STR(OP_STUBS) "\n"
	".balign 16\n"
	"endbr64\n"
	"movl $op_index, %r8d\n"
	"jmp op_called\n"
	".set op_index, op_index + 1\n"
	".endr\n"
	".popsection\n");
extern const char op_stubs[] __attribute__((visibility("hidden")));
#define OP_STUB_SIZE	16

void op_called(void *in, void *io, void *len, MPI_Datatype *real, uint32_t index);

/* Return the application's handle of the real datatype @real. */
static MPI_Datatype dtype_up(MPI_Datatype real)
{
	struct vobj *obj;

	if (abi_predefined_dtype(&real))
		return real;
	obj = vobj_find(VK_DTYPE, ABI_BITS(real));
	return obj ? virt_dtype(obj) : MPI_DATATYPE_NULL;
}

__attribute__((used)) LOWER_TEXT void
op_called(void *in, void *io, void *len, MPI_Datatype *real, uint32_t index)
{
	unsigned long lower = callback_enter();
	/* a freed operation will do, too: vhandle.c keeps the slot as it was */
	struct vop *op = (struct vop *)glue.table[VK_OP].base + index;
	MPI_Datatype dtype = dtype_up(*real);

	if (abi_fortran_op(op))
		abi_op_call(op, in, io, len, dtype);
	else
		((op_fn)op->function)(in, io, len, &dtype);
	callback_leave(lower);
}

void *op_stub(const struct vop *op)
{
	return (void *)(op_stubs + (size_t)op->obj.index * OP_STUB_SIZE);
}

/* Make a descriptor; *ret_stub is set to the function that the library shall call. */
struct vop *op_new(void *function, int commute, bool large, void **ret_stub)
{
	struct vop *op = (struct vop *)vobj_new(VK_OP, 0);

	if (!op)
		return NULL;
	op->function = function;
	op->commute = commute;
	op->large = large;
	*ret_stub = op_stub(op);
	return op;
}

int op_made(struct vop *op, MPI_Op real, int rc, MPI_Op *ret_op, unsigned int call)
{
	if (rc) {
		vobj_put(&op->obj);
		return fail_world(rc, call);
	}
	op->obj.real = ABI_BITS(real);
	*ret_op = virt_op(&op->obj);
	return rc;
}

LOWER_TEXT int PMPI_Op_create(MPI_User_function *function, int commute, MPI_Op *op)
{
	GLUE_CALL(MPI_Op_create);
	void *stub;
	MPI_Op real = MPI_OP_NULL;
	struct vop *desc = op_new((void *)function, commute, false, &stub);
	int rc = desc ? lower_MPI_Op_create((MPI_User_function *)stub, commute, &real) :
			MPI_ERR_INTERN;

	return op_made(desc, real, rc, op, CALL_MPI_Op_create);
}
MPI_ALIAS(MPI_Op_create);

LOWER_TEXT int PMPI_Op_free(MPI_Op *op)
{
	GLUE_CALL(MPI_Op_free);
	struct vobj *desc = vobj_op(*op);
	MPI_Op real = real_op(*op);
	int rc = lower_MPI_Op_free(&real);

	if (rc)
		return fail_world(rc, CALL_MPI_Op_free);
	vobj_release(desc);
	*op = MPI_OP_NULL;
	return rc;
}
MPI_ALIAS(MPI_Op_free);

LOWER_TEXT int PMPI_Op_commutative(MPI_Op op, int *commute)
{
	GLUE_CALL(MPI_Op_commutative);
	const struct vop *desc = (struct vop *)vobj_op(op);
	int rc;

	if (desc && !desc->obj.freed) {
		*commute = desc->commute;
		return MPI_SUCCESS;
	}
	rc = lower_MPI_Op_commutative(real_op(op), commute);
	return rc ? fail_world(rc, CALL_MPI_Op_commutative) : rc;
}
MPI_ALIAS(MPI_Op_commutative);

/* A generalised request's functions; the last of them to run frees this. */
struct grequest {
	MPI_Grequest_query_function *query;
	MPI_Grequest_free_function *free;
	MPI_Grequest_cancel_function *cancel;
	void *extra;
	bool fortran;		/* Fortran functions: arguments by address, and an error code */
};

typedef void fortran_query(void *extra, MPI_Status *status, MPI_Fint *ierr);
typedef void fortran_free(void *extra, MPI_Fint *ierr);
typedef void fortran_cancel(void *extra, MPI_Fint *complete, MPI_Fint *ierr);

void grequest_fortran(struct vrequest *req)
{
	if (req && (req->flags & REQ_GENERAL) && req->buf)
		((struct grequest *)req->buf)->fortran = true;
}

LOWER_TEXT static int callback_grequest_query(void *state, MPI_Status *status)
{
	unsigned long lower = callback_enter();
	const struct grequest *greq = state;
	MPI_Fint rc = MPI_SUCCESS;

	if (greq->fortran)
		((fortran_query *)(void *)greq->query)(greq->extra, status, &rc);
	else
		rc = greq->query(greq->extra, status);
	callback_leave(lower);
	return rc;
}

LOWER_TEXT static int callback_grequest_free(void *state)
{
	unsigned long lower = callback_enter();
	struct grequest *greq = state;
	MPI_Fint rc = MPI_SUCCESS;

	if (greq->fortran)
		((fortran_free *)(void *)greq->free)(greq->extra, &rc);
	else
		rc = greq->free(greq->extra);
	free(greq);
	callback_leave(lower);
	return rc;
}

LOWER_TEXT static int callback_grequest_cancel(void *state, int complete)
{
	unsigned long lower = callback_enter();
	const struct grequest *greq = state;
	MPI_Fint flag = complete, rc = MPI_SUCCESS;

	if (greq->fortran)
		((fortran_cancel *)(void *)greq->cancel)(greq->extra, &flag, &rc);
	else
		rc = greq->cancel(greq->extra, complete);
	callback_leave(lower);
	return rc;
}

LOWER_TEXT int PMPI_Grequest_start(MPI_Grequest_query_function *query_fn,
				   MPI_Grequest_free_function *free_fn,
				   MPI_Grequest_cancel_function *cancel_fn, void *extra_state,
				   MPI_Request *request)
{
	GLUE_CALL(MPI_Grequest_start);
	struct grequest *greq = malloc(sizeof(*greq));
	MPI_Request real;
	int rc = MPI_ERR_NO_MEM;

	if (greq) {
		*greq = (struct grequest){ query_fn, free_fn, cancel_fn, extra_state, false };
		rc = lower_MPI_Grequest_start(callback_grequest_query, callback_grequest_free,
					      callback_grequest_cancel, greq, &real);
	}
	if (rc) {
		free(greq);
		return fail_world(rc, CALL_MPI_Grequest_start);
	}
	*request = wrap_request(real, NULL, REQ_GENERAL);
	if (vobj_req(*request))
		((struct vrequest *)vobj_req(*request))->buf = greq;
	return rc;
}
MPI_ALIAS(MPI_Grequest_start);

/*
 * The second of MPI_Grequest_complete() and MPI_Request_free() frees the lower half's request,
 * which calls the program's free function.
 */
LOWER_TEXT int PMPI_Grequest_complete(MPI_Request request)
{
	GLUE_CALL(MPI_Grequest_complete);
	struct vrequest *req = (struct vrequest *)vobj_req(request);
	MPI_Request real = real_req(request);
	uint32_t was = 0;
	int rc;

	/*
	 * mark the request before completing it: afterwards a waiting thread may have freed it,
	 * and the slot may be another request's
	 */
	if (req && (req->flags & REQ_GENERAL))
		was = __atomic_fetch_or(&req->flags, (uint32_t)REQ_GENERAL_DONE, __ATOMIC_RELAXED);
	rc = lower_MPI_Grequest_complete(real);
	if (was & REQ_GENERAL_FREED) {
		rc = rc ?: lower_MPI_Request_free(&real);
		request_put(req);
	}
	return rc ? fail_world(rc, CALL_MPI_Grequest_complete) : rc;
}
MPI_ALIAS(MPI_Grequest_complete);

/* Make @req again after a restart: its functions and its state are all in the program. */
LOWER_TEXT int grequest_again(struct vrequest *req)
{
	MPI_Request real;
	int rc = lower_MPI_Grequest_start(callback_grequest_query, callback_grequest_free,
					  callback_grequest_cancel, req->buf, &real);

	if (!rc && (req->flags & REQ_GENERAL_DONE))
		rc = lower_MPI_Grequest_complete(real);
	if (!rc)
		req->obj.real = ABI_BITS(real);
	return rc;
}

/* A data representation lives as long as the process. */
struct datarep {
	MPI_Datarep_conversion_function *read, *write;
	MPI_Datarep_extent_function *extent;
	void *extra;
};

LOWER_TEXT static int datarep_read(void *user, MPI_Datatype dtype, int count, void *file,
				   MPI_Offset position, void *state)
{
	unsigned long lower = callback_enter();
	const struct datarep *rep = state;
	int rc = rep->read(user, dtype_up(dtype), count, file, position, rep->extra);

	callback_leave(lower);
	return rc;
}

LOWER_TEXT static int datarep_write(void *user, MPI_Datatype dtype, int count, void *file,
				    MPI_Offset position, void *state)
{
	unsigned long lower = callback_enter();
	const struct datarep *rep = state;
	int rc = rep->write(user, dtype_up(dtype), count, file, position, rep->extra);

	callback_leave(lower);
	return rc;
}

LOWER_TEXT static int datarep_extent(MPI_Datatype dtype, MPI_Aint *extent, void *state)
{
	unsigned long lower = callback_enter();
	const struct datarep *rep = state;
	int rc = rep->extent(dtype_up(dtype), extent, rep->extra);

	callback_leave(lower);
	return rc;
}

LOWER_TEXT int PMPI_Register_datarep(const char *datarep,
				     MPI_Datarep_conversion_function *read_conversion_fn,
				     MPI_Datarep_conversion_function *write_conversion_fn,
				     MPI_Datarep_extent_function *dtype_file_extent_fn,
				     void *extra_state)
{
	GLUE_CALL(MPI_Register_datarep);
	struct datarep *rep = malloc(sizeof(*rep));
	int rc = MPI_ERR_NO_MEM;

	if (rep) {
		*rep = (struct datarep){ read_conversion_fn, write_conversion_fn,
					 dtype_file_extent_fn, extra_state };
		rc = lower_MPI_Register_datarep(datarep, read_conversion_fn ? datarep_read : NULL,
						write_conversion_fn ? datarep_write : NULL,
						datarep_extent, rep);
	}
	if (rc) {
		free(rep);
		return fail_file(MPI_FILE_NULL, rc, CALL_MPI_Register_datarep);
	}
	glue_refuse(CALL_MPI_Register_datarep, "data representations are not restored yet");
	return rc;
}
MPI_ALIAS(MPI_Register_datarep);
