// SPDX-License-Identifier: GPL-2.0-only
/*
 * EPOLLEXCLUSIVE: two processes wait at one eventfd by an epoll descriptor each, and one event is
 * taken once.
 */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static int event;
static int *taken;
static pid_t children[2];

static void child_run(void *arg)
{
	struct epoll_event item = { .events = EPOLLIN | EPOLLEXCLUSIVE }, got;
	int ep = (int)cr_sys(epoll_create1(0));
	uint64_t count;

	cr_sys(epoll_ctl(ep, EPOLL_CTL_ADD, event, &item));
	cr_mark(arg);
	cr_eq(cr_sys(epoll_wait(ep, &got, 1, -1)), 1);
	if (read(event, &count, 8) == 8)
		__atomic_add_fetch(taken, (int)count, __ATOMIC_SEQ_CST);
}

static void setup(void)
{
	taken = cr_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED);
	event = (int)cr_sys(eventfd(0, EFD_NONBLOCK));
	children[0] = cr_fork(child_run, "first");
	children[1] = cr_fork(child_run, "second");
	cr_await("first");
	cr_await("second");
	cr_await_state(children[0], 'S');
	cr_await_state(children[1], 'S');
}

static void verify(void)
{
	uint64_t one = 1;

	for (int i = 0; i < 2; i++) {
		cr_sys(write(event, &one, 8));
		while (__atomic_load_n(taken, __ATOMIC_SEQ_CST) < i + 1)
			usleep(1000);
	}
	cr_join(children[0]);
	cr_join(children[1]);
	cr_eq(*taken, 2);
}

CR_TEST(.setup = setup, .verify = verify);
