// SPDX-License-Identifier: GPL-2.0-only
/*
 * MAP_NORESERVE: the flag of the mapping, and that of its neighbour without it.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

static uint8_t *free_of_charge, *charged;

static void setup(void)
{
	free_of_charge = cr_map(1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE);
	charged = cr_map(1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_fill(free_of_charge, 1 << 16, 1);
	cr_fill(charged, 1 << 16, 2);
}

static void verify(void)
{
	char flags[256];

	cr_vmflags(free_of_charge, flags, sizeof(flags));
	cr_check(strstr(flags, " nr"), "%s", flags);
	cr_vmflags(charged, flags, sizeof(flags));
	cr_check(!strstr(flags, " nr"), "%s", flags);
	cr_check_fill(free_of_charge, 1 << 16, 1);
	cr_check_fill(charged, 1 << 16, 2);
}

CR_TEST(.setup = setup, .verify = verify);
