// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sixteen processes with 2 MiB each, all different, all changing one page, which
 * share a table of results with the parent.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define WIDTH	16
#define SIZE	(2UL << 20)

static uint64_t *results;
static pid_t child[WIDTH];

static void in_child(void *arg)
{
	uint64_t me = (uintptr_t)arg, rounds = 0;
	uint8_t *mem = cr_map(SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	cr_fill(mem, SIZE, me);
	results[me] = 1;
	while (!cr_go()) {
		cr_fill(mem + me * 4096, 4096, ++rounds);
		usleep(5000);
	}
	cr_check_fill(mem, me * 4096, me);
	cr_check_fill(mem + me * 4096, 4096, rounds);
	results[me] = 100 + me;
}

static void setup(void)
{
	results = cr_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED);
	for (uintptr_t i = 0; i < WIDTH; i++)
		child[i] = cr_fork(in_child, (void *)i);
	for (int i = 0; i < WIDTH; i++)
		while (!*(volatile uint64_t *)&results[i])
			usleep(1000);
}

static void verify(void)
{
	for (int i = 0; i < WIDTH; i++)
		cr_join(child[i]);
	for (unsigned int i = 0; i < WIDTH; i++)
		cr_eq(results[i], 100 + i);
}

CR_TEST(.setup = setup, .verify = verify);
