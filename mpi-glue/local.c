// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls answered in the upper half: facts this process knows without asking the library, and
 * answers that must not come from the lower half. The clock is the upper libc's, so that it runs
 * on over a restart; memory is the application's heap, so that it is in the image; the processor's
 * name is asked every time, as the process may have moved. If the caller gave no room for the
 * answer, the library is called, for its error.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi/calls.h"

/* Suffices for an x86 cache line and for every MPI datatype. */
#define ALLOC_ALIGN	64

LOWER_TEXT static int comm_rank_below(MPI_Comm comm, int *rank)
{
	GLUE_CALL(MPI_Comm_rank);
	int rc = lower_MPI_Comm_rank(real_comm(comm), rank);

	return rc ? fail_comm(comm, rc, CALL_MPI_Comm_rank) : rc;
}

int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
	const struct vcomm *desc = (struct vcomm *)vobj_comm(comm);

	if (likely(desc && desc->size && rank)) {
		*rank = desc->rank;
		return MPI_SUCCESS;
	}
	return comm_rank_below(comm, rank);
}
MPI_ALIAS(MPI_Comm_rank);

LOWER_TEXT static int comm_size_below(MPI_Comm comm, int *size)
{
	GLUE_CALL(MPI_Comm_size);
	int rc = lower_MPI_Comm_size(real_comm(comm), size);

	return rc ? fail_comm(comm, rc, CALL_MPI_Comm_size) : rc;
}

int PMPI_Comm_size(MPI_Comm comm, int *size)
{
	const struct vcomm *desc = (struct vcomm *)vobj_comm(comm);

	if (likely(desc && desc->size && size)) {
		*size = desc->size;
		return MPI_SUCCESS;
	}
	return comm_size_below(comm, size);
}
MPI_ALIAS(MPI_Comm_size);

LOWER_TEXT static int comm_remote_size_below(MPI_Comm comm, int *size)
{
	GLUE_CALL(MPI_Comm_remote_size);
	int rc = lower_MPI_Comm_remote_size(real_comm(comm), size);

	return rc ? fail_comm(comm, rc, CALL_MPI_Comm_remote_size) : rc;
}

int PMPI_Comm_remote_size(MPI_Comm comm, int *size)
{
	const struct vcomm *desc = (struct vcomm *)vobj_comm(comm);

	if (likely(desc && desc->inter && size)) {
		*size = desc->remote_size;
		return MPI_SUCCESS;
	}
	return comm_remote_size_below(comm, size);
}
MPI_ALIAS(MPI_Comm_remote_size);

LOWER_TEXT static int comm_test_inter_below(MPI_Comm comm, int *flag)
{
	GLUE_CALL(MPI_Comm_test_inter);
	int rc = lower_MPI_Comm_test_inter(real_comm(comm), flag);

	return rc ? fail_comm(comm, rc, CALL_MPI_Comm_test_inter) : rc;
}

int PMPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
	const struct vcomm *desc = (struct vcomm *)vobj_comm(comm);

	if (likely(desc && desc->size && flag)) {
		*flag = desc->inter;
		return MPI_SUCCESS;
	}
	return comm_test_inter_below(comm, flag);
}
MPI_ALIAS(MPI_Comm_test_inter);

LOWER_TEXT static int type_size_below(MPI_Datatype datatype, int *size)
{
	GLUE_CALL(MPI_Type_size);
	int rc = lower_MPI_Type_size(real_dtype(datatype), size);

	return rc ? fail_world(rc, CALL_MPI_Type_size) : rc;
}

int PMPI_Type_size(MPI_Datatype datatype, int *size)
{
	int rc = abi_type_size(datatype);

	if (likely(rc >= 0 && size)) {
		*size = rc;
		return MPI_SUCCESS;
	}
	return type_size_below(datatype, size);
}
MPI_ALIAS(MPI_Type_size);

LOWER_TEXT int PMPI_Type_size_x(MPI_Datatype datatype, MPI_Count *size)
{
	GLUE_CALL(MPI_Type_size_x);
	int rc = lower_MPI_Type_size_x(real_dtype(datatype), size);

	return rc ? fail_world(rc, CALL_MPI_Type_size_x) : rc;
}
MPI_ALIAS(MPI_Type_size_x);

LOWER_TEXT static int get_count_below(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
	GLUE_CALL(MPI_Get_count);
	int rc = lower_MPI_Get_count(status, real_dtype(datatype), count);

	return rc ? fail_world(rc, CALL_MPI_Get_count) : rc;
}

