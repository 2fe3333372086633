// SPDX-License-Identifier: GPL-2.0-only
/*
 * See coord_peer.h. peer.h has checked that a message comes from a node of the job and run that
 * the message names; this file drops messages that the machine would not understand. A restarted
 * daemon makes the coordinator of a job when the first message for it comes.
 */
#include "supervisor/checkpoint/coord_peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/checkpoint/coord_driver_priv.h"
#include "supervisor/net/nodes.h"
#include "supervisor/parts/parts_priv.h"

#define PREPARE_MS	20000	/* long: the node's ranks may have all processors */
#define WHY_MS		5000

void coord_peer_send(struct coord_driver *d, uint32_t node, const struct coord_msg *msg)
{
	const struct peer_msg wrapped = {
		.job = d->job->id, .run = d->job->parts->run, .node = node,
		.type = PEER_COORD, .data = msg, .len = coord_msg_size(msg),
	};

	peer_send(nodes_peer(d->common->nodes), &wrapped);
}

static void on_message(const struct peer_msg *msg, void *arg)
{
	struct job *job = parts_job(arg, msg->job, msg->run);
	struct coord_event event = driver_event(COORD_EV_MSG);
	struct coord_msg *copy;

	if (!job || !job->parts || driver_open(job))
		return;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return;
	if (peer_coord_read(msg, copy)) {
		free(copy);
		return;
	}
	/* The queue frees it. */
	event.msg = copy;
	driver_feed(job->coord, &event);
}

/* --------------------------------------------------------------- prepare */

struct preparing {
	struct coord_driver *driver;
	unsigned int node;
};

static void coord_peer_settle(struct coord_driver *d)
{
	coord_prepared_fn fn = d->prepared;
	json_t *failure = d->prepare_failure;

	if (d->preparing)
		return;
	d->prepared = NULL;
	d->prepare_failure = NULL;
	fn(d, failure);
	if (d->closing)
		coord_driver_close(d);
}

static void coord_peer_on_prepared(const json_t *outcome, void *arg)
{
	struct preparing *p = arg;
	struct coord_driver *d = p->driver;
	const char *text = json_string_value(json_object_get(json_object_get(outcome, "error"),
							     "text"));

	if (!d->closing && !outcome_is_ok(outcome) && !d->prepare_failure)
		d->prepare_failure =
			outcome_error(outcome_errno(outcome),
				      "no checkpoint of job %lld: node %s: %s; the job runs on",
				      (long long)d->job->id, parts_name(d->job->parts, p->node),
				      text ? text : "it does not answer");
	free(p);
	d->preparing--;
	coord_peer_settle(d);
}

static int coord_peer_ask(struct coord_driver *d, unsigned int node)
{
	struct parts *parts = d->job->parts;
	struct preparing *p = calloc(1, sizeof(*p));
	int host = parts_host(parts, node), err;
	json_t *args;

	if (!p || host < 0) {
		free(p);
		return host < 0 ? host : -ENOMEM;
	}
	*p = (struct preparing) { d, node };
	args = json_pack("{s:I, s:I, s:O}", "job", (json_int_t)d->job->id, "run",
			 (json_int_t)parts->run, "args", d->args);
	err = peer_ask(nodes_asks(d->common->nodes), (unsigned int)host, "checkpoint", args,
		       PREPARE_MS, coord_peer_on_prepared, p, NULL);
	if (err)
		free(p);
	else
		d->preparing++;
	return err;
}

void coord_peer_prepare(struct coord_driver *d, coord_prepared_fn fn)
{
	unsigned int node;
	int err = 0;

	d->prepared = fn;
	/* Counts as a question until all nodes have been asked. */
	d->preparing = 1;
	for (node = 1; node < d->ranks.nr_nodes && !err; node++)
		err = coord_peer_ask(d, node);
	if (err && !d->prepare_failure)
		d->prepare_failure =
			outcome_error(err,
				      "no checkpoint of job %lld: node %s: %s; the job runs on",
				      (long long)d->job->id, parts_name(d->job->parts, node - 1),
				      strerror(-err));
	d->preparing--;
	coord_peer_settle(d);
}

/* ------------------------------------------------------------------- why */

