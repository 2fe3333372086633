// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in poll on an empty pipe of the program's own: it ends with 0, on time,
 * and is not interrupted.
 */
#include <poll.h>

#include "tests/cr/phase.h"

static int fds[2];

static void setup(void)
{
	cr_sys(pipe(fds));
}

static void block(void)
{
	uint64_t ns = cr_wait_ms() * 1000000ULL, start;
	struct pollfd p = { .fd = fds[0], .events = POLLIN };

	start = cr_now(CLOCK_MONOTONIC);
	cr_eq(cr_sys(poll(&p, 1, (int)cr_wait_ms())), 0);
	cr_check_waited(start, ns);
}

static void verify(void)
{
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
