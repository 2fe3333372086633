// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads of the application call the library at the same time, end, and others
 * take their place: companions are borrowed and given back, their number does not
 * grow with the number of threads there ever were.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/mpi/lower_job.h"

#define THREADS		3
#define ROUNDS		6
#define MESSAGES	10

static unsigned long main_fs;

struct worker {
	struct job *job;
	int tag;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct job *job = w->job;
	int i, in, out, other = 1 - job->rank;
	char status[64];

	for (i = 0; i < MESSAGES; i++) {
		out = w->tag * 1000 + i * 2 + job->rank;
		in = -1;
		CALL(job, MPI_Sendrecv, P(&out), 1, job->type_int, other, w->tag, P(&in), 1,
		     job->type_int, other, w->tag, job->world, P(status));
		JOB_CHECK(in == w->tag * 1000 + i * 2 + other, "thread %d got %d", w->tag, in);
	}
	JOB_CHECK(lower_fs_base != main_fs || w->tag == 5, "a thread has the main thread's "
							   "storage");
	return NULL;
}

static void run_round(struct job *job, int round)
{
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ job, round * THREADS + i + 10 };
		JOB_CHECK(!pthread_create(&threads[i], NULL, work, &workers[i]), "thread");
	}
	work(&(struct worker){ job, 5 });
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	static struct job job;
	long before, after;
	int i;

	JOB_CHECK(argc == 3, "usage: lower_threads CKPT-LOWER LIBRARY");
	job_load(&job, argv[1], argv[2]);
	job_init(&job);
	JOB_CHECK(job.size == 2, "two ranks, please");
	main_fs = lower_fs_base;
	before = job_status_field("Threads");
	for (i = 0; i < ROUNDS; i++)
		run_round(&job, i);
	/* a companion for each that ever ran at the same time as others */
	after = job_status_field("Threads");
	JOB_CHECK(after > before && after <= before + THREADS, "threads: %ld, now %ld", before,
		  after);
	CALL(&job, MPI_Finalize, 0);
	return 0;
}
