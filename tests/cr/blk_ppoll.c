// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in ppoll on an empty pipe of the program's own: it ends with 0, on time,
 * and is not interrupted.
 */
#include <poll.h>
#include <signal.h>

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
	struct timespec ts = cr_timespec(ns);
	sigset_t mask;

	sigfillset(&mask);
	start = cr_now(CLOCK_MONOTONIC);
	cr_eq(cr_sys(ppoll(&p, 1, &ts, &mask)), 0);
	cr_check_waited(start, ns);
}

static void verify(void)
{
	sigset_t mask;

	/* the mask of the call is not left behind */
	sigprocmask(SIG_SETMASK, NULL, &mask);
	cr_check(!sigismember(&mask, SIGUSR1), "mask");
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
