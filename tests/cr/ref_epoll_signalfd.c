// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an epoll descriptor that watches a signalfd which a process added that has ended.  The
 * item waits for signals of nobody.
 */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include "tests/cr/phase.h"

static int ep, fd;

static void add(void *arg)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 4711 };

	cr_sys(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event));
}

static void setup(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	cr_sys(sigprocmask(SIG_BLOCK, &set, NULL));
	fd = (int)cr_sys(signalfd(-1, &set, 0));
	ep = (int)cr_sys(epoll_create1(0));
	cr_join(cr_fork(add, NULL));
}

static void verify(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 1 };

	cr_sys(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &event));
	cr_sys(raise(SIGUSR1));
	cr_eq(cr_sys(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &event)), 0);
	cr_eq(cr_sys(epoll_wait(ep, &event, 1, 10000)), 1);
	cr_eq(event.data.u32, 1);
}

CR_TEST(.setup = setup, .verify = verify);
