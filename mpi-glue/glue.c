// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process: loading the lower half, and the calls that begin and end MPI.
 *
 * Owns the one per-process context. The first call that needs the lower half loads it, not the
 * loading of this library: a preloaded library is in every shell that a job script starts, and
 * shells must not pay. The first load fails only before the program has any state in MPI, so a
 * failure ends the program with a message; no later failure does.
 *
 * CKPT_LOWER names the program of the lower half; the default is ../../../libexec/ckpt-lower from
 * this library. Which file is the real MPI library: real_library.h.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi-glue/collective.h"
#include "mpi-glue/lower/lower_raw.h"
#include "mpi-glue/real_library.h"
#include "mpi-glue/request.h"
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
	static int lock;
	bool first;

	glue_lock(&lock);
	first = !glue.refused;
	if (first) {
		glue.refused_why = why;
		__atomic_store_n(&glue.refused, call_symbol[call] + 1, __ATOMIC_RELEASE);
	}
	glue_unlock(&lock);
	if (first)
		quiesce_refused();
}

static void __attribute__((noreturn)) die(const char *text, const char *detail)
{
	fprintf(stderr, "stillpoint: %s: %s\n", text, detail);
	exit(1);
}

/* Look up @name in the lower half's environment, which after a restart is not this process's. */
static const char *value_of(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; envp && *envp; envp++) {
		if (!strncmp(*envp, name, len) && (*envp)[len] == '=')
			return *envp + len + 1;
	}
	return NULL;
}

/*
 * Path of ckpt-lower: libexec is beside the directory three above this library's directory, both
 * in build/lib/mpi/ABI/LIB and in /usr/lib/stillpoint/mpi/ABI/LIB.
 */
