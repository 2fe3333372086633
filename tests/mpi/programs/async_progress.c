// SPDX-License-Identifier: GPL-2.0-only
/*
 * MPICH is asked for a thread of its own that makes progress: an operation of the program must
 * not run on it with another thread's storage.
 */
#define _GNU_SOURCE
#include "mt.h"

#include <pthread.h>
#include <unistd.h>

#define N	64
#define ROUNDS	600

static pthread_t main_thread;
static pid_t main_tid;
static int mixed;

static void add(void *in, void *io, int *len, MPI_Datatype *dtype)
{
	for (int i = 0; i < *len; i++)
		((int *)io)[i] += ((int *)in)[i];
	if (pthread_self() == main_thread && gettid() != main_tid)
		__atomic_add_fetch(&mixed, 1, __ATOMIC_RELAXED);
}

/* Meanwhile the main thread uses its own storage, or leaves the processor to the other. */
static void compute(int round)
{
	for (int i = 0; i < 2000; i++)
		free(malloc(24 + (size_t)i % 8 * 16));
	if (round % 2)
		usleep(500);
}

int main(int argc, char **argv)
{
	int in[N], out[N];
	MPI_Request request;
	MPI_Op op;

	setenv("MPIR_CVAR_ASYNC_PROGRESS", "1", 1);
	setenv("MT_THREADS", "multiple", 1);
	main_thread = pthread_self();
	main_tid = gettid();
	mt_begin(&argc, &argv);
	MPI_Op_create(add, 1, &op);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < N; i++)
			in[i] = round + i;
		MPI_Iallreduce(in, out, N, MPI_INT, op, MPI_COMM_WORLD, &request);
		compute(round);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(out[1] == (round + 1) * mt_size);
	}
	CHECK(!mixed);
	MPI_Op_free(&op);
	return mt_end();
}
