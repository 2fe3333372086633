// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of a file are updated in place, as by programs whose data are larger than memory.
 *
 *   inplace open       the file is open all the time
 *   inplace closed     each step opens the file and closes it again
 *   inplace unlinked   the file has no name
 */
#include "step.h"

#define RECORDS	64U
#define SIZE	4096U
#define STEPS	70U

static uint64_t update(int fd, uint64_t chain)
{
	static uint64_t record[SIZE / 8];
	off_t at = (off_t)(chain % RECORDS) * SIZE;

	step_read(fd, record, SIZE, at);
	chain = step_mix_all(chain, record, SIZE);
	step_fill(chain, record, SIZE);
	step_write(fd, record, SIZE, at);
	return chain;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "open";
	int closed = !strcmp(how, "closed");
	int fd = step_open("data", O_RDWR | O_CREAT | O_TRUNC);
	uint64_t chain = 1;
	unsigned int i;

	step_call(ftruncate(fd, RECORDS * SIZE), "ftruncate");
	if (!strcmp(how, "unlinked"))
		step_call(unlink("data"), "unlink");
	for (i = 0; i < STEPS; i++) {
		chain = update(fd, chain);
		if (closed)
			step_call(close(fd), "close");
		step_nap();
		if (closed)
			fd = step_open("data", O_RDWR);
		chain = update(fd, chain);
		step_nap();
		if (i % 10 == 0)
			step_say(i, chain);
	}
	step_say(i, step_mix_file(chain, fd));
	return 0;
}
