// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file of several names: written by one, read by another, names come and go.
 *
 * Every ninth step replaces the file behind the first name; the other names keep the old one.
 */
#include "step.h"

#define SIZE	8192U
#define NAMES	4U
#define STEPS	70U

static uint64_t names_mix(uint64_t chain)
{
	static uint64_t data[SIZE / 8];
	char name[32];
	unsigned int i;
	int fd;

	for (i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "link.%u", i);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		chain = step_mix(chain, fd >= 0);
		if (fd < 0)
			continue;
		step_read(fd, data, SIZE, 0);
		chain = step_mix_all(chain, data, SIZE);
		step_call(close(fd), "close");
	}
	return chain;
}

int main(void)
{
	int fd = step_open("first", O_RDWR | O_CREAT | O_TRUNC);
	static uint64_t data[SIZE / 8];
	uint64_t chain = 1;
	char name[32];
	unsigned int i;

	step_write(fd, data, SIZE, 0);
	for (i = 0; i < STEPS; i++) {
		chain = names_mix(chain);
		snprintf(name, sizeof(name), "link.%u", (unsigned int)(chain % NAMES));
		if (unlink(name))
			step_call(link("first", name), "link");
		step_nap();
		if (i % 9 == 8) {
			step_call(close(fd), "close");
			step_call(unlink("first"), "unlink");
			fd = step_open("first", O_RDWR | O_CREAT | O_EXCL);
		}
		step_fill(chain, data, SIZE);
		step_write(fd, data, SIZE, 0);
		step_nap();
		if (i % 10 == 0)
			step_say(i, chain);
	}
	step_say(i, names_mix(chain));
	return 0;
}
