// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in read on a timerfd: it ends when the timer expires, on time.
 */
#include <sys/timerfd.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	fd = (int)cr_sys(timerfd_create(CLOCK_MONOTONIC, 0));
}

static void block(void)
{
	uint64_t ns = cr_wait_ms() * 1000000ULL, start = cr_now(CLOCK_MONOTONIC), count;
	struct itimerspec spec = { .it_value = cr_timespec(ns) };

	cr_sys(timerfd_settime(fd, 0, &spec, NULL));
	cr_eq(cr_sys(read(fd, &count, sizeof(count))), 8);
	cr_eq(count, 1);
	cr_check_waited(start, ns);
}

static void verify(void)
{
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
