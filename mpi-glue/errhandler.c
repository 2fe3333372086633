// SPDX-License-Identifier: GPL-2.0-only
/*
 * Error handlers, wholly in the upper half. Every object of the lower half that has a handler has
 * MPI_ERRORS_RETURN; a wrapper whose call failed asks fail_*(), which runs what the
 * application set on the virtual object. So the lower half never calls a handler, handlers
 * get virtual handles, and a restart has no handler to make again.
 *
 * Communicators inherit from their parent, windows begin with none (ABI_ERRH_FIRST), files as
 * MPI_FILE_NULL says. A call without an object belongs to MPI_COMM_WORLD.
 *
 * The lock of the handlers' table protects the handler that an object names: one thread may set
 * and free a handler while another one's call fails. It is not held while a handler runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mpi/calls.h"

typedef void (*handler_fn)(void *handle, int *code, ...);

static MPI_Errhandler errh_ref(MPI_Errhandler errh)
{
	vobj_get(vobj_errh(errh));
	return errh;
}

void errh_unref(MPI_Errhandler errh)
{
	vobj_put(vobj_errh(errh));
}

LOWER_TEXT static void __attribute__((noreturn)) fatal(MPI_Comm comm, int rc, unsigned int call)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	bool below = quiesce_abort(CALL_MPI_Abort);
	int len = 0;

	if (!below || lower_MPI_Error_string(rc, text, &len))
		text[0] = '\0';
	fflush(NULL);
	fprintf(stderr, "Abort(%d) on rank %d: Fatal error in %s: %s\n", rc, glue.world_rank,
		call_symbol[call] + 1, text);
	if (!below)
		_exit(rc & 0xff ? rc & 0xff : 1);
	lower_MPI_Abort(real_comm(comm), rc);
	abort();
}

/*
 * Copy the handler that @slot names now: another thread, or the handler itself, may free it.
 * Returns false for a predefined handler.
 */
static bool handler_of(const MPI_Errhandler *slot, MPI_Errhandler *ret_errh,
		       struct verrh *ret_handler)
{
	const struct verrh *desc;

	vtable_lock(VK_ERRH);
	*ret_errh = *slot;
	desc = (struct verrh *)vobj_errh(*slot);
	if (desc)
		*ret_handler = *desc;
	vtable_unlock(VK_ERRH);
	return desc;
}

/* @slot: the object's slot, which names a handler; @handle: the address of the virtual handle */
static int errhandler_run(const MPI_Errhandler *slot, void *handle, MPI_Comm comm, int rc,
			  unsigned int call)
{
	struct verrh desc;
	MPI_Errhandler errh;

	if (!handler_of(slot, &errh, &desc)) {
		if (errh == MPI_ERRORS_RETURN || ABI_ERRH_THROWS(errh))
			return rc;
		desc.function = NULL;
	}
	if (!desc.function)
		fatal(comm, rc, call);
	if (desc.fortran || desc.proxy)
		abi_foreign_errh(&desc, handle, &rc);
	else
		((handler_fn)desc.function)(handle, &rc);
	/* the C++ bindings would call the handler again for a code */
	return desc.proxy ? MPI_SUCCESS : rc;
}

int fail_vcomm(struct vobj *obj, int rc, unsigned int call)
{
	struct vcomm *desc = (struct vcomm *)obj;
	const MPI_Errhandler *slot;
	MPI_Comm comm;

	/* before MPI_Init, or with an invalid handle: use MPI_COMM_WORLD's handler */
	if (!desc || !desc->size || desc->obj.freed)
		desc = (struct vcomm *)vobj_comm(MPI_COMM_WORLD);
	if (!desc || !desc->size)
		return rc;
	comm = virt_comm(&desc->obj);
	slot = desc->errh ? &desc->errh : &((struct vcomm *)vobj_comm(MPI_COMM_WORLD))->errh;
	return errhandler_run(slot, &comm, comm, rc, call);
}

int fail_comm(MPI_Comm comm, int rc, unsigned int call)
{
	return fail_vcomm(vobj_comm(comm), rc, call);
}

