// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: memory under a protection key that was freed meanwhile. The kernel lets the memory keep
 * the key, and gives the key to whoever asks next.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

static uint8_t *mem;
static int key;

static void setup(void)
{
	key = pkey_alloc(0, 0);
	if (key < 0)
		cr_skip("no protection keys");
	mem = cr_map(4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_sys(pkey_mprotect(mem, 4096, PROT_READ | PROT_WRITE, key));
	mem[0] = 1;
	cr_sys(pkey_free(key));
}

static void verify(void)
{
	cr_eq(mem[0], 1);
	cr_eq(pkey_alloc(0, 0), key);
}

CR_TEST(.setup = setup, .verify = verify);
