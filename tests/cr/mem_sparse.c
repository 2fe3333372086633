// SPDX-License-Identifier: GPL-2.0-only
/*
 * 1 TiB reserved, 10 MiB of it touched here and there: the cost must follow what
 * was touched, and what was not must still be there to be touched.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(1UL << 40)
#define CHUNKS	160
#define CHUNK	(64UL << 10)

static uint8_t *mem;

static uint8_t *chunk(size_t i)
{
	return mem + i * (SIZE / CHUNKS / 4096 * 4096);
}

static void setup(void)
{
	mem = cr_map(SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE);
	cr_sys(madvise(mem, SIZE, MADV_NOHUGEPAGE));
	for (size_t i = 0; i < CHUNKS; i++)
		cr_fill(chunk(i), CHUNK, i);
}

static void verify(void)
{
	cr_check(cr_smaps(mem, "Rss") <= (long)(CHUNKS * CHUNK / 1024) + 64, "Rss grew");
	for (size_t i = 0; i < CHUNKS; i++) {
		cr_check_fill(chunk(i), CHUNK, i);
		chunk(i)[CHUNK] = 1;
	}
	mem[SIZE - 1] = 1;
}

CR_TEST(.setup = setup, .verify = verify);
