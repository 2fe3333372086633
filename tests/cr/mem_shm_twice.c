// SPDX-License-Identifier: GPL-2.0-only
/*
 * One page of shared memory visible at two addresses of one process (a mremap
 * of length 0 made the second): a store at one shows at the other.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

static uint8_t *a, *b;

static void setup(void)
{
	a = cr_map(16 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED);
	cr_fill(a, 16 * 4096, 1);
	b = mremap(a, 0, 16 * 4096, MREMAP_MAYMOVE);
	cr_check(b != MAP_FAILED && b != a, "mremap: %s", strerror(errno));
	cr_check_fill(b, 16 * 4096, 1);
}

static void verify(void)
{
	cr_check_fill(a, 16 * 4096, 1);
	cr_fill(b, 16 * 4096, 2);
	cr_check_fill(a, 16 * 4096, 2);
}

CR_TEST(.setup = setup, .verify = verify);
