// SPDX-License-Identifier: GPL-2.0-only
/*
 * Judgement on phases; see anomaly.h.
 *
 * The radius of the clusters follows from the phases themselves, so that up to a tenth of usual
 * phases may come to lie alone. Slower than usual is therefore asked for as well: SLOW_PART of the
 * usual rate. A phase that is alone because it was fast is no anomaly.
 */
#include "supervisor/iotrace/anomaly.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "supervisor/iotrace/dbscan.h"

#define SLOW_PART	0.95
#define FEW_PART	0.7		/* as a checkpoint's (probes.c) */
#define FEW_SPREAD	(3 * 1.4826)
#define EPISODE_PART	5		/* one usual phase in so many ends no episode */
#define LOSS_PART	0.5
#define OPERATION_PART	0.5

enum anomaly_kind anomaly_kind_of(uint64_t read, uint64_t written)
{
	return read / 10 > written ? ANOMALY_READ :
	       written / 10 > read ? ANOMALY_WRITE : ANOMALY_MIXED;
}

const char *anomaly_kind_name(enum anomaly_kind kind)
{
	return kind == ANOMALY_READ ? "read" : kind == ANOMALY_WRITE ? "write" : "mixed";
}

/* --------------------------------------------------------------- comparing */

static double anomaly_bytes(const struct anomaly_phase *p)
{
	return (double)p->bytes[0] + (double)p->bytes[1];
}

static double anomaly_rate(const struct anomaly_phase *p)
{
	return p->seconds > 0 ? anomaly_bytes(p) / (double)p->seconds : 0;
}

static double anomaly_operation(const struct anomaly_phase *p)
{
	const double operations = (double)p->operations[0] + (double)p->operations[1];

	return operations > 0 ? anomaly_bytes(p) / operations : 0;
}

/* The phase that is judged, [0], and those like it. */
struct anomaly_set {
	size_t n;
	const struct anomaly_phase *phase[ANOMALY_MAX + 1];
	double point[(ANOMALY_MAX + 1) * ANOMALY_BINS];
	int label[ANOMALY_MAX + 1];
};

static void anomaly_select(struct anomaly_set *s, const struct anomaly_phase *phases, size_t n,
			   size_t which)
{
	const double bytes = anomaly_bytes(&phases[which]);

	s->n = 1;
	s->phase[0] = &phases[which];
	while (n-- && s->n <= ANOMALY_MAX) {
		const double other = anomaly_bytes(&phases[n]);

		if (n != which && phases[n].nr && other >= bytes / 2 && other <= bytes * 2)
			s->phase[s->n++] = &phases[n];
	}
}

/* The cumulative performance vector of each phase. */
static void anomaly_vectors(struct anomaly_set *s)
{
	double low = HUGE_VAL, high = 0, width;
	size_t i, k, bin;

	for (i = 0; i < s->n; i++) {
		low = fmin(low, (double)s->phase[i]->rates[0]);
		high = fmax(high, (double)s->phase[i]->rates[s->phase[i]->nr - 1]);
	}
	width = (high - low) / ANOMALY_BINS;
	for (i = 0; i < s->n; i++) {
		const struct anomaly_phase *p = s->phase[i];
		double *v = &s->point[i * ANOMALY_BINS];

		for (bin = 0, k = 0; bin < ANOMALY_BINS; bin++) {
			const double end = low + width * (double)(bin + 1);

			/* the last interval is closed */
			while (k < p->nr && (bin + 1 == ANOMALY_BINS || (double)p->rates[k] < end))
				k++;
			v[bin] = (double)k / p->nr;
		}
	}
}

static int anomaly_compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double anomaly_median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), anomaly_compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The largest of @clusters; of equally large ones the first. */
static int anomaly_main(const struct anomaly_set *s, int clusters)
{
	size_t i, size, most = 0;
	int c, best = 0;

	for (c = 0; c < clusters; c++) {
		for (i = 0, size = 0; i < s->n; i++)
			size += s->label[i] == c;
		if (size > most) {
			most = size;
			best = c;
		}
	}
	return best;
}

/* Set what is usual: medians over the others of cluster @label. */
static void anomaly_usual(const struct anomaly_set *s, int label, struct anomaly_judgement *j)
{
	double rates[ANOMALY_MAX], operations[ANOMALY_MAX];
	size_t i, n = 0;

	for (i = 1; i < s->n; i++) {
		if (s->label[i] != label)
			continue;
		rates[n] = anomaly_rate(s->phase[i]);
		operations[n++] = anomaly_operation(s->phase[i]);
	}
	if (!n)
		return;
	j->usual = anomaly_median(rates, n);
	j->usual_operation = anomaly_median(operations, n);
}

/* Whether the phases of cluster @label came together, with few of cluster @usual in between. */
static bool anomaly_is_episode(const struct anomaly_set *s, int label, int usual)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	size_t i, members = 0, others = 0;

	for (i = 0; i < s->n; i++) {
		if (s->label[i] != label)
			continue;
		members++;
		first = s->phase[i]->began < first ? s->phase[i]->began : first;
		last = s->phase[i]->began > last ? s->phase[i]->began : last;
	}
	for (i = 0; i < s->n; i++)
		others += s->label[i] == usual && s->phase[i]->began >= first &&
			  s->phase[i]->began <= last;
	return others * EPISODE_PART <= members;
}

