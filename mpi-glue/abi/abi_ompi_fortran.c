// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open MPI's Fortran libraries (libmpi_mpifh and above) stay in the upper half, unchanged. They
 * call PMPI_ functions, which the upper half provides, and a few internals of the library, which
 * this file provides. Fortran procedures that look into an object are replaced as a whole, as this
 * library comes first in the order of symbols: attributes, operations, generalised requests,
 * MPI_Alltoallw and its variants.
 *
 * Callbacks in Fortran get the integers of handles, and everything by address.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/calls.h"

#define EXPORT	__attribute__((visibility("default")))

extern char mpi_fortran_bottom_[], mpi_fortran_in_place_[];

/* On x86-64 a procedure may be called as if it were variadic. */
typedef void (*fortran_fn)(void *first, ...);

/*
 * Exports a procedure under the names that mpif.h, `use mpi` and `use mpi_f08` call it by, in the
 * four manglings that compilers use, as the library does.
 */
#define ALSO(alias_name, name, params)	EXPORT void alias_name params __attribute__((alias(#name)))
#define MANGLED(lower, UPPER, name, params) \
	ALSO(lower, name, params); \
	ALSO(lower##__, name, params); \
	ALSO(UPPER, name, params)
#define PROCEDURE(mpi, MPI, name, NAME, params) \
	EXPORT void mpi##_##name##_ params; \
	MANGLED(mpi##_##name, MPI##_##NAME, mpi##_##name##_, params); \
	MANGLED(p##mpi##_##name, P##MPI##_##NAME, mpi##_##name##_, params); \
	ALSO(p##mpi##_##name##_, mpi##_##name##_, params); \
	ALSO(o##mpi##_##name##_f, mpi##_##name##_, params); \
	void mpi##_##name##_ params
#define FORTRAN(name, NAME, params)	PROCEDURE(mpi, MPI, name, NAME, params)

/* ---- attributes */

enum { KEYVAL_C, KEYVAL_FINT, KEYVAL_AINT };

static MPI_Fint fortran_handle(enum vkind kind, uintptr_t handle)
{
	return kind == VK_COMM ? PMPI_Comm_c2f((MPI_Comm)handle) :
	       kind == VK_WIN ? PMPI_Win_c2f((MPI_Win)handle) :
	       PMPI_Type_c2f((MPI_Datatype)handle);
}

typedef int (*copy_fn)(void *handle, int keyval, void *extra, void *value, void *ret_value,
		       int *flag);
typedef int (*delete_fn)(void *handle, int keyval, void *value, void *extra);

int abi_attr_copy(struct vkeyval *keyval, enum vkind kind, uintptr_t handle,
		  const struct vattr *from, struct vattr *to, int *flag)
{
	MPI_Fint key = (MPI_Fint)(KEYVAL_OURS + keyval->obj.index), ierr = 0, f;
	uint64_t extra = (uintptr_t)keyval->extra, in = from->value, out = 0;
	void *copied = NULL;
	int rc;

	*flag = 0;
	if (keyval->language == KEYVAL_C) {
		rc = ((copy_fn)keyval->copy)((void *)handle, key, keyval->extra,
					     from->language == ATTR_C ? (void *)(uintptr_t)in :
					     (void *)&from->value, &copied, flag);
		to->value = (uintptr_t)copied;
		to->language = ATTR_C;
		return rc;
	}
	f = fortran_handle(kind, handle);
	((fortran_fn)keyval->copy)(&f, &key, &extra, &in, &out, flag, &ierr);
	to->value = out;
	to->language = keyval->language == KEYVAL_FINT ? ATTR_FINT : ATTR_AINT;
	return ierr;
}

int abi_attr_delete(struct vkeyval *keyval, enum vkind kind, uintptr_t handle,
		    const struct vattr *attr)
{
	MPI_Fint key = (MPI_Fint)(KEYVAL_OURS + keyval->obj.index), ierr = 0, f;
	uint64_t extra = (uintptr_t)keyval->extra, value = attr->value;

	if (keyval->language == KEYVAL_C)
		return ((delete_fn)keyval->delete)((void *)handle, key, attr->language == ATTR_C ?
						   (void *)(uintptr_t)value :
						   (void *)&attr->value, keyval->extra);
	f = fortran_handle(kind, handle);
	((fortran_fn)keyval->delete)(&f, &key, &value, &extra, &ierr);
	return ierr;
}

static MPI_Fint keyval_create(int (*create)(int *keyval, void *copy, void *delete, void *extra),
			      void *copy, void *delete, MPI_Fint *keyval, intptr_t extra,
			      int language)
{
	int key, rc = create(&key, copy, delete, (void *)extra);
	struct vkeyval *desc;

	if (rc)
		return rc;
	desc = (struct vkeyval *)vobj_at(VK_KEYVAL, (uint32_t)key - KEYVAL_OURS);
	desc->language = (uint16_t)language;
	*keyval = key;
	return MPI_SUCCESS;
}

static int create_comm(int *keyval, void *copy, void *delete, void *extra)
{
	return PMPI_Comm_create_keyval(copy, delete, keyval, extra);
}

static int create_type(int *keyval, void *copy, void *delete, void *extra)
{
	return PMPI_Type_create_keyval(copy, delete, keyval, extra);
}

static int create_win(int *keyval, void *copy, void *delete, void *extra)
{
	return PMPI_Win_create_keyval(copy, delete, keyval, extra);
}

#define KEYVALS(kind, KIND)                                                                      \
	FORTRAN(kind##_create_keyval, KIND##_CREATE_KEYVAL,                                      \
		(void *copy, void *delete, MPI_Fint *keyval, MPI_Aint *extra, MPI_Fint *ierr))   \
	{                                                                                        \
		MPI_Fint rc =                                                                    \
			keyval_create(create_##kind, copy, delete, keyval, *extra, KEYVAL_AINT); \
		if (ierr)                                                                        \
			*ierr = rc;                                                              \
	}
KEYVALS(comm, COMM)
KEYVALS(type, TYPE)
KEYVALS(win, WIN)

FORTRAN(keyval_create, KEYVAL_CREATE, (void *copy, void *delete, MPI_Fint *keyval, MPI_Fint *extra,
			MPI_Fint *ierr))
{
	*ierr = keyval_create(create_comm, copy, delete, keyval, *extra, KEYVAL_FINT);
}

#define ATTRIBUTES(kind, KIND, Kind, desc)                                                        \
	FORTRAN(kind##_set_attr, KIND##_SET_ATTR,                                                 \
		(MPI_Fint * obj, MPI_Fint * key, MPI_Aint * value, MPI_Fint * ierr))              \
	{                                                                                         \
		MPI_Fint rc = attr_##desc##_set(PMPI_##Kind##_f2c(*obj), *key, (uint64_t)*value,  \
						ATTR_AINT);                                       \
		if (ierr)                                                                         \
			*ierr = rc;                                                               \
	}                                                                                         \
	FORTRAN(kind##_get_attr, KIND##_GET_ATTR,                                                 \
		(MPI_Fint * obj, MPI_Fint * key, MPI_Aint * value, int *flag, MPI_Fint *ierr))    \
	{                                                                                         \
		MPI_Fint rc =                                                                     \
			attr_##desc##_get(PMPI_##Kind##_f2c(*obj), *key, value, flag, ATTR_AINT); \
		if (ierr)                                                                         \
			*ierr = rc;                                                               \
	}
ATTRIBUTES(comm, COMM, Comm, comm)
ATTRIBUTES(type, TYPE, Type, dtype)
ATTRIBUTES(win, WIN, Win, win)

FORTRAN(attr_put, ATTR_PUT, (MPI_Fint *comm, MPI_Fint *key, MPI_Fint *value, MPI_Fint *ierr))
{
	*ierr = attr_comm_set(PMPI_Comm_f2c(*comm), *key, (uint64_t)*value, ATTR_FINT);
}

FORTRAN(attr_get, ATTR_GET,
	(MPI_Fint * comm, MPI_Fint *key, MPI_Fint *value, int *flag, MPI_Fint *ierr))
{
	MPI_Aint wide = 0;

	*ierr = attr_comm_get(PMPI_Comm_f2c(*comm), *key, &wide, flag, ATTR_FINT);
	if (!*ierr && *flag)
		*value = (MPI_Fint)wide;
}

/* Predefined functions that a Fortran program may name. */
#define ATTR_PROCEDURES(prefix, type) \
FORTRAN_FN(prefix##null_delete_fn, (MPI_Fint *obj, MPI_Fint *key, type *value, type *extra, \
				    MPI_Fint *ierr)) \
{ \
	*ierr = MPI_SUCCESS; \
} \
FORTRAN_FN(prefix##null_copy_fn, (MPI_Fint *obj, MPI_Fint *key, type *extra, type *value, \
				  type *ret_value, int *flag, MPI_Fint *ierr)) \
{ \
	*flag = 0; \
	*ierr = MPI_SUCCESS; \
} \
FORTRAN_FN(prefix##dup_fn, (MPI_Fint *obj, MPI_Fint *key, type *extra, type *value, \
			    type *ret_value, int *flag, MPI_Fint *ierr)) \
{ \
	*ret_value = *value; \
	*flag = 1; \
	*ierr = MPI_SUCCESS; \
}
#define FORTRAN_FN(name, params) \
	EXPORT void mpi_##name##_ params; \
	EXPORT void mpi_##name##__ params __attribute__((alias("mpi_" #name "_"))); \
	EXPORT void mpi_##name params __attribute__((alias("mpi_" #name "_"))); \
	EXPORT void ompi_##name##_f params __attribute__((alias("mpi_" #name "_"))); \
	void mpi_##name##_ params

ATTR_PROCEDURES(comm_, MPI_Aint)
ATTR_PROCEDURES(type_, MPI_Aint)
ATTR_PROCEDURES(win_, MPI_Aint)
ATTR_PROCEDURES(, MPI_Fint)

/* Only its address is compared; it is never called. */
FORTRAN_FN(conversion_fn_null, (void))
{
}

/* Names in capitals of the same functions, as the library exports them; only addresses matter. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattribute-alias"
#undef MPI_COMM_DUP_FN
#undef MPI_COMM_NULL_COPY_FN
#undef MPI_COMM_NULL_DELETE_FN
#undef MPI_TYPE_DUP_FN
#undef MPI_TYPE_NULL_COPY_FN
#undef MPI_TYPE_NULL_DELETE_FN
#undef MPI_WIN_DUP_FN
#undef MPI_WIN_NULL_COPY_FN
#undef MPI_WIN_NULL_DELETE_FN
#undef MPI_DUP_FN
#undef MPI_NULL_COPY_FN
#undef MPI_NULL_DELETE_FN
#undef MPI_CONVERSION_FN_NULL
#define CAPITALS(NAME, name)	EXPORT void NAME(void) __attribute__((alias(#name)))
CAPITALS(MPI_COMM_DUP_FN, mpi_comm_dup_fn_);
CAPITALS(MPI_COMM_NULL_COPY_FN, mpi_comm_null_copy_fn_);
CAPITALS(MPI_COMM_NULL_DELETE_FN, mpi_comm_null_delete_fn_);
CAPITALS(MPI_TYPE_DUP_FN, mpi_type_dup_fn_);
CAPITALS(MPI_TYPE_NULL_COPY_FN, mpi_type_null_copy_fn_);
CAPITALS(MPI_TYPE_NULL_DELETE_FN, mpi_type_null_delete_fn_);
CAPITALS(MPI_WIN_DUP_FN, mpi_win_dup_fn_);
CAPITALS(MPI_WIN_NULL_COPY_FN, mpi_win_null_copy_fn_);
CAPITALS(MPI_WIN_NULL_DELETE_FN, mpi_win_null_delete_fn_);
CAPITALS(MPI_DUP_FN, mpi_dup_fn_);
CAPITALS(MPI_NULL_COPY_FN, mpi_null_copy_fn_);
CAPITALS(MPI_NULL_DELETE_FN, mpi_null_delete_fn_);
CAPITALS(MPI_CONVERSION_FN_NULL, mpi_conversion_fn_null_);
#pragma GCC diagnostic pop

/* ---- the program's functions in Fortran */

bool abi_fortran_op(const struct vop *op)
{
	return op->fortran || op->proxy;
}

/* The C++ library has one function for all operations, with the program's as last argument. */
void abi_op_call(struct vop *op, void *in, void *io, void *len, MPI_Datatype dtype)
{
	MPI_Fint f;

	if (op->proxy) {
		((fortran_fn)op->function)(in, io, len, &dtype, op->proxy);
		return;
	}
	f = PMPI_Type_c2f(dtype);
	((fortran_fn)op->function)(in, io, len, &f);
}

FORTRAN(op_create, OP_CREATE, (void *function, int *commute, MPI_Fint *op, MPI_Fint *ierr))
{
	MPI_Op made;
	MPI_Fint rc = PMPI_Op_create(function, *commute, &made);

	if (!rc) {
		((struct vop *)vobj_op(made))->fortran = true;
		*op = PMPI_Op_c2f(made);
	}
	if (ierr)
		*ierr = rc;
}

void abi_foreign_errh(struct verrh *desc, void *handle, int *code)
{
	MPI_Fint f = desc->of == VK_FILE ? PMPI_File_c2f(*(MPI_File *)handle) :
		     desc->of == VK_WIN ? PMPI_Win_c2f(*(MPI_Win *)handle) :
		     PMPI_Comm_c2f(*(MPI_Comm *)handle);

	((fortran_fn)desc->function)(&f, code);
}

struct grequest {
	fortran_fn query, free, cancel;
	MPI_Aint extra;
};

static int abi_ompi_fortran_grequest_query(void *state, MPI_Status *status)
{
	struct grequest *greq = state;
	MPI_Fint ierr = 0;

	greq->query(&greq->extra, status, &ierr);
	return ierr;
}

static int abi_ompi_fortran_grequest_free(void *state)
{
	struct grequest *greq = state;
	MPI_Fint ierr = 0;

	greq->free(&greq->extra, &ierr);
	free(greq);
	return ierr;
}

static int abi_ompi_fortran_grequest_cancel(void *state, int complete)
{
	struct grequest *greq = state;
	MPI_Fint ierr = 0;

	greq->cancel(&greq->extra, &complete, &ierr);
	return ierr;
}

FORTRAN(grequest_start, GREQUEST_START,
	(fortran_fn query, fortran_fn release, fortran_fn cancel, MPI_Aint *extra,
	 MPI_Fint *request, MPI_Fint *ierr))
{
	struct grequest *greq = malloc(sizeof(*greq));
	MPI_Request made = MPI_REQUEST_NULL;
	MPI_Fint rc = MPI_ERR_NO_MEM;

	if (greq) {
		*greq = (struct grequest){ query, release, cancel, *extra };
		rc = PMPI_Grequest_start(abi_ompi_fortran_grequest_query,
					 abi_ompi_fortran_grequest_free,
					 abi_ompi_fortran_grequest_cancel, greq, &made);
	}
	if (!rc)
		*request = PMPI_Request_c2f(made);
	if (ierr)
		*ierr = rc;
}

/*
 * Replaced because the Fortran library reads the size from the communicator. The array of types is
 * read until the call ends: the wrapper of a non-blocking call copies it (mpi-gen).
 */
static MPI_Datatype *types_of(const MPI_Fint *from, int n)
{
	MPI_Datatype *types = malloc(((size_t)n + 1) * sizeof(*types));

	for (int i = 0; types && i < n; i++)
		types[i] = PMPI_Type_f2c(from[i]);
	return types;
}

static void *buffer_of(void *buf)
{
	return buf == (void *)mpi_fortran_bottom_ ? MPI_BOTTOM :
	       buf == (void *)mpi_fortran_in_place_ ? MPI_IN_PLACE : buf;
}

/* With @info the persistent call; else with @request the non-blocking one; else blocking. */
static MPI_Fint alltoallw(void *sendbuf, MPI_Fint *counts, MPI_Fint *places, MPI_Fint *types,
			  void *recvbuf, MPI_Fint *recvcounts, MPI_Fint *recvplaces,
			  MPI_Fint *recvtypes, MPI_Fint *comm, MPI_Fint *info, MPI_Fint *request)
{
	MPI_Comm c = PMPI_Comm_f2c(*comm);
	void *from = buffer_of(sendbuf), *to = buffer_of(recvbuf);
	MPI_Datatype *out = types_of(types, n_w_send(c, from)),
		     *in = types_of(recvtypes, n_w_recv(c));
	MPI_Request made = MPI_REQUEST_NULL;
	int rc = MPI_ERR_NO_MEM;

	if (out && in && info)
		rc = PMPIX_Alltoallw_init(from, counts, places, out, to, recvcounts, recvplaces, in,
					  c, PMPI_Info_f2c(*info), &made);
	else if (out && in && request)
		rc = PMPI_Ialltoallw(from, counts, places, out, to, recvcounts, recvplaces, in, c,
				     &made);
	else if (out && in)
		rc = PMPI_Alltoallw(from, counts, places, out, to, recvcounts, recvplaces, in, c);
	if (!rc && request)
		*request = PMPI_Request_c2f(made);
	free(out);
	free(in);
	return rc;
}

FORTRAN(alltoallw, ALLTOALLW, (void *sendbuf, MPI_Fint *counts, MPI_Fint *places, MPI_Fint *types,
		    void *recvbuf, MPI_Fint *recvcounts, MPI_Fint *recvplaces,
		    MPI_Fint *recvtypes, MPI_Fint *comm, MPI_Fint *ierr))
{
	MPI_Fint rc = alltoallw(sendbuf, counts, places, types, recvbuf, recvcounts, recvplaces,
				recvtypes, comm, NULL, NULL);

	if (ierr)
		*ierr = rc;
}

FORTRAN(ialltoallw, IALLTOALLW, (void *sendbuf, MPI_Fint *counts, MPI_Fint *places, MPI_Fint *types,
		     void *recvbuf, MPI_Fint *recvcounts, MPI_Fint *recvplaces,
		     MPI_Fint *recvtypes, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr))
{
	MPI_Fint rc = alltoallw(sendbuf, counts, places, types, recvbuf, recvcounts, recvplaces,
				recvtypes, comm, NULL, request);

	if (ierr)
		*ierr = rc;
}

PROCEDURE(mpix, MPIX, alltoallw_init, ALLTOALLW_INIT,
	  (void *sendbuf, MPI_Fint *counts, MPI_Fint *places, MPI_Fint *types, void *recvbuf,
	   MPI_Fint *recvcounts, MPI_Fint *recvplaces, MPI_Fint *recvtypes, MPI_Fint *comm,
	   MPI_Fint *info, MPI_Fint *request, MPI_Fint *ierr))
{
	MPI_Fint rc = alltoallw(sendbuf, counts, places, types, recvbuf, recvcounts, recvplaces,
				recvtypes, comm, info, request);

	if (ierr)
		*ierr = rc;
}

FORTRAN(type_match_size, TYPE_MATCH_SIZE,
	(MPI_Fint * typeclass, MPI_Fint *size, MPI_Fint *type, MPI_Fint *ierr))
{
	MPI_Datatype found = MPI_DATATYPE_NULL;
	MPI_Fint rc = PMPI_Type_match_size(*typeclass, *size, &found);

	*type = PMPI_Type_c2f(found);
	if (ierr)
		*ierr = rc;
}

/* ---- internals that the Fortran and C++ libraries import */

EXPORT void ompi_op_set_cxx_callback(MPI_Op op, void *function);
EXPORT void *ompi_errhandler_create(int type, void *function, int language);
EXPORT int ompi_errhandler_invoke(void *errhandler, void *object, int type, int code,
				  const char *message);
EXPORT void ompi_mpi_errors_are_fatal_comm_handler(MPI_Comm *comm, int *code, ...);
EXPORT int ompi_fortran_string_f2c(const char *from, int len, char **ret_to);
EXPORT int ompi_fortran_string_c2f(const char *from, char *to, int len);
EXPORT int ompi_fortran_argv_count_f2c(const char *array, int count, int len, int advance,
				       char ***ret_argv);
EXPORT int ompi_fortran_argv_blank_f2c(const char *array, int len, int advance, char ***ret_argv);
EXPORT int ompi_fortran_multiple_argvs_f2c(int nr, const char *array, int len, char ****ret_argvs);

void *ompi_errhandler_create(int type, void *function, int language)
{
	enum { OMPI_COMM = 1, OMPI_WIN, OMPI_FILE, OMPI_FORTRAN = 2 };
	MPI_Errhandler made;
	struct verrh *desc;
	int rc = type == OMPI_WIN ? PMPI_Win_create_errhandler(function, &made) :
		 type == OMPI_FILE ? PMPI_File_create_errhandler(function, &made) :
		 PMPI_Comm_create_errhandler(function, &made);

	if (rc)
		return NULL;
	desc = (struct verrh *)vobj_errh(made);
	desc->fortran = language == OMPI_FORTRAN;
	return made;
}

/*
 * The caller read @errhandler from a virtual object by Open MPI's layout, so it is invalid: use
 * MPI_COMM_WORLD's handler.
 */
int ompi_errhandler_invoke(void *errhandler, void *object, int type, int code, const char *message)
{
	return fail_world(code, CALL_MPI_Comm_call_errhandler);
}

void ompi_mpi_errors_are_fatal_comm_handler(MPI_Comm *comm, int *code, ...)
{
	PMPI_Abort(comm ? *comm : MPI_COMM_WORLD, code ? *code : 1);
}

/* Copy a Fortran string without its leading and trailing blanks. */
int ompi_fortran_string_f2c(const char *from, int len, char **ret_to)
{
	while (len > 0 && *from == ' ') {
		from++;
		len--;
	}
	while (len > 0 && from[len - 1] == ' ')
		len--;
	*ret_to = strndup(from, (size_t)len);
	return *ret_to ? 0 : MPI_ERR_NO_MEM;
}

int ompi_fortran_string_c2f(const char *from, char *to, int len)
{
	int n = (int)strnlen(from, (size_t)len);

	memcpy(to, from, (size_t)n);
	memset(to + n, ' ', (size_t)(len - n));
	return 0;
}

int ompi_fortran_argv_count_f2c(const char *array, int count, int len, int advance,
				char ***ret_argv)
{
	char **argv = calloc((size_t)count + 1, sizeof(*argv));

	for (int i = 0; argv && i < count; i++, array += advance)
		ompi_fortran_string_f2c(array, len, &argv[i]);
	*ret_argv = argv;
	return argv ? 0 : MPI_ERR_NO_MEM;
}

/* A string of blanks ends @array. */
int ompi_fortran_argv_blank_f2c(const char *array, int len, int advance, char ***ret_argv)
{
	const char *at = array;
	int count = 0;

	for (;; count++, at += advance) {
		int n = 0;

		while (n < len && at[n] == ' ')
			n++;
		if (n == len)
			break;
	}
	return ompi_fortran_argv_count_f2c(array, count, len, advance, ret_argv);
}

int ompi_fortran_multiple_argvs_f2c(int nr, const char *array, int len, char ****ret_argvs)
{
	char ***argvs = calloc((size_t)nr + 1, sizeof(*argvs));

	for (int i = 0; argvs && i < nr; i++, array += len)
		ompi_fortran_argv_blank_f2c(array, len, nr * len, &argvs[i]);
	*ret_argvs = argvs;
	return argvs ? 0 : MPI_ERR_NO_MEM;
}

void ompi_op_set_cxx_callback(MPI_Op op, void *function)
{
	struct vop *desc = (struct vop *)vobj_op(op);

	if (desc)
		desc->proxy = function;
}

/* Never called, as the procedures above replace the callers; binding at start needs the symbols. */
#define NEVER(name) \
	EXPORT int name(void); \
	int name(void) \
	{ \
		return MPI_ERR_INTERN; \
	}
NEVER(ompi_attr_create_keyval)
NEVER(ompi_attr_create_keyval_aint)
NEVER(ompi_attr_create_keyval_fint)
NEVER(ompi_attr_get_aint)
NEVER(ompi_attr_get_fint)
NEVER(ompi_attr_set_aint)
NEVER(ompi_attr_set_fint)
NEVER(ompi_datatype_match_size)