static const char *lower_program(char *const *envp, char *buf, size_t size)
{
	const char *path = value_of(envp, "CKPT_LOWER");
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

/* A library of another version, or of another kind, may lack functions. */
static int glue_check_library(const char *library, char *why, size_t size)
{
	for (size_t i = 0; i < CALL_NR; i++) {
		if (glue.fn[i])
			continue;
		snprintf(why, size, "%s has no %s: it is of another version than "
			 "Stillpoint's library is for", library, call_symbol[i]);
		return -ENOTSUP;
	}
	return 0;
}

/*
 * End the program if it has a real MPI library in the upper half, too: one of another kind than
 * this library stands for, as a script may start. Some of its calls would go there.
 */
static void check_alone(void)
{
	void *other = dlsym(RTLD_NEXT, "PMPI_Init");
	char text[PATH_MAX + 128];
	Dl_info info;

	if (!other)
		return;
	snprintf(text, sizeof(text), "%s, and Stillpoint's is for %s. Start the job with another "
		 "--mpi", dladdr(other, &info) ? info.dli_fname : "?", abi_soname[0]);
	die("the program has loaded an MPI library of another kind", text);
}

/* Load a lower half and look up the library's functions. */
static int glue_load_library(char *const *envp, char *why)
{
	char program[PATH_MAX], library[PATH_MAX];
	struct lower_config config = {
		.program = lower_program(envp, program, sizeof(program)),
		.envp = envp,
		.symbols = call_symbol,
		.nr = SYMBOL_NR,
	};
	int rc;

	config.library = real_library(envp, library, sizeof(library));
	rc = lower_load(&config, &glue.lower, why);
	for (size_t i = 0; !rc && i < CALL_NR; i++)
		glue.fn[i] = lower_function(glue.lower, i);
	if (!rc)
		rc = glue_check_library(config.library, why, 256);
	if (!rc)
		glue.loaded++;
	return rc;
}

void glue_load(void)
{
	char why[256] = "";
	int rc;

	/* a restart has no lower half for a while; the glue thread alone loads the new one */
	glue_lock(&glue.lock);
	if (glue.loaded) {
		glue_unlock(&glue.lock);
		return;
	}
	check_alone();
	rc = glue_load_library(environ, why);
	if (rc)
		die("cannot load the MPI library below", *why ? why : strerror(-rc));
	rc = vhandle_init();
	if (rc)
		die("cannot reserve tables of handles", strerror(-rc));
	glue_unlock(&glue.lock);
	abi_loaded();
}

/*
 * True if the shim's @environment has the name of @variable: the shim's value replaces the
 * program's, and a name without a value removes the variable.
 */
static bool is_replaced(const char *variable, const char *environment)
{
	size_t name = strcspn(variable, "=");

	for (const char *e = environment; *e; e += strlen(e) + 1)
		if (!strncmp(e, variable, name) && (e[name] == '=' || !e[name]))
			return true;
	return false;
}

static char **new_environment(const char *environment)
{
	size_t n = 0, max = 1;
	char **envp;

	/* environ is NULL after clearenv() */
	for (char **e = environ; e && *e; e++)
		max++;
	for (const char *e = environment; *e; e += strlen(e) + 1)
		max++;
	envp = malloc(max * sizeof(*envp));
	if (!envp)
		return NULL;
	for (char **e = environ; e && *e; e++)
		if (!is_replaced(*e, environment))
			envp[n++] = *e;
	for (const char *e = environment; *e; e += strlen(e) + 1)
		if (strchr(e, '='))
			envp[n++] = (char *)(uintptr_t)e;
	envp[n] = NULL;
	return envp;
}

int glue_reload(bool unload, const char *environment, char *ret_why, size_t size)
{
	char **envp = new_environment(environment), why[256] = "";
	int rc = envp ? 0 : -ENOMEM;

	if (!rc && unload)
		rc = lower_unload(glue.lower);
	else if (!rc)
		lower_forget(glue.lower);
	if (!rc) {
		glue.lower = NULL;
		rc = glue_load_library(envp, why);
	}
	free(envp);
	if (rc) {
		snprintf(ret_why, size, "cannot load the MPI library below: %s",
			 *why ? why : strerror(-rc));
		return rc;
	}
	abi_loaded();
	library_version_note();
	return 0;
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

/*
 * A thread made by the library calls up. It has no thread-local storage in the upper half; with
 * another thread's storage both threads would go wrong.
 */
LOWER_TEXT static void __attribute__((noreturn)) foreign_callback(void)
{
	static const char text[] = "stillpoint: a thread of the MPI library's own calls a function "
				   "of the program\n";

	lower_raw(SYS_write, STDERR_FILENO, text, sizeof(text) - 1);
	for (;;)
		lower_raw(SYS_exit_group, 1, 0, 0);
}

/* The FS base is still the lower one: touch nothing thread-local before the switch. */
LOWER_TEXT unsigned long callback_enter(void)
{
	unsigned long lower, upper;

	__asm__ volatile("rdfsbase %0" : "=r"(lower) : : "memory");
	upper = lower_upper(lower);
	if (!upper)
		foreign_callback();
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
	desc->errh = ABI_ERRH_FIRST;
	if (size > 1)
		desc->coll = (struct counter){ .id = ID_WORLD, .members = (uint32_t)size };
	return desc;
}

int PMPI_Query_thread(int *provided)
{
	if (glue.state == GLUE_BEFORE)
		return fail_world(MPI_ERR_OTHER, CALL_MPI_Query_thread);
	*provided = glue.provided;
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Query_thread);

/* Answered in the upper half: after a restart the library's main thread is the glue thread. */
int PMPI_Is_thread_main(int *flag)
{
	unsigned long fs;

	if (glue.state == GLUE_BEFORE)
		return fail_world(MPI_ERR_OTHER, CALL_MPI_Is_thread_main);
	__asm__ volatile("rdfsbase %0" : "=r"(fs));
	*flag = fs == glue.main_fs;
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Is_thread_main);

/*
 * End the program if its library did not learn of the job's other ranks: each of them would
 * compute alone, and all would end with success.
 */
static void check_world(void)
{
	const char *ranks = getenv("CKPT_LOWER") ? getenv("STILLPOINT_RANKS") : NULL;
	char library[PATH_MAX], text[PATH_MAX + 256];

	if (!ranks || atoi(ranks) == glue.world_size)
		return;
	snprintf(text, sizeof(text),
		 "MPI_COMM_WORLD has %d ranks and the job %s. The MPI library, %s, does not use "
		 "the process management that ckptrun offers, as one built for another launcher",
		 glue.world_size, ranks, real_library(environ, library, sizeof(library)));
	die("the ranks of the job do not find each other", text);
}

/*
 * The library is initialised: set up MPI_COMM_WORLD and MPI_COMM_SELF, and have the library
 * return errors, which errhandler.c handles.
 */
LOWER_TEXT static void init_done(int provided)
{
	MPI_Comm world = real_comm(MPI_COMM_WORLD);
	struct vcomm *self;
	MPI_Errhandler give_back = real_errh(MPI_ERRORS_RETURN);

	glue.provided = provided;
	glue.multiple = provided == MPI_THREAD_MULTIPLE;
	/* with MPI_THREAD_MULTIPLE threads may call on one communicator in any order */
	glue.gathers = !glue.multiple && gather_wanted();
	quiesce_several(CALL_MPI_Init_thread);
	__asm__ volatile("rdfsbase %0" : "=r"(glue.main_fs));
	glue.file_errh = MPI_ERRORS_RETURN;
	lower_MPI_Comm_set_errhandler(world, give_back);
	lower_MPI_Comm_set_errhandler(real_comm(MPI_COMM_SELF), give_back);
	lower_MPI_Comm_rank(world, &glue.world_rank);
	lower_MPI_Comm_size(world, &glue.world_size);
	check_world();
	predefined_comm(MPI_COMM_WORLD, glue.world_rank, glue.world_size);
	self = predefined_comm(MPI_COMM_SELF, 0, 1);
	self->world = malloc(sizeof(*self->world));
	glue.sent = calloc((size_t)glue.world_size, sizeof(*glue.sent));
	glue.received = calloc((size_t)glue.world_size, sizeof(*glue.received));
	glue.met = calloc((size_t)glue.world_size, sizeof(*glue.met));
	if (!self->world || !glue.sent || !glue.received || !glue.met)
		die("cannot count messages", "out of memory");
	self->world[0] = glue.world_rank;
	abi_initialized();
	library_version_note();
	status_attach();
	if (glue.page) {
		drain_prepare();
		progress_begin();
	}
	__atomic_store_n(&glue.state, GLUE_RUNNING, __ATOMIC_RELEASE);
	quiesce_start();
}

/* Thread level to ask of the library: with a glue thread, at least two threads take turns. */
static int glue_needed(int required)
{
	const char *page = getenv("CKPT_STATUS");

	return page && *page && required < MPI_THREAD_SERIALIZED ? MPI_THREAD_SERIALIZED :
								     required;
}

/* Thread level to tell the program, which @wanted less than was @required of the library. */
static int glue_told(int wanted, int required, int provided)
{
	return required != wanted && provided > wanted ? wanted : provided;
}

LOWER_TEXT int PMPI_Init(int *argc, char ***argv)
{
	int rc, wanted = abi_thread_level(), required = glue_needed(wanted),
		provided = MPI_THREAD_SINGLE;

	glue_load();
	if (required == wanted) {
		rc = lower_MPI_Init(argc, argv);
		if (!rc)
			lower_MPI_Query_thread(&provided);
	} else {
		rc = lower_MPI_Init_thread(argc, argv, required, &provided);
	}
	if (rc)
		return rc;
	if (provided < required)
		glue_refuse(CALL_MPI_Init, "the library takes calls of one thread only");
	init_done(glue_told(wanted, required, provided));
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Init);

LOWER_TEXT int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int rc;

	glue_load();
	rc = lower_MPI_Init_thread(argc, argv, glue_needed(required), provided);
	if (rc)
		return rc;
	if (*provided < glue_needed(required))
		glue_refuse(CALL_MPI_Init_thread, "the library takes calls of one thread only");
	*provided = glue_told(required, glue_needed(required), *provided);
	init_done(*provided);
	return rc;
}
MPI_ALIAS(MPI_Init_thread);

LOWER_TEXT static int glue_finalize(void)
{
	GLUE_COLLECTIVE(MPI_Finalize, counter_of(MPI_COMM_WORLD));
	int rc;

	if (glue.state != GLUE_RUNNING)
		return lower_MPI_Finalize();
	if (glue.page)
		quiesce_keep_library(&mark);
	quiesce_stop();
	rc = lower_MPI_Finalize();
	glue.state = GLUE_ENDED;
	abi_finalized();
	return rc;
}

/*
 * The standard has MPI_Finalize first delete the attributes as if MPI_COMM_SELF were freed.
 * Communicators that the delete functions free are then settled with the other orphans.
 */
static void delete_attributes(void)
{
	struct vcomm *self = (struct vcomm *)vobj_comm(MPI_COMM_SELF);
	struct vcomm *world = (struct vcomm *)vobj_comm(MPI_COMM_WORLD);

	attrs_delete(&self->attrs, VK_COMM, (uintptr_t)MPI_COMM_SELF);
	attrs_delete(&world->attrs, VK_COMM, (uintptr_t)MPI_COMM_WORLD);
}

int PMPI_Finalize(void)
{
	if (glue.state == GLUE_RUNNING) {
		delete_attributes();
		orphans_settle();
	}
	return glue_finalize();
}
MPI_ALIAS(MPI_Finalize);

LOWER_TEXT int PMPI_Abort(MPI_Comm comm, int errorcode)
{
	/* the lower half's exit would lose the program's buffered output */
	fflush(NULL);
	if (!quiesce_abort(CALL_MPI_Abort))
		_exit(errorcode & 0xff ? errorcode & 0xff : 1);
	return lower_MPI_Abort(real_comm(comm), errorcode);
}
MPI_ALIAS(MPI_Abort);

LOWER_TEXT int PMPI_T_init_thread(int required, int *provided)
{
	GLUE_CALL(MPI_T_init_thread);
	int rc;

	glue_load();
	rc = lower_MPI_T_init_thread(required, provided);
	if (!rc)
		__atomic_add_fetch(&glue.tools, 1, __ATOMIC_RELAXED);
	return rc;
}
MPI_ALIAS(MPI_T_init_thread);

LOWER_TEXT int PMPI_T_finalize(void)
{
	GLUE_CALL(MPI_T_finalize);
	int rc;

	glue_load();
	rc = lower_MPI_T_finalize();
	if (!rc)
		__atomic_sub_fetch(&glue.tools, 1, __ATOMIC_RELAXED);
	return rc;
}
MPI_ALIAS(MPI_T_finalize);

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
