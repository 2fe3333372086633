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

/* Young (1974): sqrt(2 * cost * mtbf); of use while the cost is far below the MTBF. */
int interval_young(double cost, double mtbf, double *ret_interval, const char **ret_why);

/*
 * interval_daly() - Daly (2006), of higher order
 * @ret_valid: the cost is below twice the MTBF; else the interval is the MTBF, as he has it
 *
 * Never -ERANGE: he says what to do there.
 */
int interval_daly(double cost, double mtbf, double *ret_interval, bool *ret_valid,
		  const char **ret_why);

/*
 * interval_efficiency() - the part of the time that is work which lasts
 * @restart: from a failure until the job is where the checkpoint was; 0 is fine
 *
 * Daly's complete model: failures come at random, also in checkpoints and restarts.
 */
int interval_efficiency(double interval, double cost, double restart, double mtbf,
			double *ret_efficiency, const char **ret_why);

struct interval_costs {
	double cost;		/* for which the job stands still, or is held up */
	double least;		/* no interval is shorter; 0: any */
	double restart;
	double mtbf;		/* of the job: of all that has to live for it */
};

struct interval_advice {
	double interval;
	double young, daly;	/* without regard for costs.least */
	bool valid;		/* of Daly's formula */
	bool limited;		/* the interval is costs.least */
	double efficiency;	/* at this interval */
};

int interval_advise(const struct interval_costs *costs, struct interval_advice *ret_advice,
		    const char **ret_why);

/* ---------------------------------------------------------------- levels */

/*
 * A level as another adds it: a checkpoint of level l is one of all below, too, and costs what
 * they cost together.  Failures are told apart by the lowest level that outlives them.
 */
struct interval_level {
	double cost;		/* that this level adds */
	double mtbf;		/* between failures which need this level; 0: there are none */
	double least;		/* as above; of this level */
};

struct interval_levels {
	double interval;	/* between checkpoints of the lowest level in use */
	/* Every how many of them is one of this level, too; 0: the level is not worth it. */
	unsigned int every[INTERVAL_LEVELS_MAX];
	double overhead;	/* of first order: costs and lost work, as a part of the time */
};

/*
 * interval_multilevel() - which levels to use, and how often (after Benoit et al., 2017)
 * @levels: from the lowest; failures that need a level which is not used are the next one's
 *
 * The periods of a choice of levels are sqrt(2 * cost / rate), made multiples of one another;
 * of all choices and ways to round the best is taken.
 */
int interval_multilevel(const struct interval_level *levels, unsigned int nr,
			struct interval_levels *ret_levels, const char **ret_why);

#endif /* STILLPOINT_INTERVAL_H */