/* By clusters; false: there are none. */
static bool anomaly_by_clusters(struct anomaly_set *s, struct anomaly_judgement *j)
{
	const double radius = dbscan_radius(s->point, s->n, ANOMALY_BINS);
	const int clusters = radius < 0 ? -ENOMEM :
			     dbscan_clusters(s->point, s->n, ANOMALY_BINS, radius, s->label);
	int usual;

	if (clusters <= 0)
		return false;
	usual = anomaly_main(s, clusters);
	anomaly_usual(s, usual, j);
	j->verdict = ANOMALY_USUAL;
	if (s->label[0] == usual || j->rate >= SLOW_PART * j->usual)
		return true;
	if (s->label[0] == DBSCAN_NOISE || anomaly_is_episode(s, s->label[0], usual))
		j->verdict = ANOMALY_ABNORMAL;
	return true;
}

/* By median and median deviation of the rates. */
static void anomaly_by_median(struct anomaly_set *s, struct anomaly_judgement *j)
{
	double spreads[ANOMALY_MAX];
	size_t i;

	for (i = 0; i < s->n; i++)
		s->label[i] = 0;
	anomaly_usual(s, 0, j);
	for (i = 1; i < s->n; i++)
		spreads[i - 1] = fabs(anomaly_rate(s->phase[i]) - j->usual);
	j->few = true;
	j->verdict = j->rate < FEW_PART * j->usual &&
		     j->rate < j->usual - FEW_SPREAD * anomaly_median(spreads, s->n - 1) ?
		     ANOMALY_ABNORMAL : ANOMALY_USUAL;
}

int anomaly_judge(const struct anomaly_phase *phases, size_t n, size_t which,
		  struct anomaly_judgement *ret_judgement)
{
	struct anomaly_judgement j = { .rate = anomaly_rate(&phases[which]),
				       .operation = anomaly_operation(&phases[which]) };
	struct anomaly_set *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (phases[which].nr) {
		anomaly_select(s, phases, n, which);
		j.compared = (unsigned int)s->n - 1;
	}
	if (j.compared >= ANOMALY_NEEDED) {
		anomaly_vectors(s);
		if (!anomaly_by_clusters(s, &j))
			anomaly_by_median(s, &j);
	} else if (j.compared >= ANOMALY_FEW) {
		anomaly_by_median(s, &j);
	}
	free(s);
	*ret_judgement = j;
	return 0;
}

/* ------------------------------------------------------------------- causes */

static bool anomaly_is_cause(const struct anomaly_neighbour *n, double loss)
{
	return (n->many_to_one && n->rate >= ANOMALY_ACTIVE) || n->meta >= ANOMALY_META ||
	       (n->rate >= ANOMALY_ACTIVE && n->rate >= LOSS_PART * loss);
}

enum anomaly_cause anomaly_cause_of(const struct anomaly_judgement *j,
				    const struct anomaly_neighbour *neighbours, size_t n,
				    bool degraded, size_t *ret_by)
{
	size_t i, active = 0, by = n;

	if (j->verdict != ANOMALY_ABNORMAL)
		return ANOMALY_NO_CAUSE;
	for (i = 0; i < n; i++) {
		active += neighbours[i].rate >= ANOMALY_ACTIVE;
		if (anomaly_is_cause(&neighbours[i], j->usual - j->rate) &&
		    (by == n || neighbours[i].rate > neighbours[by].rate))
			by = i;
	}
	if (by < n) {
		*ret_by = by;
		return ANOMALY_NEIGHBOUR;
	}
	if (active >= ANOMALY_MANY_JOBS)
		return ANOMALY_CROWD;
	if (j->operation < OPERATION_PART * j->usual_operation)
		return ANOMALY_OPERATIONS;
	return degraded ? ANOMALY_DEVICE : ANOMALY_UNTOLD;
}

bool anomaly_is_checkpoint(const struct anomaly_judgement *j, double seconds, double under)
{
	return j->verdict == ANOMALY_ABNORMAL && j->usual > 0 && under > 0 &&
	       under >= LOSS_PART * seconds * (1 - j->rate / j->usual);
}

const char *anomaly_cause_name(enum anomaly_cause cause)
{
	static const char *const names[ANOMALY_CAUSES] = {
		[ANOMALY_NO_CAUSE] = "", [ANOMALY_NEIGHBOUR] = "interference",
		[ANOMALY_CROWD] = "likely_interference", [ANOMALY_OPERATIONS] = "configuration",
		[ANOMALY_DEVICE] = "degraded_device", [ANOMALY_UNTOLD] = "configuration_or_device",
		[ANOMALY_CHECKPOINT] = "checkpoint", [ANOMALY_NODE] = "degraded_node",
		[ANOMALY_ALL_NODES] = "configuration_or_shared_storage",
	};

	return (unsigned int)cause < ANOMALY_CAUSES ? names[cause] : "";
}
