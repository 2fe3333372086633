// SPDX-License-Identifier: GPL-2.0-only
/*
 * Removes a job's generations on the other nodes after the home has removed them, where each
 * node has an image directory of its own: each node removes its share, from its image directory
 * and from the levels; see parts.h.
 *
 * Nobody waits for the removal: a node that is off keeps its share, and the home logs that.  A
 * generation that is pinned or in use on a node stays there.  A running part is left alone.  Each
 * node notes the tombstones in its own record, which its flusher reads.
 */
#include "supervisor/parts/parts_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/storage/levels_remove.h"
#include "supervisor/catalog/listing.h"
#include "base/outcome.h"
#include "supervisor/catalog/pin.h"
#include "supervisor/auto/flusher.h"
#include "supervisor/auto/services.h"
#include "supervisor/job/tombstone_note.h"
#include "supervisor/job/key_of_job.h"
#include "supervisor/control/worker.h"

/* ----------------------------------------------------------------- asking */

struct asked_node {
	struct common *common;
	int64_t job;
	char name[64];
};

static void on_forgotten(const json_t *outcome, void *arg)
{
	struct asked_node *asked = arg;
	const char *text =
		json_string_value(json_object_get(json_object_get(outcome, "error"), "text"));

	if (!outcome_is_ok(outcome))
		log_warning(&asked->common->log,
			    "job %lld: what node %s has of what was removed stays there: %s",
			    (long long)asked->job, asked->name, text ? text : "it does not answer");
	free(asked);
}

static void parts_forget_ask(struct common *common, unsigned int host, int64_t job, json_t *args)
{
	struct asked_node *asked = calloc(1, sizeof(*asked));
	struct peer_node who;
	json_t *outcome;
	int err;

	if (!asked) {
		json_decref(args);
		return;
	}
	peer_node(nodes_peer(common->nodes), host, &who);
	asked->common = common;
	asked->job = job;
	snprintf(asked->name, sizeof(asked->name), "%s", who.name);
	err = peer_ask(nodes_asks(common->nodes), host, "forget", args, PARTS_START_MS,
		       on_forgotten, asked, NULL);
	if (!err)
		return;
	outcome = outcome_error(err, "%s", strerror(-err));
	on_forgotten(outcome, asked);
	json_decref(outcome);
}

void parts_forget(const struct job *job, const struct parts_forget *how)
{
	struct common *common = jobs_common(job->jobs);
	struct peer *peer = nodes_peer(common->nodes);
	int i, nr = peer ? (int)peer_nr_nodes(peer) : 0;

	for (i = 0; i < nr; i++) {
		if (i == (int)peer_self(peer))
			continue;
		parts_forget_ask(common, (unsigned int)i, job->id,
				 json_pack("{s:I, s:s, s:O, s:s*, s:b, s:b, s:b}", "job",
					   (json_int_t)job->id, "uuid", job->uuid, "generations",
					   how->generations, "level", how->level, "whole",
					   how->whole, "force", how->force, "ended",
					   job->state == JOB_ENDED));
	}
}

/* ------------------------------------------------------------ another node */

struct forgetting {
	struct peer_question *question;
	struct common *common;
	struct services *services;
	struct worker *worker;
	struct job *job;
	json_t *generations;
	const char *level;	/* of the question; NULL: all levels */
	bool whole, force, ended;
	struct tombstone_note note;
	char label[64];
};

/* Remove the generations from the image directory. Return: NULL, or an outcome. */
static json_t *forget_in_l1(const struct forgetting *f)
{
	const struct catalog *catalog = &f->common->catalog;
	const struct op_env env = { .key = f->common->config.key,
				    .secret = f->common->config.secret };
	const struct listing listing = {
		.env = &env, .catalog = catalog, .job = f->job->id, .label = f->label,
	};
	json_t *outcome = listing_check_own(&listing, f->generations, f->force);
	const json_t *number;
	struct ckpt_error error = {};
	size_t i;
	int err;

	if (outcome)
		return outcome;
	json_array_foreach(f->generations, i, number) {
		int64_t n = json_integer_value(number);

		if (pin_has(catalog, f->job->id, n))
			return outcome_error(-EBUSY, "generation %lld is pinned there",
					     (long long)n);
		err = catalog_generation_remove(catalog, f->job->id, n, &error);
		if (err)
			return outcome_error(err, "%s", error.text);
	}
	return NULL;
}

/*
 * Remove the generations from the levels.  Return: NULL, or an error, with "begun" if some of
 * the work may be done.  A removal from all levels follows the home's decision by force; for a
 * removal from one level each node checks for itself whether its part is stored elsewhere.
 */
static json_t *forget_on_levels(const struct forgetting *f)
{
	const struct levels_removal removal = {
		.common = f->common, .job = f->job->id, .label = f->label,
		.generations = f->whole ? NULL : f->generations, .level = f->level,
		.ended = f->ended, .force = f->force || !f->level,
	};
	json_t *outcome, *failed;
	const char *name, *text;

	if (!f->common->config.levels.nr)
		return NULL;
	outcome = levels_remove(&removal);
	if (!outcome_is_ok(outcome))
		return outcome;
	failed = json_object_get(json_object_get(outcome, "result"), "failed");
	name = json_object_iter_key(json_object_iter(failed));
	text = json_string_value(json_object_get(failed, name));
	failed = name ? outcome_error(-EIO, "level %s: %s", name, text) : NULL;
	if (failed)
		json_object_set_new(json_object_get(failed, "error"), "begun", json_true());
	json_decref(outcome);
	return failed;
}

