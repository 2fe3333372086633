// SPDX-License-Identifier: GPL-2.0-only
/* Probe, Iprobe, Mprobe, Improbe, with wildcards: what is probed is what is received. */
#include "mt.h"

static void matched(int tag)
{
	int in[8], count, flag = 0;
	MPI_Message message;
	MPI_Request request;
	MPI_Status status;

	if (tag & 1)
		MPI_Mprobe(LEFT, tag, MPI_COMM_WORLD, &message, &status);
	else
		while (!flag)
			MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &message, &status);
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(count == 4 && message != MPI_MESSAGE_NULL);
	if (tag & 2) {
		MPI_Imrecv(in, count, MPI_INT, &message, &request);
		CHECK(message == MPI_MESSAGE_NULL);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	} else {
		MPI_Mrecv(in, count, MPI_INT, &message, &status);
		CHECK(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == LEFT);
	}
	CHECK(in[3] == LEFT + 3);
	mt_value(in[3] + tag);
}

int main(int argc, char **argv)
{
	int out[4], in[8], count, flag = 0;
	MPI_Request sends[8];
	MPI_Message message;
	MPI_Status status, again;

	mt_begin(&argc, &argv);
	for (int i = 0; i < 4; i++)
		out[i] = mt_rank + i;
	for (int tag = 0; tag < 6; tag++)
		MPI_Isend(out, tag < 2 ? tag + 1 : 4, MPI_INT, RIGHT, 10 + tag, MPI_COMM_WORLD,
			  &sends[tag]);
	MPI_Probe(LEFT, 11, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(count == 2 && status.MPI_TAG == 11);
	while (!flag)
		MPI_Iprobe(MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, &flag, &again);
	MPI_Get_count(&again, MPI_INT, &count);
	CHECK(count == 1 && again.MPI_SOURCE == LEFT);
	MPI_Recv(in, 8, MPI_INT, MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Recv(in, 8, MPI_INT, status.MPI_SOURCE, 11, MPI_COMM_WORLD, &status);
	CHECK(in[1] == LEFT + 1);
	for (int tag = 12; tag < 16; tag++)
		matched(tag);
	MPI_Waitall(6, sends, MPI_STATUSES_IGNORE);
	MPI_Improbe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
	CHECK(!flag);
	MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status);
	CHECK(message == MPI_MESSAGE_NO_PROC);
	MPI_Mrecv(in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
	CHECK(message == MPI_MESSAGE_NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	return mt_end();
}
