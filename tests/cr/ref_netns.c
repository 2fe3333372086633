// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: the whole tree in a network namespace of its own.
 */
#include <net/if.h>
#include <sched.h>

#include "tests/cr/phase.h"

static void setup(void)
{
	if (unshare(CLONE_NEWNET))
		cr_skip("unshare: %s", strerror(errno));
}

static void verify(void)
{
	cr_eq(if_nametoindex("lo"), 1);
	cr_eq(if_nametoindex("eth0"), 0);
}

CR_TEST(.setup = setup, .verify = verify);