/*
 * In the worker.  A job that the home removed is removed here even if a level keeps some of it;
 * the error has "gone" then.
 */
static json_t *forget_run(struct channel_reporter *reporter, void *arg)
{
	const struct forgetting *f = arg;
	bool of_l1 = !f->level || !strcmp(f->level, LEVEL_CONFIG_L1);
	json_t *outcome = of_l1 ? forget_in_l1(f) : NULL;
	int err;

	if (outcome)
		return outcome;
	if (!f->level || !of_l1)
		outcome = forget_on_levels(f);
	err = f->whole ? catalog_job_remove(&f->common->catalog, f->job->id) : 0;
	if (!outcome)
		return err ? outcome_error(err, "%s: %s", f->job->image_dir, strerror(-err)) :
			     outcome_ok(NULL);
	if (f->whole && !err)
		json_object_set_new(json_object_get(outcome, "error"), "gone", json_true());
	return outcome;
}

static void on_forget_ended(json_t *outcome, void *arg)
{
	struct forgetting *f = arg;
	bool gone = f->whole && (outcome_is_ok(outcome) ||
				 json_object_get(json_object_get(outcome, "error"), "gone"));

	flusher_changed(f->services->flusher, f->label);
	f->job->busy = NULL;
	if (gone) {
		key_of_job_remove(f->common, f->job->id);
		jobs_forget(f->job);
	} else {
		tombstone_note_end(&f->note, f->job, outcome);
	}
	flusher_release(f->services->flusher);
	peer_question_answer(f->question, outcome);
	tombstone_note_done(&f->note);
	json_decref(f->generations);
	free(f);
}

static void parts_forget_on_progress(json_t *progress, void *arg)
{
}

static const struct channel_ops ops = { parts_forget_on_progress, on_forget_ended };

static const struct worker_kind forget_work = {
	.name = "ckptd-forget",
	.run = forget_run,
	.killed = "what it had removed by then is gone there",
};

static void parts_forget_on_held(void *arg)
{
	const struct worker_spec spec = { .kind = &forget_work, .arg = arg };
	struct forgetting *f = arg;
	int err = worker_start(&f->common->workers, &spec, &ops, f, &f->worker);

	if (err)
		on_forget_ended(outcome_error(err, "no worker: %s", strerror(-err)), f);
}

/* The job that @args name; NULL: nothing to do here, or *@ret_outcome says why not. */
static struct job *parts_forget_find(struct jobs *jobs, const struct peer_question *q,
				     json_t **ret_outcome)
{
	const json_t *args = peer_question_args(q);
	const char *uuid = json_string_value(json_object_get(args, "uuid"));
	json_t *no = NULL;
	struct job *job =
		jobs_reconcile(jobs, json_integer_value(json_object_get(args, "job")), &no);

	json_decref(no);
	if (!job || !uuid || strcmp(job->uuid, uuid))
		return NULL;
	*ret_outcome = parts_check_change(job, q);
	if (*ret_outcome)
		return NULL;
	if (!job->busy && (!job_is_alive(job) || !json_is_true(json_object_get(args, "whole"))))
		return job;
	*ret_outcome = outcome_error(-EBUSY, "it is in use there");
	return NULL;
}

static void on_forget(struct peer_question *q, void *arg)
{
	struct services *services = arg;
	struct common *common = jobs_common(services->jobs);
	const json_t *args = peer_question_args(q);
	json_t *outcome = NULL;
	struct ckpt_error error = {};
	struct job *job = parts_forget_find(services->jobs, q, &outcome);
	struct forgetting *f = job ? calloc(1, sizeof(*f)) : NULL;

	if (!f) {
		peer_question_answer(q, outcome ? outcome
					: job	? outcome_error(-ENOMEM, "out of memory")
						: outcome_ok(NULL));
		return;
	}
	*f = (struct forgetting) {
		.question = q, .common = common, .services = services, .job = job,
		.generations = json_incref(json_object_get(args, "generations")),
		.level = json_string_value(json_object_get(args, "level")),
		.whole = json_is_true(json_object_get(args, "whole")),
		.force = json_is_true(json_object_get(args, "force")),
		.ended = json_is_true(json_object_get(args, "ended")),
	};
	f->note = (struct tombstone_note) {
		.level = f->level, .generations = f->generations, .whole = f->whole,
	};
	/* Nobody asks again, so remove the generations even without a note. */
	if (tombstone_note_make(&f->note, job, &error))
		log_warning(&common->log, "job %lld: levels may get again what is removed: %s",
			    (long long)job->id, error.text);
	job_label(job, f->label);
	job->busy = "removal";
	if (flusher_hold(services->flusher, parts_forget_on_held, f))
		parts_forget_on_held(f);
}

int parts_forget_register(struct services *services)
{
	struct common *common = jobs_common(services->jobs);

	return peer_verb(nodes_asks(common->nodes), "forget", on_forget, services);
}
