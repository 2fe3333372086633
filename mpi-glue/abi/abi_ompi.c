// SPDX-License-Identifier: GPL-2.0-only
/*
 * Symbols that only Open MPI has: predefined objects as data symbols, conversions to Fortran
 * integers, attribute functions that do nothing. Fortran's entry points: abi_ompi_fortran.c.
 *
 * A program that holds copies of the symbols has them at its own addresses. So this file must not
 * bind to this library's own definitions: it reaches the symbols through the GOT, and writes their
 * contents after relocation, when the lower half is loaded.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/calls.h"

#define EXPORT	__attribute__((visibility("default")))

const char *const abi_soname[] = { "libmpi.so.40", NULL };

#define DEFINE_BYTES(name, size) \
	__asm__(".pushsection .bss." #name ",\"aw\",@nobits\n" \
		".balign 64\n" \
		".globl " #name "\n" \
		".type " #name ", @object\n" \
		".size " #name ", " #size "\n" \
		#name ":\n" \
		".zero " #size "\n" \
		".popsection\n");
#define DEFINE(name, role, size)	DEFINE_BYTES(name, size)
PREDEFINED(DEFINE)
OTHER_DATA(DEFINE_BYTES)

/* symbols that mpi.h does not declare */
extern char ompi_mpi_c_complex[], ompi_mpi_unavailable[], ompi_mpi_lb[], ompi_mpi_ub[],
	ompi_mpi_errors_throw_exceptions[];
extern char ompi_mpi_state[], ompi_mpi_param_check[], ompi_status_empty[];
extern char mpi_fortran_status_ignore_[], mpi_fortran_statuses_ignore_[];

static const struct predefined {
	void *handle;
	const char *role;
	unsigned int data;
} predefined[] = {
#define ENTRY(name, role, size)	{ (void *)&name, #role, DATA_##name },
	PREDEFINED(ENTRY)
};

#define NR_PREDEFINED	(sizeof(predefined) / sizeof(predefined[0]))
#define FORTRAN_MAX	256

/* Predefined objects by kind and Fortran integer. */
static void *of_fortran[VK_NR][FORTRAN_MAX];

static enum vkind kind_of(const char *role)
{
#define KIND_ENTRY(name, type, kind)	{ #name, kind },
	static const struct { const char *name; enum vkind kind; } kinds[] = {
		VKINDS(KIND_ENTRY)
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, role))
			return kinds[i].kind;
	return VK_NR;
}

/* A linear search: the table has a hundred entries and is searched when an object is made. */
void *ompi_predefined(enum vkind kind, uintptr_t real)
{
	for (size_t i = 0; i < NR_PREDEFINED; i++) {
		struct vobj *head = predefined[i].handle;

		if (head->real == real && head->kind == kind)
			return head;
	}
	return NULL;
}

/*
 * In a restart threads outside MPI run on, and find the counter of their next collective through
 * these objects: @self must not change then.
 */
void abi_loaded(void)
{
	bool first = !glue.table[VK_COMM].top;

	for (size_t i = 0; i < NR_PREDEFINED; i++) {
		struct vobj *head = predefined[i].handle;

		head->real = (uintptr_t)lower_function(glue.lower, predefined[i].data);
		if (first)
			head->self = NULL;
		head->kind = (uint16_t)kind_of(predefined[i].role);
	}
	if (first) {
		((struct vobj *)MPI_COMM_WORLD)->self = vobj_new(VK_COMM, 0);
		((struct vobj *)MPI_COMM_SELF)->self = vobj_new(VK_COMM, 0);
	}
	vobj_comm(MPI_COMM_WORLD)->real = ABI_BITS(real_comm(MPI_COMM_WORLD));
	vobj_comm(MPI_COMM_SELF)->real = ABI_BITS(real_comm(MPI_COMM_SELF));
	glue.real_request_null = real_req(MPI_REQUEST_NULL);
	MPI_F_STATUS_IGNORE = (MPI_Fint *)mpi_fortran_status_ignore_;
	MPI_F_STATUSES_IGNORE = (MPI_Fint *)mpi_fortran_statuses_ignore_;
}

LOWER_TEXT static MPI_Fint c2f_below(enum vkind kind, uintptr_t real)
{
	switch (kind) {
	case VK_COMM:
		return lower_MPI_Comm_c2f((MPI_Comm)real);
	case VK_GROUP:
		return lower_MPI_Group_c2f((MPI_Group)real);
	case VK_DTYPE:
		return lower_MPI_Type_c2f((MPI_Datatype)real);
	case VK_FILE:
		return lower_MPI_File_c2f((MPI_File)real);
	case VK_ERRH:
		return lower_MPI_Errhandler_c2f((MPI_Errhandler)real);
	case VK_OP:
		return lower_MPI_Op_c2f((MPI_Op)real);
	case VK_INFO:
		return lower_MPI_Info_c2f((MPI_Info)real);
	case VK_WIN:
		return lower_MPI_Win_c2f((MPI_Win)real);
	case VK_MSG:
		return lower_MPI_Message_c2f((MPI_Message)real);
	case VK_REQ:
		return lower_MPI_Request_c2f((MPI_Request)real);
	default:
		return -1;
	}
}

/* The variable holds a number; treat any other number as the library does. */
int abi_thread_level(void)
{
	const char *text = getenv("OMPI_MPI_THREAD_LEVEL");
	int level = text ? atoi(text) : MPI_THREAD_SINGLE;

	return level < MPI_THREAD_SINGLE || level > MPI_THREAD_MULTIPLE ? MPI_THREAD_MULTIPLE
									: level;
}

