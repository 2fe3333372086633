// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in sigtimedwait for a signal that never comes: EAGAIN, on time, never
 * EINTR.
 */
#include <signal.h>

#include "tests/cr/phase.h"

static sigset_t set;

static void setup(void)
{
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	cr_sys(sigprocmask(SIG_BLOCK, &set, NULL));
}

static void block(void)
{
	uint64_t ns = cr_wait_ms() * 1000000ULL, start = cr_now(CLOCK_MONOTONIC);
	struct timespec ts = cr_timespec(ns);

	cr_eq(sigtimedwait(&set, NULL, &ts), -1);
	cr_eq(errno, EAGAIN);
	cr_check_waited(start, ns);
}

static void verify(void)
{
	cr_sys(raise(SIGRTMIN + 3));
	cr_eq(sigwaitinfo(&set, NULL), SIGRTMIN + 3);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
