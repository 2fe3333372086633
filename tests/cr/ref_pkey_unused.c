// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a protection key that is allocated, with no memory under it yet.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

static int key;

static void setup(void)
{
	key = pkey_alloc(0, 0);
	if (key < 0)
		cr_skip("no protection keys");
}

static void verify(void)
{
	void *mem = cr_map(4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	cr_sys(pkey_mprotect(mem, 4096, PROT_READ | PROT_WRITE, key));
}

CR_TEST(.setup = setup, .verify = verify);
