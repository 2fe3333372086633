// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared anonymous hugetlb memory between parent and child: one object.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define HUGE	(2UL << 20)

static uint8_t *mem;
static pid_t child;

static void in_child(void *arg)
{
	cr_wait_go();
	cr_check_fill(mem, HUGE, 1);
	cr_fill(mem, HUGE, 2);
}

static void setup(void)
{
	mem = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (mem == MAP_FAILED)
		cr_skip("no huge pages");
	cr_fill(mem, HUGE, 1);
	child = cr_fork(in_child, NULL);
}

static void verify(void)
{
	cr_join(child);
	cr_check_fill(mem, HUGE, 2);
	for (size_t i = 0; i < HUGE; i += 8)
		cr_eq(*(uint64_t *)(mem + HUGE + i), 0);
	cr_eq(cr_smaps(mem, "KernelPageSize"), 2048);
}

CR_TEST(.setup = setup, .verify = verify);
