// SPDX-License-Identifier: GPL-2.0-only
/*
 * A shared anonymous object of which the parent has only the end mapped and the
 * child only the start, and the middle nobody: windows keep their offsets.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define PAGES	300

static uint8_t *mem;
static pid_t child;

static void in_child(void *arg)
{
	cr_sys(munmap(mem + 101 * 4096, (PAGES - 101) * 4096));
	cr_mark("child");
	cr_wait_go();
	cr_check_fill(mem, 100 * 4096, 1);
	cr_fill(mem + 100 * 4096, 4096, 9);
}

static void setup(void)
{
	mem = cr_map(PAGES * 4096, PROT_READ | PROT_WRITE, MAP_SHARED);
	cr_fill(mem, 100 * 4096, 1);
	cr_fill(mem + 150 * 4096, 4096, 2);
	cr_fill(mem + 200 * 4096, 100 * 4096, 3);
	child = cr_fork(in_child, NULL);
	cr_await("child");
	cr_sys(munmap(mem, 100 * 4096));
	cr_sys(munmap(mem + 101 * 4096, 99 * 4096));
}

static void verify(void)
{
	cr_join(child);
	cr_check_fill(mem + 100 * 4096, 4096, 9);
	cr_check_fill(mem + 200 * 4096, 100 * 4096, 3);
}

CR_TEST(.setup = setup, .verify = verify);
