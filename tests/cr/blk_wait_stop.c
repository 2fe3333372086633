// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in waitid for a child to stop; then it is continued and tells that, too.
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static pid_t child;

static void in_child(void)
{
	cr_sys(raise(SIGSTOP));
}

static void setup(void)
{
	child = cr_when_go(in_child);
}

static void block(void)
{
	siginfo_t info;

	cr_sys(waitid(P_PID, (id_t)child, &info, WSTOPPED));
	cr_eq(info.si_code, CLD_STOPPED);
	cr_eq(info.si_status, SIGSTOP);
}

static void verify(void)
{
	siginfo_t info;

	cr_sys(kill(child, SIGCONT));
	cr_sys(waitid(P_PID, (id_t)child, &info, WCONTINUED));
	cr_eq(info.si_code, CLD_CONTINUED);
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
