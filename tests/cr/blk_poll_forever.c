// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in poll and ppoll without a timeout, in two threads, on a pipe: both wake
 * when data comes, and report it.
 */
#include <poll.h>
#include <pthread.h>

#include "tests/cr/phase.h"

static int fds[2];
static pid_t child;

static void in_child(void)
{
	cr_eq(cr_sys(write(fds[1], "x", 1)), 1);
}

static void setup(void)
{
	cr_sys(pipe(fds));
	child = cr_when_go(in_child);
}

static void *other(void *arg)
{
	struct pollfd p = { .fd = fds[0], .events = POLLIN | POLLPRI };

	cr_eq(cr_sys(ppoll(&p, 1, NULL, NULL)), 1);
	cr_eq(p.revents, POLLIN);
	return NULL;
}

static void block(void)
{
	struct pollfd p[2] = { { .fd = fds[0], .events = POLLIN }, { .fd = -1 } };
	pthread_t thread;

	cr_eq(pthread_create(&thread, NULL, other, NULL), 0);
	cr_eq(cr_sys(poll(p, 2, -1)), 1);
	cr_eq(p[0].revents, POLLIN);
	cr_eq(pthread_join(thread, NULL), 0);
}

static void verify(void)
{
	char c;

	cr_join(child);
	cr_eq(cr_sys(read(fds[0], &c, 1)), 1);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
