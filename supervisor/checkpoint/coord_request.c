// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request for a checkpoint: prepares all nodes for it, begins it, watches it, and answers it
 * once. This file words the reason of a failure, as far as this node knows it; if a step failed
 * on another node, it asks that node for the reason. It looks for silent nodes only while a
 * request waits.
 */
#include "supervisor/checkpoint/coord_driver_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "supervisor/checkpoint/coord_peer.h"
#include "supervisor/parts/parts_priv.h"

#define WATCH_MS	1000
#define SILENT_LOOKS	5	/* looks that must find a node in parts_silent() */
/*
 * Coordinators begin with the first request, and their reports pass through connections that are
 * made then: a request that comes before all nodes are known is made again, for so long.
 */
#define LATER_MS	100
#define KNOWN_NS	30000000000ULL

static void coord_request_watch(struct coord_driver *d);

/* ----------------------------------------------------------------- answer */

void driver_answer(struct coord_driver *d, json_t *outcome)
{
	struct coord_checkpoint c = d->checkpoint;

	d->asked = false;
	reactor_remove(d->later);
	d->later = NULL;
	json_decref(d->failure);
	json_decref(d->dumped);
	d->failure = d->dumped = NULL;
	c.done(outcome, c.arg);
}

static const char *node_name(const struct coord_driver *d, unsigned int node)
{
	if (!d->job->parts)
		return d->common->config.node;
	return node < d->ranks.nr_nodes ? parts_name(d->job->parts, node) : NULL;
}

static json_t *coord_request_refusal(const struct coord_driver *d, const struct coord_action *act)
{
	char text[400], held[160] = "", who[32] = "others wait";
	struct coord_wait wait = act->wait;
	/* Our shim's report (d->stuck) is about ranks of this node only. */
	bool ours = wait.node == COORD_NONE || wait.node == d->ranks.node;
	const char *call = ours && d->stuck.name[0] ? d->stuck.name : NULL;

	if (d->failure)
		return json_incref(d->failure);
	if (act->reason == COORD_WHY_TIMEOUT && ours && d->stuck.held == SHIM_WAIT_MUTE) {
		snprintf(held, sizeof(held),
			 "; it does not answer: stopped, or without a processor");
	} else if (act->reason == COORD_WHY_TIMEOUT && ours && !call && wait.rank != COORD_NONE) {
		wait.peer = COORD_NONE;
		if (act->wait.peer != COORD_NONE)
			snprintf(who, sizeof(who), "rank %u waits", act->wait.peer);
		snprintf(held, sizeof(held),
			 "; it computes outside MPI while %s for it in a collective", who);
	} else if (act->reason == COORD_WHY_TIMEOUT && wait.rank == COORD_NONE) {
		snprintf(held, sizeof(held), "; the shim of the job says nothing");
	}
	coord_describe(text, sizeof(text), act->reason, &wait, node_name(d, wait.node), call);
	return outcome_error(act->error ? act->error : -EIO,
			     "no checkpoint of job %lld: %s%s; the job runs on",
			     (long long)d->job->id, text, held);
}

static void coord_request_on_why(struct coord_driver *d, json_t *failure)
{
	json_t *refusal = d->refusal;

	d->refusal = NULL;
	if (d->asked)
		driver_answer(d, failure ? failure : json_incref(refusal));
	else
		json_decref(failure);
	json_decref(refusal);
}

/* Only the node whose step failed knows why: ask it before the answer. */
static void driver_refuse(struct coord_driver *d, const struct coord_action *act)
{
	uint32_t node = act->wait.node;
	json_t *text = coord_request_refusal(d, act);

	if (d->failure || node == COORD_NONE || node == d->ranks.node ||
	    node >= d->ranks.nr_nodes || act->reason == COORD_WHY_TIMEOUT) {
		driver_answer(d, text);
		return;
	}
	d->refusal = text;
	coord_peer_why(d, node, coord_request_on_why);
}

static void coord_request_ask(struct coord_driver *d)
{
	struct coord_event event = driver_event(COORD_EV_REQUEST);

	event.request = COORD_CHECKPOINT;
	event.ticket = ++d->ticket;
	event.quiesce_ms = d->checkpoint.quiesce_ms;
	driver_feed(d, &event);
}

static void coord_request_on_later(void *arg)
{
	struct coord_driver *d = arg;

	d->later = NULL;
	if (d->asked)
		coord_request_ask(d);
}

