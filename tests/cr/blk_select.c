// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in select on an empty pipe of the program's own: it ends with 0, on time,
 * and is not interrupted.
 */
#include <sys/select.h>

#include "tests/cr/phase.h"

static int fds[2];

static void setup(void)
{
	cr_sys(pipe(fds));
}

static void block(void)
{
	uint64_t ns = cr_wait_ms() * 1000000ULL, start;
	struct timeval tv = { cr_wait_ms() / 1000, cr_wait_ms() % 1000 * 1000L };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	start = cr_now(CLOCK_MONOTONIC);
	cr_eq(cr_sys(select(fds[0] + 1, &set, NULL, NULL, &tv)), 0);
	cr_check_waited(start, ns);
}

static void verify(void)
{
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
