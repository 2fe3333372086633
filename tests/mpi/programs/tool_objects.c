// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tool interface: variables that are of a communicator (Open MPI's queues of messages), with
 * handles on one that the library made and on one that the program made, read while a message
 * waits in one of them. And the name of all handles of a session at once.
 */
#include "mt.h"

static MPI_T_pvar_session session;

static int named(const char *name)
{
	int index;

	return MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_SIZE, &index) ? -1 : index;
}

/* Messages that came before their receive, from all ranks. */
static long unexpected(int variable, MPI_Comm comm)
{
	MPI_T_pvar_handle handle;
	size_t *values;
	long sum = 0;
	int count, i;

	CHECK(!MPI_T_pvar_handle_alloc(session, variable, &comm, &handle, &count));
	CHECK(count == mt_size);
	values = calloc(count, sizeof(*values));
	CHECK(!MPI_T_pvar_read(session, handle, values));
	for (i = 0; i < count; i++)
		sum += ((unsigned int *)values)[i];
	free(values);
	CHECK(!MPI_T_pvar_handle_free(session, &handle));
	return sum;
}

/* @apart: for waiting, so that nothing of a rank that is ahead comes to those that are looked at */
static void queues(MPI_Comm comm, MPI_Comm apart)
{
	int variable = named("pml_ob1_unexpected_msgq_length"), in = -1, flag = 0;
	MPI_Request request;

	if (variable < 0)
		return;
	CHECK(!unexpected(variable, MPI_COMM_WORLD));
	MPI_Isend(&mt_rank, 1, MPI_INT, RIGHT, 5, comm, &request);
	while (!flag)
		MPI_Iprobe(LEFT, 5, comm, &flag, MPI_STATUS_IGNORE);
	CHECK(unexpected(variable, comm) == 1);
	CHECK(!unexpected(variable, MPI_COMM_WORLD));
	MPI_Recv(&in, 1, MPI_INT, LEFT, 5, comm, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(in == LEFT);
	CHECK(!unexpected(variable, comm));
	MPI_Barrier(apart);
}

int main(int argc, char **argv)
{
	MPI_Comm comm, apart;
	int provided;

	setenv("OMPI_MCA_pml", "ob1", 1);
	CHECK(!MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
	mt_begin(&argc, &argv);
	CHECK(!MPI_T_pvar_session_create(&session));
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_dup(MPI_COMM_WORLD, &apart);
	queues(comm, apart);
	MPI_Comm_free(&apart);
	CHECK(!MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
	CHECK(!MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
	CHECK(!MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
	MPI_Comm_free(&comm);
	CHECK(!MPI_T_pvar_session_free(&session));
	CHECK(!MPI_T_finalize());
	return mt_end();
}