/* Ask again when all nodes are known; false: it is to be refused. */
static bool coord_request_later(struct coord_driver *d)
{
	return !d->failure && clock_monotonic_ns() - d->asked_at < KNOWN_NS &&
	       !reactor_timer(d->common->reactor, LATER_MS, coord_request_on_later, d, &d->later);
}

void driver_outcome(struct coord_driver *d, const struct coord_action *act)
{
	if (!d->asked || act->ticket != d->ticket)
		return;
	if (act->level == COORD_COMMITTED) {
		d->committed = true;
		driver_maybe_answer(d);
	} else {
		driver_refuse(d, act);
	}
}

void driver_reply(struct coord_driver *d, const struct coord_action *act)
{
	if (!d->asked || act->ticket != d->ticket)
		return;
	if (act->reason != COORD_WHY_RECOVERING || !coord_request_later(d))
		driver_refuse(d, act);
}

/* ------------------------------------------------------------------ watch */

/* True if a node has been silent for long enough to act on. */
static bool is_unheard(struct coord_driver *d, const json_t *silent)
{
	if (!silent)
		d->silent_looks = 0;
	return silent && ++d->silent_looks >= SILENT_LOOKS;
}

static json_t *why_unheard(const struct coord_driver *d, const char *ended, const char *silent)
{
	long long id = (long long)d->job->id;

	if (ended)
		return outcome_error(-ESRCH,
				     "no checkpoint of job %lld: the ranks of node %s have ended; "
				     "the job runs on",
				     id, ended);
	return outcome_error(-EHOSTUNREACH,
			     "no checkpoint of job %lld: node %s does not answer; the job runs on",
			     id, silent);
}

/*
 * A silent node keeps nobody waiting: an undecided checkpoint is given up, which the node is
 * told when it is back; a decided checkpoint counts, whether or not the node has confirmed it.
 * A node whose ranks have ended has no coordinator any more and will stay silent.
 */
static void coord_request_on_watch(void *arg)
{
	struct coord_driver *d = arg;
	struct coord_event event = driver_event(COORD_EV_REQUEST);
	json_t *silent = d->job->parts ? parts_silent(d->job->parts) : NULL;
	const char *ended = d->job->parts ? parts_first_ended(d->job->parts) : NULL;

	d->watch = NULL;
	if (!d->asked)
		goto out;
	if (!is_unheard(d, silent) && !ended) {
		coord_request_watch(d);
		goto out;
	}
	if (d->decided) {
		d->committed = true;
		driver_maybe_answer(d);
		coord_request_watch(d);
		goto out;
	}
	if (!d->failure)
		d->failure = why_unheard(d, ended,
					 json_string_value(json_array_get(silent, 0)));
	if (d->later) {		/* nothing has begun */
		driver_answer(d, json_incref(d->failure));
		goto out;
	}
	event.request = COORD_ABORT;
	driver_feed(d, &event);
	if (d->asked)
		coord_request_watch(d);
out:
	json_decref(silent);
}

static void coord_request_watch(struct coord_driver *d)
{
	if (d->ranks.nr_nodes > 1 && !d->watch)
		reactor_timer(d->common->reactor, WATCH_MS, coord_request_on_watch, d, &d->watch);
}

static void coord_request_on_prepared(struct coord_driver *d, json_t *failure)
{
	if (!d->asked) {	/* the job has ended meanwhile */
		json_decref(failure);
		return;
	}
	if (failure) {
		driver_answer(d, failure);
		return;
	}
	coord_request_ask(d);
	coord_request_watch(d);
}

int coord_driver_checkpoint(struct job *job, const struct coord_checkpoint *checkpoint)
{
	int err = driver_open(job);
	struct coord_driver *d = job->coord;

	if (err)
		return err;
	if (d->asked)
		return -EBUSY;
	d->asked = true;
	d->committed = d->decided = false;
	d->silent_looks = 0;
	d->checkpoint = *checkpoint;
	json_decref(d->args);
	d->args = json_incref(checkpoint->args);
	memset(&d->stuck, 0, sizeof(d->stuck));
	json_decref(d->failure);
	d->failure = NULL;
	d->asked_at = clock_monotonic_ns();
	coord_peer_prepare(d, coord_request_on_prepared);
	return 0;
}
