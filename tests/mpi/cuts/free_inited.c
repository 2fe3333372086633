// SPDX-License-Identifier: GPL-2.0-only
/*
 * A persistent receive on a communicator that its rank has freed, and a message for it that
 * comes while it is not started: a checkpoint has to take it, as it was sent, and the request
 * gets it when it is started.
 */
#include "cut.h"

#define FOR_INITED	3
#define FREED		4
#define RECEIVED	5

static void receive(int round, MPI_Comm *comm)
{
	int got = -1;
	MPI_Request request;

	MPI_Recv_init(&got, 1, MPI_INT, 1, FOR_INITED, *comm, &request);
	MPI_Comm_free(comm);
	MPI_Send(NULL, 0, MPI_BYTE, 1, FREED, MPI_COMM_WORLD);
	cut_await_all(1, round);
	MPI_Start(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(got == round);
	mt_value(got);
	MPI_Request_free(&request);
	MPI_Send(NULL, 0, MPI_BYTE, 1, RECEIVED, MPI_COMM_WORLD);
}

static void send(int round, MPI_Comm *comm)
{
	MPI_Recv(NULL, 0, MPI_BYTE, 0, FREED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send(&round, 1, MPI_INT, 0, FOR_INITED, *comm);
	cut_await_all(1, round);
	MPI_Recv(NULL, 0, MPI_BYTE, 0, RECEIVED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Comm_free(comm);
}

int main(int argc, char **argv)
{
	MPI_Comm comm;

	mt_begin(&argc, &argv);
	for (int round = 0; round < ROUNDS; round++) {
		step();
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		if (mt_rank == 0) {
			receive(round, &comm);
		} else if (mt_rank == 1) {
			send(round, &comm);
		} else {
			MPI_Comm_free(&comm);
			cut_await_all(1, round);
		}
	}
	return mt_end();
}
