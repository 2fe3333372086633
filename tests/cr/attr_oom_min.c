// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who may not lower oom_score_adj may go back to the value from which it was raised, and
 * no further.
 */
#include <fcntl.h>
#include <sys/prctl.h>

#include "tests/cr/phase.h"

#define OTHER	1001
#define ADJ	"/proc/self/oom_score_adj"

static pid_t child;

static int set(const char *text)
{
	int fd = (int)cr_sys(open(ADJ, O_WRONLY));
	int ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;

	close(fd);
	return ret;
}

static void in_child(void *arg)
{
	cr_eq(set("100"), 0);		/* may be undercut by privileged ones only */
	cr_sys(setresgid(OTHER, OTHER, OTHER));
	cr_sys(setresuid(OTHER, OTHER, OTHER));
	cr_sys(prctl(PR_SET_DUMPABLE, 1));
	cr_eq(set("500"), 0);
	cr_mark("child");
	cr_wait_go();
	cr_eq(set("99"), -EACCES);
	cr_eq(set("100"), 0);
}

static void setup(void)
{
	if (geteuid() != 0)
		cr_skip("needs root");
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
