// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a child in a Landlock sandbox, which may not make directories; it still
 * may not afterwards.
 */
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static pid_t child;

static void in_child(void *arg)
{
	struct landlock_ruleset_attr attr = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_DIR,
	};
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	cr_sys(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	cr_sys(syscall(SYS_landlock_restrict_self, cr_sys(fd), 0));
	close(fd);
	cr_mark("child");
	cr_wait_go();
	cr_eq(mkdir(cr_path("forbidden"), 0700), -1);
	cr_eq(errno, EACCES);
}

static void setup(void)
{
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 0)
		cr_skip("no Landlock");
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
