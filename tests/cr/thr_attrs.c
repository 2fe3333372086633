// SPDX-License-Identifier: GPL-2.0-only
/*
 * What belongs to one thread and not to its process: signal mask, alternate stack,
 * CPU affinity, nice value, policy, timer slack.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "tests/cr/phase.h"

#define THREADS	3

static pthread_t thread[THREADS];
static atomic_int started;
static uint8_t stacks[THREADS][32768];

struct attrs {
	sigset_t mask;
	stack_t stack;
	cpu_set_t cpus;
	int nice, policy, slack;
};

static void look(struct attrs *a)
{
	memset(a, 0, sizeof(*a));
	cr_eq(pthread_sigmask(SIG_SETMASK, NULL, &a->mask), 0);
	cr_sys(sigaltstack(NULL, &a->stack));
	cr_sys(sched_getaffinity(0, sizeof(a->cpus), &a->cpus));
	a->nice = getpriority(PRIO_PROCESS, (id_t)cr_tid());
	a->policy = sched_getscheduler(0);
	a->slack = prctl(PR_GET_TIMERSLACK);
}

static void *body(void *arg)
{
	int i = (int)(intptr_t)arg;
	struct attrs before, after;
	sigset_t mask;
	cpu_set_t cpus;

	sigemptyset(&mask);
	sigaddset(&mask, SIGRTMIN + i);
	cr_eq(pthread_sigmask(SIG_BLOCK, &mask, NULL), 0);
	cr_sys(sigaltstack(&(stack_t){ .ss_sp = stacks[i], .ss_size = sizeof(stacks[i]) },
			   NULL));
	cr_sys(sched_getaffinity(0, sizeof(cpus), &cpus));
	for (int c = 0, kept = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &cpus) && kept++ != i % CPU_COUNT(&cpus))
			CPU_CLR(c, &cpus);
	if (CPU_COUNT(&cpus))
		cr_sys(sched_setaffinity(0, sizeof(cpus), &cpus));
	cr_sys(setpriority(PRIO_PROCESS, (id_t)cr_tid(), i + 3));
	cr_sys(sched_setscheduler(0, i == 1 ? SCHED_BATCH : SCHED_OTHER,
				  &(struct sched_param){ 0 }));
	cr_sys(prctl(PR_SET_TIMERSLACK, 60000 + i));
	look(&before);
	atomic_fetch_add(&started, 1);
	cr_wait_go();
	look(&after);
	cr_check(!memcmp(&before.mask, &after.mask, sizeof(mask)), "mask of %d", i);
	cr_check(CPU_EQUAL(&before.cpus, &after.cpus), "affinity of %d", i);
	cr_check(after.stack.ss_sp == stacks[i], "alternate stack of %d", i);
	cr_eq(after.stack.ss_size, sizeof(stacks[i]));
	cr_eq(after.nice, before.nice);
	cr_eq(after.policy, before.policy);
	cr_eq(after.slack, before.slack);
	return NULL;
}

static void setup(void)
{
	for (intptr_t i = 0; i < THREADS; i++)
		cr_eq(pthread_create(&thread[i], NULL, body, (void *)i), 0);
	while (atomic_load(&started) < THREADS)
		cr_pause();
}

static void verify(void)
{
	for (int i = 0; i < THREADS; i++)
		cr_eq(pthread_join(thread[i], NULL), 0);
	cr_eq(getpriority(PRIO_PROCESS, 0), 0);
}

CR_TEST(.setup = setup, .verify = verify);
