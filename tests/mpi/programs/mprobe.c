// SPDX-License-Identifier: GPL-2.0-only
/* Messages matched by MPI_Mprobe and MPI_Improbe, held for several steps, then received. */
#include "mt.h"

int main(int argc, char **argv)
{
	int out[3][16], in[16], n, flag, src = 0;
	MPI_Message message[3];
	MPI_Request request[3], receive;
	MPI_Status status;

	mt_begin(&argc, &argv);
	for (int round = 0; round < 8; round++) {
		for (int k = 0; k < 3; k++) {
			for (int i = 0; i < 16; i++)
				out[k][i] = mt_rank * 1000 + 100 * k + i + round;
			MPI_Isend(out[k], 4 + 4 * k, MPI_INT, RIGHT, k, MPI_COMM_WORLD,
				  &request[k]);
		}
		mt_value(round);
		MPI_Mprobe(LEFT, 2, MPI_COMM_WORLD, &message[2], &status);
		MPI_Get_count(&status, MPI_INT, &n);
		CHECK(n == 12 && status.MPI_SOURCE == LEFT);
		do
			MPI_Improbe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, &message[0], &status);
		while (!flag);
		src += status.MPI_SOURCE;
		MPI_Mprobe(LEFT, MPI_ANY_TAG, MPI_COMM_WORLD, &message[1], &status);
		CHECK(status.MPI_TAG == 1 && message[1] != MPI_MESSAGE_NULL);
		/* in another order than they were matched in */
		MPI_Imrecv(in, 16, MPI_INT, &message[1], &receive);
		CHECK(message[1] == MPI_MESSAGE_NULL);
		MPI_Wait(&receive, &status);
		MPI_Get_count(&status, MPI_INT, &n);
		CHECK(n == 8 && in[7] == LEFT * 1000 + 107 + round);
		mt_value(in[0]);
		MPI_Mrecv(in, 16, MPI_INT, &message[0], &status);
		CHECK(in[3] == LEFT * 1000 + 3 + round && status.MPI_TAG == 0);
		MPI_Mrecv(in, 16, MPI_INT, &message[2], MPI_STATUS_IGNORE);
		CHECK(in[11] == LEFT * 1000 + 211 + round);
		MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
		MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message[0], &status);
		CHECK(message[0] == MPI_MESSAGE_NO_PROC);
		MPI_Mrecv(in, 1, MPI_INT, &message[0], MPI_STATUS_IGNORE);
	}
	mt_value(src);
	return mt_end();
}
