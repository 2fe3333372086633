// SPDX-License-Identifier: GPL-2.0-only
/*
 * Judgement on the rates of checkpoints; see probes.h.
 *
 * Median and median deviation, as one slow checkpoint must not make the next one look usual. Both
 * conditions have to hold: on a steady device three deviations are next to nothing, and on a shared
 * one 30 % is.
 */
#include "supervisor/iotrace/probes.h"

#include <math.h>
#include <stdlib.h>

#define SLOW_PART	0.7
#define SPREAD		(3 * 1.4826)	/* a median deviation is so much of a standard one */

static int probes_compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double probes_median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), probes_compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

enum probe_verdict probe_judge(const struct probe *earlier, size_t n, const struct probe *now,
			       double *ret_usual)
{
	double *rates = calloc(n + 1, sizeof(*rates)), usual, spread, rate;
	size_t i, k = 0;

	for (i = 0; rates && i < n; i++) {
		if (earlier[i].seconds > 0 && earlier[i].bytes >= now->bytes / 2 &&
		    earlier[i].bytes <= now->bytes * 2)
			rates[k++] = earlier[i].bytes / earlier[i].seconds;
	}
	if (k < PROBES_NEEDED || now->seconds <= 0) {
		free(rates);
		return PROBE_UNKNOWN;
	}
	usual = probes_median(rates, k);
	for (i = 0; i < k; i++)
		rates[i] = fabs(rates[i] - usual);
	spread = probes_median(rates, k);
	free(rates);
	rate = now->bytes / now->seconds;
	*ret_usual = usual;
	return rate < SLOW_PART * usual && rate < usual - SPREAD * spread ? PROBE_SLOW :
	       PROBE_USUAL;
}
