// SPDX-License-Identifier: GPL-2.0-only
/*
 * The system's clocks as numbers. Each call is one clock_gettime(), which cannot fail for the
 * clocks read here. Code that must not call a libc (engine/restore/task*.c, mpi-glue/lower)
 * does not use this file.
 */
#include <time.h>

#include "base/clock.h"

static uint64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int64_t clock_monotonic_ms(void)
{
	return (int64_t)(clock_monotonic_ns() / 1000000u);
}

uint64_t clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t clock_boottime_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

uint64_t clock_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t clock_thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
