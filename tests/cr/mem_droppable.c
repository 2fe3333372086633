// SPDX-License-Identifier: GPL-2.0-only
/*
 * MAP_DROPPABLE memory, where random number generators keep their state: it stays
 * of that kind, a page of it is what it was or zero, and in a child zero.
 */
#include <string.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#ifndef MAP_DROPPABLE
#define MAP_DROPPABLE	0x08
#endif
#define PAGE	4096
#define SIZE	(16 * PAGE)

static uint8_t *mem;

static void setup(void)
{
	mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_DROPPABLE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		cr_skip("no MAP_DROPPABLE on this kernel");
	for (size_t i = 0; i < SIZE; i += PAGE)
		cr_fill(mem + i, PAGE, i);
}

static bool is_zero(const uint8_t *page)
{
	for (int i = 0; i < PAGE; i++)
		if (page[i])
			return false;
	return true;
}

static void in_child(void *arg)
{
	for (size_t i = 0; i < SIZE; i += PAGE)
		cr_eq(is_zero(mem + i), true);
}

static void verify(void)
{
	char flags[256];

	for (size_t i = 0; i < SIZE; i += PAGE)
		if (!is_zero(mem + i))
			cr_check_fill(mem + i, PAGE, i);
	cr_vmflags(mem, flags, sizeof(flags));
	cr_eq(strstr(flags, "dp") != NULL, true);
	cr_fill(mem, SIZE, 2);
	cr_join(cr_fork(in_child, NULL));
}

CR_TEST(.setup = setup, .verify = verify);
