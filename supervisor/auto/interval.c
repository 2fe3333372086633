// SPDX-License-Identifier: GPL-2.0-only
/*
 * How often to take a checkpoint: formulas; see interval.h.
 *
 * Owns nothing. The caller (advice.c) knows the costs and the rates of failure; nothing here
 * looks at the time, a file, or a job.
 *
 * Sums over several levels are of first order in cost and rate, as in the paper: good while the
 * MTBF is well above the cost of checkpoints.
 */
#include "supervisor/auto/interval.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define EVERY_MAX	1000000.0

/* 0, or -EINVAL with @what as the reason: @value is unusable. @zero: it may be 0. */
static int interval_check(double value, bool zero, const char *what, const char **ret_why)
{
	if (isfinite(value) && (value > 0 || (zero && value == 0)))
		return 0;
	*ret_why = what;
	return -EINVAL;
}

static int check_pair(double cost, double mtbf, const char **ret_why)
{
	int err =
		interval_check(cost, false, "the cost of a checkpoint has to be above 0", ret_why);

	return err ? err
		   : interval_check(mtbf, false, "the time between failures has to be above 0",
				    ret_why);
}

static int check_range(double cost, double mtbf, const char **ret_why)
{
	int err = check_pair(cost, mtbf, ret_why);

	if (err || cost <= mtbf)
		return err;
	*ret_why = "a checkpoint costs more than the time between two failures: hardly any work "
		   "would last";
	return -ERANGE;
}

int interval_young(double cost, double mtbf, double *ret_interval, const char **ret_why)
{
	int err = check_range(cost, mtbf, ret_why);

	if (!err)
		*ret_interval = sqrt(2 * cost * mtbf);
	return err;
}

int interval_daly(double cost, double mtbf, double *ret_interval, bool *ret_valid,
		  const char **ret_why)
{
	double x = cost / (2 * mtbf);
	int err = check_pair(cost, mtbf, ret_why);

	if (err)
		return err;
	*ret_valid = x < 1;
	*ret_interval = x < 1 ? sqrt(2 * cost * mtbf) * (1 + sqrt(x) / 3 + x / 9) - cost : mtbf;
	return 0;
}

int interval_efficiency(double interval, double cost, double restart, double mtbf,
			double *ret_efficiency, const char **ret_why)
{
	int err = check_pair(cost, mtbf, ret_why);

	if (!err)
		err = interval_check(interval, false, "an interval has to be above 0", ret_why);
	if (!err)
		err = interval_check(restart, true, "the time of a restart must not be negative",
				     ret_why);
	/* exp() of a large argument is infinite; the efficiency is then 0, as it should be. */
	if (!err)
		*ret_efficiency = interval / (mtbf * exp(restart / mtbf) *
					      expm1((interval + cost) / mtbf));
	return err;
}

int interval_advise(const struct interval_costs *costs, struct interval_advice *ret_advice,
		    const char **ret_why)
{
	struct interval_advice a = { 0 };
	int err = interval_young(costs->cost, costs->mtbf, &a.young, ret_why);

	if (!err)
		err = interval_check(costs->least, true,
				     "the shortest interval must not be negative", ret_why);
	if (!err)
		err = interval_daly(costs->cost, costs->mtbf, &a.daly, &a.valid, ret_why);
	if (err)
		return err;
	a.limited = a.daly < costs->least;
	a.interval = a.limited ? costs->least : a.daly;
	err = interval_efficiency(a.interval, costs->cost, costs->restart, costs->mtbf,
				  &a.efficiency, ret_why);
	if (!err)
		*ret_advice = a;
	return err;
}

/* ---------------------------------------------------------------- levels */

/* One choice of levels in use, from the lowest, with the failures that fall to each. */
struct choice {
	unsigned int nr;
	unsigned int level[INTERVAL_LEVELS_MAX];
	double cost[INTERVAL_LEVELS_MAX];
	double rate[INTERVAL_LEVELS_MAX];
	double least[INTERVAL_LEVELS_MAX];
	double period[INTERVAL_LEVELS_MAX];	/* the best, if the level were alone */
};

