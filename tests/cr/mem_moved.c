// SPDX-License-Identifier: GPL-2.0-only
/*
 * Anonymous memory that mremap has moved and grown, shared copy on write with a
 * child that still has it at the old place.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(64 * 4096)

static uint8_t *old, *mem;
static pid_t child;

static void in_child(void *arg)
{
	cr_wait_go();
	cr_check_fill(old, SIZE, 1);
}

static void setup(void)
{
	uint8_t *target;

	old = cr_map(SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_fill(old, SIZE, 1);
	child = cr_fork(in_child, NULL);
	target = cr_map(3 * SIZE, PROT_NONE, MAP_PRIVATE);
	mem = mremap(old, SIZE, 2 * SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, target + SIZE);
	cr_check(mem == target + SIZE, "mremap");
	cr_fill(mem + SIZE, SIZE, 2);
	cr_fill(mem, 4096, 3);
}

static void verify(void)
{
	cr_join(child);
	cr_check_fill(mem, 4096, 3);
	cr_check_fill(mem + SIZE, SIZE, 2);
	mem = mremap(mem, 2 * SIZE, SIZE, 0);
	cr_check(mem != MAP_FAILED, "mremap");
	cr_fill(mem, SIZE, 1);
	cr_check_fill(mem, SIZE, 1);
}

CR_TEST(.setup = setup, .verify = verify);
