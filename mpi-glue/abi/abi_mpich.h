/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * MPICH's handles: integers. Bits 30 and 31 say how an object is stored (1 built in,
 * 2 direct, 3 indirect), bits 26 to 29 its kind. Predefined handles keep their value and
 * are passed on; virtual handles are "indirect" ones of the right kind, which the
 * application never gets from the library. File handles are pointers; a virtual one
 * points to the slot.
 */
#ifndef MPI_GLUE_ABI_MPICH_H
#define MPI_GLUE_ABI_MPICH_H

#define ABI_NAME	"mpich"
#define ABI_SWAPS_ABOVE	0	/* win_shared.c */
#define VH_BITS(kind)	(0xc0000000u | ((kind) == VK_MSG ? VK_REQ : (kind)) << 26)
#define VH_KIND		0xfc000000u
#define VH_INDEX	0x03ffffffu

/* The pair types (for MPI_MINLOC, MPI_MAXLOC) are direct objects although predefined. */
static inline bool vh_predefined(uint32_t real)
{
	return !(real >> 31) || (real - 0x8c000000u) < 5;
}

#define VH_DEFINE(name, type, kind, vtype) \
static inline struct vobj *vobj_##name(type handle) \
{ \
	uint32_t index = (uint32_t)handle & VH_INDEX; \
	if (((uint32_t)handle & VH_KIND) != VH_BITS(kind) || \
	    index >= glue.table[kind].max) \
		return NULL; \
	return &((vtype *)glue.table[kind].base)[index].obj; \
} \
static inline type real_##name(type handle) \
{ \
	uint32_t index = (uint32_t)handle & VH_INDEX; \
	if (likely(((uint32_t)handle & VH_KIND) != VH_BITS(kind))) \
		return handle; \
	if (unlikely(index >= glue.table[kind].max)) \
		return 0; \
	return (type)((vtype *)glue.table[kind].base)[index].obj.real; \
} \
static inline type virt_##name(const struct vobj *obj) \
{ \
	return (type)(VH_BITS(kind) | obj->index); \
} \
static inline type wrap_##name(type real) \
{ \
	struct vobj *obj; \
	if (vh_predefined((uint32_t)real)) \
		return real; \
	obj = vobj_new(kind, (uint32_t)real); \
	return obj ? virt_##name(obj) : 0; \
}

VH_DEFINE(xcomm, MPI_Comm, VK_COMM, struct vcomm)
VH_DEFINE(group, MPI_Group, VK_GROUP, struct vgroup)
VH_DEFINE(dtype, MPI_Datatype, VK_DTYPE, struct vdtype)
VH_DEFINE(errh, MPI_Errhandler, VK_ERRH, struct verrh)
VH_DEFINE(op, MPI_Op, VK_OP, struct vop)
VH_DEFINE(info, MPI_Info, VK_INFO, struct vinfo)
VH_DEFINE(win, MPI_Win, VK_WIN, struct vwin)
VH_DEFINE(msg, MPI_Message, VK_MSG, struct vmsg)
VH_DEFINE(req, MPI_Request, VK_REQ, struct vrequest)

/* WORLD and SELF have descriptors, 0 and 1. */
static inline __attribute__((always_inline)) struct vobj *vobj_comm(MPI_Comm comm)
{
	if (comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF)
		return &((struct vcomm *)glue.table[VK_COMM].base)[comm & 1].obj;
	return vobj_xcomm(comm);
}

static inline MPI_Comm real_comm(MPI_Comm comm)
{
	return real_xcomm(comm);
}

static inline MPI_Comm virt_comm(const struct vobj *obj)
{
	return obj->index < 2 ? MPI_COMM_WORLD + (int)obj->index : virt_xcomm(obj);
}

static inline MPI_Comm wrap_comm(MPI_Comm real)
{
	return wrap_xcomm(real);
}

static inline struct vobj *vobj_file(MPI_File file)
{
	return (struct vobj *)file;
}

static inline MPI_File real_file(MPI_File file)
{
	return file ? (MPI_File)((struct vobj *)file)->real : NULL;
}

