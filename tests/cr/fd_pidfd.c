// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pidfds: of a child, which also epoll watches, of the process itself, and of a child that has
 * ended and was waited for.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static pid_t child;
static int fd, self, gone, epoll;

static int pidfd(pid_t pid, unsigned int flags)
{
	return (int)cr_sys(syscall(SYS_pidfd_open, pid, flags));
}

static long send_signal(int to, int sig)
{
	return syscall(SYS_pidfd_send_signal, to, sig, NULL, 0);
}

static void in_child(void *arg)
{
	for (;;)
		pause();
}

static void ends(void *arg)
{
	cr_await("opened");
}

static void setup(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 7 };
	pid_t short_lived = cr_fork(ends, NULL);

	gone = pidfd(short_lived, 0);
	cr_mark("opened");
	cr_join(short_lived);
	child = cr_fork(in_child, NULL);
	fd = pidfd(child, O_NONBLOCK);
	self = pidfd(getpid(), 0);
	epoll = (int)cr_sys(epoll_create1(0));
	cr_sys(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
}

static void verify(void)
{
	struct epoll_event event;
	struct pollfd poll_gone = { .fd = gone, .events = POLLIN };

	cr_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	cr_eq(fcntl(self, F_GETFL) & O_NONBLOCK, 0);
	cr_sys(send_signal(self, 0));
	cr_eq(send_signal(gone, 0), -1);
	cr_eq(errno, ESRCH);
	cr_eq(cr_sys(poll(&poll_gone, 1, 0)), 1);
	cr_eq(cr_sys(epoll_wait(epoll, &event, 1, 0)), 0);
	cr_sys(send_signal(fd, SIGTERM));
	cr_eq(cr_sys(epoll_wait(epoll, &event, 1, 10000)), 1);
	cr_eq(event.data.u32, 7);
	cr_eq(cr_wait_status(child), SIGTERM);
}

CR_TEST(.setup = setup, .verify = verify);
