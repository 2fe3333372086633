// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generations of a job that were removed at home, where each node has an image directory of its own:
 * the others remove what they have of them, there and on the levels; see parts.h.
 *
 * Nobody waits for it: a node that is off keeps what it has, which is said in the log. What is pinned
 * or in use on a node stays there. A part that runs there is left alone.
 */
#include "supervisor/parts_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/levels_remove.h"
#include "supervisor/listing.h"
#include "supervisor/outcome.h"
#include "supervisor/pin.h"
#include "supervisor/promoter.h"
#include "supervisor/worker.h"

/* ----------------------------------------------------------------- asking */

struct asked_node {
	struct daemon *daemon;
	int64_t job;
	char name[64];
};

static void on_forgotten(const json_t *outcome, void *arg)
{
	struct asked_node *asked = arg;
	const char *text = json_string_value(json_object_get(json_object_get(outcome, "error"), "text"));

	if (!outcome_is_ok(outcome))
		log_warning(&asked->daemon->log, "job %lld: what node %s has of what was removed stays there: %s",
			    (long long)asked->job, asked->name, text ? text : "it does not answer");
	free(asked);
}

static void ask(struct daemon *daemon, unsigned int host, int64_t job, json_t *args)
{
	struct asked_node *asked = calloc(1, sizeof(*asked));
	struct peer_node who;
	json_t *outcome;
	int err;

	if (!asked) {
		json_decref(args);
		return;
	}
	peer_node(nodes_peer(daemon->nodes), host, &who);
	asked->daemon = daemon;
	asked->job = job;
	snprintf(asked->name, sizeof(asked->name), "%s", who.name);
	err = peer_ask(nodes_asks(daemon->nodes), host, "forget", args, PARTS_START_MS, on_forgotten,
		       asked, NULL);
	if (!err)
		return;
	outcome = outcome_error(err, "%s", strerror(-err));
	on_forgotten(outcome, asked);
	json_decref(outcome);
}

void parts_forget(const struct job *job, const json_t *generations, bool whole, bool force)
{
	struct daemon *daemon = jobs_daemon(job->jobs);
	struct peer *peer = nodes_peer(daemon->nodes);
	int i, nr = peer ? (int)peer_nr_nodes(peer) : 0;

	for (i = 0; i < nr; i++) {
		if (i == (int)peer_self(peer))
			continue;
		ask(daemon, (unsigned int)i, job->id,
		    json_pack("{s:I, s:s, s:O, s:b, s:b}", "job", (json_int_t)job->id, "uuid", job->uuid,
			      "generations", generations, "whole", whole, "force", force));
	}
}

/* ------------------------------------------------------------ another node */

struct forgetting {
	struct peer_question *question;
	struct daemon *daemon;
	struct worker *worker;
	struct job *job;
	json_t *generations;
	bool whole, force;
	char label[64];
};

static json_t *forget_run(struct channel_reporter *reporter, void *arg)
{
	const struct forgetting *f = arg;
	const struct catalog *catalog = &f->daemon->catalog;
	const struct levels_removal removal = {
		.daemon = f->daemon, .job = f->job->id, .label = f->label,
		.generations = f->whole ? NULL : f->generations, .force = true,
	};
	const struct op_env env = { .key = f->daemon->config.key,
				    .secret = f->daemon->config.encryption_key };
	const struct listing listing = {
		.env = &env, .catalog = catalog, .job = f->job->id, .label = f->label,
	};
	json_t *outcome = listing_check_own(&listing, f->generations, f->force);
	const json_t *number;
	char why[512];
	size_t i;
	int err;

	if (outcome)
		return outcome;
	json_array_foreach(f->generations, i, number) {
		int64_t n = json_integer_value(number);

		if (pin_has(catalog, f->job->id, n))
			return outcome_error(-EBUSY, "generation %lld is pinned there", (long long)n);
		err = catalog_generation_remove(catalog, f->job->id, n, why, sizeof(why));
		if (err)
			return outcome_error(err, "%s", why);
	}
	if (f->daemon->config.tiers.nr)
		json_decref(levels_remove(&removal));
	err = f->whole ? catalog_job_remove(catalog, f->job->id) : 0;
	return err ? outcome_error(err, "%s: %s", f->job->image_dir, strerror(-err)) : outcome_ok(NULL);
}

static void on_forget_ended(json_t *outcome, void *arg)
{
	struct forgetting *f = arg;

	promoter_changed(f->daemon->promoter, f->label);
	promoter_release(f->daemon->promoter);
	f->job->busy = NULL;
	if (outcome_is_ok(outcome) && f->whole)
		jobs_forget(f->job);
	peer_question_answer(f->question, outcome);
	json_decref(f->generations);
	free(f);
}

static void on_progress(json_t *progress, void *arg)
{
}

static const struct channel_ops ops = { on_progress, on_forget_ended };

static void on_held(void *arg)
{
	struct worker_spec spec = {
		.name = "ckptd-forget", .run = forget_run, .arg = arg,
		.killed = "what it had removed by then is gone there",
	};
	struct forgetting *f = arg;
	int err = worker_start(f->daemon, &spec, &ops, f, &f->worker);

	if (err)
		on_forget_ended(outcome_error(err, "no worker: %s", strerror(-err)), f);
}

/* What is meant, if it is here; NULL: there is nothing to do, or *@ret_outcome. */
static struct job *find(struct daemon *daemon, const json_t *args, json_t **ret_outcome)
{
	const char *uuid = json_string_value(json_object_get(args, "uuid"));
	json_t *no = NULL;
	struct job *job = jobs_find(daemon->jobs, json_integer_value(json_object_get(args, "job")), &no);

	json_decref(no);
	if (!job || !uuid || strcmp(job->uuid, uuid))
		return NULL;
	if (!job->busy && (!job_is_alive(job) || !json_is_true(json_object_get(args, "whole"))))
		return job;
	*ret_outcome = outcome_error(-EBUSY, "it is in use there");
	return NULL;
}

static void on_forget(struct peer_question *q, void *arg)
{
	struct daemon *daemon = arg;
	const json_t *args = peer_question_args(q);
	json_t *outcome = NULL;
	struct job *job = find(daemon, args, &outcome);
	struct forgetting *f = job ? calloc(1, sizeof(*f)) : NULL;

	if (!f) {
		peer_question_answer(q, outcome ? outcome : job ? outcome_error(-ENOMEM, "out of memory") :
				     outcome_ok(NULL));
		return;
	}
	*f = (struct forgetting) {
		.question = q, .daemon = daemon, .job = job,
		.generations = json_incref(json_object_get(args, "generations")),
		.whole = json_is_true(json_object_get(args, "whole")),
		.force = json_is_true(json_object_get(args, "force")),
	};
	job_label(job, f->label);
	job->busy = "removal";
	if (promoter_hold(daemon->promoter, on_held, f))
		on_held(f);
}

int parts_forget_register(struct daemon *daemon)
{
	return peer_verb(nodes_asks(daemon->nodes), "forget", on_forget, daemon);
}
