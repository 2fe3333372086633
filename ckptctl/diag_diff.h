/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The difference of two generations: calls and collectives that each rank began, and where it was.
 *
 *	{"job": 7, "generations": [3, 4], "seconds": 60, "stayed": [0, 1],
 *	 "ranks": [{"rank": 0, "calls": 0, "collectives": 0, "same_place": true, "stayed": true,
 *		    "at": ["MPI_Barrier number 21 of WORLD", "..."]}, ...]}
 *
 * A rank has stayed if it began no call and is at the same place. "calls" is null if one of the
 * generations knows nothing of the rank.
 */
#ifndef STILLPOINT_DIAG_DIFF_H
#define STILLPOINT_DIAG_DIFF_H

#include <jansson.h>

struct cli;

/* @a, @b: results of the request diagnose_image, with names; a new reference. */
json_t *diag_diff(const json_t *a, const json_t *b);
void diag_diff_print(struct cli *cli, json_t *result);

#endif /* STILLPOINT_DIAG_DIFF_H */
