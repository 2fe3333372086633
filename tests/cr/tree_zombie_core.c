// SPDX-License-Identifier: GPL-2.0-only
/*
 * Zombies with more than an exit status: one left a core, one is in the process
 * group of a younger sibling.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static pid_t dumped, leader, member;

static void dumps(void *arg)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_CORE, &limit);
	cr_sys(chdir(cr_path(".")));
	for (;;)
		abort();
}

static void leads(void *arg)
{
	for (;;)
		pause();
}

static void ends(void *arg)
{
	cr_await("moved");
	_exit(7);
}

static void setup(void)
{
	siginfo_t info;

	dumped = cr_fork(dumps, NULL);
	member = cr_fork(ends, NULL);
	leader = cr_fork(leads, NULL);
	cr_sys(setpgid(leader, leader));
	cr_sys(setpgid(member, leader));
	cr_mark("moved");
	cr_await_state(dumped, 'Z');
	cr_await_state(member, 'Z');
	cr_sys(waitid(P_PID, (id_t)dumped, &info, WEXITED | WNOWAIT));
	if (info.si_code != CLD_DUMPED)
		cr_skip("no core is left here");
}

static void verify(void)
{
	siginfo_t info;
	int status;

	cr_sys(waitid(P_PID, (id_t)dumped, &info, WEXITED | WNOWAIT));
	cr_eq(info.si_code, CLD_DUMPED);
	cr_eq(info.si_status, SIGABRT);
	cr_eq(cr_wait_status(dumped), SIGABRT | 0x80);
	cr_eq(cr_sys(waitpid(-leader, &status, WNOHANG)), member);
	cr_eq(status, 7 << 8);
	cr_sys(kill(leader, SIGKILL));
	cr_wait_status(leader);
}

CR_TEST(.setup = setup, .verify = verify);
