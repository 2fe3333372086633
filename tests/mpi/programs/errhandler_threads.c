// SPDX-License-Identifier: GPL-2.0-only
/*
 * MPI_THREAD_MULTIPLE: threads that make, set, get and free error handlers of one communicator,
 * while calls on it fail. Afterwards each handler that is made has a handle of its own: none
 * was given back twice. Nor if a stale handle is set or freed, in one thread: then the call
 * fails. Without a library before the MPI library little is done: the libraries do not check
 * handles.
 */
#include "mt.h"

#include <pthread.h>

#define THREADS	3
#define ROUNDS	3000
#define MANY	64

static MPI_Comm comm;
static int called, bad[THREADS];
static pthread_barrier_t start;

static void one(MPI_Comm *c, int *code, ...)
{
	__atomic_add_fetch(&called, 1, __ATOMIC_RELAXED);
	if (*c != comm)
		bad[0]++;
}

static void *work(void *arg)
{
	int me = (int)(long)arg;
	MPI_Errhandler mine, got;

	pthread_barrier_wait(&start);
	for (int i = 0; i < ROUNDS && getenv("LD_PRELOAD"); i++) {
		MPI_Comm_create_errhandler(one, &mine);
		bad[me] += MPI_Comm_set_errhandler(comm, mine) != MPI_SUCCESS;
		MPI_Errhandler_free(&mine);
		bad[me] += mine != MPI_ERRHANDLER_NULL;
		MPI_Comm_get_errhandler(comm, &got);
		MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
		MPI_Errhandler_free(&got);
	}
	return NULL;
}

/* Each of them is another one. */
static void make_many(void)
{
	MPI_Errhandler many[MANY];
	int same = 0;

	for (int i = 0; i < MANY; i++) {
		MPI_Comm_create_errhandler(one, &many[i]);
		for (int j = 0; j < i; j++)
			same += many[i] == many[j];
	}
	CHECK(!same);
	for (int i = 0; i < MANY; i++)
		MPI_Errhandler_free(&many[i]);
}

/* The name of one that is not there any more: the call fails, and nothing is counted. */
static void stale(void)
{
	MPI_Errhandler one_of_many, copy;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_create_errhandler(one, &one_of_many);
	copy = one_of_many;
	MPI_Errhandler_free(&one_of_many);
	bad[0] += MPI_Comm_set_errhandler(comm, copy) == MPI_SUCCESS;
	bad[0] += MPI_Errhandler_free(&copy) == MPI_SUCCESS;
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &mt_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mt_size);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	pthread_barrier_init(&start, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		CHECK(!bad[i]);
	}
	CHECK(!getenv("LD_PRELOAD") || called == THREADS * ROUNDS);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	if (getenv("LD_PRELOAD"))
		stale();
	CHECK(!bad[0]);
	make_many();
	MPI_Comm_free(&comm);
	return mt_end();
}
