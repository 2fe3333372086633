/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Phases of a job's I/O: the stretches of time in which it reads or writes. No I/O of its own.
 */
#ifndef STILLPOINT_PHASES_H
#define STILLPOINT_PHASES_H

#include <stddef.h>

struct io_phase {
	size_t begin;	/* second, from the series' first one */
	size_t seconds;
};

/*
 * phases_find() - find phases in a series of bytes a second
 * @rate: @n values, one for each second
 * @phases: room for @max; the first ones count
 *
 * Noise is taken out by a wavelet (Haar, hard threshold). Then a second is active above 1 MiB/s
 * and above 5 % of the 99th percentile; gaps of at most 3 s are closed, and phases of less than
 * 2 s dropped.
 *
 * Return: the number of phases found, or -ENOMEM.
 */
int phases_find(const double *rate, size_t n, struct io_phase *phases, size_t max);

#endif /* STILLPOINT_PHASES_H */
