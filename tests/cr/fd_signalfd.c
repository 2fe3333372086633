// SPDX-License-Identifier: GPL-2.0-only
/*
 * A signalfd: its mask, a signal that was pending, with its value, and one that comes later; the
 * signal that it does not read stays pending.
 */
#include <signal.h>
#include <sys/signalfd.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 3);
	sigaddset(&set, SIGRTMAX);
	cr_sys(sigprocmask(SIG_BLOCK, &set, NULL));
	sigdelset(&set, SIGUSR1);
	fd = (int)cr_sys(signalfd(-1, &set, SFD_NONBLOCK));
	cr_sys(sigqueue(getpid(), SIGRTMIN + 3, (union sigval){ .sival_int = 4711 }));
	cr_sys(raise(SIGUSR1));
}

static void verify(void)
{
	struct signalfd_siginfo info;
	sigset_t pending;

	cr_eq(cr_sys(read(fd, &info, sizeof(info))), sizeof(info));
	cr_eq(info.ssi_signo, SIGRTMIN + 3);
	cr_eq(info.ssi_int, 4711);
	cr_eq(read(fd, &info, sizeof(info)), -1);
	cr_eq(errno, EAGAIN);
	cr_sys(raise(SIGRTMAX));
	cr_eq(cr_sys(read(fd, &info, sizeof(info))), sizeof(info));
	cr_eq(info.ssi_signo, SIGRTMAX);
	cr_sys(sigpending(&pending));
	cr_eq(sigismember(&pending, SIGUSR1), 1);
}

CR_TEST(.setup = setup, .verify = verify);
