// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process registered for expedited membarriers still is: garbage collectors and
 * user-space RCU register once and then rely on it.
 */
#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static void setup(void)
{
	long have = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (have < 0 || !(have & MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		cr_skip("no expedited membarrier");
	cr_sys(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
	cr_sys(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0));
	cr_sys(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
}

static void step(void)
{
	cr_sys(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
}

CR_TEST(.setup = setup, .step = step, .verify = step);
