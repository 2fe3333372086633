// SPDX-License-Identifier: GPL-2.0-only
/*
 * MPI_THREAD_MULTIPLE: one thread calls until a checkpoint has kept messages, then several
 * receive them, each in its own way.
 */
#include "cut.h"

#include <pthread.h>

#define THREADS	3
#define N	(THREADS * 600)

static int data[N][4], bad[THREADS];
static pthread_barrier_t start;

/* A request, which is complete at once or not. */
static void receive(int *got, int tag, int way, MPI_Status *status)
{
	MPI_Request request;
	MPI_Message message;
	int flag = 0;

	switch (way) {
	case 0:
		MPI_Recv(got, 4, MPI_INT, LEFT, tag, MPI_COMM_WORLD, status);
		return;
	case 1:
		MPI_Irecv(got, 4, MPI_INT, LEFT, tag, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, status);
		return;
	case 2:
		MPI_Probe(LEFT, tag, MPI_COMM_WORLD, status);
		MPI_Recv(got, 4, MPI_INT, status->MPI_SOURCE, tag, MPI_COMM_WORLD, status);
		return;
	case 3:
		MPI_Mprobe(LEFT, tag, MPI_COMM_WORLD, &message, status);
		MPI_Mrecv(got, 4, MPI_INT, &message, status);
		return;
	}
	MPI_Recv_init(got, 4, MPI_INT, LEFT, tag, MPI_COMM_WORLD, &request);
	MPI_Start(&request);
	while (!flag)
		MPI_Test(&request, &flag, status);
	MPI_Request_free(&request);
}

static void *work(void *arg)
{
	int me = (int)(long)arg, got[4], count;
	MPI_Status status;

	pthread_barrier_wait(&start);
	for (int i = me; i < N; i += THREADS) {
		memset(got, -1, sizeof(got));
		receive(got, i, i / THREADS % 5, &status);
		MPI_Get_count(&status, MPI_INT, &count);
		bad[me] += got[0] != i + LEFT * N || got[3] != -i || status.MPI_TAG != i ||
			   status.MPI_SOURCE != LEFT || count != 4;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static MPI_Request requests[N];
	pthread_t threads[THREADS];

	setenv("MT_THREADS", "multiple", 1);
	mt_begin(&argc, &argv);
	for (int i = 0; i < N; i++) {
		data[i][0] = mt_rank * N + i;
		data[i][3] = -i;
		MPI_Isend(data[i], 4, MPI_INT, RIGHT, i, MPI_COMM_WORLD, &requests[i]);
	}
	/* once all have sent */
	MPI_Barrier(MPI_COMM_WORLD);
	cut_await_all(1, 0);
	pthread_barrier_init(&start, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		CHECK(!bad[i]);
	}
	MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
	return mt_end();
}
