/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a ckptd that was killed had, its locks and ports, is free when the last of its threads and workers
 * has ended: a moment after its death can be seen.  Whoever starts it again at once is not to be refused.
 */
#ifndef STILLPOINT_LEFTOVER_H
#define STILLPOINT_LEFTOVER_H

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#define LEFTOVER_MS		3000	/* of one start in all */
#define LEFTOVER_STEP_MS	50

/*
 * leftover_wait() - after an attempt: try it again?
 * @err: of the attempt, -errno
 * @waited_ms: 0 before the first attempt
 *
 * Sleeps before it says so, thus is for a start only and not for a loop that serves others.
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
