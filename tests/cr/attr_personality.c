// SPDX-License-Identifier: GPL-2.0-only
/*
 * Personality: ADDR_NO_RANDOMIZE of a program that re-executed itself with it, so
 * that its stack and libraries are where they are without randomisation.
 */
#include <sys/personality.h>

#include "tests/cr/phase.h"

#define FLAGS	(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC)

static void setup(void)
{
	if (!getenv("CR_EXECED")) {
		char *cmdline = cr_read("/proc/self/cmdline", NULL);
		char *argv[3] = { cmdline, cmdline + strlen(cmdline) + 1, NULL };

		cr_sys(setenv("CR_EXECED", "1", 1));
		cr_sys(personality(ADDR_NO_RANDOMIZE));
		execv("/proc/self/exe", argv);
		cr_fail("exec");
	}
	cr_sys(personality(FLAGS));
}

static void verify(void)
{
	cr_eq(personality(0xffffffff), FLAGS);
}

CR_TEST(.setup = setup, .verify = verify);
