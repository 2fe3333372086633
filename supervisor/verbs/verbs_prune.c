// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requests pin, unpin and prune: decide which generations of a job are kept.
 *
 * A pin is one small file, and is set before the answer: a caller who was told that a generation
 * is pinned may rely on it.  Where image directories are not shared, the pin is set on the other
 * nodes as well, and all of them have to answer.  The pruner does the pruning.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "supervisor/control/worker.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/jobs_read.h"
#include "supervisor/auto/pruner.h"
#include "supervisor/auto/services.h"
#include "base/outcome.h"
#include "supervisor/parts/parts.h"
#include "supervisor/catalog/pin.h"

/* ------------------------------------------------------------- pin, unpin */

/* Set *@ret_generation to the named or the newest generation; an outcome if there is none. */
static json_t *verb_prune_choose(const struct request *request, const struct job *job,
				 json_int_t *ret_generation)
{
	const struct catalog *catalog = &request->common->catalog;
	json_int_t id, generation = 0;
	json_error_t why;

	if (json_unpack_ex(request->args, &why, 0, "{s:I, s?I !}", "job", &id, "generation",
			   &generation) || generation < 0)
		return outcome_usage("%s: bad arguments", request->verb);
	*ret_generation = generation ? generation : catalog_last(catalog, job->id);
	return *ret_generation ? NULL : outcome_error(-ENOENT, "job %lld has no generation",
						      (long long)job->id);
}

/* Set or clear the pin on this node; call with the catalog lock. @error says what went wrong. */
static int verb_prune_change(const struct request *request, const struct job *job,
			     json_int_t generation, bool pin, struct ckpt_error *error)
{
	const struct common *common = request->common;
	int err;

	if (pin)
		return pin_set(&common->catalog, job->id, generation, request->uid,
			       common->config.node, error);
	err = pin_clear(&common->catalog, job->id, generation);
	if (err == -ENOENT)
		error_set(error, err, "generation %lld of job %lld is not pinned",
			  (long long)generation, (long long)job->id);
	else if (err)
		error_set(error, err, "%s: %s", job->image_dir, strerror(-err));
	return err;
}

/* Take the catalog lock, then verb_prune_change(). -EBUSY if somebody else has the lock. */
static int change_here(const struct request *request, const struct job *job, json_int_t generation,
		       bool pin, struct ckpt_error *error)
{
	_cleanup_fd_ int lock = -1;
	int err = catalog_lock(&request->common->catalog, job->id, &lock);

	if (!err)
		return verb_prune_change(request, job, generation, pin, error);
	error_set(error, err, "%s: %s", job->image_dir, err == -EBUSY ?
		  "generations are being removed or pinned just now; try again" : strerror(-err));
	return err;
}

struct over_nodes {
	struct request *request;
	int64_t job;
	json_int_t generation;
	bool pin;
	bool here;
};

/* The nodes that failed, as text: "n2 (why), n3 (why)" */
static json_t *names_of(const json_t *failed)
{
	json_t *text = json_string(""), *why;
	const char *name;

	json_object_foreach((json_t *)failed, name, why) {
		json_t *more = json_sprintf("%s%s%s (%s)", json_string_value(text),
					    *json_string_value(text) ? ", " : "", name,
					    json_string_value(why));

		json_decref(text);
		text = more;
	}
	return text;
}

static json_t *not_everywhere(const struct over_nodes *o, const json_t *result)
{
	json_t *names = names_of(json_object_get(result, "failed"));
	json_t *outcome = outcome_error(-EHOSTUNREACH,
					"generation %lld of job %lld is %s, but it is not known of "
					"node %s: ask again when it answers",
					(long long)o->generation, (long long)o->job,
					!o->here ? "not pinned here"
					: o->pin ? "pinned here"
						 : "unpinned here",
					json_string_value(names));

	json_object_update(json_object_get(outcome, "error"), (json_t *)result);
	json_decref(names);
	return outcome;
}

