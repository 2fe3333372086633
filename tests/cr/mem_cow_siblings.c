// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two children of one parent: a page that the parent has replaced since is still
 * shared by the two siblings, in one frame, and is not the parent's.
 */
#include <sys/mman.h>

#include "tests/cr/cow.h"

#define PAGES	256

static uint8_t *mem;
static pid_t child[2];
static bool visible;

static void in_child(void *arg)
{
	const char *name = arg;

	cr_mark(name);
	cr_wait_go();
	cr_check_fill(mem, PAGES * 4096, 1);
	if (*name == 'a') {
		cow_tell("pfns", mem, PAGES);
		cr_await("compared");
	} else {
		size_t shared = cow_shared("pfns", mem, 0, PAGES);

		cr_check(!visible || shared == PAGES, "%zu of %d pages shared",
			 shared, PAGES);
		cr_mark("compared");
	}
}

static void setup(void)
{
	mem = cr_map(PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_sys(madvise(mem, PAGES * 4096, MADV_NOHUGEPAGE));
	cr_fill(mem, PAGES * 4096, 1);
	visible = cow_visible(mem);
	child[0] = cr_fork(in_child, (void *)"a");
	child[1] = cr_fork(in_child, (void *)"b");
	cr_await("a");
	cr_await("b");
	cr_fill(mem, PAGES * 4096, 2);
}

static void verify(void)
{
	cr_join(child[0]);
	cr_join(child[1]);
	cr_check_fill(mem, PAGES * 4096, 2);
}

CR_TEST(.setup = setup, .verify = verify);
