/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often to take a checkpoint: formulas. No I/O, no clock, no state.
 *
 * All times are seconds, all rates per second. An interval is the time that the job works
 * between two checkpoints, without the time that it stands still for them.
 *
 * Every function returns 0, or -EINVAL (no number, not above 0, infinite) or -ERANGE (a
 * checkpoint costs more than there is time between failures), with the reason in *ret_why,
 * which is a constant; outputs are written on success only.
 */
#ifndef STILLPOINT_INTERVAL_H
#define STILLPOINT_INTERVAL_H

#include <stdbool.h>

#define INTERVAL_LEVELS_MAX	8

/* Young (1974): sqrt(2 * cost * mtbf); good while the cost is far below the MTBF. */
int interval_young(double cost, double mtbf, double *ret_interval, const char **ret_why);

/*
 * interval_daly() - Daly (2006), of higher order
 * @ret_valid: the cost is below twice the MTBF; else the interval is the MTBF, as in the paper
 *
 * Never returns -ERANGE: the paper covers that range.
 */
int interval_daly(double cost, double mtbf, double *ret_interval, bool *ret_valid,
		  const char **ret_why);

/*
 * interval_efficiency() - fraction of the time that is spent on work which is not lost
 * @restart: from a failure until the job is back at its checkpoint; 0 is fine
 *
 * Daly's complete model: failures come at random, also in checkpoints and restarts.
 */
int interval_efficiency(double interval, double cost, double restart, double mtbf,
			double *ret_efficiency, const char **ret_why);

struct interval_costs {
	double cost;		/* time that the job loses to one checkpoint */
	double least;		/* lower limit of the interval; 0: none */
	double restart;		/* as in interval_efficiency() */
	double mtbf;		/* of the job: of all parts that it needs to run */
};

struct interval_advice {
	double interval;
	double young, daly;	/* intervals by the formulas alone, without costs.least */
	bool valid;		/* Daly's formula holds (@ret_valid) */
	bool limited;		/* the interval is costs.least */
	double efficiency;	/* at this interval */
};

int interval_advise(const struct interval_costs *costs, struct interval_advice *ret_advice,
		    const char **ret_why);

/* ---------------------------------------------------------------- levels */

/*
 * One level of several. A checkpoint of a level is a checkpoint of all levels below, too, and
 * costs the sum of them. Failures are classed by the lowest level that outlives them.
 */
struct interval_level {
	double cost;		/* added by this level */
	double mtbf;		/* between failures which need this level; 0: there are none */
	double least;		/* lower limit of this level's interval; 0: none */
};

struct interval_levels {
	double interval;	/* between checkpoints of the lowest level in use */
	/* One in so many checkpoints reaches level i, too; 0: the level is not worth its cost. */
	unsigned int every[INTERVAL_LEVELS_MAX];
	double overhead;	/* costs and lost work as a fraction of the time, first order */
};

/*
 * interval_multilevel() - which levels to use, and how often (after Benoit et al., 2017)
 * @levels: from the lowest; failures that need an unused level count for the next used one
 *
 * For each choice of levels the periods are sqrt(2 * cost / rate), rounded to multiples of one
 * another. The best of all choices and all ways to round is taken.
 */
int interval_multilevel(const struct interval_level *levels, unsigned int nr,
			struct interval_levels *ret_levels, const char **ret_why);

#endif /* STILLPOINT_INTERVAL_H */
