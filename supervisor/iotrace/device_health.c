// SPDX-License-Identifier: GPL-2.0-only
/*
 * Judgement on devices; see device_health.h.
 *
 * Median and median deviation, as one slow probe must not make the next one look usual. A probe is
 * slow below SLOW_PART of the median and further from it than the usual spread: on a steady device
 * the spread is next to nothing, on a shared one it is much. One probe decides nothing, so the
 * part is nearer to 1 than for a report on single checkpoints (probes.h). Where rates differ by the
 * double, a spread would excuse any: below two fifths of the median is slow in any case.
 */
#include "supervisor/iotrace/device_health.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define SLOW_PART	0.85
#define AGAIN_PART	0.92		/* of a degraded one: faster than that is usual again */
#define SPREAD		(2 * 1.4826)	/* two standard deviations: three probes in a row decide */
#define FEW		8.0	/* k rates show too small a spread: by FEW of one in k */
#define FAR		0.6	/* the spread counts up to so much: far from usual is slow */
#define COMPARED	32		/* the newest ones make what is usual */

static int device_health_compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double device_health_median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), device_health_compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static bool device_health_is_like(const struct device_probe *p, const struct device_probe *other)
{
	return p->bytes >= other->bytes / 2 && p->bytes <= other->bytes * 2;
}

/* The rates that @now is compared with. */
static size_t device_health_rates(const struct device_probe *earlier, size_t n,
				  const struct device_probe *now, double rates[COMPARED])
{
	size_t k = 0;

	while (n-- && k < COMPARED) {
		const struct device_probe *e = &earlier[n];

		if (e->speed != DEVICE_SLOW && e->series == now->series && e->seconds > 0 &&
		    device_health_is_like(e, now))
			rates[k++] = device_probe_rate(e);
	}
	return k;
}

void device_health_judge(const struct device_probe *earlier, size_t n, enum device_state state,
			 struct device_probe *now)
{
	const double part = state == DEVICE_DEGRADED ? AGAIN_PART : SLOW_PART;
	double rates[COMPARED], usual, spread, rate = device_probe_rate(now);
	size_t i, k = device_health_rates(earlier, n, now, rates);

	now->speed = DEVICE_UNJUDGED;
	now->usual = 0;
	if (k < DEVICE_NEEDED || now->seconds <= 0)
		return;
	usual = device_health_median(rates, k);
	for (i = 0; i < k; i++)
		rates[i] = fabs(rates[i] - usual);
	spread = SPREAD * (1 + FEW / (double)k) * device_health_median(rates, k);
	now->usual = usual;
	spread = fmin(spread, FAR * usual);
	now->speed = rate < part * usual && rate < usual - spread ? DEVICE_SLOW : DEVICE_USUAL;
}

/* The usual rate of the fastest series, of those whose probes are like @probe in size. */
static double device_health_best(const struct device_probe *probes, size_t n,
				 const struct device_probe *probe)
{
	double best = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (device_health_is_like(&probes[i], probe))
			best = fmax(best, probes[i].usual);
	}
	return best;
}

/*
 * Whether, since the last probe that was judged, which is before @judged, three of series without
 * history came in a row that were as fast as what was usual for the fastest series: that probe's
 * series may have ended, and would judge no more. One series alone may be a slow one by itself, so
 * that another one that is as fast says little of the device.
 */
static bool device_health_others_well(const struct device_probe *probes, size_t judged, size_t n)
{
	const struct device_probe *last;
	size_t i, well = 0;
	double best;

	if (!judged || n < judged + DEVICE_IN_A_ROW)
		return false;
	last = &probes[judged - 1];
	best = device_health_best(probes, judged, last);
	for (i = judged; i < n && well < DEVICE_IN_A_ROW; i++) {
		const struct device_probe *p = &probes[i];

		if (p->series != last->series && device_health_is_like(p, last))
			well = device_probe_rate(p) < AGAIN_PART * best ? 0 : well + 1;
	}
	return well == DEVICE_IN_A_ROW;
}

/* Number of the first probes up to the last one that was judged. */
static size_t device_health_judged(const struct device_probe *probes, size_t n)
{
	while (n && probes[n - 1].speed == DEVICE_UNJUDGED)
		n--;
	return n;
}

size_t device_health_in_a_row(const struct device_probe *probes, size_t n, enum device_speed speed)
{
	size_t end = n, judged, k = 0;

	while ((judged = device_health_judged(probes, end)) && probes[judged - 1].speed == speed) {
		if (speed == DEVICE_SLOW && device_health_others_well(probes, judged, end))
			break;
		k++;
		end = judged - 1;
	}
	return k;
}

/* Whether other nodes wrote one of the newest @nr slow ones as slowly as this node. */
static bool device_health_others_too(const struct device_probe *probes, size_t n, size_t nr)
{
	while (n-- && nr) {
		const struct device_probe *p = &probes[n];

		if (p->speed != DEVICE_SLOW)
			continue;
		if (p->peers && device_probe_rate(p) >= SLOW_PART * p->peer_rate)
			return true;
		nr--;
	}
	return false;
}

enum device_state device_health_state(const struct device_probe *probes, size_t n,
				      enum device_state before)
{
	const size_t slow = device_health_in_a_row(probes, n, DEVICE_SLOW);
	const size_t usual = device_health_in_a_row(probes, n, DEVICE_USUAL);

	if (device_health_others_well(probes, device_health_judged(probes, n), n))
		return DEVICE_HEALTHY;
	if (!slow && !usual)
		return before;
	if (before == DEVICE_DEGRADED)
		return usual >= DEVICE_IN_A_ROW ? DEVICE_HEALTHY : DEVICE_DEGRADED;
	if (slow < DEVICE_IN_A_ROW)
		return before == DEVICE_SLOW_TOO && slow ? before : DEVICE_HEALTHY;
	return device_health_others_too(probes, n, DEVICE_IN_A_ROW) ? DEVICE_SLOW_TOO :
	       DEVICE_DEGRADED;
}

const char *device_state_name(enum device_state state)
{
	static const char *const names[DEVICE_STATES] = {
		[DEVICE_UNKNOWN] = "unknown", [DEVICE_HEALTHY] = "healthy",
		[DEVICE_SLOW_TOO] = "slow", [DEVICE_DEGRADED] = "degraded",
	};

	return (unsigned int)state < DEVICE_STATES ? names[state] : names[DEVICE_UNKNOWN];
}
