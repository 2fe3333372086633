// SPDX-License-Identifier: GPL-2.0-only
/*
 * States of which a symbolic link names the latest, as programs that write restart files keep one.
 *
 * Each step reads by the link, writes the next state, and lets the link lead there: by a rename of
 * another link over it, or by removing it first.
 */
#include "step.h"

#define SIZE	4096U
#define STATES	4U
#define STEPS	60U

static void latest_write(const char *name, const uint64_t *state)
{
	int fd = step_open(name, O_WRONLY | O_CREAT | O_TRUNC);

	step_write(fd, state, SIZE, 0);
	step_call(close(fd), "close");
}

static uint64_t latest_mix(uint64_t chain)
{
	char target[64] = "";
	int fd;

	step_call(readlink("latest", target, sizeof(target) - 1), "readlink");
	fd = step_open("latest", O_RDONLY);
	chain = step_mix_file(step_mix_all(chain, target, strlen(target)), fd);
	step_call(close(fd), "close");
	return chain;
}

static void latest_lead(const char *name, int rename_over)
{
	if (rename_over) {
		step_call(symlink(name, "latest.new"), "symlink");
		step_nap();
		step_call(rename("latest.new", "latest"), "rename");
		return;
	}
	step_call(unlink("latest"), "unlink");
	step_nap();
	step_call(symlink(name, "latest"), "symlink");
}

int main(void)
{
	static uint64_t state[SIZE / 8];
	uint64_t chain = 1;
	char name[32];
	unsigned int i;

	latest_write("state.0", state);
	step_call(symlink("state.0", "latest"), "symlink");
	for (i = 1; i <= STEPS; i++) {
		chain = latest_mix(chain);
		step_nap();
		step_fill(chain, state, SIZE);
		snprintf(name, sizeof(name), "state.%u", i % STATES);
		latest_write(name, state);
		step_nap();
		latest_lead(name, i % 2);
		if (i % 10 == 0)
			step_say(i, chain);
	}
	step_say(i, latest_mix(chain));
	return 0;
}
