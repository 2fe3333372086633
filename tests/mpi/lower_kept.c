// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel keeps once per thread is the application's after a load: the
 * address it clears at the thread's end (or pthread_join() would wait for ever), the
 * list of robust mutexes, the area of restartable sequences, the mask of signals, the
 * alternate stack for signals, which a child of fork() has as well.
 * A thread that is not the main one loads, and ends; another takes its place.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/rseq.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi-glue/lower/lower_raw.h"
#include "tests/mpi/lower_job.h"

#define STACK_SIZE	65536

static struct job job;
static const char *program, *library;
static pthread_mutex_t robust;
static unsigned long loaders_fs;

static void check_rseq(void)
{
	const struct rseq *area;
	int cpu, i;

	if (!__rseq_size)
		return;
	area = (const void *)((char *)__builtin_thread_pointer() + __rseq_offset);
	for (i = 0; i < 1000; i++) {
		cpu = area->cpu_id;
		if (cpu == sched_getcpu())
			return;
	}
	job_fail("the kernel does not write this thread's cpu number any more");
}

static char stack[STACK_SIZE];
static volatile bool on_stack;

static void on_signal(int sig)
{
	char here;

	on_stack = &here >= stack && &here < stack + STACK_SIZE;
}

static void set_stack(void)
{
	stack_t ours = { .ss_sp = stack, .ss_size = STACK_SIZE };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	JOB_CHECK(!sigaltstack(&ours, NULL) && !sigaction(SIGUSR2, &action, NULL), "sigaltstack");
}

static void check_stack(const char *when)
{
	stack_t now;
	pid_t child;
	int status;

	JOB_CHECK(!sigaltstack(NULL, &now) && now.ss_sp == stack && now.ss_size == STACK_SIZE,
		  "%s the stack for signals is at %p", when, now.ss_sp);
	child = fork();
	if (!child) {
		raise(SIGUSR2);
		_exit(!on_stack);
	}
	JOB_CHECK(child > 0 && waitpid(child, &status, 0) == child && !status,
		  "%s a signal in a child: %x", when, status);
}

static void *load_and_end(void *arg)
{
	sigset_t mask, now;
	void *head_before, *head;
	size_t len;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	set_stack();
	lower_raw(SYS_get_robust_list, 0, &head_before, &len);
	job_load(&job, program, library);
	lower_raw(SYS_get_robust_list, 0, &head, &len);
	JOB_CHECK(head == head_before, "the robust list is somebody else's");
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	JOB_CHECK(!memcmp(&mask, &now, 8), "the mask of signals changed");
	check_rseq();
	check_stack("after the load");
	loaders_fs = lower_fs_base;
	job_init(&job);
	check_stack("after MPI_Init");
	job_traffic(&job);
	pthread_mutex_lock(&robust);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t attr;
	pthread_t thread;

	JOB_CHECK(argc == 3, "usage: lower_kept CKPT-LOWER LIBRARY");
	program = argv[1];
	library = argv[2];
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attr);
	alarm(50);
	JOB_CHECK(!pthread_create(&thread, NULL, load_and_end, NULL), "thread");
	JOB_CHECK(!pthread_join(thread, NULL), "join");
	JOB_CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD, "the robust mutex does not tell");
	/* the thread that loaded gave back what it had */
	JOB_CHECK(!lower_fs_base, "a companion without a call");
	job_traffic(&job);
	JOB_CHECK(lower_fs_base == loaders_fs, "the loader's companion is not used again");
	CALL(&job, MPI_Finalize, 0);
	return 0;
}
