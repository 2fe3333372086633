// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that the program does not want saved: zeros after a restore, untouched if it runs on;
 * what was included again, what is beside it, and what came to lie where something excluded was
 * unmapped are saved.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "libckptctl/ckptctl.h"
#include "tests/cr/phase.h"

#define PAGE	4096
#define PAGES	64
#define FIRST	8		/* excluded: from here on */
#define LAST	40		/* to before this one, but for */
#define AGAIN	20		/* these four */
#define GONE	50		/* discarded */

static uint8_t *mem, *moved;
static uint64_t born;

/* Ticks since the boot; another one after a restore. */
static uint64_t start_time(void)
{
	char *text = cr_read("/proc/self/stat", NULL), *at = strrchr(text, ')');
	unsigned long long start = 0;

	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	cr_eq(at && sscanf(at, "%llu", &start) == 1, true);
	return start;
}

static bool excluded(int page)
{
	return page >= FIRST && page < LAST && (page < AGAIN || page >= AGAIN + 4);
}

static void setup(void)
{
	born = start_time();
	mem = cr_map(PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	for (int i = 0; i < PAGES; i++)
		cr_fill(mem + i * PAGE, PAGE, (uint64_t)i + 1);
	/* whole pages of it only */
	cr_eq(ckpt_exclude(mem + FIRST * PAGE - 100, (LAST - FIRST) * PAGE + 200), 0);
	/* all pages that it touches */
	cr_eq(ckpt_include(mem + AGAIN * PAGE + 100, 3 * PAGE), 0);
	cr_eq(ckpt_discard(mem + GONE * PAGE, PAGE), 0);

	moved = cr_map(4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_eq(ckpt_exclude(moved, 4 * PAGE), 0);
	cr_sys(munmap(moved, 4 * PAGE));
	cr_eq(mmap(moved, 4 * PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == moved, true);
	cr_fill(moved, 4 * PAGE, 1000);
}

static bool is_zero(const uint8_t *page)
{
	for (int i = 0; i < PAGE; i++)
		if (page[i])
			return false;
	return true;
}

static void verify(void)
{
	bool restored = start_time() != born;

	for (int i = 0; i < PAGES; i++) {
		if (i == GONE || (restored && excluded(i)))
			cr_check(is_zero(mem + i * PAGE), "page %d", i);
		else
			cr_check_fill(mem + i * PAGE, PAGE, (uint64_t)i + 1);
	}
	cr_check_fill(moved, 4 * PAGE, 1000);
	/* The table came with it. */
	cr_eq(ckpt_include(mem, PAGES * PAGE), 0);
	cr_eq(ckpt_exclude(mem, 0), -EINVAL);
}

CR_TEST(.setup = setup, .verify = verify);
