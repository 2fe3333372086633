// SPDX-License-Identifier: GPL-2.0-only
/*
 * An epoll descriptor, a thread waiting in it; the wait goes on and is not
 * interrupted.
 */
#include <pthread.h>
#include <sys/epoll.h>

#include "tests/cr/phase.h"

static int ep, fds[2];
static pthread_t thread;

static void *wait_once(void *arg)
{
	struct epoll_event event;

	cr_eq(cr_sys(epoll_wait(ep, &event, 1, -1)), 1);
	cr_eq(event.data.u32, 4711);
	return NULL;
}

static void setup(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 4711 };

	cr_sys(pipe(fds));
	ep = (int)cr_sys(epoll_create1(0));
	cr_sys(epoll_ctl(ep, EPOLL_CTL_ADD, fds[0], &event));
	cr_eq(pthread_create(&thread, NULL, wait_once, NULL), 0);
}

static void verify(void)
{
	cr_eq(cr_sys(write(fds[1], "x", 1)), 1);
	cr_eq(pthread_join(thread, NULL), 0);
}

CR_TEST(.setup = setup, .verify = verify);
