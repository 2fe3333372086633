// SPDX-License-Identifier: GPL-2.0-only
/*
 * Phases by a wavelet; see phases.h.
 *
 * The Haar transform keeps edges where they are. Its finest details are mostly noise: their median
 * tells how strong the noise is, and every detail below the universal threshold is dropped. A
 * series whose seconds come in equal pairs has no noise, and stays as it is.
 */
#include "supervisor/iotrace/phases.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ACTIVE_MIN	1048576.0	/* bytes a second */
#define ACTIVE_PART	0.05		/* of the 99th percentile */
#define GAP_MAX		3		/* seconds */
#define PHASE_MIN	2

static int phases_compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* One step of the transform: sums into the first half, details into the second. */
static void phases_split(double *v, double *other, size_t n)
{
	size_t i;

	for (i = 0; i < n / 2; i++) {
		other[i] = (v[2 * i] + v[2 * i + 1]) * M_SQRT1_2;
		other[n / 2 + i] = (v[2 * i] - v[2 * i + 1]) * M_SQRT1_2;
	}
	memcpy(v, other, n * sizeof(*v));
}

static void phases_join(double *v, double *other, size_t n)
{
	size_t i;

	for (i = 0; i < n / 2; i++) {
		other[2 * i] = (v[i] + v[n / 2 + i]) * M_SQRT1_2;
		other[2 * i + 1] = (v[i] - v[n / 2 + i]) * M_SQRT1_2;
	}
	memcpy(v, other, n * sizeof(*v));
}

/*
 * Take noise out of @v, whose length @n is a power of two, with @real values before the padding;
 * @other has room for as many.
 */
static void phases_denoise(double *v, double *other, size_t n, size_t real)
{
	const size_t pairs = real / 2;
	double limit;
	size_t m, i;

	for (m = n; m > 1; m /= 2)
		phases_split(v, other, m);
	for (i = 0; i < pairs; i++)
		other[i] = fabs(v[n / 2 + i]);
	qsort(other, pairs, sizeof(*other), phases_compare);
	limit = pairs ? other[pairs / 2] / 0.6745 * sqrt(2 * log((double)real)) : 0;
	for (i = 1; i < n; i++) {
		if (fabs(v[i]) < limit)
			v[i] = 0;
	}
	for (m = 2; m <= n; m *= 2)
		phases_join(v, other, m);
}

/* The rate above which a second is active. */
static double phases_limit(const double *v, double *other, size_t n)
{
	double part;

	memcpy(other, v, n * sizeof(*v));
	qsort(other, n, sizeof(*other), phases_compare);
	part = ACTIVE_PART * other[(n - 1) * 99 / 100];
	return part > ACTIVE_MIN ? part : ACTIVE_MIN;
}

/* The phases of @v, with gaps closed and short ones dropped. */
static int phases_collect(const double *v, size_t n, double limit, struct io_phase *phases,
			  size_t max)
{
	size_t i = 0, last, begin, nr = 0;

	while (i < n) {
		if (v[i] <= limit) {
			i++;
			continue;
		}
		begin = i;
		for (last = i; i < n && i - last <= GAP_MAX + 1; i++) {
			if (v[i] > limit)
				last = i;
		}
		if (last + 1 - begin < PHASE_MIN)
			continue;
		if (nr < max)
			phases[nr] = (struct io_phase){ begin, last + 1 - begin };
		nr++;
	}
	return (int)nr;
}

int phases_find(const double *rate, size_t n, struct io_phase *phases, size_t max)
{
	size_t padded = 1;
	double *v, *other;
	int nr;

	if (!n)
		return 0;
	while (padded < n)
		padded *= 2;
	v = calloc(padded, sizeof(*v));
	other = calloc(padded, sizeof(*other));
	if (!v || !other) {
		free(v);
		free(other);
		return -ENOMEM;
	}
	memcpy(v, rate, n * sizeof(*v));
	phases_denoise(v, other, padded, n);
	nr = phases_collect(v, n, phases_limit(v, other, n), phases, max);
	free(v);
	free(other);
	return nr;
}
