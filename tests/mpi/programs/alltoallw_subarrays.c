// SPDX-License-Identifier: GPL-2.0-only
/* A matrix transposed over the ranks by MPI_Alltoallw of subarrays, again and again. */
#include "mt.h"

#define N 8

int main(int argc, char **argv)
{
	int whole[2], part[2], start[2] = { 0, 0 };
	int *a, *b, *counts, *at;
	MPI_Datatype *send, *receive;
	MPI_Request request;

	mt_begin(&argc, &argv);
	/* this rank has N rows of N * ranks; block j goes to rank j */
	whole[0] = N;
	whole[1] = N * mt_size;
	part[0] = part[1] = N;
	a = calloc((size_t)(N * N * mt_size), sizeof(int));
	b = calloc((size_t)(N * N * mt_size), sizeof(int));
	counts = malloc((size_t)mt_size * sizeof(int));
	at = calloc((size_t)mt_size, sizeof(int));
	send = malloc((size_t)mt_size * sizeof(*send));
	receive = malloc((size_t)mt_size * sizeof(*receive));
	for (int j = 0; j < mt_size; j++) {
		counts[j] = 1;
		start[1] = j * N;
		MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, MPI_INT, &send[j]);
		MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, MPI_INT, &receive[j]);
		MPI_Type_commit(&send[j]);
		MPI_Type_commit(&receive[j]);
	}
	for (int i = 0; i < N * N * mt_size; i++)
		a[i] = mt_rank * 10000 + i;
	for (int round = 0; round < 10; round++) {
		if (round & 1) {
			MPI_Ialltoallw(a, counts, at, send, b, counts, at, receive, MPI_COMM_WORLD,
				       &request);
			mt_value(round);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		} else {
			MPI_Alltoallw(a, counts, at, send, b, counts, at, receive, MPI_COMM_WORLD);
		}
		/* row 2, column 3 of the block from the left */
		CHECK(b[2 * N * mt_size + LEFT * N + 3] ==
		      LEFT * 10000 + 2 * N * mt_size + mt_rank * N + 3);
		mt_value(b[N * N * mt_size - 1]);
	}
	for (int j = 0; j < mt_size; j++) {
		MPI_Type_free(&send[j]);
		MPI_Type_free(&receive[j]);
	}
	free(a);
	free(b);
	free(counts);
	free(at);
	free(send);
	free(receive);
	return mt_end();
}
