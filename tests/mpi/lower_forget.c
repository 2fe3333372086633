// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process restored without its lower half: memory of the upper half as it was,
 * the range empty, the lower half's threads and descriptors gone. Here it is the
 * child of a raw fork(), which has one thread, and drops the rest itself; its libc
 * keeps the parent's thread id and is told the new one.
 *
 * Before it is told that the lower half is gone, a thread that has called it ends, and
 * it forks while descriptors of the application have the lower half's old numbers.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi-glue/lower/lower_raw.h"
#include "tests/mpi/lower_job.h"

#define GENERATIONS	3
#define PTHREAD_TID	0x2d0

static pthread_barrier_t called, gone;

static void *call_and_end(void *arg)
{
	struct job *job = arg;
	int rank = -1;

	CALL(job, MPI_Comm_rank, job->world, P(&rank));
	JOB_CHECK(rank == job->rank && lower_fs_base, "a thread's call");
	pthread_barrier_wait(&called);
	pthread_barrier_wait(&gone);
	return NULL;
}

static pthread_t start_caller(struct job *job)
{
	pthread_t thread;

	pthread_barrier_init(&called, NULL, 2);
	pthread_barrier_init(&gone, NULL, 2);
	JOB_CHECK(!pthread_create(&thread, NULL, call_and_end, job), "thread");
	pthread_barrier_wait(&called);
	return thread;
}

static void end_caller(pthread_t thread)
{
	pthread_barrier_wait(&gone);
	JOB_CHECK(!pthread_join(thread, NULL), "join");
}

/* @number was the lower half's */
static void write_from_child(int number)
{
	int ends[2], status;
	pid_t child;
	char byte = 0;

	JOB_CHECK(!pipe(ends) && (ends[1] == number || dup2(ends[1], number) == number), "pipe");
	child = fork();
	if (!child)
		_exit(write(number, "x", 1) != 1);
	JOB_CHECK(child > 0 && waitpid(child, &status, 0) == child && !status,
		  "a child has lost a descriptor: %x", status);
	JOB_CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x', "the pipe from the child");
	if (ends[1] != number)
		close(ends[1]);
	close(number);
	close(ends[0]);
}

static void restored(struct job *job, int generation)
{
	int fds[JOB_FDS];
	size_t nr = lower_fds(job->lower, fds, JOB_FDS), i;
	pid_t *tid = (pid_t *)(lower_fs_read() + PTHREAD_TID);
	pthread_t caller;

	*tid = gettid();
	caller = start_caller(job);
	for (i = 0; i < nr; i++)
		close(fds[i]);
	munmap((void *)LOWER_BASE, LOWER_END - LOWER_BASE);
	end_caller(caller);
	JOB_CHECK(nr, "the lower half has no descriptor");
	write_from_child(fds[nr - 1]);
	lower_forget(job->lower);
	JOB_CHECK(!lower_fs_base, "the thread still has its companion");
	JOB_CHECK(!lower_fds(job->lower, fds, JOB_FDS), "descriptors are still recorded");
	job_load(job, job->config.program, job->config.library);
	job_init(job);
	job_traffic(job);
	job_inside(job);
}

/* each generation's process is the last one's child */
static int live(struct job *job, int generation)
{
	int status;
	pid_t child;

	if (generation == GENERATIONS)
		return 0;
	/* leaves a companion that nobody has */
	end_caller(start_caller(job));
	child = lower_raw(SYS_fork, 0, 0, 0);
	if (!child) {
		restored(job, generation);
		_exit(live(job, generation + 1));
	}
	JOB_CHECK(child > 0 && waitpid(child, &status, 0) == child && !status,
		  "generation %d: %x", generation, status);
	/* whoever was copied is none the worse for it */
	job_traffic(job);
	return 0;
}

int main(int argc, char **argv)
{
	static struct job job;

	JOB_CHECK(argc == 3, "usage: lower_forget CKPT-LOWER LIBRARY");
	alarm(50);
	job_load(&job, argv[1], argv[2]);
	job_init(&job);
	job_traffic(&job);
	return live(&job, 0);
}
