// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file is truncated to a part of itself, and grows again, to another length.
 *
 * Each step's cut and growth depend on the whole file before, so neither its length nor what is
 * behind a former end may be of another moment.  Every fourth step the file is emptied.
 */
#include "step.h"

#define MAX	98304U
#define STEPS	60U

int main(void)
{
	int fd = step_open("data", O_RDWR | O_CREAT | O_TRUNC);
	static uint64_t part[MAX / 8];
	uint64_t chain = 1;
	off_t length = 0;
	unsigned int i;

	for (i = 0; i < STEPS; i++) {
		size_t grow;

		chain = step_mix_file(chain, fd);
		length = i % 4 ? (off_t)(chain % 8) * length / 8 & ~7L : 0;
		step_call(ftruncate(fd, length), "ftruncate");
		step_nap();
		chain = step_mix_file(chain, fd);
		grow = chain / 8 % (MAX / 8) * 8;
		step_fill(chain, part, grow);
		step_write(fd, part, grow, length);
		length += (off_t)grow;
		if (i % 3 == 0) {	/* the last of it by no write */
			length += 4096;
			step_call(ftruncate(fd, length), "ftruncate");
		}
		step_nap();
		if (i % 10 == 0)
			step_say(i, chain);
	}
	step_say(i, step_mix_file(chain, fd));
	return 0;
}
