// SPDX-License-Identifier: GPL-2.0-only
/*
 * Three generations: the middle one changed a third of what it inherited, the
 * grandchild another third; every page is right in each and the untouched third
 * is one frame in all three.
 */
#include <sys/mman.h>

#include "tests/cr/cow.h"

#define THIRD	200
#define PAGES	(3 * THIRD)

static uint8_t *mem;
static pid_t child;
static bool visible;

static void grandchild(void *arg)
{
	cr_fill(mem + THIRD * 4096, THIRD * 4096, 3);
	cr_mark("grandchild");
	cr_wait_go();
	cr_check_fill(mem, THIRD * 4096, 2);
	cr_check_fill(mem + THIRD * 4096, THIRD * 4096, 3);
	cr_check_fill(mem + 2 * THIRD * 4096, THIRD * 4096, 13);
	cow_tell("grandchild.pfns", mem, PAGES);
	cr_await("compared");
}

static void middle(void *arg)
{
	pid_t pid;

	cr_fill(mem, THIRD * 4096, 2);
	pid = cr_fork(grandchild, NULL);
	cr_await("grandchild");
	cr_mark("child");
	cr_wait_go();
	cr_check_fill(mem, THIRD * 4096, 2);
	cr_check_fill(mem + THIRD * 4096, THIRD * 4096, 12);
	cow_tell("child.pfns", mem, PAGES);
	cr_join(pid);
}

static void setup(void)
{
	mem = cr_map(PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_sys(madvise(mem, PAGES * 4096, MADV_NOHUGEPAGE));
	for (int i = 0; i < 3; i++)
		cr_fill(mem + i * THIRD * 4096, THIRD * 4096, 11 + i);
	visible = cow_visible(mem);
	child = cr_fork(middle, NULL);
	cr_await("child");
}

static void verify(void)
{
	size_t a = cow_shared("grandchild.pfns", mem, 2 * THIRD, THIRD);
	size_t b = cow_shared("child.pfns", mem, THIRD, 2 * THIRD);

	cr_check(!visible || a == THIRD, "%zu pages shared with the grandchild", a);
	cr_check(!visible || b == 2 * THIRD, "%zu pages shared with the child", b);
	cr_mark("compared");
	cr_join(child);
	for (int i = 0; i < 3; i++)
		cr_check_fill(mem + i * THIRD * 4096, THIRD * 4096, 11 + i);
}

CR_TEST(.setup = setup, .verify = verify);
