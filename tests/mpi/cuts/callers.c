// SPDX-License-Identifier: GPL-2.0-only
/*
 * MPI_THREAD_MULTIPLE: threads that call at the same time, each on a communicator of its own:
 * messages in arrays of requests, messages that are probed for, collectives, non-blocking ones,
 * communicators that come and go, and the first thread, which exchanges with its neighbours.
 * Now and then the threads of a rank wait for each other outside MPI, so that what one of them
 * is held before may be what another one needs. In each round each thread is joined by a new
 * one that calls once and ends. CALLERS=file or groups: there is also what several threads may
 * not have if a checkpoint is to be taken.
 */
#include "cut.h"

#include <pthread.h>

#define MEET_EVERY 4
#define LARGE	40000

struct caller {
	void (*round)(struct caller *caller, int round);
	MPI_Comm comm;
	int bad;
	long sum;
	pthread_t thread;
};

static pthread_barrier_t meet, both;

static void expect(struct caller *caller, long value, long wanted)
{
	caller->bad += value != wanted;
	caller->sum += value;
}

/*
 * Two receives from the left, one of them large, and two sends to the right; completed in four
 * ways.
 */
static void arrays(struct caller *caller, int round)
{
	int out[2] = { mt_rank * 1000 + round, round }, in[2] = { -1, -1 }, left = 4, n, at[4], i;
	int *large = calloc(2 * LARGE, sizeof(int));
	MPI_Request request[4];
	MPI_Status status[4];

	large[LARGE - 1] = out[0];
	MPI_Irecv(&in[0], 1, MPI_INT, LEFT, 1, caller->comm, &request[0]);
	MPI_Irecv(large + LARGE, LARGE, MPI_INT, MPI_ANY_SOURCE, 2, caller->comm, &request[1]);
	MPI_Isend(large, LARGE, MPI_INT, RIGHT, 2, caller->comm, &request[2]);
	MPI_Issend(&out[0], 1, MPI_INT, RIGHT, 1, caller->comm, &request[3]);
	switch (round % 4) {
	case 0:
		MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
		break;
	case 1:
		while (left--)
			MPI_Waitany(4, request, &i, MPI_STATUS_IGNORE);
		break;
	case 2:
		for (; left; left -= n)
			MPI_Waitsome(4, request, &n, at, status);
		break;
	default:
		for (i = 0; !i; )
			MPI_Testall(4, request, &i, status);
		expect(caller, status[1].MPI_SOURCE, LEFT);
	}
	expect(caller, in[0], LEFT * 1000 + round);
	expect(caller, large[2 * LARGE - 1], LEFT * 1000 + round);
	free(large);
}

/*
 * From whomever, as often as there are others; one kept back by MPI_Mprobe until the next has
 * come.
 */
static void probes(struct caller *caller, int round)
{
	MPI_Request request[64];
	MPI_Message message;
	MPI_Status status;
	int got, sum = 0, first = -1;

	for (int to = 0; to < mt_size; to++)
		MPI_Isend(&mt_rank, 1, MPI_INT, to, round % 3, caller->comm, &request[to % 64]);
	MPI_Mprobe(MPI_ANY_SOURCE, round % 3, caller->comm, &message, &status);
	for (int i = 1; i < mt_size; i++) {
		MPI_Probe(MPI_ANY_SOURCE, round % 3, caller->comm, &status);
		MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, round % 3, caller->comm,
			 MPI_STATUS_IGNORE);
		expect(caller, got == status.MPI_SOURCE, 1);
		sum += got;
	}
	MPI_Mrecv(&first, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
	expect(caller, sum + first, (long)mt_size * (mt_size - 1) / 2);
	MPI_Waitall(mt_size, request, MPI_STATUSES_IGNORE);
}

static void collectives(struct caller *caller, int round)
{
	int root = round % mt_size, value = mt_rank == root ? round : -1, sum, before = 0;

	MPI_Bcast(&value, 1, MPI_INT, root, caller->comm);
	expect(caller, value, round);
	cut_compute(round);
	MPI_Allreduce(&mt_rank, &sum, 1, MPI_INT, MPI_SUM, caller->comm);
	expect(caller, sum, (long)mt_size * (mt_size - 1) / 2);
	MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, root, caller->comm);
	expect(caller, mt_rank == root ? sum : 0, mt_rank == root ? (long)round * mt_size : 0);
	MPI_Exscan(&mt_rank, &before, 1, MPI_INT, MPI_SUM, caller->comm);
	expect(caller, before, (long)mt_rank * (mt_rank - 1) / 2);
}

static void not_blocking(struct caller *caller, int round)
{
	int value = mt_rank == 0 ? round : -1, sum, flag = 0;
	MPI_Request request[3];

	MPI_Ibcast(&value, 1, MPI_INT, 0, caller->comm, &request[0]);
	MPI_Iallreduce(&mt_rank, &sum, 1, MPI_INT, MPI_SUM, caller->comm, &request[1]);
	cut_compute(round);
	MPI_Ibarrier(caller->comm, &request[2]);
	MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
	expect(caller, value, round);
	expect(caller, sum, (long)mt_size * (mt_size - 1) / 2);
	while (!flag)
		MPI_Test(&request[2], &flag, MPI_STATUS_IGNORE);
}