static int interval_check_levels(const struct interval_level *levels, unsigned int nr,
				 const char **ret_why)
{
	unsigned int i;
	int err = 0;

	if (!nr || nr > INTERVAL_LEVELS_MAX) {
		*ret_why = "between 1 and 8 levels are needed";
		return -EINVAL;
	}
	for (i = 0; i < nr && !err; i++) {
		err = interval_check(levels[i].least, true,
				     "the shortest interval must not be negative", ret_why);
		if (!err)
			err = interval_check(levels[i].mtbf, true,
					     "the time between failures must not be negative",
					     ret_why);
		if (!err && levels[i].mtbf > 0)
			err = check_range(levels[i].cost, levels[i].mtbf, ret_why);
		else if (!err)
			err = interval_check(levels[i].cost, false,
					     "the cost of a checkpoint has to be above 0", ret_why);
	}
	return err;
}

/* Fill @c with the levels of @mask; false: a level is useless, or some failures need another. */
static bool interval_choose(const struct interval_level *levels, unsigned int nr, unsigned int mask,
			    struct choice *c)
{
	double rate = 0;
	unsigned int i, k;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < nr; i++) {
		rate += levels[i].mtbf > 0 ? 1 / levels[i].mtbf : 0;
		if (!(mask & 1u << i))
			continue;
		if (rate <= 0)
			return false;	/* no failure needs this level */
		k = c->nr++;
		c->level[k] = i;
		c->cost[k] = levels[i].cost;
		c->rate[k] = rate;
		c->least[k] = levels[i].least;
		c->period[k] = sqrt(2 * levels[i].cost / rate);
		if (c->period[k] < c->least[k])
			c->period[k] = c->least[k];
		rate = 0;
	}
	return c->nr && rate <= 0;
}

/* Return the overhead of the multiples @every with the lowest level's best period. */
static double interval_settle(const struct choice *c, const double *every, double *ret_interval)
{
	double cost = 0, loss = 0, least = 0, interval;
	unsigned int k;

	for (k = 0; k < c->nr; k++) {
		cost += c->cost[k] / every[k];
		loss += c->rate[k] * every[k];
		least = fmax(least, c->least[k] / every[k]);
	}
	interval = fmax(sqrt(2 * cost / loss), least);
	*ret_interval = interval;
	return cost / interval + loss * interval / 2;
}

/* Make the periods multiples of one another. Bit k of @up: the k-th step is rounded up. */
static void interval_multiples(const struct choice *c, unsigned int up, double *every)
{
	unsigned int k;

	every[0] = 1;
	for (k = 1; k < c->nr; k++) {
		double period = c->period[0] * every[k - 1];
		double step = floor(c->period[k] / period) + (up & 1u << k ? 1 : 0);

		every[k] = every[k - 1] * fmin(fmax(step, 1), EVERY_MAX);
		every[k] = fmin(every[k], EVERY_MAX * EVERY_MAX);
	}
}

static void interval_keep(const struct choice *c, const double *every, double interval,
			  double overhead, struct interval_levels *best)
{
	unsigned int k;

	memset(best, 0, sizeof(*best));
	best->interval = interval;
	best->overhead = overhead;
	for (k = 0; k < c->nr; k++)
		best->every[c->level[k]] = (unsigned int)fmin(every[k], 4e9);
}

int interval_multilevel(const struct interval_level *levels, unsigned int nr,
			struct interval_levels *ret_levels, const char **ret_why)
{
	struct interval_levels best = { .overhead = INFINITY };
	int err = interval_check_levels(levels, nr, ret_why);
	double every[INTERVAL_LEVELS_MAX], interval, overhead;
	struct choice c;
	unsigned int mask, up;

	for (mask = 1; !err && mask < 1u << nr; mask++) {
		if (!interval_choose(levels, nr, mask, &c))
			continue;
		for (up = 0; up < 1u << c.nr; up += 2) {
			interval_multiples(&c, up, every);
			overhead = interval_settle(&c, every, &interval);
			if (overhead < best.overhead)
				interval_keep(&c, every, interval, overhead, &best);
		}
	}
	if (err)
		return err;
	if (!isfinite(best.overhead)) {
		*ret_why = "nothing fails: there is no interval";
		return -EINVAL;
	}
	*ret_levels = best;
	return 0;
}
