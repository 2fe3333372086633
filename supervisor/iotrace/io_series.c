// SPDX-License-Identifier: GPL-2.0-only
/*
 * Series of seconds, and phases in them; see io_series.h.
 *
 * phases.c finds the phases. A phase that reaches the end of the series may go on: it is stored by
 * a later call, so that it is whole. Where a phase begins depends on what else there is; the
 * seconds before are looked at again, so that it depends little on when that is asked.
 */
#include "supervisor/iotrace/io_series.h"

#include <errno.h>
#include <stdlib.h>

#include "supervisor/iotrace/phases.h"

#define GAP_S	3	/* phases.c joins what is so near */

static void io_series_on_second(const struct io_store_sample *sample, void *arg)
{
	struct io_series *s = arg;
	size_t at;

	if (!s->seconds) {
		s->first = sample->time;
		s->seconds = calloc(IO_SERIES_DAY + 1, sizeof(*s->seconds));
	}
	at = (size_t)(sample->time - s->first);
	if (!s->seconds || at > IO_SERIES_DAY)
		return;
	s->seconds[at] = *sample;
	s->n = at + 1;
}

static int io_series_find(struct io_series *s)
{
	double *rate = calloc(s->n, sizeof(*rate));
	size_t i;

	s->phases = calloc(s->n, sizeof(*s->phases));
	for (i = 0; rate && i < s->n; i++)
		rate[i] = (double)(s->seconds[i].read_bytes + s->seconds[i].write_bytes);
	s->nr_phases = rate && s->phases ? phases_find(rate, s->n, s->phases, s->n) : -ENOMEM;
	free(rate);
	return s->nr_phases < 0 ? s->nr_phases : 0;
}

int io_series_read(struct io_store *store, int64_t job, int64_t since,
		   struct io_series *ret_series)
{
	int err;

	*ret_series = (struct io_series){};
	err = io_store_samples(store, job, 1, since, io_series_on_second, ret_series);
	if (err || !ret_series->n)
		return err;
	return io_series_find(ret_series);
}

void io_series_free(struct io_series *s)
{
	free(s->seconds);
	free(s->phases);
	*s = (struct io_series){};
}

static int io_series_compare(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Put the rates of the phase's seconds into @p, ascending; of a long one evenly taken ones. */
static void io_series_rates(const struct io_store_sample *seconds, size_t n,
			    struct anomaly_phase *p)
{
	float *all = calloc(n, sizeof(*all));
	size_t i;

	if (!all)
		return;
	for (i = 0; i < n; i++)
		all[i] = (float)(seconds[i].read_bytes + seconds[i].write_bytes);
	qsort(all, n, sizeof(*all), io_series_compare);
	p->nr = n < ANOMALY_RATES ? (unsigned int)n : ANOMALY_RATES;
	for (i = 0; i < p->nr; i++)
		p->rates[i] = all[n <= ANOMALY_RATES ? i : i * (n - 1) / (ANOMALY_RATES - 1)];
	free(all);
}

void io_series_phase(const struct io_series *s, int i, struct anomaly_phase *ret_phase)
{
	const struct io_store_sample *second = &s->seconds[s->phases[i].begin];
	const size_t n = s->phases[i].seconds;
	struct anomaly_phase p = {
		.began = s->first + (int64_t)s->phases[i].begin, .seconds = (int64_t)n,
	};
	size_t k;

	for (k = 0; k < n; k++) {
		p.bytes[0] += second[k].read_bytes;
		p.bytes[1] += second[k].write_bytes;
		p.operations[0] += second[k].reads;
		p.operations[1] += second[k].writes;
	}
	p.kind = anomaly_kind_of(p.bytes[0], p.bytes[1]);
	io_series_rates(second, n, &p);
	*ret_phase = p;
}

/* Leave out the seconds before @since; false: nothing stays. */
static bool io_series_cut(const struct io_series *s, struct io_phase *p, int64_t since)
{
	const int64_t began = s->first + (int64_t)p->begin;
	const size_t before = since > began ? (size_t)(since - began) : 0;

	if (before >= p->seconds)
		return false;
	p->begin += before;
	p->seconds -= before;
	return true;
}

int64_t io_series_note(struct io_store *store, int64_t job, int64_t since, int64_t now, bool last)
{
	const int64_t from = now - IO_SERIES_CONTEXT;
	struct io_series s;
	struct anomaly_phase p;
	/* a second that is looked at is over, and so is the gap after a phase */
	int64_t next = last ? now + 1 : now - GAP_S - 1;
	int err = io_series_read(store, job, since < from ? since : from, &s), i;

	for (i = 0; !err && i < s.nr_phases; i++) {
		if (!io_series_cut(&s, &s.phases[i], since))
			continue;
		io_series_phase(&s, i, &p);
		p.job = job;
		if (!last && p.began + p.seconds > now - GAP_S - 1 && p.seconds < IO_SERIES_CUT) {
			next = p.began;
			break;
		}
		io_store_put_phase(store, &p);
		if (p.began + p.seconds > next)
			next = p.began + p.seconds;
	}
	io_series_free(&s);
	if (err)
		return since;
	io_store_trim_phases(store, job);
	return next > since ? next : since;
}
