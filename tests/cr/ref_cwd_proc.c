// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: the working directory is what /proc says of a process of the tree, which
 * is not there yet when a restore needs it.
 */
#include "tests/cr/phase.h"

static void setup(void)
{
	cr_sys(chdir("/proc/self"));
}

static void verify(void)
{
	char cwd[64], want[64];

	cr_check(getcwd(cwd, sizeof(cwd)), "getcwd");
	snprintf(want, sizeof(want), "/proc/%d", getpid());
	cr_check(!strcmp(cwd, want), "%s", cwd);
}

CR_TEST(.setup = setup, .verify = verify);
