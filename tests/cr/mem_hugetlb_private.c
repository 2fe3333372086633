// SPDX-License-Identifier: GPL-2.0-only
/*
 * Private hugetlb memory, one page of it untouched; a child shares it and each
 * side has changed one page.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define HUGE	(2UL << 20)

static uint8_t *mem;
static pid_t child;

static void in_child(void *arg)
{
	cr_fill(mem + HUGE, HUGE, 5);
	cr_mark("child");
	cr_wait_go();
	cr_check_fill(mem, HUGE, 1);
	cr_check_fill(mem + HUGE, HUGE, 5);
}

static void setup(void)
{
	mem = mmap(NULL, 4 * HUGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (mem == MAP_FAILED)
		cr_skip("no huge pages");
	cr_fill(mem, HUGE, 1);
	cr_fill(mem + HUGE, HUGE, 2);
	cr_fill(mem + 3 * HUGE, HUGE, 4);
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_join(child);
	cr_check_fill(mem, HUGE, 1);
	cr_check_fill(mem + HUGE, HUGE, 2);
	cr_check_fill(mem + 3 * HUGE, HUGE, 4);
	cr_eq(cr_smaps(mem, "KernelPageSize"), 2048);
	for (size_t i = 0; i < HUGE; i += 8)
		cr_eq(*(uint64_t *)(mem + 2 * HUGE + i), 0);
}

CR_TEST(.setup = setup, .verify = verify);
