// SPDX-License-Identifier: GPL-2.0-only
/*
 * 64 MiB of private anonymous memory: full pages, pages written once and zeroed
 * again, holes; the first page of each MiB keeps changing while the program waits.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(64UL << 20)
#define MIB	(1UL << 20)

static uint8_t *mem;
static uint64_t rounds;

static void setup(void)
{
	mem = cr_map(SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	for (size_t at = 0; at < SIZE; at += MIB) {
		cr_fill(mem + at, MIB / 2, at);
		memset(mem + at + MIB / 2, 1, MIB / 4);
		memset(mem + at + MIB / 2, 0, MIB / 4);
	}
}

static void step(void)
{
	rounds++;
	for (size_t at = 0; at < SIZE; at += MIB)
		cr_fill(mem + at, 4096, at + rounds);
}

static void verify(void)
{
	for (size_t at = 0; at < SIZE; at += MIB) {
		cr_check_fill(mem + at, 4096, at + rounds);
		for (size_t i = 4096; i < MIB / 2; i += 8)
			cr_check(*(uint64_t *)(mem + at + i) != 0, "lost %#zx", at + i);
		for (size_t i = MIB / 2; i < MIB; i += 8)
			cr_check(*(uint64_t *)(mem + at + i) == 0, "dirt %#zx", at + i);
		cr_fill(mem + at, MIB / 2, at);
		cr_check_fill(mem + at, MIB / 2, at);
	}
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
