// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process restored without its lower half: memory of the upper half as it was,
 * the range empty, the lower half's threads and descriptors gone. Here it is the
 * child of a raw fork(), which has one thread, and drops the rest itself; its libc
 * keeps the parent's thread id and is told the new one.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi-glue/lower_raw.h"
#include "tests/mpi/lower_job.h"

#define GENERATIONS	3
#define PTHREAD_TID	0x2d0

static void restored(struct job *job, int generation)
{
	int fds[JOB_FDS];
	size_t nr = lower_fds(job->lower, fds, JOB_FDS), i;
	pid_t *tid = (pid_t *)(lower_fs_read() + PTHREAD_TID);

	*tid = gettid();
	for (i = 0; i < nr; i++)
		close(fds[i]);
	munmap((void *)LOWER_BASE, LOWER_END - LOWER_BASE);
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
