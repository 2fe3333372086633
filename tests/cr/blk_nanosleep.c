// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in nanosleep: it sleeps as long as asked, and is not interrupted.
 */

#include "tests/cr/phase.h"

static void block(void)
{
	uint64_t ns = cr_wait_ms() * 1000000ULL, start = cr_now(CLOCK_MONOTONIC);
	struct timespec ts = cr_timespec(ns), left;

	cr_sys(nanosleep(&ts, &left));
	cr_check_waited(start, ns);
}

static void verify(void)
{
}

CR_TEST(.wait = block, .verify = verify);
