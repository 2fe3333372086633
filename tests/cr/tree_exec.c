// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program has replaced itself by exec of itself and left a child that runs
 * another program (sleep): each is the program it was, with its arguments.
 */
#include <signal.h>
#include <sys/prctl.h>

#include "tests/cr/phase.h"

static pid_t sleeper;

static void in_child(void *arg)
{
	execl("/bin/sleep", "a sleeper", "1000", NULL);
	_exit(127);
}

static void setup(void)
{
	char name[] = "exec", *argv[] = { name, NULL, NULL, NULL };
	char path[512], pid[16];
	ssize_t len;

	if (!getenv("CR_EXECED")) {
		size_t size;
		char *cmdline = cr_read("/proc/self/cmdline", &size);

		len = cr_sys(readlink("/proc/self/exe", path, sizeof(path) - 1));
		path[len] = '\0';
		argv[1] = cmdline + strlen(cmdline) + 1;
		snprintf(pid, sizeof(pid), "%d", getpid());
		cr_sys(setenv("CR_EXECED", pid, 1));
		execv(path, argv);
		cr_fail("exec");
	}
	sleeper = cr_fork(in_child, NULL);
	snprintf(path, sizeof(path), "/proc/%d/comm", sleeper);
	for (;;) {
		char *comm = cr_read(path, NULL);
		bool is = !strcmp(comm, "sleep\n");

		free(comm);
		if (is)
			break;
		usleep(1000);
	}
	cr_await_state(sleeper, 'S');
}

static void verify(void)
{
	char path[64], exe[256] = "", *cmdline;
	size_t size;

	cr_eq(atoi(getenv("CR_EXECED")), getpid());
	snprintf(path, sizeof(path), "/proc/%d/exe", sleeper);
	cr_sys(readlink(path, exe, sizeof(exe) - 1));
	cr_check(strstr(exe, "/bin/sleep"), "%s", exe);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", sleeper);
	cmdline = cr_read(path, &size);
	cr_check(size == 15 && !memcmp(cmdline, "a sleeper\0" "1000", 15), "%s", cmdline);
	free(cmdline);
	cr_sys(kill(sleeper, SIGKILL));
	cr_wait_status(sleeper);
}

CR_TEST(.setup = setup, .verify = verify);
