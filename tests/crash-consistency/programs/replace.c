// SPDX-License-Identifier: GPL-2.0-only
/*
 * The whole state is written to a temporary name, and renamed over the last one.
 *
 * Nothing is open between the steps, as in programs that write restart files of their own.  The
 * last three states are kept under names of their own.
 */
#include "step.h"

#define SIZE	32768U
#define STEPS	50U

int main(void)
{
	static uint64_t state[SIZE / 8];
	uint64_t chain = 1;
	char name[32];
	unsigned int i;
	int fd;

	fd = step_open("state", O_WRONLY | O_CREAT | O_TRUNC);
	step_write(fd, state, SIZE, 0);
	step_call(close(fd), "close");
	for (i = 0; i < STEPS; i++) {
		fd = step_open("state", O_RDONLY);
		step_read(fd, state, SIZE, 0);
		step_call(close(fd), "close");
		chain = step_mix_all(chain, state, SIZE);
		step_fill(chain, state, SIZE);
		fd = step_open("state.new", O_WRONLY | O_CREAT | O_TRUNC);
		step_write(fd, state, SIZE / 2, 0);
		step_nap();
		step_write(fd, state + SIZE / 16, SIZE / 2, SIZE / 2);
		if (i % 2)
			step_call(fsync(fd), "fsync");
		step_call(close(fd), "close");
		snprintf(name, sizeof(name), "state.%u", i % 3);
		step_call(rename("state", name), "rename");
		step_nap();
		step_call(rename("state.new", "state"), "rename");
		step_nap();
		if (i % 10 == 0)
			step_say(i, chain);
	}
	step_say(i, step_mix_all(chain, state, SIZE));
	return 0;
}
