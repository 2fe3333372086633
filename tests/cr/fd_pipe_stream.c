// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stream of numbered blocks through one pipe as fast as it goes, from a child: the
 * reader checks every byte; nothing is lost, doubled or out of order.
 */
#include "tests/cr/phase.h"

#define BLOCK	3000	/* no divisor of the pipe's size */

static int fds[2];
static pid_t child;
static uint64_t blocks;

static void in_child(void *arg)
{
	uint8_t buf[BLOCK];

	close(fds[0]);
	for (uint64_t i = 0; !cr_go(); i++) {
		cr_fill(buf, BLOCK, i);
		for (size_t done = 0; done < BLOCK;)
			done += (size_t)cr_sys(write(fds[1], buf + done, BLOCK - done));
	}
}

static bool take(void)
{
	uint8_t buf[BLOCK];
	size_t len = 0;
	ssize_t n;

	while (len < BLOCK) {
		n = cr_sys(read(fds[0], buf + len, BLOCK - len));
		if (n == 0)
			break;
		len += (size_t)n;
	}
	if (len == 0)
		return false;
	cr_eq(len, BLOCK);
	cr_check_fill(buf, BLOCK, blocks++);
	return true;
}

static void setup(void)
{
	cr_sys(pipe(fds));
	child = cr_fork(in_child, NULL);
	close(fds[1]);
}

static void step(void)
{
	for (int i = 0; i < 50 && take(); i++)
		;
}

static void verify(void)
{
	while (take())
		;
	cr_join(child);
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
