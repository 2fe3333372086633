// SPDX-License-Identifier: GPL-2.0-only
/*
 * A zombie whose own children live on with the subreaper, and a zombie that leads
 * a process group in which others still are.
 */
#include <signal.h>
#include <sys/prctl.h>

#include "tests/cr/phase.h"

static pid_t leader, member;

static void in_member(void *arg)
{
	pid_t group = getpgid(0);

	cr_mark("member");
	cr_wait_go();
	cr_eq(getpgid(0), group);
	cr_sys(kill(0, SIGUSR1));	/* the group is there still */
	for (;;)
		pause();
}

static void in_leader(void *arg)
{
	pid_t pid;

	cr_sys(setpgid(0, 0));
	pid = cr_fork(in_member, NULL);
	cr_write_file(cr_path("pid"), &pid, sizeof(pid));
	_exit(3);
}

static void setup(void)
{
	char *text;

	cr_sys(prctl(PR_SET_CHILD_SUBREAPER, 1));
	leader = cr_fork(in_leader, NULL);
	cr_await_state(leader, 'Z');
	text = cr_read(cr_path("pid"), NULL);
	memcpy(&member, text, sizeof(member));
	free(text);
	cr_await("member");
}

static void verify(void)
{
	cr_await_state(leader, 'Z');
	cr_eq(cr_wait_status(member), SIGUSR1);
	cr_eq(cr_wait_status(leader), 3 << 8);
}

CR_TEST(.setup = setup, .verify = verify);
