/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clocks that every room reads. Monotonic time is for deadlines and durations; it has no
 * meaning on another node or after the next boot. Real time (since 1970) is for people and for
 * other nodes, and may jump.
 *
 * Milliseconds are signed, because they are compared with deadlines that may lie in the past;
 * nanoseconds are unsigned, as in images and statistics.
 */
#ifndef STILLPOINT_CLOCK_H
#define STILLPOINT_CLOCK_H

#include <stdint.h>

int64_t clock_monotonic_ms(void);	/* CLOCK_MONOTONIC */
uint64_t clock_monotonic_ns(void);	/* CLOCK_MONOTONIC */
uint64_t clock_boottime_ns(void);	/* CLOCK_BOOTTIME: goes on while the machine sleeps */
uint64_t clock_realtime_ns(void);	/* CLOCK_REALTIME */
uint64_t clock_thread_cpu_ns(void);	/* what the calling thread has computed */

#endif /* STILLPOINT_CLOCK_H */
