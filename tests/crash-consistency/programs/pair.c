// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two processes take turns with one file, each by an open file of its own, and with a lock.
 *
 * Each mixes what the other wrote last into a chain of its own.  A token in a pipe says whose
 * turn it is, so the result does not depend on the scheduler.
 */
#include <sys/wait.h>

#include "step.h"

#define RECORDS	16U
#define SIZE	4096U
#define STEPS	35U

static void lock(int fd, short type)
{
	struct flock whole = { .l_type = type, .l_whence = SEEK_SET };

	step_call(fcntl(fd, F_SETLKW, &whole), "fcntl(F_SETLKW)");
}

static uint64_t turn(int fd, uint64_t chain)
{
	static uint64_t record[SIZE / 8];
	off_t at;

	lock(fd, F_WRLCK);
	step_read(fd, record, SIZE, 0);		/* the first record says which is meant */
	chain = step_mix_all(chain, record, SIZE);
	at = (off_t)(1 + chain % (RECORDS - 1)) * SIZE;
	step_read(fd, record, SIZE, at);
	chain = step_mix_all(chain, record, SIZE);
	step_fill(chain, record, SIZE);
	step_write(fd, record, SIZE, at);
	step_nap();
	step_write(fd, record, SIZE, 0);
	lock(fd, F_UNLCK);
	return chain;
}

static uint64_t take_turns(int from, int to, uint64_t chain)
{
	int fd = step_open("shared", O_RDWR);
	unsigned int i;
	char token;

	for (i = 0; i < STEPS; i++) {
		if (step_call(read(from, &token, 1), "read") != 1)
			exit(2);
		chain = turn(fd, chain);
		step_nap();
		if (write(to, &token, 1) != 1 && i + 1 < STEPS)
			exit(2);
	}
	return chain;
}

int main(void)
{
	int there[2], back[2], status, fd = step_open("shared", O_RDWR | O_CREAT | O_TRUNC);
	uint64_t chain;
	pid_t child;

	step_call(ftruncate(fd, RECORDS * SIZE), "ftruncate");
	step_call(close(fd), "close");
	step_call(pipe(there), "pipe");
	step_call(pipe(back), "pipe");
	child = (pid_t)step_call(fork(), "fork");
	if (!child) {
		step_say(1, take_turns(there[0], back[1], 1));
		return 0;
	}
	step_call(write(back[1], "", 1), "write");
	chain = take_turns(back[0], there[1], 2);
	step_call(waitpid(child, &status, 0), "waitpid");
	step_say(2, chain);
	return status ? 2 : 0;
}
