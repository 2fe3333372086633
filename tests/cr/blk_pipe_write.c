// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in write on a full pipe, some of the data already in: the reader gets
 * every byte once, and write reports the whole length.
 */

#include "tests/cr/phase.h"

#define SIZE	300000

static int fds[2];
static uint8_t data[SIZE];
static pid_t child;

static void in_child(void)
{
	uint8_t *buf = malloc(SIZE);
	size_t len = 0;
	ssize_t n;

	close(fds[1]);
	while (len < SIZE && (n = cr_sys(read(fds[0], buf + len, SIZE - len))) > 0)
		len += (size_t)n;
	cr_eq(len, SIZE);
	cr_check_fill(buf, SIZE, 1);
}

static void setup(void)
{
	cr_sys(pipe(fds));
	cr_fill(data, SIZE, 1);
	child = cr_when_go(in_child);
}

static void block(void)
{
	size_t done = 0;

	/* a checkpoint may cut a write short, as a signal may, but must not repeat it */
	while (done < SIZE)
		done += (size_t)cr_sys(write(fds[1], data + done, SIZE - done));
	cr_eq(done, SIZE);
}

static void verify(void)
{
	close(fds[1]);
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
