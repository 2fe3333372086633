// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lower half is unloaded and loaded again, many times in one process. Nothing
 * grows, and threads of the application that called the old one call the new one.
 *
 * Without a launcher the process is a job of one rank. Under tests/mpi/pmi1, which
 * takes each generation for a new job, ranks exchange messages.
 *
 * First, children of a fork() in the middle of a load: they have no part of a lower half.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi-glue/lower/lower_raw.h"
#include "tests/mpi/lower_job.h"

#define WARM_UP		4
#define AT_ONCE		20
#define HELPERS		3

struct load {
	int fds;
	int maps;
	int threads;
	long rss;
};

struct helper {
	struct job *job;
	pthread_barrier_t *go;
	pthread_barrier_t *done;
	int generations;
};

static void *call_each_time(void *arg)
{
	struct helper *h = arg;
	int i, rank;

	for (i = 0; i < h->generations; i++) {
		pthread_barrier_wait(h->go);
		rank = -1;
		CALL(h->job, MPI_Comm_rank, h->job->world, P(&rank));
		JOB_CHECK(rank == h->job->rank && lower_fs_base, "a thread's call in generation %d",
			  i);
		pthread_barrier_wait(h->done);
	}
	/* be counted to the last */
	pthread_barrier_wait(h->go);
	return NULL;
}

static bool range_begun(void)
{
	unsigned char resident;

	return !lower_raw(SYS_mincore, LOWER_BASE, 4096, &resident);
}

/* forks as soon as the range has its first mapping */
static void *fork_early(void *unused)
{
	int status = 0;
	pid_t child;

	while (!range_begun())
		;
	child = fork();
	if (!child)
		_exit(range_begun());
	JOB_CHECK(child > 0 && waitpid(child, &status, 0) == child && !status,
		  "a child of a fork in a load has a piece of it: %x", status);
	return NULL;
}

static void fork_in_loads(struct job *job, const char *program, const char *library)
{
	pthread_t thread;
	int i;

	for (i = 0; i < AT_ONCE; i++) {
		JOB_CHECK(!pthread_create(&thread, NULL, fork_early, NULL), "thread");
		job_load(job, program, library);
		pthread_join(thread, NULL);
		JOB_CHECK(!lower_unload(job->lower), "lower_unload");
	}
}

static struct load measure(void)
{
	return (struct load){
		.fds = job_fd_count(),
		.maps = job_map_count(),
		.threads = job_status_field("Threads"),
		.rss = job_status_field("VmRSS"),
	};
}

static void compare(const char *when, const struct load *a, const struct load *b)
{
	fprintf(stderr, "# %s: %d descriptors, %d mappings, %d threads, %ld KB\n", when, b->fds,
		b->maps, b->threads, b->rss);
	JOB_CHECK(a->fds == b->fds, "descriptors: %d, now %d", a->fds, b->fds);
	JOB_CHECK(a->threads == b->threads, "threads: %d, now %d", a->threads, b->threads);
	JOB_CHECK(b->maps <= a->maps + 6, "mappings: %d, now %d", a->maps, b->maps);
	JOB_CHECK(b->rss <= a->rss + 1024, "memory: %ld KB, now %ld KB", a->rss, b->rss);
}

static void set_identity(int generation)
{
	const char *rank = getenv("PMI_RANK_OF_TEST");
	char id[32];

	if (!rank)
		return;
	snprintf(id, sizeof(id), "%d", generation * 10000 + atoi(rank));
	setenv("PMI_ID", id, 1);
}

int main(int argc, char **argv)
{
	static struct job job;
	struct load loaded = { 0 }, unloaded = { 0 }, now;
	pthread_barrier_t go, done;
	struct helper h = { &job, &go, &done, 0 };
	pthread_t threads[HELPERS];
	int i, k;

	JOB_CHECK(argc == 4, "usage: lower_reload CKPT-LOWER LIBRARY GENERATIONS");
	h.generations = atoi(argv[3]);
	pthread_barrier_init(&go, NULL, HELPERS + 1);
	pthread_barrier_init(&done, NULL, HELPERS + 1);
	for (i = 0; i < HELPERS; i++)
		JOB_CHECK(!pthread_create(&threads[i], NULL, call_each_time, &h), "thread");
	fork_in_loads(&job, argv[1], argv[2]);
	/* at once: the lower half's threads have hardly begun to run */
	for (i = 0; i < AT_ONCE; i++) {
		job_load(&job, argv[1], argv[2]);
		k = lower_unload(job.lower);
		JOB_CHECK(!k, "lower_unload: %s", strerror(-k));
	}
	for (i = 0; i < h.generations; i++) {
		set_identity(i);
		job_load(&job, argv[1], argv[2]);
		job_init(&job);
		job_traffic(&job);
		pthread_barrier_wait(&go);
		pthread_barrier_wait(&done);
		now = measure();
		if (i == WARM_UP)
			loaded = now;
		if (i >= WARM_UP)
			compare("loaded", &loaded, &now);
		k = lower_unload(job.lower);
		JOB_CHECK(!k, "lower_unload: %s", strerror(-k));
		now = measure();
		if (i == WARM_UP)
			unloaded = now;
		if (i >= WARM_UP)
			compare("unloaded", &unloaded, &now);
	}
	pthread_barrier_wait(&go);
	for (i = 0; i < HELPERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
