/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The diagnosis of a job: look at its ranks on all its nodes, and say which hangs, where and why.
 *
 * Each node's look is a worker. The home of the job asks the other nodes and decides. Nothing is
 * changed, stopped or slowed; every wait has a deadline, and nodes that do not answer by then are
 * named in the result, "silent_nodes", with what other nodes say of them, "reach" (reach_round.h).
 *
 *	diagnose	{"job": J, "run": R, "samples": S, "interval_ms": I,
 *			"stacks": false, "recent": N, "rank": R}	peer_ask.h; the result of
 *						look.h
 */
#ifndef STILLPOINT_DIAGNOSE_H
#define STILLPOINT_DIAGNOSE_H

#include "supervisor/job/jobs.h"

#define DIAGNOSE_PATIENCE_MS	30000	/* less than the others' wait: it may be at work */
#define DIAGNOSE_INTERVAL_MS	200
#define DIAGNOSE_RECENT		4	/* last calls that each rank tells of */

struct diagnose_options {
	unsigned int samples;	/* 0: as many as the ranks need */
	unsigned int interval_ms;
	uint64_t patience_ms;
	bool stacks;		/* and the stacks of all ranks */
	unsigned int recent;	/* calls that each rank tells of; STATUS_OPS at most */
	long long full;		/* rank that tells all that it has; -1: none */
};

/*
 * diagnose_request() - diagnose @job, whose home is here, and answer @request later
 *
 * NULL, or an outcome: the diagnosis could not begin, and @request is not answered.
 */
json_t *diagnose_request(struct request *request, struct job *job,
			 const struct diagnose_options *options);
/*
 * diagnose_quietly() - the same for nobody's request
 * @fn: called once, later, with the outcome (taken over), unless diagnose_forget() came first
 *
 * NULL: it could not begin, and @fn is not called.
 */
struct diagnosis;
typedef void (*diagnose_fn)(json_t *outcome, void *arg);
struct diagnosis *diagnose_quietly(struct job *job, const struct diagnose_options *options,
				   diagnose_fn fn, void *arg);
void diagnose_forget(struct diagnosis *diagnosis);	/* NULL is fine */
/* Answer the question "diagnose" of other nodes. */
int diagnose_register(struct jobs *jobs);

#endif /* STILLPOINT_DIAGNOSE_H */
