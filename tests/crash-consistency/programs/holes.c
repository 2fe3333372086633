// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of a file are allocated, written, and punched out again (fallocate).
 *
 * A block that was punched reads as zeros, so each step's value says whether the block is of the
 * moment that the memory is of.
 */
#include "step.h"

#define BLOCKS	32U
#define SIZE	65536U
#define STEPS	70U

int main(void)
{
	int fd = step_open("blocks", O_RDWR | O_CREAT | O_TRUNC);
	static uint64_t block[SIZE / 8];
	uint64_t chain = 1;
	unsigned int i;

	step_call(fallocate(fd, 0, 0, BLOCKS * SIZE / 2), "fallocate");
	step_call(ftruncate(fd, BLOCKS * SIZE), "ftruncate");
	for (i = 0; i < STEPS; i++) {
		off_t at = (off_t)(chain % BLOCKS) * SIZE;

		step_read(fd, block, SIZE, at);
		chain = step_mix_all(chain, block, SIZE);
		if (chain & 1) {
			step_call(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
					    SIZE), "punching a hole");
		} else {
			step_call(fallocate(fd, 0, at, SIZE), "fallocate");
			step_nap();
			step_fill(chain, block, SIZE);
			step_write(fd, block, SIZE / 2, at);
		}
		step_nap();
		if (i % 10 == 0)
			step_say(i, chain);
	}
	step_say(i, step_mix_file(chain, fd));
	return 0;
}
