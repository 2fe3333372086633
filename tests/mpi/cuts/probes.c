// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes of messages that a checkpoint may have taken out of the network, and matched messages that
 * are not yet received when it comes.
 */
#include "cut.h"

#define N 1000

int main(int argc, char **argv)
{
	static int data[N], got[N];
	MPI_Request request[3];
	MPI_Message message;
	MPI_Status status;
	int count, flag;

	mt_begin(&argc, &argv);
	for (int round = 0; round < ROUNDS; round++) {
		int n = 1 + round * 37 % N;

		for (int i = 0; i < N; i++)
			data[i] = round + i;
		for (int k = 0; k < 3; k++)
			MPI_Isend(data + k, n - n / 2 * (k == 1), MPI_INT, RIGHT, 10 + k,
				  MPI_COMM_WORLD, &request[k]);
		cut_compute(round);
		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_INT, &count);
		CHECK(status.MPI_SOURCE == LEFT && status.MPI_TAG == 10 && count == n);
		cut_compute(round + 1);
		MPI_Recv(got, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		CHECK(got[n - 1] == round + n - 1);
		MPI_Mprobe(LEFT, 12, MPI_COMM_WORLD, &message, &status);
		MPI_Get_count(&status, MPI_INT, &count);
		CHECK(count == n);
		cut_compute(round + 2);
		flag = 0;
		while (!flag)
			MPI_Iprobe(LEFT, 11, MPI_COMM_WORLD, &flag, &status);
		MPI_Get_count(&status, MPI_INT, &count);
		CHECK(count == n - n / 2);
		MPI_Mrecv(got, n, MPI_INT, &message, &status);
		CHECK(status.MPI_TAG == 12 && got[0] == round + 2);
		CHECK(message == MPI_MESSAGE_NULL);
		MPI_Improbe(LEFT, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
		CHECK(flag);
		cut_compute(round + 3);
		MPI_Mrecv(got, n, MPI_INT, &message, MPI_STATUS_IGNORE);
		CHECK(got[0] == round + 1);
		MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
		mt_value(got[0] + count);
	}
	return mt_end();
}
