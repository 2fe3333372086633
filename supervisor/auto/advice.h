/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Advice on how often to take a checkpoint of a job: the costs of its past checkpoints
 * (history.h), put into the formulas of interval.h. Does no I/O.
 *
 * The cost of a checkpoint is the time that the job stands still (until its ranks are silent,
 * and the pause), plus a part of the time that the image is written while the job runs, slowed
 * down by the writing. The slowdown is not measured; it is assumed.
 */
#ifndef STILLPOINT_ADVICE_H
#define STILLPOINT_ADVICE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define ADVICE_SLOWDOWN	10	/* percent, unless the caller has another */
#define ADVICE_LOOK_MS	5000	/* until a launcher (ckpt-slurm-run) sees that a job has to leave */
#define ADVICE_RECENT	32	/* number of latest checkpoints that count */

struct advice_rates {
	int64_t mtbf_ms;	/* of the job as a whole; 0: take node_mtbf_ms */
	int64_t node_mtbf_ms;	/* of one node */
	const char *from;	/* source of the MTBF: "--mtbf", "node_mtbf of ckptd.conf", … */
	unsigned int nodes;
	unsigned int slowdown;	/* percent */
	int64_t grace_ms;	/* that a batch system gives a job to leave; 0: not asked */
	const json_t *levels;	/* as advice_make() takes them; NULL: none */
};

/* Medians, in seconds. */
struct advice_costs {
	unsigned int checkpoints;	/* measured ones; 0: the costs are a guess */
	unsigned int left_out;		/* checkpoints that kept the job stopped to the end */
	unsigned int restarts;		/* measured ones; 0: the restart time is assumed */
	double blocked, background, restart;
};

/* Take the costs from the job's history. False: no checkpoint in it tells its cost. */
bool advice_measure(const json_t *rows, struct advice_costs *ret_costs);

/* Guess the costs, before the first checkpoint, from the bytes of memory in use on one node. */
void advice_guess(uint64_t bytes, struct advice_costs *ret_costs);

/*
 * advice_interval() - time from the begin of a checkpoint to the begin of the next
 *
 * Return: 0; -EINVAL or -ERANGE: there is no interval, and *ret_why tells the reason.
 */
int advice_interval(const struct advice_costs *costs, const struct advice_rates *rates,
		    int64_t *ret_ms, const char **ret_why);

/*
 * advice_make() - the outcome of the request interval
 * @rates: @rates->levels is [{"name", "mtbf_ms", "cost_ns" (optional)}, ...] from the lowest:
 *	time between the failures that need the level, and the cost that the level adds.
 *	Without "cost_ns" the lowest level costs as much as the job's checkpoints, another as
 *	much as the history has of flushes to that level. With @rates->grace_ms the outcome has
 *	"grace": how long the job needs to be saved and gone, and whether that fits.
 */
json_t *advice_make(int64_t job, const json_t *rows, const struct advice_rates *rates);

/* The median of each integer figure that occurs in @rows (history.h). A new reference. */
json_t *advice_medians(const json_t *rows);

#endif /* STILLPOINT_ADVICE_H */
