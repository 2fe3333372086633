// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that may not be executed by who runs it: root alone may, and it has become
 * another user; a child's file is no program at all any more.
 */
#include <sys/prctl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

#define OTHER	1001

static char exe[512];
static pid_t child;

static void look(void)
{
	char now[512] = "";

	cr_sys(readlink("/proc/self/exe", now, sizeof(now) - 1));
	cr_check(!strcmp(now, exe), "exe is %s, not %s", now, exe);
}

static void become_other(void *arg)
{
	cr_sys(setresgid(OTHER, OTHER, OTHER));
	cr_sys(setresuid(OTHER, OTHER, OTHER));
	cr_sys(prctl(PR_SET_DUMPABLE, 1));
	cr_mark("child");
	cr_wait_go();
	look();
}

static void setup(void)
{
	char *argv[5] = { NULL }, *text;
	size_t size;

	if (geteuid() != 0)
		cr_skip("needs root");
	if (!getenv("CR_EXECED")) {
		text = cr_read("/proc/self/exe", &size);
		cr_write_file(cr_path("prog"), text, size);
		free(text);
		cr_sys(chmod(cr_path("prog"), 0700));
		text = cr_read("/proc/self/cmdline", &size);
		for (int i = 0; i < 4 && size > 0; i++) {
			size_t n = strlen(text) + 1;

			argv[i] = text;
			text += n;
			size -= n < size ? n : size;
		}
		cr_sys(setenv("CR_EXECED", "1", 1));
		execv(cr_path("prog"), argv);
		cr_fail("exec");
	}
	cr_sys(readlink("/proc/self/exe", exe, sizeof(exe) - 1));
	child = cr_fork(become_other, NULL);
	cr_await("child");
	cr_sys(chmod(cr_path("prog"), 0600));
}

static void verify(void)
{
	look();
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
