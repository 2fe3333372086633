/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A job whose ranks are on several nodes, as ckptd has it: one part per node, each with
 * a shim of its own.
 *
 * The node that was asked for the job is its home: node 0 of the rank map.  The home alone
 * writes the job's record; the other nodes have the shim's identity in STATE_DIR/ID as for any
 * job, and find out from it and the record, after a restart of ckptd, that a part runs there.
 *
 * A part says how it is to the home, every two seconds while it runs, every second when it has
 * ended, until the home says that the job is over.  The first failure ends the other parts,
 * unless keep_going; the job's status is that of the rank that failed first, by the nodes'
 * clocks.  A part of which nothing is heard leaves the job running: ps names its node.
 *
 * Questions between ckptds (peer_ask.h), R how often the job was restarted:
 *
 *	start	as there; the record is the home's.  With "restore" (job_restore.h) from its
 *		image; answered with the figures of op_restore() when the ranks
 *		run again.  -EAGAIN: ask again
 *	try	{"job": J, "node": k, "record": {...}, "restore": {...}}: could it be started there
 *		from its image? Nothing is. {"processes": N, "threads": N, ...}
 *	fetch	{"job": J, "node": k, "record": {...}, "token": T, "generation": N, "was": {...},
 *		"deep": bool, "dry_run": bool}: where image directories are not shared, have the
 *		images that node k needs of the generation, which had the ranks "was" (none: it
 *		is of one image). -EAGAIN: not yet, ask again; then as fetch_run(), with "run",
 *		the run of which the node's own record is
 *	forget	{"job": J, "uuid": U, "generations": [N, ...], "level": NAME, "whole": bool,
 *		"force": bool, "ended": bool}: where image directories are not shared, remove
 *		what is there of these, or of the job; with "level" from that one only
 *	pin     {"job": J, "uuid": U, "generation": N, "pin": bool, "by": uid}: where image
 *	directories are not
 *		shared, pin what is there of it, or unpin it: {"here": was there anything}
 *	run     {"job": J, "uuid": U}   of which run that node's record of the job is: {"run": R
 *	(0)} signal     {"job": J, "run": R, "signal": N}       to the ranks here
 *	end	as there
 *	part    {"job": J, "run": R, "node": k, "state": "restoring" | "running" | "ended",
 *	"status": S,
 *		"rank": r (-1), "failed_ns": T, "lost": false}, to the home.  {"over": B,
 *		"restoring": is any other's image still being read}
 *	over	{"job": J, "run": R}	from the home: forget it
 */
#ifndef STILLPOINT_PARTS_H
#define STILLPOINT_PARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/proto.h"
#include "supervisor/daemon.h"

struct job;
struct job_end;
struct parts;

/* What other nodes say is heard: once, when daemon->jobs and daemon->nodes are there. */
int parts_register(struct daemon *daemon);

/*
 * parts_open() - make job->parts
 * @fresh: it is about to be started; else it runs already, as far as is known
 *
 * 0 or negative errno, with @why.
 */
int parts_open(struct job *job, bool fresh, char *why, size_t size);
void parts_close(struct job *job);		/* none is fine */

/* Of a job that has ended: its shim here knows it, even if ckptd died before it could say so. */
void parts_over(const struct job *job);

/* Its start was cut off by our end: all of it is to end. */
void parts_cut_off(struct parts *parts);
/*
 * Those of this node, which is not the home, have ended; whether the job has is the home's to
 * say. False for NULL.
 */
bool parts_has_ended(const struct parts *parts);
/* This node, which is not the home, is starting or restoring its part; false for NULL. */
bool parts_starts_here(const struct parts *parts);
/* Any of its nodes still reads its image, as far as is known here; false for NULL. */
bool parts_restoring(const struct parts *parts);
/* Nodes of which nothing has been heard for some time; NULL: none. A new reference. */
json_t *parts_silent(const struct parts *parts);
/* Of the home: name of the first other node whose part has ended, for good; NULL: none. */
const char *parts_first_ended(const struct parts *parts);
/* As far as this node can tell, one is: the home of any, any other of the home. */
bool parts_lost(const struct parts *parts);

/*
 * parts_start() - of the home, whose own part runs: have the others start theirs
 * @restore: from their images, as job_restore.h has it; NULL: anew
 * @fn: once, with the outcome (taken over); if it failed nothing of the job is left.  Of
 *	restores it has the figures of the others, as of op_restore()
 */
typedef void (*parts_started_fn)(json_t *outcome, void *arg);
void parts_start(struct parts *parts, const json_t *restore, parts_started_fn fn, void *arg);
/* The start has failed here, for @why: it comes to nothing on all nodes. */
void parts_cancel(struct parts *parts, json_t *why);
/*
 * Of the home: all have been asked, it has failed, and what began is being ended. False for
 * NULL.
 */
bool parts_gives_up(const struct parts *parts);

/*
 * parts_try() - ask the other nodes of @job, which may be a draft (jobs.h), whether they could
 * restore what they are to have of it
 * @how: as in job_restore.h, with dry_run
 * @own: what is known of this one; taken over
 * @fn: once, later or at once; with sums for all, or with what is wrong anywhere
 */
typedef void (*parts_tried_fn)(json_t *outcome, void *arg);
void parts_try(const struct job *job, const json_t *how, json_t *own, parts_tried_fn fn, void *arg);
/*
 * parts_fetch() - where image directories are not shared: have each node of @job, this one as well,
 *	have the images that it needs there (fetch.h)
 * @job: a draft, whose record says where its ranks are to be; stays the caller's until @fn
 * @was: as catalog_generation_parts() has it; NULL: the generation is of one image
 * @fn: once, later or at once: {"in_l1": all are there, "run": the highest that a node knows,
 *	"steps": [text, ...]}, or what is wrong anywhere
 */
struct parts_fetch {
	int64_t generation;
	json_t *was;
	const json_t *of_run;	/* fetch.h */
	bool deep, dry_run;
};

typedef void (*parts_fetched_fn)(json_t *outcome, void *arg);
void parts_fetch(const struct job *job, const struct parts_fetch *how, parts_fetched_fn fn,
		 void *arg);
void parts_fetch_close(struct daemon *daemon);
/*
 * parts_forget() - where image directories are not shared: @generations have been removed here,
 * and the
 *	job if @whole: the other nodes do the same. What goes wrong is in the log, later.
 */
struct parts_forget {
	const json_t *generations;	/* ascending */
	const char *level;		/* from this one only; NULL: from all */
	bool whole;
	bool force;			/* listing_check_own(), levels_remove() of one level */
};

void parts_forget(const struct job *job, const struct parts_forget *how);
/*
 * parts_pin() - where image directories are not shared: @names pin what they have of a
 * generation, or
 *	unpin it
 * @fn: once, later or at once: {"nodes": {name: had it anything of it}, "failed": {name: why}},
 *	NULL without memory; stays ours
 *
 * parts_pin_nodes() are the others that may have something of it, by what is known here; a new
 * reference to [name, ...], of which there is none where directories are shared.
 */
struct parts_pin {
	int64_t generation;
	bool pin;
	uid_t by;
};

typedef void (*parts_pinned_fn)(const json_t *result, void *arg);
json_t *parts_pin_nodes(const struct job *job, int64_t generation);
void parts_pin(const struct job *job, json_t *names, const struct parts_pin *how,
	       parts_pinned_fn fn, void *arg);
/* Its nodes are known to the hosts file; NULL, or an outcome. */
json_t *parts_check_names(const struct daemon *daemon, const json_t *names);

/*
 * parts_abandon() - end what is left of a job, some nodes of which are known to be off
 *
 * Of the home: those that are not heard have lost theirs, and the job ends. Of another node:
 * what is here ends, and the job is forgotten here; its home is believed to be off.
 */
void parts_abandon(struct parts *parts);
bool parts_is_abandoned(const struct parts *parts);	/* false for NULL */

/* A signal for all ranks: of the home, for the other nodes. */
void parts_signal(struct parts *parts, int signo);

/* From job.c: connected to the shim; a message of it, or a full socket takes more (NULL). */
void parts_connected(struct parts *parts);
void parts_message(struct parts *parts, const struct shim_msg *msg, const void *data,
		   size_t len);
/* The processes here are gone; the shim's connection is.  Either may free the job. */
void parts_gone(struct parts *parts, const struct job_end *end);
void parts_shim_left(struct parts *parts);

#endif /* STILLPOINT_PARTS_H */