static bool verb_prune_anywhere(const struct over_nodes *o, const json_t *result)
{
	bool any = o->here;
	const char *name;
	json_t *had;

	json_object_foreach(json_object_get(result, "nodes"), name, had)
		any = any || json_is_true(had);
	return any;
}

static void on_pinned(const json_t *result, void *arg)
{
	struct over_nodes *o = arg;
	json_t *outcome;

	if (!result)
		outcome = NULL;
	else if (json_object_size(json_object_get(result, "failed")))
		outcome = not_everywhere(o, result);
	else if (!verb_prune_anywhere(o, result))
		outcome = outcome_error(-ENOENT, "generation %lld of job %lld is not pinned",
					(long long)o->generation, (long long)o->job);
	else
		outcome = outcome_ok(json_pack("{s:I, s:I, s:b, s:O}", "job", (json_int_t)o->job,
					       "generation", o->generation, "pinned", o->pin,
					       "nodes", json_object_get(result, "nodes")));
	request_answer(o->request, outcome);
	free(o);
}

/* Pin or unpin on the other nodes, too; @here is false if this node had nothing to unpin. */
static void verb_prune_go_on(struct request *request, const struct job *job, json_t *names,
			     json_int_t generation, bool pin, bool here)
{
	const struct parts_pin how = { .generation = generation, .pin = pin, .by = request->uid };
	struct over_nodes *o = malloc(sizeof(*o));

	if (!o) {
		request_answer(request, NULL);
		return;
	}
	*o = (struct over_nodes){
		.request = request,
		.job = job->id,
		.generation = generation,
		.pin = pin,
		.here = here,
	};
	parts_pin(job, names, &how, on_pinned, o);
}

static void pin_or_not(struct request *request, bool pin)
{
	json_t *outcome = NULL, *names = NULL;
	struct job *job = jobs_reconcile_for(request, &outcome);
	json_int_t generation = 0;
	struct ckpt_error error = {};
	int err = 0;

	if (job)
		outcome = verb_prune_choose(request, job, &generation);
	if (job && !outcome) {
		err = change_here(request, job, generation, pin, &error);
		names = parts_pin_nodes(job, generation);
	}
	if (json_array_size(names) && (!err || (err == -ENOENT && !pin))) {
		verb_prune_go_on(request, job, names, generation, pin, !err);
		json_decref(names);
		return;
	}
	if (job && !outcome)
		outcome = err ? outcome_error(err, "%s", error.text) :
			  outcome_ok(json_pack("{s:I, s:I, s:b}", "job", (json_int_t)job->id,
					       "generation", generation, "pinned", pin));
	json_decref(names);
	request_answer(request, outcome);
}

void verb_pin(struct request *request)
{
	pin_or_not(request, true);
}

void verb_unpin(struct request *request)
{
	pin_or_not(request, false);
}

/* ------------------------------------------------------------------ prune */

/* Parse the retention rule; settings that the request lacks are as configured. */
static json_t *parse_rule(const struct request *request, struct retention_rule *ret_rule,
			  bool *ret_dry_run)
{
	struct retention_rule rule = request->common->config.retain;
	json_int_t id, keep = rule.keep, every = rule.keep_every, size = (json_int_t)rule.max_size;
	int dry_run = 0;
	json_error_t why;

	if (json_unpack_ex(request->args, &why, 0, "{s?I, s?I, s?I, s?I, s?b !}", "job", &id,
			   "keep", &keep, "keep_every", &every, "max_size", &size,
			   "dry_run", &dry_run))
		return outcome_usage("prune: bad arguments: %s", why.text);
	if (keep < 0 || keep > UINT32_MAX || every < 0 || every > UINT32_MAX || size < 0)
		return outcome_usage("prune: a number is out of range");
	*ret_rule = (struct retention_rule) {
		.keep = (unsigned int)keep, .keep_every = (unsigned int)every,
		.max_size = (uint64_t)size,
	};
	*ret_dry_run = dry_run;
	return NULL;
}

