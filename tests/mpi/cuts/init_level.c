// SPDX-License-Identifier: GPL-2.0-only
/*
 * MPI_Init where the environment asks for MPI_THREAD_MULTIPLE: the program has it, and is told
 * so, with checkpoints as without. One thread calls until there was one; then three exchange
 * messages.
 */
#include "cut.h"

#include <pthread.h>

#define THREADS	3

static MPI_Comm comms[THREADS];
static int bad[THREADS];

static void *work(void *arg)
{
	int me = (int)(long)arg, in, out;

	for (int i = 0; i < 100; i++) {
		out = mt_rank * 1000 + i;
		MPI_Sendrecv(&out, 1, MPI_INT, RIGHT, i, &in, 1, MPI_INT, LEFT, i, comms[me],
			     MPI_STATUS_IGNORE);
		bad[me] += in != LEFT * 1000 + i;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int provided = -1;

	setenv("MPIR_CVAR_DEFAULT_THREAD_LEVEL", "mpi_thread_multiple", 1);
	setenv("OMPI_MPI_THREAD_LEVEL", "3", 1);
	mt_begin(&argc, &argv);
	MPI_Query_thread(&provided);
	CHECK(provided == MPI_THREAD_MULTIPLE);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	cut_await_all(1, 0);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		CHECK(!bad[i]);
		MPI_Comm_free(&comms[i]);
	}
	return mt_end();
}
