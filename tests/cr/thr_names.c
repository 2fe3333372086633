// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of threads: each its own, with odd characters, the leader's too.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/cr/phase.h"

static const char *const names[] = { "worker/0", "a) R 1 (b", "fifteen chars!!", "" };
#define THREADS	4

static pthread_t thread[THREADS];
static atomic_int started;

static void *body(void *arg)
{
	const char *name = arg;
	char now[17] = "?";

	cr_eq(pthread_setname_np(pthread_self(), name), 0);
	atomic_fetch_add(&started, 1);
	cr_wait_go();
	cr_eq(pthread_getname_np(pthread_self(), now, sizeof(now)), 0);
	cr_check(!strcmp(now, name), "%s, not %s", now, name);
	return NULL;
}

static void setup(void)
{
	for (int i = 0; i < THREADS; i++)
		cr_eq(pthread_create(&thread[i], NULL, body, (void *)names[i]), 0);
	while (atomic_load(&started) < THREADS)
		cr_pause();
	cr_eq(pthread_setname_np(pthread_self(), "the leader"), 0);
}

static void verify(void)
{
	char *comm = cr_read("/proc/self/comm", NULL);

	cr_check(!strcmp(comm, "the leader\n"), "%s", comm);
	free(comm);
	for (int i = 0; i < THREADS; i++)
		cr_eq(pthread_join(thread[i], NULL), 0);
}

CR_TEST(.setup = setup, .verify = verify);
