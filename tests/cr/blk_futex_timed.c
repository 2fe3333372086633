// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in a futex wait with a relative timeout: it ends with ETIMEDOUT, on time.
 */
#include <linux/futex.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static uint32_t word;

static void block(void)
{
	uint64_t ns = cr_wait_ms() * 1000000ULL, start = cr_now(CLOCK_MONOTONIC);
	struct timespec ts = cr_timespec(ns);

	cr_eq(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0), -1);
	cr_eq(errno, ETIMEDOUT);
	cr_check_waited(start, ns);
}

static void verify(void)
{
}

CR_TEST(.wait = block, .verify = verify);
