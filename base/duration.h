/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Durations as people write them: 90, 90s, 15m, 1h30m, 2.5d, 1y; without a unit seconds.
 *
 * Units: ms s m min h d w y (365 days), each with a number before it.  Inside the program a
 * duration is a number of milliseconds.  No state, no allocation.
 */
#ifndef STILLPOINT_DURATION_H
#define STILLPOINT_DURATION_H

#include <stddef.h>
#include <stdint.h>

#define DURATION_MAX_MS	(1000LL * 365 * 24 * 3600 * 1000)	/* 1000 years */

/*
 * Parse @text into milliseconds, above 0.
 * 0; -EINVAL: not understood; -ERANGE: shorter than 1 ms or longer than DURATION_MAX_MS.
 */
int duration_parse(const char *text, int64_t *ret_ms);

/* Format @ms for people in its two largest units, "2 h 13 min"; @buf has 32 bytes. */
const char *duration_text(int64_t ms, char *buf);

#endif /* STILLPOINT_DURATION_H */
