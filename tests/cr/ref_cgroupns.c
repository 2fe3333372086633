// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: the whole tree in a cgroup namespace of its own.
 */
#include <sched.h>

#include "tests/cr/phase.h"

static void setup(void)
{
	if (unshare(CLONE_NEWCGROUP))
		cr_skip("unshare: %s", strerror(errno));
}

static void verify(void)
{
	char *text = cr_read("/proc/self/cgroup", NULL);

	cr_check(strstr(text, ":/\n"), "%s", text);
	free(text);
}

CR_TEST(.setup = setup, .verify = verify);
