/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fetch.h in a worker, with the promoter held meanwhile.
 */
#ifndef STILLPOINT_FETCHING_H
#define STILLPOINT_FETCHING_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/control/request.h"

struct job;

struct fetching_options {
	int64_t id;
	const struct job *job;	/* NULL: L1 knows nothing of it. May be a draft (jobs.h) */
	int64_t generation;	/* 0: the newest that can be had */
	bool deep, dry_run;	/* fetch.h; all of these */
	json_t *parts, *ranks;	/* references of the caller's, as long as this lasts */
	const char *home;	/* so is this */
	const json_t *of_run;	/* and this; NULL: not known */
	uid_t uid;
};

struct fetching_ops {
	void (*progress)(json_t *progress, void *arg);	/* or NULL */
	/* Once, with the outcome of fetch_run() (taken over), whose steps are in the log then. */
	void (*ended)(json_t *outcome, void *arg);
};

/* Is there anything to be fetched from? */
bool fetching_is_on(const struct daemon *daemon);

/* 0: ops->ended() will be called; negative errno: it will not. */
int fetching_start(struct daemon *daemon, const struct fetching_options *options,
		   const struct fetching_ops *ops, void *arg);

#endif /* STILLPOINT_FETCHING_H */
