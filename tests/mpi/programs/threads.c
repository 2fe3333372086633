// SPDX-License-Identifier: GPL-2.0-only
/* MPI_THREAD_MULTIPLE: three threads with a communicator each, requests in common tables. */
#include "mt.h"

#include <pthread.h>

#define THREADS 3
#define ROUNDS 200

static MPI_Comm comms[THREADS];
static long sums[THREADS];

static void *work(void *arg)
{
	int me = (int)(long)arg, in[4], out[4], n;
	MPI_Request requests[8];

	for (int i = 0; i < ROUNDS; i++) {
		n = 0;
		for (int j = 0; j < 4; j++) {
			out[j] = mt_rank * 10000 + me * 1000 + i + j;
			MPI_Irecv(&in[j], 1, MPI_INT, LEFT, j, comms[me], &requests[n++]);
			MPI_Isend(&out[j], 1, MPI_INT, RIGHT, j, comms[me], &requests[n++]);
		}
		MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
		for (int j = 0; j < 4; j++) {
			if (in[j] != LEFT * 10000 + me * 1000 + i + j)
				sums[me] = -1000000000;
			sums[me] += in[j];
		}
		if (i % 50 == 0)
			MPI_Barrier(comms[me]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int provided, flag;
	pthread_t threads[THREADS];

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &mt_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mt_size);
	MPI_Is_thread_main(&flag);
	CHECK(flag);
	CHECK(provided == MPI_THREAD_MULTIPLE);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	for (int round = 0; round < 3; round++) {
		for (long i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, work, (void *)i);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	for (int i = 0; i < THREADS; i++) {
		CHECK(sums[i] > 0);
		mt_value(sums[i]);
		MPI_Comm_free(&comms[i]);
	}
	return mt_end();
}