static json_t *check_rule(const struct retention_rule *rule)
{
	return retention_is_rule(rule) ? NULL
				       : outcome_usage("what is to be kept? Say --keep, "
						       "--keep-every or --max-size; there is no "
						       "rule in the configuration, either");
}

/* A request that named no job: a worker looks for the caller's jobs. */
struct prune_survey {
	struct request *request;
	struct retention_rule rule;
	bool dry_run;
	struct worker *worker;
};

static void prune_add_target(const struct job *job, void *arg)
{
	pruner_add(job, arg);
}

static json_t *prune_survey_run(struct channel_reporter *reporter, void *arg)
{
	const struct prune_survey *survey = arg;
	const struct jobs_wanted wanted = jobs_wanted_of(survey->request->uid);
	json_t *targets = json_array();

	jobs_read_all(survey->request->jobs, &wanted, prune_add_target, targets);
	return outcome_ok(targets);
}

static void prune_on_survey_progress(json_t *progress, void *arg)
{
}

/* Jobs that live here may have changed since the worker has its copy of the registry. */
static json_t *prune_renew(const struct jobs *jobs, const json_t *found)
{
	json_t *targets = json_array(), *target;
	const struct job *job;
	size_t i;

	json_array_foreach(found, i, target) {
		job = jobs_lookup(jobs, json_integer_value(json_object_get(target, "job")));
		if (job)
			pruner_add(job, targets);
		else
			json_array_append(targets, target);
	}
	return targets;
}

static void prune_on_survey(json_t *outcome, void *arg)
{
	struct prune_survey *survey = arg;
	struct request *request = survey->request;

	request_on_abandon(request, NULL, NULL);
	if (outcome_is_ok(outcome)) {
		pruner_prune(request->services->pruner, request,
			     prune_renew(request->jobs, json_object_get(outcome, "result")),
			     &survey->rule, survey->dry_run);
		json_decref(outcome);
	} else {
		request_answer(request, outcome);
	}
	free(survey);
}

static const struct worker_kind prune_survey_work = {
	.name = "ckptd-survey",
	.run = prune_survey_run,
};

static void prune_all(struct request *request, const struct retention_rule *rule, bool dry_run)
{
	static const struct channel_ops ops = { prune_on_survey_progress, prune_on_survey };
	struct worker_spec spec = { .kind = &prune_survey_work };
	struct prune_survey *survey = calloc(1, sizeof(*survey));
	int err = -ENOMEM;

	if (survey) {
		*survey = (struct prune_survey) { request, *rule, dry_run, NULL };
		spec.arg = survey;
		err = jobs_worker_start(request->jobs, &spec, &ops, survey,
				   &survey->worker);
	}
	if (!err) {
		request_on_abandon(request, worker_on_abandon, survey->worker);
		return;
	}
	free(survey);
	request_answer(request, outcome_error(err, "no worker: %s", strerror(-err)));
}

static json_t *find_target(struct request *request, json_t *targets)
{
	json_t *outcome = NULL;
	struct job *job = jobs_reconcile_for(request, &outcome);

	if (job)
		outcome = pruner_check(job);
	if (job && !outcome)
		pruner_add(job, targets);
	return outcome;
}

void verb_prune(struct request *request)
{
	struct retention_rule rule;
	bool one = json_object_get(request->args, "job"), dry_run = false;
	json_t *targets = json_array();
	json_t *outcome;

	outcome = parse_rule(request, &rule, &dry_run);
	if (!outcome && one)
		outcome = find_target(request, targets);
	if (!outcome)
		outcome = check_rule(&rule);
	if (!outcome && !one) {
		json_decref(targets);
		prune_all(request, &rule, dry_run);
		return;
	}
	if (!outcome) {
		pruner_prune(request->services->pruner, request, targets, &rule, dry_run);
		return;
	}
	json_decref(targets);
	request_answer(request, outcome);
}
