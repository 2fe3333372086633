// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in read on an empty eventfd, and a thread in write on a full one.
 */
#include <pthread.h>
#include <sys/eventfd.h>

#include "tests/cr/phase.h"

static pthread_t thread;
static int empty, full;
static pid_t child;

static void in_child(void)
{
	uint64_t count = 5;

	cr_sys(write(empty, &count, 8));
	cr_sys(read(full, &count, 8));
	cr_eq(count, UINT64_MAX - 1);
}

static void *write_run(void *arg)
{
	uint64_t count = 3;

	cr_eq(cr_sys(write(full, &count, 8)), 8);
	return NULL;
}

static void setup(void)
{
	uint64_t most = UINT64_MAX - 1;

	empty = (int)cr_sys(eventfd(0, 0));
	full = (int)cr_sys(eventfd(0, 0));
	cr_sys(write(full, &most, 8));
	child = cr_when_go(in_child);
	cr_eq(pthread_create(&thread, NULL, write_run, NULL), 0);
}

static void block(void)
{
	uint64_t count;

	cr_eq(cr_sys(read(empty, &count, 8)), 8);
	cr_eq(count, 5);
}

static void verify(void)
{
	uint64_t count;

	cr_join(child);
	cr_eq(pthread_join(thread, NULL), 0);
	cr_eq(cr_sys(read(full, &count, 8)), 8);
	cr_eq(count, 3);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
