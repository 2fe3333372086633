/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fetch.h in a worker, with the promoter held meanwhile.
 */
#ifndef STILLPOINT_FETCHING_H
#define STILLPOINT_FETCHING_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/ctl.h"

struct job;

struct fetching_options {
	int64_t id;
	const struct job *job;	/* NULL: L1 knows nothing of it */
	int64_t generation;	/* 0: the newest that can be had */
	bool deep, dry_run;	/* fetch.h */
};

/* Is there anything to be fetched from? */
bool fetching_is_on(const struct daemon *daemon);

/*
 * fetching_start() - for @request, which gets the progress
 * @fn: once, with the outcome of fetch_run() (taken over), whose steps are in the log then
 *
 * 0: it will be called; negative errno: it will not.
 */
int fetching_start(struct request *request, const struct fetching_options *options,
		   void (*fn)(json_t *outcome, void *arg), void *arg);

#endif /* STILLPOINT_FETCHING_H */
