// SPDX-License-Identifier: GPL-2.0-only
/*
 * Symbols that only MPICH has: data symbols, and the entry points of its Fortran and C++ libraries,
 * which stay in the upper half. (Functions with large counts are in abi_mpich_large.c.)
 *
 * MPICH's Fortran library marks the language of callbacks by "proxies": functions that call the
 * user's Fortran procedure for a C caller. Proxies belong to the upper half, like their callers
 * in this file.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "mpi-glue/request.h"
#include "mpi/calls.h"

#define EXPORT	__attribute__((visibility("default")))
/* a data symbol of the library's interface, which programs see and set */
#define ABI_DATA(type, name)	EXPORT type name

const char *const abi_soname[] = { "libmpich.so.12", "libmpi.so.12", NULL };

/*
 * These symbols have the sizes and contents of the library's, as programs hold copies of them. The
 * symbols of the weights are pointers, which MPICH's Fortran library passes for its own two.
 */
static int unweighted[1], weights_empty[1];
ABI_DATA(int *, MPIR_C_MPI_UNWEIGHTED) = unweighted;
ABI_DATA(int *, MPIR_C_MPI_WEIGHTS_EMPTY) = weights_empty;
EXPORT const char MPII_Version_ABI[7], MPII_Version_CC[127], MPII_Version_CXX[126],
	MPII_Version_F77[277], MPII_Version_FC[277], MPII_Version_configure[1043],
	MPII_Version_custom[1], MPII_Version_date[29], MPII_Version_device[8],
	MPII_Version_string[6];
int *const MPI_UNWEIGHTED = unweighted;
int *const MPI_WEIGHTS_EMPTY = weights_empty;
int MPIR_F08_MPI_IN_PLACE, MPIR_F08_MPI_BOTTOM;
MPI_F08_status MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1];
ABI_DATA(MPI_F08_status *, MPI_F08_STATUS_IGNORE) = &MPIR_F08_MPI_STATUS_IGNORE_OBJ;
ABI_DATA(MPI_F08_status *, MPI_F08_STATUSES_IGNORE) = MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
ABI_DATA(MPI_Fint *, MPI_F_STATUS_IGNORE);
ABI_DATA(MPI_Fint *, MPI_F_STATUSES_IGNORE);
static char pvar_all[1];
struct MPIR_T_pvar_handle_s *const MPI_T_PVAR_ALL_HANDLES = (void *)pvar_all;

void abi_loaded(void)
{
	void *below = lower_function(glue.lower, DATA_MPI_UNWEIGHTED);

	glue.real_unweighted = below ? *(int **)below : NULL;
	below = lower_function(glue.lower, DATA_MPI_WEIGHTS_EMPTY);
	glue.real_weights_empty = below ? *(int **)below : NULL;
	below = lower_function(glue.lower, DATA_MPI_T_PVAR_ALL_HANDLES);
	glue.real_pvar_all = below ? *(MPI_T_pvar_handle *)below : NULL;
	glue.real_request_null = MPI_REQUEST_NULL;
	if (glue.table[VK_COMM].top)
		return;		/* a restart */
	/* slots of WORLD and SELF */
	vobj_new(VK_COMM, ABI_BITS(MPI_COMM_WORLD));
	vobj_new(VK_COMM, ABI_BITS(MPI_COMM_SELF));
}