int PMPI_Get_count(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
	int size = abi_type_size(datatype);
	uint64_t bytes;

	if (likely(size > 0)) {
		bytes = abi_status_bytes(status);
		*count = bytes % (uint64_t)size || bytes / (uint64_t)size > INT_MAX ?
			 MPI_UNDEFINED : (int)(bytes / (uint64_t)size);
		return MPI_SUCCESS;
	}
	return get_count_below(status, datatype, count);
}
MPI_ALIAS(MPI_Get_count);

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The node's clock since boot, plus an offset so that the time continues over a restart. */
double PMPI_Wtime(void)
{
	return 1e-9 * (double)(clock_ns(CLOCK_MONOTONIC) + glue.clock.add);
}

void wtime_cut(void)
{
	glue.clock.cut = clock_ns(CLOCK_MONOTONIC) + glue.clock.add;
	glue.clock.cut_wall = clock_ns(CLOCK_REALTIME);
}

/*
 * Move MPI_Wtime ahead by the time that has passed since the cut on the nodes' clocks of the day,
 * and never back, as these clocks may differ. A restored process's clock goes on where it was at
 * the freeze, which is later than the cut, and the program may have read it since.
 */
void wtime_resume(void)
{
	int64_t away = clock_ns(CLOCK_REALTIME) - glue.clock.cut_wall;
	int64_t add = glue.clock.cut + away - clock_ns(CLOCK_MONOTONIC);

	if (add > glue.clock.add)
		glue.clock.add = add;
}
MPI_ALIAS(MPI_Wtime);

double PMPI_Wtick(void)
{
	return 1e-9;
}
MPI_ALIAS(MPI_Wtick);

/* The application's switch for a profiler; there is no profiler, so nothing is done. */
int PMPI_Pcontrol(const int level, ...)
{
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Pcontrol);

int PMPI_Get_version(int *version, int *subversion)
{
	*version = MPI_VERSION;
	*subversion = MPI_SUBVERSION;
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Get_version);

/* The lower library's version; an earlier text is never freed, as a thread may be reading it. */
static char *library_version;

LOWER_TEXT void library_version_note(void)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING] = "", *note;
	int len;

	if (lower_MPI_Get_library_version(text, &len))
		return;
	if (library_version && !strcmp(text, library_version))
		return;
	note = strdup(text);
	if (note)
		__atomic_store_n(&library_version, note, __ATOMIC_RELEASE);
}

/*
 * Any thread may call this at any time, also while there is no lower half: the noted text
 * answers. Before MPI_Init there is no text, and glue_load() loads the library.
 */
LOWER_TEXT int PMPI_Get_library_version(char *version, int *resultlen)
{
	const char *note = __atomic_load_n(&library_version, __ATOMIC_ACQUIRE);

	if (note) {
		*resultlen = (int)strlen(strcpy(version, note));
		return MPI_SUCCESS;
	}
	glue_load();
	return lower_MPI_Get_library_version(version, resultlen);
}
MPI_ALIAS(MPI_Get_library_version);

int PMPI_Get_processor_name(char *name, int *resultlen)
{
	if (gethostname(name, MPI_MAX_PROCESSOR_NAME))
		return MPI_ERR_OTHER;
	name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
	*resultlen = (int)strlen(name);
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Get_processor_name);

int PMPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
	void *memory = NULL;

	if (size < 0)
		return fail_world(MPI_ERR_ARG, CALL_MPI_Alloc_mem);
	if (posix_memalign(&memory, ALLOC_ALIGN, size ? (size_t)size : 1))
		return fail_world(MPI_ERR_NO_MEM, CALL_MPI_Alloc_mem);
	*(void **)baseptr = memory;
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Alloc_mem);

int PMPI_Free_mem(void *base)
{
	free(base);
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Free_mem);

int PMPI_Get_address(const void *location, MPI_Aint *address)
{
	*address = (MPI_Aint)location;
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Get_address);

int PMPI_Address(void *location, MPI_Aint *address)
{
	*address = (MPI_Aint)location;
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Address);

/* A status has the same layout in both languages and both halves. */
int PMPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
	if (c_status == MPI_STATUS_IGNORE || c_status == MPI_STATUSES_IGNORE)
		return MPI_ERR_ARG;
	memcpy(f_status, c_status, sizeof(*c_status));
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Status_c2f);

int PMPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
	if (f_status == MPI_F_STATUS_IGNORE || f_status == MPI_F_STATUSES_IGNORE)
		return MPI_ERR_ARG;
	memcpy(c_status, f_status, sizeof(*c_status));
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Status_f2c);
