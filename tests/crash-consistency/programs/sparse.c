// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file of 4 GiB on a disk that has less, nearly all of it holes.
 *
 * Each step reads and writes one of a few places far apart; half of them lie across the
 * boundary of two pages.
 */
#include "step.h"

#define PLACES	48U
#define APART	(4ULL << 30 >> 6)
#define SIZE	512U
#define STEPS	140U

int main(void)
{
	int fd = step_open("sparse", O_RDWR | O_CREAT | O_TRUNC);
	static uint64_t part[SIZE / 8];
	uint64_t chain = 1;
	unsigned int i;

	step_call(ftruncate(fd, 4LL << 30), "ftruncate");
	for (i = 0; i < STEPS; i++) {
		uint64_t place = chain % PLACES;
		off_t at = (off_t)(place * APART + (place & 1 ? 4096 - SIZE / 2 : 0));

		step_read(fd, part, SIZE, at);
		chain = step_mix_all(chain, part, SIZE);
		step_fill(chain, part, SIZE);
		step_write(fd, part, SIZE, at);
		step_nap();
		if (i % 20 == 0)
			step_say(i, chain);
	}
	step_say(i, chain);
	return 0;
}
