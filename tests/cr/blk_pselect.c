// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in pselect on an empty pipe of the program's own: it ends with 0, on time,
 * and is not interrupted.
 */
#include <signal.h>
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
	struct timespec ts = cr_timespec(ns);
	sigset_t mask;
	fd_set set;

	sigfillset(&mask);
	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	start = cr_now(CLOCK_MONOTONIC);
	cr_eq(cr_sys(pselect(fds[0] + 1, &set, NULL, NULL, &ts, &mask)), 0);
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
