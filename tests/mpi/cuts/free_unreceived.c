// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages that nobody receives, on communicators that are freed: as OpenCoarrays sends them
 * when an image stops. They were sent and are gone, and no checkpoint may wait for them: before
 * all members have freed, and ever after. Those to oneself also when the communicator is
 * disconnected.
 *
 * Without cuts none are sent, as libraries alone may wait: MPICH for a receive of what a rank
 * sends to itself.
 */
#include <stdbool.h>

#include "cut.h"

#define UNRECEIVED	5
#define MEET_TAG	6

static void send_all(int *token, MPI_Comm comm, MPI_Comm self)
{
	MPI_Send(token, 2, MPI_INT, 0, UNRECEIVED, self);
	for (int to = 0; to < mt_size; to++)
		MPI_Send(token, 2, MPI_INT, to, UNRECEIVED, comm);
}

/*
 * All have sent. Where MPICH waits for a receive a cut lets the sender go on, and no cut comes
 * while another rank is in a collective that the sender has not begun: so this is no barrier.
 */
static void meet(int round)
{
	int token = round;

	for (int other = 1; !mt_rank && other < mt_size; other++)
		MPI_Recv(&token, 1, MPI_INT, other, MEET_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int other = 1; !mt_rank && other < mt_size; other++)
		MPI_Send(&token, 1, MPI_INT, other, MEET_TAG, MPI_COMM_WORLD);
	if (mt_rank) {
		MPI_Send(&token, 1, MPI_INT, 0, MEET_TAG, MPI_COMM_WORLD);
		MPI_Recv(&token, 1, MPI_INT, 0, MEET_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	CHECK(token == round);
}

static void one(int round, bool sends)
{
	int late = round % mt_size, token[2] = { round, mt_rank };
	MPI_Comm comm, self, other;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_dup(MPI_COMM_SELF, &self);
	MPI_Comm_dup(MPI_COMM_SELF, &other);
	if (sends) {
		send_all(token, comm, self);
		MPI_Send(token, 2, MPI_INT, 0, UNRECEIVED, other);
	}
	meet(round);
	MPI_Comm_free(&self);
	MPI_Comm_disconnect(&other);
	if (mt_rank != late) {
		MPI_Comm_free(&comm);
		MPI_Recv(token, 1, MPI_INT, late, CUT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else {
		cut_await(round % 2 ? 1 : 0, round);
		MPI_Comm_free(&comm);
		for (int to = 0; to < mt_size; to++)
			if (to != late)
				MPI_Send(token, 1, MPI_INT, to, CUT_TAG, MPI_COMM_WORLD);
	}
	CHECK(token[0] == round);
	mt_value(token[0]);
	cut_await_all(1, round);
}

int main(int argc, char **argv)
{
	bool sends = cut_counter();

	mt_begin(&argc, &argv);
	for (int round = 0; round < ROUNDS; round++)
		one(round, sends);
	return mt_end();
}
