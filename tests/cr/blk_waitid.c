// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in waitid for one child of two: the siginfo tells which and how, and
 * WNOWAIT leaves it to be waited for again.
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static pid_t first, second;

static void exits(void)
{
	_exit(7);
}

static void kills_itself(void)
{
	kill(getpid(), SIGTERM);
}

static void setup(void)
{
	first = cr_when_go(exits);
	second = cr_when_go(kills_itself);
}

static void block(void)
{
	siginfo_t info;

	cr_sys(waitid(P_PID, (id_t)second, &info, WEXITED | WNOWAIT));
	cr_eq(info.si_pid, second);
	cr_eq(info.si_code, CLD_KILLED);
	cr_eq(info.si_status, SIGTERM);
}

static void verify(void)
{
	cr_eq(cr_wait_status(second), SIGTERM);
	cr_eq(cr_wait_status(first), 7 << 8);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
