// SPDX-License-Identifier: GPL-2.0-only
/*
 * Epoll descriptors that watch signalfds: each item waits for signals of the process that added it.
 * A child has one of its own, and one that it inherited, to which its parent's signals belong; an
 * edge-triggered item has a signal pending; a child waits in epoll_wait.
 */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static int ep, pending, signals, pending_signals;
static pid_t child;

static int watch(int to, int sig, uint32_t events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, sig);
	cr_sys(sigprocmask(SIG_BLOCK, &set, NULL));
	fd = (int)cr_sys(signalfd(-1, &set, SFD_NONBLOCK));
	cr_sys(epoll_ctl(to, EPOLL_CTL_ADD, fd, &event));
	return fd;
}

static void expect(int from, int fd, uint64_t data, int sig)
{
	struct signalfd_siginfo info;
	struct epoll_event event;

	cr_eq(cr_sys(epoll_wait(from, &event, 1, 20000)), 1);
	cr_eq(event.data.u64, data);
	cr_eq(cr_sys(read(fd, &info, sizeof(info))), sizeof(info));
	cr_eq(info.ssi_signo, sig);
	cr_eq(epoll_wait(from, &event, 1, 0), 0);
}

/* Waits for a signal of its own, and tells that by one to its parent. */
static void in_child(void *arg)
{
	int own = (int)cr_sys(epoll_create1(0));
	int fd = watch(own, SIGUSR2, EPOLLIN, 2);
	struct epoll_event event;

	cr_mark("watches");
	expect(own, fd, 2, SIGUSR2);
	/* the item that its parent has added is not for it */
	cr_eq(epoll_wait(ep, &event, 1, 0), 0);
	cr_sys(kill(getppid(), SIGUSR1));
	cr_await("read");
}

static void setup(void)
{
	ep = (int)cr_sys(epoll_create1(EPOLL_CLOEXEC));
	signals = watch(ep, SIGUSR1, EPOLLIN, 1);
	child = cr_fork(in_child, NULL);
	cr_await("watches");
	pending = (int)cr_sys(epoll_create1(0));
	pending_signals = watch(pending, SIGUSR2, EPOLLIN | EPOLLET, 3);
	cr_sys(raise(SIGUSR2));
}

static void verify(void)
{
	expect(pending, pending_signals, 3, SIGUSR2);
	cr_sys(kill(child, SIGUSR2));
	expect(ep, signals, 1, SIGUSR1);
	cr_mark("read");
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
