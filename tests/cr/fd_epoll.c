// SPDX-License-Identifier: GPL-2.0-only
/*
 * Epoll descriptors: level and edge triggered items with their data, a one-shot item that has
 * fired, one epoll descriptor in another, items whose descriptor is closed or has another file by
 * now; items are changed and taken away by the numbers at which they were added.
 */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "tests/cr/phase.h"

static int ep, outer, level[2], edge[2], fired[2], moved, moved_at, event, high;

static void add(int to, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event e = { .events = events, .data.u64 = data };

	cr_sys(epoll_ctl(to, EPOLL_CTL_ADD, fd, &e));
}

static void setup(void)
{
	struct epoll_event e;

	ep = (int)cr_sys(epoll_create1(EPOLL_CLOEXEC));
	outer = (int)cr_sys(epoll_create1(0));
	cr_sys(pipe(level));
	cr_sys(pipe(edge));
	cr_sys(pipe(fired));
	event = (int)cr_sys(eventfd(0, EFD_NONBLOCK));
	add(ep, level[0], EPOLLIN, 0x1111222233334444ULL);
	add(ep, edge[0], EPOLLIN | EPOLLET, 2);
	add(ep, fired[0], EPOLLIN | EPOLLONESHOT, 3);
	/* the item of a descriptor that has another file by now, and of one that is closed */
	moved_at = (int)cr_sys(dup(event));
	add(ep, moved_at, EPOLLIN, 4);
	moved = (int)cr_sys(fcntl(moved_at, F_DUPFD, 60));
	cr_eq(cr_sys(dup2(level[1], moved_at)), moved_at);
	high = (int)cr_sys(fcntl(event, F_DUPFD, 700));
	add(ep, high, EPOLLIN, 5);
	close(high);
	add(outer, ep, EPOLLIN, 6);
	cr_eq(cr_sys(write(fired[1], "x", 1)), 1);
	cr_eq(cr_sys(epoll_wait(ep, &e, 1, 0)), 1);
	cr_eq(e.data.u64, 3);
	close(fired[1]);	/* a hangup, which the fired item must not report */
	cr_eq(epoll_wait(ep, &e, 1, 0), 0);
}

static void expect(int fd, uint64_t data, uint32_t events)
{
	struct epoll_event e[8];
	long nr = cr_sys(epoll_wait(fd, e, 8, 10000));
	bool found = false;

	for (long i = 0; i < nr; i++) {
		cr_check(e[i].data.u64 != 3, "the fired item reports %#x", e[i].events);
		if (e[i].data.u64 == data) {
			found = true;
			cr_eq(e[i].events, events);
		}
	}
	cr_check(found, "item %llx among %ld", (unsigned long long)data, nr);
}

static void verify(void)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = 30 };
	eventfd_t value;
	char c;

	cr_eq(epoll_wait(ep, &e, 1, 0), 0);
	cr_eq(fcntl(ep, F_GETFD), FD_CLOEXEC);
	cr_eq(cr_sys(write(level[1], "y", 1)), 1);
	expect(outer, 6, EPOLLIN);
	expect(ep, 0x1111222233334444ULL, EPOLLIN);
	expect(ep, 0x1111222233334444ULL, EPOLLIN);
	cr_eq(cr_sys(read(level[0], &c, 1)), 1);
	cr_eq(cr_sys(write(edge[1], "z", 1)), 1);
	expect(ep, 2, EPOLLIN);
	cr_eq(epoll_wait(ep, &e, 1, 0), 0);
	/* the same file, by the numbers at which it was added */
	cr_sys(eventfd_write(moved, 1));
	expect(ep, 4, EPOLLIN);
	expect(ep, 5, EPOLLIN);
	cr_eq(epoll_ctl(ep, EPOLL_CTL_DEL, event, &e), -1);
	cr_eq(errno, ENOENT);
	cr_eq(cr_sys(dup2(event, moved_at)), moved_at);
	cr_sys(epoll_ctl(ep, EPOLL_CTL_DEL, moved_at, &e));
	cr_eq(cr_sys(dup2(event, high)), high);
	cr_sys(epoll_ctl(ep, EPOLL_CTL_DEL, high, &e));
	cr_sys(eventfd_read(event, &value));
	e = (struct epoll_event){ .events = EPOLLIN | EPOLLONESHOT, .data.u64 = 30 };
	cr_sys(epoll_ctl(ep, EPOLL_CTL_MOD, fired[0], &e));
	expect(ep, 30, EPOLLIN | EPOLLHUP);
}

CR_TEST(.setup = setup, .verify = verify);
