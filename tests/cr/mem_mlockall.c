// SPDX-License-Identifier: GPL-2.0-only
/*
 * mlockall(MCL_FUTURE): a mapping made after the wait is locked, too.
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/cr/phase.h"

static uint8_t *early;

static void setup(void)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };

	if (setrlimit(RLIMIT_MEMLOCK, &unlimited) < 0 ||
	    mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		cr_skip("mlockall: %s", strerror(errno));
	early = cr_map(16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_eq(cr_smaps(early, "Locked"), 64);
	early[0] = 1;
}

static void verify(void)
{
	uint8_t *late = cr_map(16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	cr_eq(early[0], 1);
	cr_eq(cr_smaps(early, "Locked"), 64);
	cr_eq(cr_smaps(late, "Locked"), 64);
	cr_sys(munlockall());
}

CR_TEST(.setup = setup, .verify = verify);