int fail_world(int rc, unsigned int call)
{
	return fail_vcomm(NULL, rc, call);
}

int fail_file(MPI_File file, int rc, unsigned int call)
{
	struct vfile *desc = (struct vfile *)vobj_file(file);
	const MPI_Errhandler *slot = desc && desc->obj.self == &desc->obj && !desc->obj.freed ?
				     &desc->errh : &glue.file_errh;

	return errhandler_run(slot, &file, MPI_COMM_WORLD, rc, call);
}

int fail_win(MPI_Win win, int rc, unsigned int call)
{
	struct vwin *desc = (struct vwin *)vobj_win(win);

	if (!desc || desc->obj.freed || !desc->errh)
		return fail_world(rc, call);
	return errhandler_run(&desc->errh, &win, MPI_COMM_WORLD, rc, call);
}

/* @slot holds a reference to @errh until it is set anew; predefined handlers are not counted. */
static void slot_set(MPI_Errhandler *slot, MPI_Errhandler errh)
{
	MPI_Errhandler old;

	vtable_lock(VK_ERRH);
	old = *slot;
	*slot = errh_ref(errh);
	vtable_unlock(VK_ERRH);
	errh_unref(old);
}

MPI_Errhandler errh_of(const MPI_Errhandler *slot)
{
	MPI_Errhandler errh;

	vtable_lock(VK_ERRH);
	errh = errh_ref(*slot);
	vtable_unlock(VK_ERRH);
	return errh;
}

/* The handler as the application is told: "whatever MPI_COMM_WORLD has" is no answer. */
static MPI_Errhandler errh_told(const MPI_Errhandler *slot)
{
	MPI_Errhandler errh = errh_of(slot);

	return errh ? errh : MPI_ERRORS_ARE_FATAL;
}

static int errhandler_create(void *function, enum vkind of, MPI_Errhandler *errhandler)
{
	struct verrh *desc = (struct verrh *)vobj_new(VK_ERRH, 0);

	if (!desc)
		return MPI_ERR_INTERN;
	desc->function = function;
	desc->of = (uint16_t)of;
	*errhandler = virt_errh(&desc->obj);
	return MPI_SUCCESS;
}

int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *errhandler)
{
	glue_load();
	return errhandler_create((void *)function, VK_COMM, errhandler);
}
MPI_ALIAS(MPI_Comm_create_errhandler);

int PMPI_Win_create_errhandler(MPI_Win_errhandler_function *function, MPI_Errhandler *errhandler)
{
	glue_load();
	return errhandler_create((void *)function, VK_WIN, errhandler);
}
MPI_ALIAS(MPI_Win_create_errhandler);

int PMPI_File_create_errhandler(MPI_File_errhandler_function *function, MPI_Errhandler *errhandler)
{
	glue_load();
	return errhandler_create((void *)function, VK_FILE, errhandler);
}
MPI_ALIAS(MPI_File_create_errhandler);

/* True if @errh is null or has been freed: to count that would free its slot twice. */
static bool is_none(MPI_Errhandler errh)
{
	const struct vobj *obj = vobj_errh(errh);

	return errh == MPI_ERRHANDLER_NULL ||
	       (obj && !__atomic_load_n(&obj->refs, __ATOMIC_RELAXED));
}

/* Drops the application's reference: objects that have the handler set keep it. */
int PMPI_Errhandler_free(MPI_Errhandler *errhandler)
{
	if (is_none(*errhandler))
		return fail_world(MPI_ERR_ARG, CALL_MPI_Errhandler_free);
	errh_unref(*errhandler);
	*errhandler = MPI_ERRHANDLER_NULL;
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Errhandler_free);

static int errhandler_set(MPI_Errhandler *slot, MPI_Errhandler errh)
{
	if (is_none(errh))
		return MPI_ERR_ARG;
	slot_set(slot, errh);
	return MPI_SUCCESS;
}

static MPI_Errhandler *comm_slot(MPI_Comm comm)
{
	struct vcomm *desc = (struct vcomm *)vobj_comm(comm);

	return desc && desc->size && !desc->obj.freed ? &desc->errh : NULL;
}

