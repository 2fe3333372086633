/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events of jobs and the list of their subscribers: lower rooms emit events without knowing who
 * listens, upper rooms (auto/) subscribe.
 *
 * The list hangs from struct jobs. Subscribers are called in the order in which they subscribed,
 * in ckptd's event loop, from the middle of what the emitter does: a callback may start workers
 * and timers, but must not free the job, nor subscribe or unsubscribe.
 */
#ifndef STILLPOINT_JOB_EVENTS_H
#define STILLPOINT_JOB_EVENTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct job;
struct jobs;

/* How a generation came to be committed. */
struct job_commit {
	bool taken;		/* by a checkpoint that was begun on this node and has just ended */
	int64_t began_ms;	/* start of that checkpoint, by clock_monotonic_ms() */
	bool incremental;	/* that checkpoint needs a base */
	/* these are of a checkpoint that was taken only */
	bool automatic;		/* the schedule asked for it, not a request */
	int64_t generation;
	int64_t taken_s;	/* start, seconds since 1970 */
	const json_t *result;	/* what the request for the checkpoint is answered with */
};

/* Callbacks may be NULL. */
struct job_events {
	/* A checkpoint of @job begins, which is no dry run. */
	void (*checkpoint)(struct job *job, void *arg);
	/*
	 * A restart or a removal needs the images of @job as they are: background work on these
	 * images ends now; a request that waits for that work is answered.
	 */
	void (*claimed)(struct job *job, void *arg);
	/*
	 * This node's processes of @job were dumped, and their image counts. @result: what the dump
	 * has cost, of this node alone
	 */
	void (*dumped)(struct job *job, int64_t generation, const json_t *result, void *arg);
	/* A generation of @job was committed; this node may have only a part of it. */
	void (*committed)(const struct job_commit *commit, struct job *job, void *arg);
	/* @job was read from the catalog, or its state has changed. */
	void (*changed)(struct job *job, void *arg);
	/* A part of @job runs here, whose home is another node; forgotten() tells its end. */
	void (*part)(struct job *job, void *arg);
	/* Generations of @job were removed from some levels; a level may still have them. */
	void (*tombstoned)(struct job *job, void *arg);
	/* @job is about to be freed. Also called for drafts. */
	void (*forgotten)(struct job *job, void *arg);
};

/* Part of the subscriber's own context. The subscriber fills in all but @next. */
struct job_events_subscriber {
	const struct job_events *events;
	void *arg;
	struct job_events_subscriber *next;
};

void job_events_subscribe(struct jobs *jobs, struct job_events_subscriber *subscriber);
/* Does nothing if @subscriber has not subscribed. */
void job_events_unsubscribe(struct jobs *jobs, struct job_events_subscriber *subscriber);

void job_events_checkpoint(struct job *job);
void job_events_claimed(struct job *job);
void job_events_dumped(struct job *job, int64_t generation, const json_t *result);
void job_events_committed(struct job *job, const struct job_commit *commit);
void job_events_changed(struct job *job);
void job_events_part(struct job *job);
void job_events_tombstoned(struct job *job);
void job_events_forgotten(struct job *job);

#endif /* STILLPOINT_JOB_EVENTS_H */
