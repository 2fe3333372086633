/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waiting for the locks and ports of a ckptd that was killed.
 *
 * They become free when the last of its threads and workers has ended, which is a moment after
 * its death can be seen.  A ckptd that is started again in that moment must not fail.
 */
#ifndef STILLPOINT_LEFTOVER_H
#define STILLPOINT_LEFTOVER_H

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#define LEFTOVER_MS		3000	/* limit for all waits of one start together */
#define LEFTOVER_STEP_MS	50

/*
 * leftover_wait() - decide whether to repeat a failed attempt; sleep before the repetition
 * @err: negative errno of the attempt
 * @waited_ms: waited so far; 0 before the first attempt
 *
 * It sleeps, so call it at startup only, never from an event loop.
 *
 * Return: true after a sleep: try again; false: the failure is final
 */
static inline bool leftover_wait(int err, unsigned int *waited_ms)
{
	const struct timespec step = { .tv_nsec = LEFTOVER_STEP_MS * 1000000L };

	if ((err != -EWOULDBLOCK && err != -EBUSY && err != -EADDRINUSE) ||
	    *waited_ms >= LEFTOVER_MS)
		return false;
	nanosleep(&step, NULL);
	*waited_ms += LEFTOVER_STEP_MS;
	return true;
}

#endif /* STILLPOINT_LEFTOVER_H */