static MPI_Errhandler *win_slot(MPI_Win win)
{
	struct vwin *desc = (struct vwin *)vobj_win(win);

	return desc && !desc->obj.freed ? &desc->errh : NULL;
}

static MPI_Errhandler *file_slot(MPI_File file)
{
	struct vfile *desc = (struct vfile *)vobj_file(file);

	return file == MPI_FILE_NULL ? &glue.file_errh : desc && !desc->obj.freed ? &desc->errh :
	       NULL;
}

int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler)
{
	MPI_Errhandler *slot = comm_slot(comm);
	int rc = slot ? errhandler_set(slot, errhandler) : MPI_ERR_COMM;

	return rc ? fail_comm(comm, rc, CALL_MPI_Comm_set_errhandler) : rc;
}
MPI_ALIAS(MPI_Comm_set_errhandler);

int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *errhandler)
{
	MPI_Errhandler *slot = comm_slot(comm);

	if (!slot)
		return fail_comm(comm, MPI_ERR_COMM, CALL_MPI_Comm_get_errhandler);
	*errhandler = errh_told(slot);
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Comm_get_errhandler);

int PMPI_Comm_call_errhandler(MPI_Comm comm, int errorcode)
{
	if (!comm_slot(comm))
		return fail_comm(comm, MPI_ERR_COMM, CALL_MPI_Comm_call_errhandler);
	fail_comm(comm, errorcode, CALL_MPI_Comm_call_errhandler);
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Comm_call_errhandler);

int PMPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler errhandler)
{
	MPI_Errhandler *slot = win_slot(win);
	int rc = slot ? errhandler_set(slot, errhandler) : MPI_ERR_WIN;

	return rc ? fail_win(win, rc, CALL_MPI_Win_set_errhandler) : rc;
}
MPI_ALIAS(MPI_Win_set_errhandler);

int PMPI_Win_get_errhandler(MPI_Win win, MPI_Errhandler *errhandler)
{
	MPI_Errhandler *slot = win_slot(win);

	if (!slot)
		return fail_win(win, MPI_ERR_WIN, CALL_MPI_Win_get_errhandler);
	*errhandler = errh_told(slot);
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Win_get_errhandler);

int PMPI_Win_call_errhandler(MPI_Win win, int errorcode)
{
	if (!win_slot(win))
		return fail_win(win, MPI_ERR_WIN, CALL_MPI_Win_call_errhandler);
	fail_win(win, errorcode, CALL_MPI_Win_call_errhandler);
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Win_call_errhandler);

int PMPI_File_set_errhandler(MPI_File file, MPI_Errhandler errhandler)
{
	MPI_Errhandler *slot = file_slot(file);
	int rc = slot ? errhandler_set(slot, errhandler) : MPI_ERR_FILE;

	return rc ? fail_file(file, rc, CALL_MPI_File_set_errhandler) : rc;
}
MPI_ALIAS(MPI_File_set_errhandler);

int PMPI_File_get_errhandler(MPI_File file, MPI_Errhandler *errhandler)
{
	MPI_Errhandler *slot = file_slot(file);

	if (!slot)
		return fail_file(file, MPI_ERR_FILE, CALL_MPI_File_get_errhandler);
	*errhandler = errh_of(slot);
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_File_get_errhandler);

int PMPI_File_call_errhandler(MPI_File fh, int errorcode)
{
	fail_file(fh, errorcode, CALL_MPI_File_call_errhandler);
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_File_call_errhandler);

/* MPI-1's names */
int PMPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
	return PMPI_Comm_set_errhandler(comm, errhandler);
}
MPI_ALIAS(MPI_Errhandler_set);

int PMPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler)
{
	return PMPI_Comm_get_errhandler(comm, errhandler);
}
MPI_ALIAS(MPI_Errhandler_get);

int PMPI_Errhandler_create(ABI_ERRHANDLER_FN *function, MPI_Errhandler *errhandler)
{
	return PMPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)function, errhandler);
}
MPI_ALIAS(MPI_Errhandler_create);
