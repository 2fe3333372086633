// SPDX-License-Identifier: GPL-2.0-only
/*
 * A child shares its memory with the parent copy on write and each has changed
 * a quarter: both see their own data, and what was shared in one frame still is.
 */
#include <sys/mman.h>

#include "tests/cr/cow.h"

#define PAGES	1024
#define Q	(PAGES / 4)

static uint8_t *mem;
static pid_t child;
static bool visible;

static void in_child(void *arg)
{
	cr_fill(mem, Q * 4096, 2);
	cr_mark("child");
	cr_wait_go();
	cr_check_fill(mem, Q * 4096, 2);
	for (size_t i = Q; i < PAGES; i++)
		cr_check_fill(mem + i * 4096, 4096, 100 + i);
	cow_tell("pfns", mem, PAGES);
	cr_await("compared");
	memset(mem, 3, PAGES * 4096);
}

static void setup(void)
{
	mem = cr_map(PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_sys(madvise(mem, PAGES * 4096, MADV_NOHUGEPAGE));
	for (size_t i = 0; i < PAGES; i++)
		cr_fill(mem + i * 4096, 4096, 100 + i);
	visible = cow_visible(mem);
	child = cr_fork(in_child, NULL);
	cr_await("child");
	cr_fill(mem + 3 * Q * 4096, Q * 4096, 1);
}

static void verify(void)
{
	size_t shared = cow_shared("pfns", mem, Q, 2 * Q);

	cr_check(!visible || shared == 2 * Q, "%zu of %d pages are shared", shared, 2 * Q);
	cr_mark("compared");
	cr_join(child);
	for (size_t i = 0; i < 3 * Q; i++)
		cr_check_fill(mem + i * 4096, 4096, 100 + i);
	cr_check_fill(mem + 3 * Q * 4096, Q * 4096, 1);
}

CR_TEST(.setup = setup, .verify = verify);
