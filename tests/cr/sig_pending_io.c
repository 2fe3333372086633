// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pending signal of a descriptor with F_SETSIG: which descriptor, and for what.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "tests/cr/phase.h"

static int fds[2];
static sigset_t set;

static void setup(void)
{
	sigset_t pending;

	cr_sys(pipe(fds));
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 5);
	cr_sys(sigprocmask(SIG_BLOCK, &set, NULL));
	cr_sys(fcntl(fds[0], F_SETOWN, getpid()));
	cr_sys(fcntl(fds[0], F_SETSIG, SIGRTMIN + 5));
	cr_sys(fcntl(fds[0], F_SETFL, O_ASYNC));
	cr_sys(write(fds[1], "x", 1));
	cr_sys(sigpending(&pending));
	cr_check(sigismember(&pending, SIGRTMIN + 5), "no signal");
}

static void verify(void)
{
	struct timespec none = { 0, 0 };
	siginfo_t info;

	cr_eq(cr_sys(sigtimedwait(&set, &info, &none)), SIGRTMIN + 5);
	cr_eq(info.si_fd, fds[0]);
	cr_check(info.si_band & POLLIN, "band %lx", (unsigned long)info.si_band);
	cr_sys(write(fds[1], "x", 1));
	cr_eq(cr_sys(sigtimedwait(&set, &info, &none)), SIGRTMIN + 5);
}

CR_TEST(.setup = setup, .verify = verify);
