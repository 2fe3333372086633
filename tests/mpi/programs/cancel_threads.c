// SPDX-License-Identifier: GPL-2.0-only
/*
 * MPI_THREAD_MULTIPLE: one thread waits for a receive, without a status, that another one
 * cancels; the next request may have the place of the one that has just ended. (MPICH 4.0.2
 * alone was seen to hang there: without a library before the MPI library it is cancelled
 * first.)
 */
#include "mt.h"

#include <pthread.h>
#include <sched.h>

#define ROUNDS	10

static MPI_Request posted;
static int round_posted, round_done, bad;

static void *work(void *arg)
{
	MPI_Request request, copy;
	int never, mine = 0, got = 0;

	for (int i = 1; i <= ROUNDS; i++) {
		MPI_Irecv(&never, 1, MPI_INT, 0, 77, MPI_COMM_SELF, &request);
		posted = request;
		__atomic_store_n(&round_posted, i, __ATOMIC_RELEASE);
		while (!getenv("LD_PRELOAD") && __atomic_load_n(&round_done, __ATOMIC_ACQUIRE) < i)
			sched_yield();
		if (i % 2)
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		else
			MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
		bad += request != MPI_REQUEST_NULL;
		/* of a request that is not cancelled */
		mine = i;
		MPI_Irecv(&got, 1, MPI_INT, 0, 78, MPI_COMM_SELF, &copy);
		MPI_Send(&mine, 1, MPI_INT, 0, 78, MPI_COMM_SELF);
		MPI_Wait(&copy, MPI_STATUS_IGNORE);
		bad += got != i;
		while (__atomic_load_n(&round_done, __ATOMIC_ACQUIRE) < i)
			sched_yield();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	MPI_Request request;
	pthread_t thread;
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &mt_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mt_size);
	pthread_create(&thread, NULL, work, NULL);
	for (int i = 1; i <= ROUNDS; i++) {
		while (__atomic_load_n(&round_posted, __ATOMIC_ACQUIRE) < i)
			sched_yield();
		request = posted;
		MPI_Cancel(&request);
		__atomic_store_n(&round_done, i, __ATOMIC_RELEASE);
	}
	pthread_join(thread, NULL);
	CHECK(!bad);
	return mt_end();
}