static inline MPI_File virt_file(const struct vobj *obj)
{
	return (MPI_File)(uintptr_t)obj;
}

static inline MPI_File wrap_file(MPI_File real)
{
	return real ? virt_file(vobj_new(VK_FILE, (uintptr_t)real)) : NULL;
}

/* Session handles are passed on unchanged; a checkpoint is refused while sessions are used. */
#define real_session(session)	(session)
#define wrap_session(session)	(session)

#define ABI_BITS(handle)	((uintptr_t)(uint32_t)(handle))
/*
 * Error handler that communicators begin with and inherit, and that windows begin with: 0 stands
 * for the handler that MPI_COMM_WORLD has at the time of the error.
 */
#define ABI_ERRH_FIRST		0
/* The C++ bindings throw the code that the call returns. */
#define ABI_ERRH_THROWS(errh)	((errh) == MPIR_ERRORS_THROW_EXCEPTIONS)
/*
 * A call that completes one request runs the error handler of the request's communicator; a
 * call on an array of requests runs MPI_COMM_WORLD's.
 */
#define ABI_ARRAY_FAILS_WORLD	1
#define ABI_GET_STATUS_FAILS	1	/* with the request's code */
/*
 * Without statuses MPICH's MPI_Testall takes the state of the last 64 requests for the state of
 * all, and ends the job if that is wrong.
 */
#define ABI_TESTALL_STATUS	(REQ_PERSISTENT | REQ_OTHER)
#define ABI_ERRORS_LOST		0
#define ABI_FILE_NAME_MAX	4095	/* the kernel's limit */
#define ABI_ATTR_SET_IS_NEW 0 /* an attribute set again keeps its place in the order of deletion */
#define ABI_ERRHANDLER_FN	MPI_Comm_errhandler_function

/* The size of a basic type is in its handle; -1: ask the library. */
static inline int abi_type_size(MPI_Datatype dtype)
{
	if (((uint32_t)dtype & VH_KIND) != 0x4c000000u)
		return -1;
	return dtype >> 8 & 0xff;
}

/* Number of bytes received; bit 0 of count_hi_and_cancelled means "cancelled". */
static inline uint64_t abi_status_bytes(const MPI_Status *status)
{
	return (uint64_t)((unsigned int)status->count_hi_and_cancelled >> 1) << 32 |
	       (unsigned int)status->count_lo;
}

/* Variants of calls by the type of their counts: X(suffix, type). */
#define ABI_SIZES(X)	X(, int) X(_c, MPI_Count)

/* Calls for datatypes that were made with large counts. */
#define abi_envelope_large	lower_MPI_Type_get_envelope_c
#define abi_contents_large	lower_MPI_Type_get_contents_c
int abi_construct_large(const struct vdtype *d, const MPI_Datatype in[], MPI_Datatype *type);

/* For callers that are in the lower half already. */
#define abi_isend_c(call, ...) \
	((__typeof__(MPI_Isend_c) *)glue.fn[call])(__VA_ARGS__)
#define abi_irecv_c(...) \
	((__typeof__(MPI_Irecv_c) *)glue.fn[CALL_MPI_Irecv_c])(__VA_ARGS__)
/* Calls that go down and come back up. */
#define abi_irecv_large		lower_MPI_Irecv_c
#define abi_imrecv_large	lower_MPI_Imrecv_c
#define abi_irecv		lower_MPI_Irecv_c
#define abi_buffer_attach	lower_MPI_Buffer_attach_c
#define abi_op_create_c(stub, ...) \
	lower_MPI_Op_create_c((MPI_User_function_c *)(stub), __VA_ARGS__)

#define abi_delete_error(is_class, code) \
	((is_class) ? lower_MPIX_Delete_error_class(code) : lower_MPIX_Delete_error_code(code))

/*
 * Thread level that MPI_Init asks for, by the environment; the library itself reports a value
 * that it does not understand.
 */
int abi_thread_level(void);

#define KEYVAL_OURS	0xe4000000u	/* plus the slot */

#endif
