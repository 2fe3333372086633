// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in sigwaitinfo: the signal arrives with its value and sender.
 */
#include <signal.h>

#include "tests/cr/phase.h"

static sigset_t set;
static pid_t child, parent;

static void in_child(void)
{
	cr_sys(sigqueue(parent, SIGRTMIN + 1, (union sigval){ .sival_int = 4711 }));
}

static void setup(void)
{
	parent = getpid();
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	cr_sys(sigprocmask(SIG_BLOCK, &set, NULL));
	child = cr_when_go(in_child);
}

static void block(void)
{
	siginfo_t info;

	cr_eq(cr_sys(sigwaitinfo(&set, &info)), SIGRTMIN + 1);
	cr_eq(info.si_value.sival_int, 4711);
	cr_eq(info.si_pid, child);
	cr_eq(info.si_code, SI_QUEUE);
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