int abi_thread_level(void)
{
	static const struct { const char *name; int level; } levels[] = {
		{ "MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED },
		{ "MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED },
		{ "MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE },
	};
	const char *name = getenv("MPIR_CVAR_DEFAULT_THREAD_LEVEL");

	for (size_t i = 0; name && i < sizeof(levels) / sizeof(levels[0]); i++)
		if (!strcasecmp(name, levels[i].name))
			return levels[i].level;
	return MPI_THREAD_SINGLE;
}

void abi_initialized(void)
{
}

void abi_finalized(void)
{
}

const int *abi_weights(const int *weights)
{
	if (weights == MPI_UNWEIGHTED)
		return glue.real_unweighted;
	if (weights == MPI_WEIGHTS_EMPTY)
		return glue.real_weights_empty;
	return weights;
}

MPI_T_pvar_handle abi_pvar(MPI_T_pvar_handle handle)
{
	return handle == MPI_T_PVAR_ALL_HANDLES ? glue.real_pvar_all : handle;
}

/* Call @desc->proxy of MPICH's C++ library, which calls the user's; kind: 0 comm, 1 file, 2 win. */
void abi_foreign_errh(struct verrh *desc, void *handle, int *code)
{
	int kind = desc->of == VK_FILE ? 1 : desc->of == VK_WIN ? 2 : 0;

	((void (*)(int, void *, int *, void *))desc->proxy)(kind, handle, code, desc->function);
}

/* values of MPICH's MPIR_Attr_type */
enum { MPIR_ATTR_PTR = 0, MPIR_ATTR_AINT = 1, MPIR_ATTR_INT = 3 };

static int mpich_type(int language)
{
	return language == ATTR_C ? MPIR_ATTR_PTR :
	       language == ATTR_FINT ? MPIR_ATTR_INT : MPIR_ATTR_AINT;
}

static enum attr_language language_of(int type)
{
	return type == MPIR_ATTR_PTR ? ATTR_C : type == MPIR_ATTR_INT ? ATTR_FINT : ATTR_AINT;
}

typedef int (*copy_proxy_fn)(void *user, int handle, int keyval, void *extra, int type,
			     void *value, void **ret_value, int *flag);
typedef int (*delete_proxy_fn)(void *user, int handle, int keyval, int type, void *value,
			       void *extra);
typedef int (*copy_fn)(int handle, int keyval, void *extra, void *value, void *ret_value,
		       int *flag);
typedef int (*delete_fn)(int handle, int keyval, void *value, void *extra);

/* Predefined copy functions: MPIR_Dup_fn copies; NULL is "no function". */
int abi_attr_copy(struct vkeyval *keyval, enum vkind kind, uintptr_t handle,
		  const struct vattr *from, struct vattr *to, int *flag)
{
	int key = (int)(KEYVAL_OURS + keyval->obj.index);
	void *value = (void *)(uintptr_t)from->value, *copied = NULL;
	int rc;

	*flag = 0;
	if (!keyval->copy)
		return 0;
	/* a C function sees a Fortran integer through a pointer */
	if (keyval->copy_proxy)
		rc = ((copy_proxy_fn)keyval->copy_proxy)(keyval->copy, (int)handle, key,
							 keyval->extra,
							 mpich_type(from->language), value, &copied,
							 flag);
	else
		rc = ((copy_fn)keyval->copy)((int)handle, key, keyval->extra,
					     from->language == ATTR_C ? value :
					     (void *)&from->value, &copied, flag);
	to->value = (uintptr_t)copied;
	if (!keyval->copy_proxy)
		to->language = ATTR_C;
	return rc;
}

int abi_attr_delete(struct vkeyval *keyval, enum vkind kind, uintptr_t handle,
		    const struct vattr *attr)
{
	int key = (int)(KEYVAL_OURS + keyval->obj.index);
	void *value = (void *)(uintptr_t)attr->value;

	if (!keyval->delete)
		return 0;
	if (keyval->delete_proxy)
		return ((delete_proxy_fn)keyval->delete_proxy)(keyval->delete, (int)handle, key,
							       mpich_type(attr->language), value,
							       keyval->extra);
	return ((delete_fn)keyval->delete)((int)handle, key, attr->language == ATTR_C ? value :
					   (void *)&attr->value, keyval->extra);
}

/* A predefined key of Fortran is one more than C's, which is odd. */
int abi_comm_attr(int key, int *ret_c_key)
{
	int index = (key - MPI_TAG_UB) / 2;

	if (key < MPI_TAG_UB || key > MPI_APPNUM + 1)
		return -1;
	*ret_c_key = MPI_TAG_UB + 2 * index;
	return index;
}

int abi_win_attr(int key)
{
	if (key < MPI_WIN_BASE || key > MPI_WIN_MODEL + 1)
		return -1;
	return MPI_WIN_BASE + (key - MPI_WIN_BASE) / 2 * 2;
}

LOWER_TEXT int abi_win_model(MPI_Win real)
{
	int *model, flag = 0;

	if (lower_MPI_Win_get_attr(real, MPI_WIN_MODEL, &model, &flag) || !flag)
		return MPI_WIN_SEPARATE;
	return *model;
}

/* Functions that libmpichfort.so.12 and libmpichcxx.so.12 import besides the MPI functions. */
EXPORT int MPII_Comm_set_attr(MPI_Comm comm, int keyval, void *value, int type);
EXPORT int MPII_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag, int type);
EXPORT int MPII_Type_set_attr(MPI_Datatype dtype, int keyval, void *value, int type);
EXPORT int MPII_Type_get_attr(MPI_Datatype dtype, int keyval, void *value, int *flag, int type);
EXPORT int MPII_Win_set_attr(MPI_Win win, int keyval, void *value, int type);
EXPORT int MPII_Win_get_attr(MPI_Win win, int keyval, void *value, int *flag, int type);
EXPORT void MPII_Keyval_set_proxy(int keyval, void *copy_proxy, void *delete_proxy);
EXPORT void MPII_Grequest_set_lang_f77(MPI_Request request);
EXPORT void MPII_Op_set_cxx(MPI_Op op, void (*function)(void));
EXPORT void MPII_Errhandler_set_cxx(MPI_Errhandler errhandler, void (*function)(void));
EXPORT int MPIR_Dup_fn(MPI_Comm comm, int keyval, void *extra, void *value, void *ret_value,
		       int *flag);
EXPORT int MPIR_Err_create_code(int last, int fatal, const char name[], int line, int class,
			 const char generic[], const char specific[], ...);
EXPORT int MPIR_Err_return_comm(void *comm, const char name[], int code);
EXPORT int MPIR_Err_return_win(void *win, const char name[], int code);

int MPII_Comm_set_attr(MPI_Comm comm, int keyval, void *value, int type)
{
	return attr_comm_set(comm, keyval, (uintptr_t)value, language_of(type));
}

int MPII_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag, int type)
{
	return attr_comm_get(comm, keyval, value, flag, language_of(type));
}

int MPII_Type_set_attr(MPI_Datatype dtype, int keyval, void *value, int type)
{
	return attr_dtype_set(dtype, keyval, (uintptr_t)value, language_of(type));
}

int MPII_Type_get_attr(MPI_Datatype dtype, int keyval, void *value, int *flag, int type)
{
	return attr_dtype_get(dtype, keyval, value, flag, language_of(type));
}

int MPII_Win_set_attr(MPI_Win win, int keyval, void *value, int type)
{
	return attr_win_set(win, keyval, (uintptr_t)value, language_of(type));
}

int MPII_Win_get_attr(MPI_Win win, int keyval, void *value, int *flag, int type)
{
	return attr_win_get(win, keyval, value, flag, language_of(type));
}

void MPII_Keyval_set_proxy(int keyval, void *copy_proxy, void *delete_proxy)
{
	struct vkeyval *desc =
		(struct vkeyval *)vobj_at(VK_KEYVAL, (uint32_t)keyval - KEYVAL_OURS);

	if (!desc)
		return;
	desc->copy_proxy = copy_proxy;
	desc->delete_proxy = delete_proxy;
}

int MPIR_Dup_fn(MPI_Comm comm, int keyval, void *extra, void *value, void *ret_value, int *flag)
{
	*(void **)ret_value = value;
	*flag = 1;
	return MPI_SUCCESS;
}

/* If the application links a ROMIO of its own, that ROMIO makes errors with these functions. */
int MPIR_Err_create_code(int last, int fatal, const char name[], int line, int class,
			 const char generic[], const char specific[], ...)
{
	return class;
}

int MPIR_Err_return_comm(void *comm, const char name[], int code)
{
	return fail_world(code, CALL_MPI_Comm_call_errhandler);
}

int MPIR_Err_return_win(void *win, const char name[], int code)
{
	return fail_world(code, CALL_MPI_Win_call_errhandler);
}

void MPII_Grequest_set_lang_f77(MPI_Request request)
{
	grequest_fortran((struct vrequest *)vobj_req(request));
}

/* C++ functions take references; @function of MPICH's C++ library calls them. */
void MPII_Op_set_cxx(MPI_Op op, void (*function)(void))
{
	struct vop *desc = (struct vop *)vobj_op(op);

	if (desc)
		desc->proxy = (void *)function;
}

void MPII_Errhandler_set_cxx(MPI_Errhandler errhandler, void (*function)(void))
{
	struct verrh *desc = (struct verrh *)vobj_errh(errhandler);

	if (desc)
		desc->proxy = (void *)function;
}

/* Under MPICH handles, and so an operation's arguments, are the same in C and in Fortran. */
bool abi_fortran_op(const struct vop *op)
{
	return op->proxy;
}

/* Call the proxy, which calls the user's C++ function, its last argument. */
void abi_op_call(struct vop *op, void *in, void *out, void *len, MPI_Datatype dtype)
{
	((void (*)(void *, void *, int, MPI_Datatype, void *))op->proxy)(in, out, *(int *)len,
									 dtype, op->function);
}

bool abi_predefined_dtype(MPI_Datatype *dtype)
{
	return vh_predefined((uint32_t)*dtype);
}
