// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages and collectives on communicators of a session, before there is MPI_COMM_WORLD.
 * Checkpoints are refused from then on. Open MPI 4 has no sessions.
 */
#include "mt.h"

#ifdef MPI_SESSION_NULL
static void ring(MPI_Comm comm)
{
	int rank, size, in[2] = { -1, -1 }, sum = 0;
	MPI_Request request;
	MPI_Comm dup;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &request);
	MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 1, comm);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Comm_dup(comm, &dup);
	MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 2, &in[1], 1, MPI_INT,
		     (rank + size - 1) % size, 2, dup, MPI_STATUS_IGNORE);
	CHECK(in[0] == (rank + size - 1) % size && in[1] == in[0]);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, dup);
	CHECK(sum == size * (size - 1) / 2);
	MPI_Comm_free(&dup);
}

static MPI_Session session;

static void members(const char *set)
{
	MPI_Group group;
	MPI_Comm comm;

	MPI_Group_from_session_pset(session, set, &group);
	MPI_Comm_create_from_group(group, "tests", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Group_free(&group);
	ring(comm);
	MPI_Comm_free(&comm);
}

/* MPICH cannot have another one after its end, and no MPI_Test before it has met all processes. */
static void begin(void)
{
	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	members("mpi://WORLD");
	members("mpi://SELF");
}

static void end(void)
{
	MPI_Session_finalize(&session);
}
#else
static void begin(void) { }
static void end(void) { }
#endif

int main(int argc, char **argv)
{
	int rc;

	begin();
	mt_begin(&argc, &argv);
	mt_value(1);
	rc = mt_end();
	end();
	return rc;
}