/* Copy the variables that Open MPI's Fortran library reads. */
static void copy_state(void)
{
	const void *state = lower_function(glue.lower, DATA_ompi_mpi_state);
	const void *param_check = lower_function(glue.lower, DATA_ompi_mpi_param_check);
	const void *empty = lower_function(glue.lower, DATA_ompi_status_empty);

	if (empty)
		memcpy(ompi_status_empty, empty, sizeof(MPI_Status));
	if (state)
		memcpy(ompi_mpi_state, state, sizeof(int));
	if (param_check)
		memcpy(ompi_mpi_param_check, param_check, sizeof(bool));
}

/* Open MPI numbers its objects in MPI_Init. */
LOWER_TEXT void abi_initialized(void)
{
	for (size_t i = 0; i < NR_PREDEFINED; i++) {
		struct vobj *head = predefined[i].handle;
		enum vkind kind = head->kind;
		MPI_Fint f = c2f_below(kind, head->real);
		int size;

		head->index = (uint32_t)f;
		head->fortran = (uint32_t)f;
		if (f >= 0 && f < FORTRAN_MAX && !of_fortran[kind][f])
			of_fortran[kind][f] = head;
		if (kind == VK_DTYPE && head != (void *)MPI_DATATYPE_NULL &&
		    !lower_MPI_Type_size((MPI_Datatype)head->real, &size) && size >= 0)
			head->refs = (uint32_t)size + 1;
	}
	copy_state();
}

void abi_finalized(void)
{
	copy_state();
}

const int *abi_weights(const int *weights)
{
	return weights;
}

MPI_T_pvar_handle abi_pvar(MPI_T_pvar_handle handle)
{
	return handle;
}

int abi_comm_attr(int key, int *ret_c_key)
{
	*ret_c_key = key;
	return key >= MPI_TAG_UB && key <= MPI_UNIVERSE_SIZE ? key : -1;
}

int abi_win_attr(int key)
{
	return key >= MPI_WIN_BASE && key <= MPI_WIN_MODEL ? key : -1;
}

LOWER_TEXT int abi_win_model(MPI_Win real)
{
	int *model, flag = 0;

	if (lower_MPI_Win_get_attr(real, MPI_WIN_MODEL, &model, &flag) || !flag)
		return MPI_WIN_SEPARATE;
	return *model;
}

bool abi_predefined_dtype(MPI_Datatype *dtype)
{
	void *handle = ompi_predefined(VK_DTYPE, (uintptr_t)*dtype);

	if (handle)
		*dtype = handle;
	return handle;
}

#define CONVERSIONS(mpi, name, type, kind) \
MPI_Fint PMPI_##mpi##_c2f(type handle) \
{ \
	const struct vobj *head = (const struct vobj *)handle; \
	if (!head) \
		return -1; \
	return head->self == head ? FORTRAN_OURS + (MPI_Fint)head->index : (MPI_Fint)head->index; \
} \
MPI_ALIAS(MPI_##mpi##_c2f); \
type PMPI_##mpi##_f2c(MPI_Fint f) \
{ \
	struct vobj *obj; \
	if (f >= 0 && f < FORTRAN_MAX) \
		return of_fortran[kind][f]; \
	if (f < FORTRAN_OURS) \
		return NULL; \
	obj = vobj_at(kind, (uint32_t)f - FORTRAN_OURS); \
	return obj ? virt_##name(obj) : NULL; \
} \
MPI_ALIAS(MPI_##mpi##_f2c);

CONVERSIONS(Comm, comm, MPI_Comm, VK_COMM)
CONVERSIONS(Group, group, MPI_Group, VK_GROUP)
CONVERSIONS(Type, dtype, MPI_Datatype, VK_DTYPE)
CONVERSIONS(File, file, MPI_File, VK_FILE)
CONVERSIONS(Errhandler, errh, MPI_Errhandler, VK_ERRH)
CONVERSIONS(Op, op, MPI_Op, VK_OP)
CONVERSIONS(Info, info, MPI_Info, VK_INFO)
CONVERSIONS(Win, win, MPI_Win, VK_WIN)
CONVERSIONS(Message, msg, MPI_Message, VK_MSG)
CONVERSIONS(Request, req, MPI_Request, VK_REQ)

/* Accelerator memory cannot be checkpointed: tell the application that there is none. */
EXPORT int MPIX_Query_cuda_support(void);
int MPIX_Query_cuda_support(void)
{
	return 0;
}

#define ATTR_FUNCTIONS(KIND, type) \
int OMPI_C_MPI_##KIND##NULL_DELETE_FN(type obj, int keyval, void *value, void *extra) \
{ \
	return MPI_SUCCESS; \
} \
int OMPI_C_MPI_##KIND##NULL_COPY_FN(type obj, int keyval, void *extra, void *value, \
				    void *ret_value, int *flag) \
{ \
	*flag = 0; \
	return MPI_SUCCESS; \
} \
int OMPI_C_MPI_##KIND##DUP_FN(type obj, int keyval, void *extra, void *value, void *ret_value, \
			      int *flag) \
{ \
	*(void **)ret_value = value; \
	*flag = 1; \
	return MPI_SUCCESS; \
}

ATTR_FUNCTIONS(COMM_, MPI_Comm)
ATTR_FUNCTIONS(TYPE_, MPI_Datatype)
ATTR_FUNCTIONS(WIN_, MPI_Win)
ATTR_FUNCTIONS(, MPI_Comm)