static void give_why(struct coord_driver *d, json_t *failure)
{
	coord_prepared_fn fn = d->why;

	d->why = NULL;
	d->preparing--;
	fn(d, failure);
	if (d->closing && !d->preparing)
		coord_driver_close(d);
}

static void coord_peer_on_why(const json_t *outcome, void *arg)
{
	struct coord_driver *d = arg;
	json_t *theirs = json_object_get(json_object_get(outcome, "result"), "outcome"), *error;
	json_t *failure = NULL;
	const char *text;

	error = json_object_get(theirs, "error");
	text = json_string_value(json_object_get(error, "text"));
	/* While the driver closes, d->job may be freed already. */
	if (!d->closing && outcome_is_ok(outcome) && text) {
		failure = json_deep_copy(theirs);
		json_object_set_new(json_object_get(failure, "error"), "text",
				    json_sprintf("node %s: %s",
						 parts_name(d->job->parts, d->why_node), text));
	}
	give_why(d, failure);
}

void coord_peer_why(struct coord_driver *d, uint32_t node, coord_prepared_fn fn)
{
	struct parts *parts = d->job->parts;
	int host = parts ? parts_host(parts, node) : -ENOENT, err = host;

	d->why = fn;
	d->why_node = node;
	d->preparing++;
	if (host >= 0)
		err = peer_ask(nodes_asks(d->common->nodes), (unsigned int)host, "failure",
			       json_pack("{s:I, s:I}", "job", (json_int_t)d->job->id, "run",
					 (json_int_t)parts->run),
			       WHY_MS, coord_peer_on_why, d, NULL);
	if (err < 0)
		give_why(d, NULL);
}

static void on_failure(struct peer_question *question, void *arg)
{
	const struct coord_driver *d;
	json_int_t id = 0, run = 0;
	struct job *job;
	json_t *result = json_object();

	json_unpack(peer_question_args(question), "{s:I, s:I}", "job", &id, "run", &run);
	job = parts_job(arg, id, (uint64_t)run);
	if (job && !parts_is_node(job->parts, peer_question_from(question)))
		job = NULL;
	d = job ? job->coord : NULL;
	/* json_object_set() of NULL sets nothing. */
	json_object_set(result, "outcome", d ? d->failure : NULL);
	peer_question_answer(question, outcome_ok(result));
}

/* ------------------------------------------------------- requests of the home */

static void coord_peer_on_checkpoint(struct peer_question *question, void *arg)
{
	json_t *args = peer_question_args(question), *how;
	struct peer_node home;
	json_int_t id, run;
	struct job *job;
	int err;

	if (json_unpack(args, "{s:I, s:I, s:o}", "job", &id, "run", &run, "args", &how) ||
	    !json_is_object(how)) {
		peer_question_answer(question, outcome_error(-EPROTO, "checkpoint: bad arguments"));
		return;
	}
	job = parts_job(arg, id, (uint64_t)run);
	err = !job || !job->parts ? -ESRCH :
	      parts_is_homes(job->parts, peer_question_from(question)) ? driver_open(job) : -EPERM;
	if (err) {
		peer_question_answer(question, outcome_error(err, err == -EPERM ?
				     "only the home of job %lld may ask for a checkpoint" :
				     "job %lld does not run here", (long long)id));
		return;
	}
	json_decref(job->coord->failure);
	job->coord->failure = NULL;
	json_decref(job->coord->args);
	job->coord->args = json_copy(how);
	json_object_set_new(job->coord->args, "pids", json_pack("[i]", (int)job->init));
	/* A home without root=yes takes no process that the owner could not trace. */
	peer_node(nodes_peer(jobs_common(arg)->nodes), peer_question_from(question), &home);
	if (!home.root)
		json_object_del(job->coord->args, "any_rights");
	peer_question_answer(question, outcome_ok(NULL));
}

int coord_peer_register(struct jobs *jobs)
{
	struct peer *peer = nodes_peer(jobs_common(jobs)->nodes);
	struct peer_asks *asks = nodes_asks(jobs_common(jobs)->nodes);
	int err;

	if (!peer)
		return 0;
	peer_receive(peer, PEER_COORD, on_message, jobs);
	err = peer_verb(asks, "checkpoint", coord_peer_on_checkpoint, jobs);
	if (!err)
		err = peer_verb(asks, "failure", on_failure, jobs);
	return err ? err : driver_links_register(jobs);
}
