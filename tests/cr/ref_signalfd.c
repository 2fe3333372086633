// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a signalfd.
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
	cr_sys(sigprocmask(SIG_BLOCK, &set, NULL));
	fd = (int)cr_sys(signalfd(-1, &set, 0));
}

static void verify(void)
{
	struct signalfd_siginfo info;

	cr_sys(raise(SIGUSR1));
	cr_eq(cr_sys(read(fd, &info, sizeof(info))), sizeof(info));
	cr_eq(info.ssi_signo, SIGUSR1);
}

CR_TEST(.setup = setup, .verify = verify);
