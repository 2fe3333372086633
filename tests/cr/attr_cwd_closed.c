// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program of another user whose working directory is one of root's that nobody
 * else may search: as one that root started there and that gave up its rights.
 */
#include <grp.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static void setup(void)
{
	if (geteuid() != 0)
		cr_skip("not root");
	cr_sys(mkdir(cr_path("closed"), 0700));
	cr_sys(chdir(cr_path("closed")));
	cr_write_file("here", "", 0);
	cr_sys(setgroups(0, NULL));
	cr_sys(setresgid(12345, 12345, 12345));
	cr_sys(setresuid(12345, 12345, 12345));
}

static void verify(void)
{
	char cwd[512];

	cr_check(getcwd(cwd, sizeof(cwd)), "getcwd");
	cr_check(!strcmp(cwd, cr_path("closed")), "%s", cwd);
	/* no more rights than before */
	cr_eq(access("here", F_OK), -1);
	cr_eq(errno, EACCES);
	cr_eq(chdir(cr_path("closed")), -1);
	cr_eq(setuid(0), -1);
}

CR_TEST(.setup = setup, .verify = verify);
