// SPDX-License-Identifier: GPL-2.0-only
/*
 * MADV_DONTFORK memory keeps its content, and a child does not have it; neither
 * a child made before the wait nor one made after.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(128 * 4096)

static uint8_t *mem;
static pid_t early;

static void in_child(void *arg)
{
	if (arg)
		cr_wait_go();
	cr_eq(msync(mem, SIZE, MS_ASYNC), -1);
	cr_eq(errno, ENOMEM);
}

static void setup(void)
{
	mem = cr_map(SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_sys(madvise(mem, SIZE, MADV_DONTFORK));
	cr_fill(mem, SIZE, 1);
	early = cr_fork(in_child, mem);
}

static void verify(void)
{
	cr_check_fill(mem, SIZE, 1);
	cr_join(early);
	cr_join(cr_fork(in_child, NULL));
}

CR_TEST(.setup = setup, .verify = verify);
