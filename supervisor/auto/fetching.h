/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fetch (fetch.h) of one generation in a worker.
 *
 * The flusher is held for as long as the fetch runs, except for a dry run, and except for a
 * user's job of which L1 has no record. Call in ckptd's event loop only.
 */
#ifndef STILLPOINT_FETCHING_H
#define STILLPOINT_FETCHING_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/control/request.h"

struct flusher;
struct job;

struct fetching_options {
	struct flusher *flusher;
	int64_t id;
	const struct job *job;	/* NULL: L1 has no record of it. May be a draft (jobs.h) */
	int64_t generation;	/* 0: the newest that can be had */
	bool deep, dry_run;	/* this and the rest: as in struct fetch */
	/* these four stay the caller's and must last until ops->ended() */
	json_t *parts, *ranks;
	const char *home;
	const json_t *of_run;	/* NULL: the run is not known */
	uid_t uid;
};

struct fetching_ops {
	void (*progress)(json_t *progress, void *arg);	/* or NULL */
	/* Called once; takes over the outcome of fetch_run(), whose steps have been logged. */
	void (*ended)(json_t *outcome, void *arg);
};

/* True if there is anything to fetch from: a level, or image directories of other nodes. */
bool fetching_is_on(const struct common *common);

/* Return: 0: ops->ended() will be called; negative errno: no fetch was started. */
int fetching_start(struct common *common, const struct fetching_options *options,
		   const struct fetching_ops *ops, void *arg);

#endif /* STILLPOINT_FETCHING_H */
