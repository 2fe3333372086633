// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in read on a signalfd: the signal arrives with its value and sender.
 */
#include <signal.h>
#include <sys/signalfd.h>

#include "tests/cr/phase.h"

static pid_t child;
static int fd;

static void in_child(void)
{
	cr_sys(sigqueue(getppid(), SIGUSR2, (union sigval){ .sival_int = 4711 }));
}

static void setup(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	cr_sys(sigprocmask(SIG_BLOCK, &set, NULL));
	fd = (int)cr_sys(signalfd(-1, &set, 0));
	child = cr_when_go(in_child);
}

static void block(void)
{
	struct signalfd_siginfo info;

	cr_eq(cr_sys(read(fd, &info, sizeof(info))), sizeof(info));
	cr_eq(info.ssi_signo, SIGUSR2);
	cr_eq(info.ssi_int, 4711);
	cr_eq(info.ssi_pid, (unsigned int)child);
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
