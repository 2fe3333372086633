/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A window on the generations of a job: the last so many before a number.
 *
 * Lists of jobs with thousands of generations are read a window at a time.
 */
#ifndef STILLPOINT_WINDOW_H
#define STILLPOINT_WINDOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct window {
	int64_t before;		/* generations below this number; 0: any */
	int64_t last;		/* at most so many, the newest; 0: all */
};

/* NULL, or an outcome: @args have a "before" or "last" that is no number above 0. */
json_t *window_take(const json_t *args, struct window *ret_window);

/* Cut a list of rows, objects whose "generation" is their number, ascending, to the window. */
void window_cut(const struct window *window, json_t *rows);

/* True if generation @number, which L1 lacks, may be in the window; @rows: L1's, already cut. */
bool window_may_have(const struct window *window, const json_t *rows, int64_t number);

#endif /* STILLPOINT_WINDOW_H */
