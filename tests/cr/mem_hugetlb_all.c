// SPDX-License-Identifier: GPL-2.0-only
/*
 * Private huge pages without a reserve take all of the pool, and the program goes on
 * writing to each while an image is written: no page is wanted beside those it has.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define HUGE	(2UL << 20)
#define OTHER	(16UL << 20)	/* takes a while to write */

static uint8_t *mem;
static unsigned long nr, round;

static unsigned long pool_free(void)
{
	const char *path = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
	char *text = access(path, R_OK) ? NULL : cr_read(path, NULL);
	unsigned long pages = text ? strtoul(text, NULL, 10) : 0;

	free(text);
	return pages;
}

static void setup(void)
{
	uint8_t *other = cr_map(OTHER, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	cr_fill(other, OTHER, 7);
	nr = pool_free();
	if (!nr)
		cr_skip("no huge pages");
	mem = mmap(NULL, nr * HUGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
	cr_check(mem != MAP_FAILED, "%lu huge pages", nr);
	for (unsigned long i = 0; i < nr; i++)
		cr_fill(mem + i * HUGE, HUGE, i);
}

static void step(void)
{
	round++;
	for (unsigned long i = 0; i < nr; i++)
		*(volatile unsigned long *)(mem + i * HUGE) = round;
	cr_pause();
}

static void verify(void)
{
	for (unsigned long i = 0; i < nr; i++) {
		unsigned long word = *(volatile unsigned long *)(mem + i * HUGE);

		cr_eq(word, round);
		cr_fill(mem, HUGE, i);
		*(volatile unsigned long *)mem = round;
		if (i)
			cr_eq(memcmp(mem, mem + i * HUGE, HUGE), 0);
	}
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
