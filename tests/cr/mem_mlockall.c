// SPDX-License-Identifier: GPL-2.0-only
/*
 * mlockall(MCL_FUTURE): a mapping made after the wait is locked, too.
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/cr/phase.h"

static uint8_t *early;

/* the mapping may have merged with a neighbour */
static void check_locked(const uint8_t *mem)
{
	unsigned char present[16];
	char flags[256];

	cr_vmflags(mem, flags, sizeof(flags));
	cr_check(strstr(flags, " lo"), "VmFlags:%s", flags);
	cr_sys(mincore((void *)mem, 16 * 4096, present));
	for (int i = 0; i < 16; i++)
		cr_check(present[i] & 1, "page %d is not there", i);
}

static void setup(void)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };

	if (setrlimit(RLIMIT_MEMLOCK, &unlimited) < 0 ||
	    mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		cr_skip("mlockall: %s", strerror(errno));
	early = cr_map(16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	early[0] = 1;
	check_locked(early);
}

static void verify(void)
{
	uint8_t *late = cr_map(16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	cr_eq(early[0], 1);
	check_locked(early);
	check_locked(late);
	cr_sys(munlockall());
}

CR_TEST(.setup = setup, .verify = verify);