static void comms(struct caller *caller, int round)
{
	MPI_Comm dup, half;
	MPI_Request request;
	int rank, size, sum;

	/*
	 * Open MPI 4.1.4 hangs in the split now and then if the duplicate is not there yet, by
	 * itself, too
	 */
	MPI_Comm_idup(caller->comm, &dup, &request);
#ifdef OPEN_MPI
	MPI_Wait(&request, MPI_STATUS_IGNORE);
#endif
	MPI_Comm_split(caller->comm, mt_rank % 2, mt_rank, &half);
#ifndef OPEN_MPI
	MPI_Wait(&request, MPI_STATUS_IGNORE);
#endif
	MPI_Comm_rank(half, &rank);
	MPI_Comm_size(half, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
	expect(caller, sum, (long)size * (size - 1) / 2);
	cut_compute(round);
	MPI_Comm_free(&half);
	MPI_Bcast(&sum, 1, MPI_INT, 0, dup);
	MPI_Comm_free(&dup);
}

static void once(struct caller *caller, int round)
{
	int got = -1, sent = mt_rank + round;

	MPI_Sendrecv(&sent, 1, MPI_INT, RIGHT, 99, &got, 1, MPI_INT, LEFT, 99, caller->comm,
		     MPI_STATUS_IGNORE);
	expect(caller, got, LEFT + round);
}

struct joining {
	struct caller *caller;
	int round;
};

static void *join_in(void *arg)
{
	const struct joining *joining = arg;

	once(joining->caller, joining->round);
	return NULL;
}

static void *work(void *arg)
{
	struct caller *caller = arg, other = *caller;

	for (int round = 0; round < ROUNDS; round++) {
		struct joining joining = { &other, round };
		pthread_t thread;

		pthread_create(&thread, NULL, join_in, &joining);
		caller->round(caller, round);
		pthread_join(thread, NULL);
		if (!(round % MEET_EVERY))
			pthread_barrier_wait(&meet);
	}
	caller->bad += other.bad;
	return NULL;
}

static void *of_pair(void *arg)
{
	MPI_Group world, pair;
	MPI_Comm comm;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 2, (int[]){ 0, 1 }, &pair);
	for (int i = 0; i < 100; i++) {
		pthread_barrier_wait(&both);
		MPI_Comm_create_group(MPI_COMM_WORLD, pair, (int)(long)arg, &comm);
		MPI_Comm_free(&comm);
	}
	MPI_Group_free(&pair);
	MPI_Group_free(&world);
	return NULL;
}

/* CALLERS=file, groups: what no checkpoint is taken with from then on. */
static void refused(void)
{
	const char *what = getenv("CALLERS");
	pthread_t thread;
	MPI_File file;

	if (what && !strcmp(what, "file")) {
		MPI_File_open(MPI_COMM_WORLD, "callers.tmp",
			      MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
			      MPI_INFO_NULL, &file);
		MPI_File_close(&file);
	}
	if (what && !strcmp(what, "groups") && mt_rank < 2) {
		pthread_barrier_init(&both, NULL, 2);
		pthread_create(&thread, NULL, of_pair, (void *)1L);
		of_pair((void *)2L);
		pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv)
{
	struct caller callers[] = {
		{.round = arrays},	 {.round = probes}, {.round = collectives},
		{.round = not_blocking}, {.round = comms},
	/* Open MPI makes one at a time, and hangs now and then if two threads want one */
#ifndef OPEN_MPI
		{.round = comms},
#endif
	};
	const int n = sizeof(callers) / sizeof(callers[0]);

	setenv("MT_THREADS", "multiple", 1);
	mt_begin(&argc, &argv);
	pthread_barrier_init(&meet, NULL, (unsigned int)n + 1);
	for (int i = 0; i < n; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &callers[i].comm);
	for (int i = 0; i < n; i++)
		pthread_create(&callers[i].thread, NULL, work, &callers[i]);
	refused();
	for (int round = 0; round < ROUNDS; round++) {
		int got = -1;

		MPI_Sendrecv(&round, 1, MPI_INT, RIGHT, 5, &got, 1, MPI_INT, LEFT, 5,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(got == round);
		cut_compute(round);
		if (!(round % MEET_EVERY))
			pthread_barrier_wait(&meet);
		/* all have called */
		if (round == 1 && !getenv("CALLERS"))
			cut_await_all(1, round);
	}
	for (int i = 0; i < n; i++) {
		pthread_join(callers[i].thread, NULL);
		CHECK(!callers[i].bad);
		mt_value(callers[i].sum);
		MPI_Comm_free(&callers[i].comm);
	}
	return mt_end();
}
