// SPDX-License-Identifier: GPL-2.0-only
/*
 * An epoll descriptor that watches an io_uring with an unread completion, and one without.
 */
#include <sys/epoll.h>

#include "tests/cr/uring.h"

static struct uring full, empty;
static int ep;

static void setup(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 1 };

	uring_init(&full, 4, 0);
	uring_init(&empty, 4, 0);
	uring_queue(&full, IORING_OP_NOP, -1, 10);
	uring_submit(&full, 1);
	ep = (int)cr_sys(epoll_create1(0));
	cr_sys(epoll_ctl(ep, EPOLL_CTL_ADD, full.fd, &event));
	event.data.u64 = 2;
	cr_sys(epoll_ctl(ep, EPOLL_CTL_ADD, empty.fd, &event));
}

static void is_ready(uint64_t which)
{
	struct epoll_event event[2];

	cr_eq(cr_sys(epoll_wait(ep, event, 2, 1000)), 1);
	cr_eq(event[0].data.u64, which);
}

static void verify(void)
{
	struct epoll_event event;

	is_ready(1);
	uring_take(&full, 10, 0);
	cr_eq(cr_sys(epoll_wait(ep, &event, 1, 0)), 0);
	uring_queue(&empty, IORING_OP_NOP, -1, 11);
	uring_submit(&empty, 1);
	is_ready(2);
	uring_take(&empty, 11, 0);
}

CR_TEST(.setup = setup, .verify = verify);
