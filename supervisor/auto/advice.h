/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often to take a checkpoint of a job: what its checkpoints have cost (history.h), put into
 * the formulas (interval.h).  Reads and writes nothing.
 *
 * What a checkpoint costs is the time that the job stands still for it (until its ranks are
 * silent, and the pause), and a part of the time that it is written behind its back, during
 * which the job is slowed down. How much that is nobody measures: it is assumed.
 */
#ifndef STILLPOINT_ADVICE_H
#define STILLPOINT_ADVICE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define ADVICE_SLOWDOWN	10	/* percent, if nobody says */
#define ADVICE_RECENT	32	/* so many checkpoints back */

struct advice_rates {
	int64_t mtbf_ms;	/* of the job as a whole; 0: of its nodes */
	int64_t node_mtbf_ms;
	const char *from;	/* who says so: "--mtbf", "node_mtbf of ckptd.conf", … */
	unsigned int nodes;
	unsigned int slowdown;	/* percent */
	const json_t *levels;	/* as advice_make(); NULL */
};

/* Medians, in seconds. */
struct advice_costs {
	unsigned int checkpoints;	/* 0: none that says anything; all else is guessed */
	unsigned int left_out;		/* that stood still until they were written */
	unsigned int restarts;		/* 0: restart is assumed */
	double blocked, background, restart;
};

/* From the job's history. False: no checkpoint in it says what one costs. */
bool advice_measure(const json_t *rows, struct advice_costs *ret_costs);

/* Before there is one: of so many bytes of memory on one node. */
void advice_guess(uint64_t bytes, struct advice_costs *ret_costs);

/*
 * advice_interval() - from the begin of a checkpoint to the begin of the next
 *
 * 0; -EINVAL, -ERANGE: *ret_why says why there is none.
 */
int advice_interval(const struct advice_costs *costs, const struct advice_rates *rates,
		    int64_t *ret_ms, const char **ret_why);

/*
 * advice_make() - the outcome of the request interval
 * @rates: levels: [{"name", "mtbf_ms", "cost_ns" (optional)}, ...] from the lowest: what failures
 *	each is needed for, and what it adds. Without a cost: of the first what checkpoints
 *	cost, of others what the history has of that level.
 */
json_t *advice_make(int64_t job, const json_t *rows, const struct advice_rates *rates);

/* Medians of all figures of @rows (history.h) that any has. */
json_t *advice_medians(const json_t *rows);

#endif /* STILLPOINT_ADVICE_H */
