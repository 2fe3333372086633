// SPDX-License-Identifier: GPL-2.0-only
/*
 * An epoll descriptor that watches POSIX message queues: one has a message, one is empty, one is
 * full.
 */
#include <sys/epoll.h>

#include "tests/cr/mq.h"

static mqd_t has, empty, full;
static int ep;

static void watch(mqd_t queue, uint32_t events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };

	cr_sys(epoll_ctl(ep, EPOLL_CTL_ADD, queue, &event));
}

static void setup(void)
{
	mq_namespace();
	has = mq_new("/has", 2, MQ_MOST);
	empty = mq_new("/empty", 2, MQ_MOST);
	full = mq_new("/full", 1, MQ_MOST);
	mq_put(has, 1, 0, 1);
	mq_put(full, 1, 0, 2);
	ep = (int)cr_sys(epoll_create1(0));
	watch(has, EPOLLIN, 1);
	watch(empty, EPOLLIN, 2);
	watch(full, EPOLLOUT, 3);
}

static void ready(uint64_t data, uint32_t events)
{
	struct epoll_event event[4];

	cr_eq(cr_sys(epoll_wait(ep, event, 4, 0)), 1);
	cr_eq(event[0].data.u64, data);
	cr_eq(event[0].events, events);
}

static void verify(void)
{
	struct epoll_event event;

	ready(1, EPOLLIN);
	mq_take(has, 1, 0, 1);
	cr_eq(cr_sys(epoll_wait(ep, &event, 1, 0)), 0);
	mq_put(empty, 1, 0, 3);
	ready(2, EPOLLIN);
	mq_take(empty, 1, 0, 3);
	mq_take(full, 1, 0, 2);
	ready(3, EPOLLOUT);
}

CR_TEST(.setup = setup, .verify = verify);
