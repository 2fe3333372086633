// SPDX-License-Identifier: GPL-2.0-only
/* MPI_THREAD_SERIALIZED: threads take turns in MPI, requests go from one to the other. */
#include "mt.h"


#include <pthread.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static MPI_Request handed = MPI_REQUEST_NULL;
static int value;

static void *complete(void *arg)
{
	pthread_mutex_lock(&turn);
	MPI_Wait(&handed, MPI_STATUS_IGNORE);
	*(int *)arg = value;
	pthread_mutex_unlock(&turn);
	return NULL;
}

int main(int argc, char **argv)
{
	int provided, got, out;
	pthread_t thread;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &mt_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mt_size);
	CHECK(provided >= MPI_THREAD_SERIALIZED);
	for (int round = 0; round < 10; round++) {
		MPI_Irecv(&value, 1, MPI_INT, LEFT, round, MPI_COMM_WORLD, &handed);
		mt_value(round);
		pthread_mutex_lock(&turn);
		pthread_create(&thread, NULL, complete, &got);
		out = mt_rank * 100 + round;
		mt_value(round);
		MPI_Send(&out, 1, MPI_INT, RIGHT, round, MPI_COMM_WORLD);
		pthread_mutex_unlock(&turn);
		pthread_join(thread, NULL);
		CHECK(got == LEFT * 100 + round && handed == MPI_REQUEST_NULL);
	}
	return mt_end();
}
