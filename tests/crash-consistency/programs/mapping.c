// SPDX-License-Identifier: GPL-2.0-only
/*
 * A grid in a file that is mapped shared, and whose descriptor is closed.
 *
 * Each step relaxes a band of rows from their neighbours; a second mapping of the file, for
 * reading only, gives what is mixed into the chain.  Every tenth step is written back (msync).
 */
#include <sys/mman.h>

#include "step.h"

#define ROWS	128U
#define COLUMNS	1024U
#define SIZE	(ROWS * COLUMNS * sizeof(uint32_t))
#define BAND	16U
#define STEPS	140U

static void relax(uint32_t *grid, unsigned int first, uint64_t chain)
{
	unsigned int row, column;

	for (row = first; row < first + BAND; row++) {
		const uint32_t *above = grid + (row + ROWS - 1) % ROWS * COLUMNS;
		const uint32_t *below = grid + (row + 1) % ROWS * COLUMNS;
		uint32_t *here = grid + row * COLUMNS;

		for (column = 0; column < COLUMNS; column++)
			here[column] += above[column] * 3 + below[column] * 5 + (uint32_t)chain;
	}
}

static void *map(int fd, int protection)
{
	void *at = mmap(NULL, SIZE, protection, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		step_call(-1, "mmap");
	return at;
}

int main(void)
{
	int fd = step_open("grid", O_RDWR | O_CREAT | O_TRUNC);
	const uint32_t *seen;
	uint64_t chain = 1;
	unsigned int i;
	uint32_t *grid;

	step_call(ftruncate(fd, SIZE), "ftruncate");
	grid = map(fd, PROT_READ | PROT_WRITE);
	seen = map(fd, PROT_READ);
	step_call(close(fd), "close");
	for (i = 0; i < STEPS; i++) {
		unsigned int first = (unsigned int)(chain % (ROWS / BAND)) * BAND;

		relax(grid, first, chain);
		chain = step_mix_all(chain, seen + first * COLUMNS, BAND * COLUMNS * 4);
		if (i % 10 == 0) {
			step_call(msync(grid, SIZE, MS_SYNC), "msync");
			step_say(i, chain);
		}
		step_nap();
	}
	step_say(i, step_mix_all(chain, seen, SIZE));
	return 0;
}
