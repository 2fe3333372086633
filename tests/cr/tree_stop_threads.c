// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stopped process of several threads, one of them in the middle of a system
 * call: all go on together when it is continued.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

struct shared {
	volatile long counts[4];
};

static struct shared *shared;
static pid_t child;

static void *body(void *arg)
{
	volatile long *count = arg;

	for (;;) {
		(*count)++;
		usleep(1000);
	}
	return NULL;
}

static void in_child(void *arg)
{
	pthread_t thread;

	for (int i = 0; i < 4; i++)
		cr_eq(pthread_create(&thread, NULL, body, (void *)&shared->counts[i]), 0);
	for (;;)
		pause();
}

static void setup(void)
{
	shared = cr_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED);
	child = cr_fork(in_child, NULL);
	while (!shared->counts[3])
		usleep(1000);
	cr_sys(kill(child, SIGSTOP));
	cr_await_state(child, 'T');
	usleep(5000);
}

static void verify(void)
{
	long before[4];

	cr_await_state(child, 'T');
	memcpy(before, (void *)shared->counts, sizeof(before));
	usleep(10000);
	cr_check(!memcmp(before, (void *)shared->counts, sizeof(before)), "it runs");
	cr_sys(kill(child, SIGCONT));
	for (int i = 0; i < 4; i++)
		for (int n = 0; shared->counts[i] == before[i]; n++) {
			cr_check(n < 5000, "thread %d does not go on", i);
			usleep(1000);
		}
	cr_sys(kill(child, SIGKILL));
	cr_eq(cr_wait_status(child), SIGKILL);
}

CR_TEST(.setup = setup, .verify = verify);
