// SPDX-License-Identifier: GPL-2.0-only
/* MPI_Waitany, Waitsome, Testany, Testsome over requests that stay open for several steps. */
#include "mt.h"

#define N 8

int main(int argc, char **argv)
{
	int in[N], out[N], index, indices[N], flag, n, left;
	MPI_Request receive[N], send[N];
	MPI_Status status, statuses[N];

	mt_begin(&argc, &argv);
	for (int round = 0; round < 8; round++) {
		for (int i = 0; i < N; i++) {
			in[i] = -1;
			out[i] = mt_rank * 100 + round + i;
			MPI_Irecv(&in[i], 1, MPI_INT, LEFT, i, MPI_COMM_WORLD, &receive[i]);
		}
		mt_value(round);
		for (int i = N - 1; i >= 0; i--)
			MPI_Isend(&out[i], 1, MPI_INT, RIGHT, i, MPI_COMM_WORLD, &send[i]);
		for (left = N; left;) {
			switch ((round + left) % 4) {
			case 0:
				MPI_Waitany(N, receive, &index, &status);
				CHECK(status.MPI_TAG == index && status.MPI_SOURCE == LEFT);
				left--;
				break;
			case 1:
				MPI_Waitsome(N, receive, &n, indices, statuses);
				CHECK(n >= 1 && statuses[0].MPI_TAG == indices[0]);
				left -= n;
				break;
			case 2:
				do
					MPI_Testany(N, receive, &index, &flag, &status);
				while (!flag);
				CHECK(status.MPI_TAG == index &&
				      receive[index] == MPI_REQUEST_NULL);
				left--;
				break;
			default:
				do
					MPI_Testsome(N, receive, &n, indices, statuses);
				while (!n);
				left -= n;
			}
		}
		for (int i = 0; i < N; i++)
			if (in[i] != LEFT * 100 + round + i)
				CHECK(!"the right message");
		MPI_Waitany(N, receive, &index, &status);
		CHECK(index == MPI_UNDEFINED);
		MPI_Waitall(N, send, MPI_STATUSES_IGNORE);
	}
	/* how many steps a round had is a matter of luck: the sum of checks is not */
	mt_checks = 0;
	return mt_end();
}
