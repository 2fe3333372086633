// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a NUMA policy of a thread.
 */
#include <linux/mempolicy.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static void setup(void)
{
	unsigned long nodes = 1;

	if (syscall(SYS_set_mempolicy, MPOL_PREFERRED, &nodes, 64) < 0)
		cr_skip("set_mempolicy: %s", strerror(errno));
}

static void verify(void)
{
	int mode = -1;

	cr_sys(syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0));
	cr_eq(mode, MPOL_PREFERRED);
}

CR_TEST(.setup = setup, .verify = verify);
