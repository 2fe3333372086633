// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long it takes to know where 4,096 threads are: one sample by the kernel module, beside the
 * stacks of the same threads by gdb and eu-stack, in one run. Prints times, medians of RUNS for the
 * samples; asserts nothing. A program that is not there is left out. Needs root and the module:
 *
 *	scripts/vm run --kernel 6.1 --module --mem 2048 -- $PWD/build/bin/bench/sample [THREADS]
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/diagnose/threads.h"

#define RUNS	7
#define BUSY	2	/* threads that run; the others sleep in a call */

static int ready[2];

static double sample_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void *sample_thread(void *arg)
{
	volatile unsigned long count = 0;

	while (arg)
		count++;
	for (;;)
		pause();
	return NULL;
}

/* The process that is looked at. */
static void sample_target(unsigned int nr)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (unsigned int i = 1; i < nr; i++) {
		if (pthread_create(&thread, &attr, sample_thread, i <= BUSY ? &attr : NULL))
			_exit(1);
	}
	if (write(ready[1], "", 1) == 1)
		pause();
	_exit(1);
}

static int sample_by_time(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The median of some samples of all threads; negative: there is no sample. */
static double sample_by_module(unsigned int nr)
{
	const struct threads_of of = { .init = getpid(), .samples = 1, .interval_ms = 1 };
	double took[RUNS];

	for (int run = 0; run < RUNS; run++) {
		double begin = sample_now();
		struct threads threads = { 0 };
		size_t known = 0;

		if (threads_sample(&of, &threads))
			return -1;
		took[run] = sample_now() - begin;
		for (size_t i = 0; i < threads.nr; i++)
			known += threads.thread[i].sample[0].known;
		if (!threads.module || known < nr) {
			fprintf(stderr, "%zu of %u places, module: %d\n", known, nr,
				threads.module);
			return -1;
		}
		threads_done(&threads);
	}
	qsort(took, RUNS, sizeof(took[0]), sample_by_time);
	return took[RUNS / 2];
}

/* How long the program takes; negative: it is not there, or fails. */
static double sample_by(char *const argv[])
{
	double begin = sample_now();
	int status;
	pid_t pid = fork();

	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) == 127)
		return -1;
	return sample_now() - begin;
}

static void sample_compare(const char *name, double took, double ours)
{
	if (took < 0)
		printf("%s: not there\n", name);
	else
		printf("%s: %.3f s, %.0f times as long\n", name, took, took / ours);
}

int main(int argc, char **argv)
{
	unsigned int nr = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 4096;
	char pid[16], byte;
	char *gdb[] = { "gdb", "-q", "-nx", "-batch", "-p", pid, "-ex", "thread apply all bt",
			NULL };
	char *stack[] = { "eu-stack", "-p", pid, NULL };
	pid_t child;
	double ours;

	/* the others may take minutes */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pipe(ready) || (child = fork()) < 0) {
		perror("sample");
		return 1;
	}
	if (!child)
		sample_target(nr);
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		fprintf(stderr, "not so many threads\n");
		return 1;
	}
	snprintf(pid, sizeof(pid), "%d", (int)child);
	ours = sample_by_module(nr);
	if (ours > 0) {
		printf("%u threads, one sample: %.4f s\n", nr, ours);
		sample_compare("eu-stack", sample_by(stack), ours);
		sample_compare("gdb", sample_by(gdb), ours);
	}
	kill(child, SIGKILL);
	return ours > 0 ? 0 : 1;
}
