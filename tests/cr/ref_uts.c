// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: the whole tree is in a UTS namespace that is not the dumper's.
 */
#include <sched.h>

#include "tests/cr/phase.h"

static void setup(void)
{
	if (unshare(CLONE_NEWUTS) < 0)
		cr_skip("unshare: %s", strerror(errno));
	cr_sys(sethostname("elsewhere", 9));
}

static void verify(void)
{
	char name[64];

	cr_sys(gethostname(name, sizeof(name)));
	cr_check(!strcmp(name, "elsewhere"), "the host is called %s", name);
}

CR_TEST(.setup = setup, .verify = verify);
