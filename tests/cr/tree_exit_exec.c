// SPDX-License-Identifier: GPL-2.0-only
/*
 * A child that was to announce its end by SIGUSR1, whose parent has called exec since: it
 * gets SIGCHLD, and SIGUSR1 does not kill it.
 */
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static pid_t parent, child;

static void in_child(void)
{
	cr_await("verify");
	_exit(0);
}

static void in_parent(void *arg)
{
	pid_t pid = (pid_t)cr_sys(syscall(SYS_clone, SIGUSR1, NULL, NULL, NULL, NULL));
	char text[16];

	if (!pid)
		in_child();
	snprintf(text, sizeof(text), "%d", pid);
	cr_write_file(cr_path("child"), text, strlen(text));
	execlp("sleep", "sleep", "100000", NULL);
	cr_fail("exec");
}

static bool has_execed(void)
{
	char path[32], *comm;
	bool is;

	snprintf(path, sizeof(path), "/proc/%d/comm", parent);
	comm = cr_read(path, NULL);
	is = !strcmp(comm, "sleep\n");
	free(comm);
	return is;
}

static void setup(void)
{
	char *text;

	parent = cr_fork(in_parent, NULL);
	while (!has_execed())
		usleep(1000);
	text = cr_read(cr_path("child"), NULL);
	child = atoi(text);
	free(text);
}

static void verify(void)
{
	cr_mark("verify");
	cr_await_state(child, 'Z');
	cr_sys(kill(parent, SIGTERM));
	/* the lower number would be taken first */
	cr_eq(cr_wait_status(parent), SIGTERM);
}

CR_TEST(.setup = setup, .verify = verify);
