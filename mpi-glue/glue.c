// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process: loading the lower half, and the calls that begin and end MPI.
 *
 * Owns the one per-process context. The lower half is loaded by the first call that needs it, not
 * when this library is: a preloaded library is in every shell a job script starts, and those
 * shall not pay. Loading goes wrong only before the program has any state in MPI, so
 * it ends the program with a message; nothing later does.
 *
 * Where things are: CKPT_LOWER names the program of the lower half, CKPT_MPI_LIBRARY the real MPI
 * library; without them ../../../libexec/ckpt-lower from here, and the system's library.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/calls.h"

struct glue glue;

void glue_lock(int *lock)
{
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

void glue_unlock(int *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

void glue_refuse(unsigned int call, const char *why)
{
	if (glue.refused)
		return;
	glue.refused_why = why;
	glue.refused = call_symbol[call] + 1;
}

static void __attribute__((noreturn)) die(const char *text, const char *detail)
{
	fprintf(stderr, "stillpoint: %s: %s\n", text, detail);
	exit(1);
}

/* build/lib/mpi/ABI/LIB and /usr/lib/stillpoint/mpi/ABI/LIB alike: three up, libexec beside. */
static const char *lower_program(char *buf, size_t size)
{
	const char *path = getenv("CKPT_LOWER");
	Dl_info info;
	char *slash;

	if (path)
		return path;
	if (!dladdr(&glue, &info) || strlen(info.dli_fname) + 32 > size)
		return "ckpt-lower";
	strcpy(buf, info.dli_fname);
	for (int up = 0; up < 4; up++) {
		slash = strrchr(buf, '/');
		if (!slash)
			return "ckpt-lower";
		*slash = '\0';
	}
	strcat(buf, "/libexec/ckpt-lower");
	return buf;
}

void glue_load(void)
{
	static const char system_dir[] = "/usr/lib/x86_64-linux-gnu/";
	char program[4096], library[256], why[256] = "";
	const char *path = getenv("CKPT_MPI_LIBRARY");
	struct lower_config config = {
		.program = lower_program(program, sizeof(program)),
		.envp = environ,
		.symbols = call_symbol,
		.nr = SYMBOL_NR,
	};
	int rc;

	glue_lock(&glue.lock);
	if (glue.lower) {
		glue_unlock(&glue.lock);
		return;
	}
	if (!path) {
		snprintf(library, sizeof(library), "%s%s", system_dir, abi_soname);
		path = library;
	}
	config.library = path;
	rc = lower_load(&config, &glue.lower, why);
	if (rc)
		die("cannot load the MPI library below", *why ? why : strerror(-rc));
	for (size_t i = 0; i < CALL_NR; i++)
		glue.fn[i] = lower_function(glue.lower, i);
	rc = vhandle_init();
	if (rc)
		die("cannot reserve tables of handles", strerror(-rc));
	glue_unlock(&glue.lock);
	abi_loaded();
}

/* As MPICH and Open MPI do: a call before MPI_Init is fatal. */
void glue_attach(unsigned int call)
{
	if (!glue.lower) {
		fprintf(stderr, "Attempting to use an MPI routine (%s) before initializing MPI\n",
			call_symbol[call] + 1);
		exit(1);
	}
	lower_attach();
}

/* FS still points to the lower half: nothing thread-local before it is switched. */
LOWER_TEXT unsigned long callback_enter(void)
{
	unsigned long lower, upper;

	__asm__ volatile("rdfsbase %0" : "=r"(lower) : : "memory");
	upper = lower_upper(lower);
	if (!upper)		/* a progress thread of the library's own */
		upper = glue.main_fs;
	lower_up(upper);
	return lower;
}

LOWER_TEXT void callback_leave(unsigned long lower)
{
	unsigned long upper;

	__asm__ volatile("rdfsbase %0" : "=r"(upper) : : "memory");
	lower_down(lower, upper);
}

static struct vcomm *predefined_comm(MPI_Comm comm, int rank, int size)
{
	struct vcomm *desc = (struct vcomm *)vobj_comm(comm);

	desc->rank = rank;
	desc->size = size;
	desc->errh = MPI_ERRORS_ARE_FATAL;
	return desc;
}

/* The library is up: WORLD and SELF, and errors handled above (errhandler.c). */
LOWER_TEXT static void init_done(int provided)
{
	MPI_Comm world = real_comm(MPI_COMM_WORLD), self = real_comm(MPI_COMM_SELF);
	MPI_Errhandler give_back = real_errh(MPI_ERRORS_RETURN);

	glue.provided = provided;
	glue.multiple = provided == MPI_THREAD_MULTIPLE;
	__asm__ volatile("rdfsbase %0" : "=r"(glue.main_fs));
	glue.file_errh = MPI_ERRORS_RETURN;
	lower_MPI_Comm_set_errhandler(world, give_back);
	lower_MPI_Comm_set_errhandler(self, give_back);
	lower_MPI_Comm_rank(world, &glue.world_rank);
	lower_MPI_Comm_size(world, &glue.world_size);
	predefined_comm(MPI_COMM_WORLD, glue.world_rank, glue.world_size);
	predefined_comm(MPI_COMM_SELF, 0, 1);
	abi_initialized();
	__atomic_store_n(&glue.state, GLUE_RUNNING, __ATOMIC_RELEASE);
}

LOWER_TEXT int PMPI_Init(int *argc, char ***argv)
{
	int rc, provided = MPI_THREAD_SINGLE;

	glue_load();
	rc = lower_MPI_Init(argc, argv);
	if (rc)
		return rc;
	lower_MPI_Query_thread(&provided);
	init_done(provided);
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Init);

LOWER_TEXT int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int rc;

	glue_load();
	rc = lower_MPI_Init_thread(argc, argv, required, provided);
	if (!rc)
		init_done(*provided);
	return rc;
}
MPI_ALIAS(MPI_Init_thread);

LOWER_TEXT int PMPI_Finalize(void)
{
	struct vcomm *self = (struct vcomm *)vobj_comm(MPI_COMM_SELF);
	struct vcomm *world = (struct vcomm *)vobj_comm(MPI_COMM_WORLD);
	int rc;

	if (glue.state != GLUE_RUNNING)
		return lower_MPI_Finalize();
	/* the standard: as if SELF were freed, before anything else */
	attrs_delete(&self->attrs, VK_COMM, (uintptr_t)MPI_COMM_SELF);
	attrs_delete(&world->attrs, VK_COMM, (uintptr_t)MPI_COMM_WORLD);
	rc = lower_MPI_Finalize();
	glue.state = GLUE_ENDED;
	abi_finalized();
	return rc;
}
MPI_ALIAS(MPI_Finalize);

LOWER_TEXT int PMPI_Abort(MPI_Comm comm, int errorcode)
{
	/* what the program wrote is not lost with the lower half's exit */
	fflush(NULL);
	return lower_MPI_Abort(real_comm(comm), errorcode);
}
MPI_ALIAS(MPI_Abort);

int PMPI_Initialized(int *flag)
{
	*flag = glue.state != GLUE_BEFORE;
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Initialized);

int PMPI_Finalized(int *flag)
{
	*flag = glue.state == GLUE_ENDED;
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Finalized);
