/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Open MPI's handles: pointers. Predefined handles point to data symbols of this library, which
 * have the real library's sizes, as programs hold copies of them; other handles point to slots.
 * All objects begin with struct vobj: the real handle is one load away.
 *
 * In a predefined object @self is its descriptor or NULL, and @index its Fortran integer. In a
 * predefined datatype @refs is the type's size + 1 once that is known.
 */
#ifndef MPI_GLUE_ABI_OMPI_H
#define MPI_GLUE_ABI_OMPI_H

#define ABI_NAME	"ompi"
#define ABI_SWAPS_ABOVE	1	/* win_shared.c */
#define ABI_BITS(handle)	((uintptr_t)(handle))
#define ABI_ERRH_FIRST		MPI_ERRORS_ARE_FATAL	/* of new communicators, windows */
#define ABI_ERRH_THROWS(errh)	0
#define ABI_ARRAY_FAILS_WORLD	0	/* runs the handler of the failed request's communicator */
#define ABI_GET_STATUS_FAILS	0
/* MPI_Testall and MPI_Testany return no error of such requests; MPI_Testall's statuses hold it. */
#define ABI_ERRORS_LOST		REQ_PERSISTENT
#define ABI_TESTALL_STATUS	ABI_ERRORS_LOST
/* Open MPI puts the name and ".locktest.RANK" into 256 bytes, and aborts if they do not fit. */
#define ABI_FILE_NAME_MAX	240
#define ABI_ATTR_SET_IS_NEW 1 /* an attribute set again is deleted before those set meanwhile */
#define ABI_ERRHANDLER_FN	MPI_Handler_function

/* Return the predefined object that the handle @real belongs to, or NULL. */
void *ompi_predefined(enum vkind kind, uintptr_t real);

#define VH_DEFINE(name, type, kind) \
static inline __attribute__((always_inline)) struct vobj *vobj_##name(type handle) \
{ \
	return likely(handle) ? ((struct vobj *)handle)->self : NULL; \
} \
static inline type real_##name(type handle) \
{ \
	return likely(handle) ? (type)((struct vobj *)handle)->real : NULL; \
} \
static inline type wrap_##name(type real) \
{ \
	void *handle = ompi_predefined(kind, (uintptr_t)real); \
	return handle ? handle : (type)vobj_new(kind, (uintptr_t)real); \
}
VKINDS(VH_DEFINE)

#define VH_VIRT(name, type) \
static inline type virt_##name(const struct vobj *obj) \
{ \
	return (type)(uintptr_t)obj; \
}
VH_VIRT(group, MPI_Group)
VH_VIRT(dtype, MPI_Datatype)
VH_VIRT(file, MPI_File)
VH_VIRT(errh, MPI_Errhandler)
VH_VIRT(op, MPI_Op)
VH_VIRT(info, MPI_Info)
VH_VIRT(win, MPI_Win)
VH_VIRT(msg, MPI_Message)
VH_VIRT(req, MPI_Request)

static inline MPI_Comm virt_comm(const struct vobj *obj)
{
	return obj->index == 0 ? MPI_COMM_WORLD : obj->index == 1 ? MPI_COMM_SELF :
	       (MPI_Comm)(uintptr_t)obj;
}

/* Return the size of a predefined type; -1: ask the library. */
static inline int abi_type_size(MPI_Datatype dtype)
{
	const struct vobj *head = (const struct vobj *)dtype;

	return head && !head->self ? (int)head->refs - 1 : -1;
}

/* Number of bytes received. */
static inline uint64_t abi_status_bytes(const MPI_Status *status)
{
	return status->_ucount;
}

/* Variants of calls by the type of their counts: X(suffix, type). Open MPI has no large counts. */
#define ABI_SIZES(X)	X(, int)

/* Only abi_irecv() and abi_buffer_attach() are ever called. */
#define abi_isend_c(call, buf, count, ...)	((void)(count), (void)(buf), MPI_ERR_INTERN)
#define abi_irecv_c(buf, ...)			((void)(buf), MPI_ERR_INTERN)
#define abi_irecv_large(buf, ...)		((void)(buf), MPI_ERR_INTERN)
#define abi_imrecv_large(buf, ...)		((void)(buf), MPI_ERR_INTERN)
#define abi_envelope_large(...)			MPI_ERR_TYPE
#define abi_contents_large(...)			MPI_ERR_TYPE
#define abi_construct_large(d, in, ret)		((void)(in), (void)(ret), MPI_ERR_TYPE)
#define abi_buffer_attach(buffer, size)		lower_MPI_Buffer_attach(buffer, (int)(size))
#define abi_op_create_c(stub, commute, ret)	((void)(ret), MPI_ERR_INTERN)
#define abi_irecv(buf, count, ...)		lower_MPI_Irecv(buf, (int)(count), __VA_ARGS__)

/* Never called: error numbers have no gaps, as Open MPI deletes none. */
#define abi_delete_error(is_class, code)	((void)(code), MPI_ERR_INTERN)

/* Thread level that MPI_Init asks for, by the environment. */
int abi_thread_level(void);

#define KEYVAL_OURS	0x1000u		/* plus the slot */

#endif
