// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests about images: show, verify, diff, diagnose_image.
 *
 * Only root may name directories; users name their own images as JOB:GENERATION, or, if the
 * generation is over several nodes, one node's image as JOB:GENERATION/NODE. A worker reads the
 * images.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/catalog/generation.h"
#include "supervisor/catalog/trust.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/jobs_read.h"
#include "engine/op/op.h"
#include "base/outcome.h"
#include "supervisor/diagnose/diagnose.h"
#include "supervisor/diagnose/image_look.h"
#include "supervisor/control/worker.h"

typedef json_t *(*image_fn)(const struct op_env *env, json_t *args);

struct image_request {
	struct request *request;
	struct worker *worker;
	json_t *args;
	image_fn op;
	const char *trust;	/* in the generation that is shown; NULL: not asked */
};

static json_t *image_run(struct channel_reporter *reporter, void *arg)
{
	struct image_request *r = arg;
	struct op_env env = {
		.key = r->request->common->config.key,
		.secret = r->request->common->config.secret,
		.progress = channel_report_progress,
		.progress_arg = reporter,
		.viewer = r->request->uid,
	};

	return r->op(&env, r->args);
}

static void verb_image_on_progress(json_t *progress, void *arg)
{
	struct image_request *r = arg;

	request_progress(r->request, progress);
}

static void verb_image_on_outcome(json_t *outcome, void *arg)
{
	struct image_request *r = arg;

	if (r->trust && outcome_is_ok(outcome))
		json_object_set_new(json_object_get(outcome, "result"), "trust",
				    json_string(r->trust));
	request_answer(r->request, outcome);
	json_decref(r->args);
	free(r);
}

static const struct channel_ops ops = { verb_image_on_progress, verb_image_on_outcome };

static const struct worker_kind image_work = {
	.name = "ckptd-image",
	.run = image_run,
};

/* The name of the trust in the generation that a request for show names; or NULL. */
static const char *verb_image_trust(const struct request *request)
{
	const char *text = json_string_value(json_object_get(request->args, "image"));
	long long job, generation;

	if (strcmp(request->verb, "show") || !text ||
	    sscanf(text, "%lld:%lld", &job, &generation) != 2)
		return NULL;
	return trust_name(trust_get(&request->common->catalog, job, generation, NULL));
}

static void verb_image_start(struct request *request, json_t *args, image_fn op)
{
	struct worker_spec spec = { .kind = &image_work };
	struct image_request *r = calloc(1, sizeof(*r));
	int err = -ENOMEM;

	if (r) {
		*r = (struct image_request) {
			.request = request, .args = json_incref(args), .op = op,
			.trust = verb_image_trust(request),
		};
		spec.arg = r;
		err = worker_start(&request->common->workers, &spec, &ops, r, &r->worker);
		if (!err) {
			request_on_abandon(request, worker_on_abandon, r->worker);
			return;
		}
		json_decref(r->args);
		free(r);
	}
	request_answer(request, outcome_error(err, "no worker: %s", strerror(-err)));
}

/* ------------------------------------------------------------------ names */

/* The request's argument @from names an image; the others are the operation's arguments for it. */
struct image_name {
	const char *from, *dir, *parts, *generation;
};

static const struct image_name first = { "image", "dir", "parts", "generation" };
static const struct image_name second = { "other_image", "other", "other_parts",
	"other_generation" };
static const struct image_name earlier = { "before_image", "before", "before_parts",
	"before_generation" };

/* The part whose node is called @name, or has that number; NULL: none. */
static const json_t *find_part(const json_t *parts, const char *name)
{
	const json_t *part;
	char *end;
	long number = strtol(name, &end, 10);
	size_t i;

	json_array_foreach(parts, i, part) {
		const char *node = json_string_value(json_object_get(part, "node"));

		if (node && !strcmp(node, name))
			return part;
	}
	return *name && !*end && number >= 0 ? json_array_get(parts, (size_t)number) : NULL;
}

/*
 * Put the place of an image into @args; NULL or an outcome.
 * @node: the node whose image is meant; NULL: all
 * @parts: the generation's images by node, taken over; NULL: the generation is one image
 * @expect: the operation is to check that the image is @job's and of @generation
 */
static json_t *verb_image_place(const struct job *job, int64_t generation, const char *node,
				json_t *parts, bool expect, json_t *args,
				const struct image_name *name)
{
	const struct catalog *catalog = &jobs_common(job->jobs)->catalog;
	const json_t *part = node ? find_part(parts, node) : NULL;
	json_t *outcome = NULL;
	char label[64];
	char *dir;

	if (node && !parts) {
		outcome = outcome_error(-EINVAL,
					"generation %lld of job %lld is one image, of no node: "
					"name it %lld:%lld",
					(long long)generation, (long long)job->id,
					(long long)job->id, (long long)generation);
	} else if (node && !part) {
		outcome = outcome_error(-ENOENT,
					"generation %lld of job %lld has no image of a node %s; "
					"ckptctl list --json has its nodes",
					(long long)generation, (long long)job->id, node);
	} else if (part && expect) {
		json_object_set_new(args, name->parts, json_pack("[O]", part));
	} else if (part) {
		json_object_set(args, name->dir, json_object_get(part, "dir"));
	} else if (parts) {
		json_object_set(args, name->parts, parts);
	} else {
		dir = catalog_image_dir(catalog, job->id, generation);
		json_object_set_new(args, name->dir, json_string(dir));
		free(dir);
	}
	if (expect || json_object_get(args, name->parts)) {
		json_object_set_new(args, name->generation, json_integer(generation));
		json_object_set_new(args, "job", json_string(job_label(job, label)));
	}
	json_decref(parts);
	return outcome;
}

/* A name becomes a directory, or several; an outcome, or NULL. */
static json_t *verb_image_resolve(struct request *request, json_t *args,
				  const struct image_name *name)
{
	const char *text = json_string_value(json_object_get(args, name->from));
	json_t *outcome = NULL, *parts = NULL;
	long long id, generation;
	const struct job *job;
	struct job *draft;
	int n = 0;

	if (!text && json_object_get(args, name->dir) && request->uid)
		return outcome_error(-EPERM, "%s by directory is root's: name it JOB:GENERATION",
				     request->verb);
	if (!text)
		return NULL;
	if (sscanf(text, "%lld:%lld%n", &id, &generation, &n) != 2 ||
	    (text[n] && (text[n] != '/' || !text[n + 1])))
		return outcome_usage("%s is not JOB:GENERATION or JOB:GENERATION/NODE", text);
	json_object_set_new(request->args, "job", json_integer(id));
	job = jobs_read_for(request, &draft, &outcome);
	json_object_del(request->args, "job");
	if (!job)
		return outcome;
	if (!catalog_has(&request->common->catalog, id, generation))
		outcome = outcome_error(-ENOENT, "job %lld has no generation %lld",
					id, generation);
	else
		outcome = generation_parts(&request->common->catalog, id, generation, &parts);
	if (!outcome)
		outcome = verb_image_place(job, generation, text[n] ? text + n + 1 : NULL, parts,
					   !strcmp(request->verb, "verify"), args, name);
	job_draft_free(draft);
	/* @text belongs to this argument: delete it last. */
	json_object_del(args, name->from);
	return outcome;
}

/* Refuse arguments that only this file may set. NULL or an outcome. */
static json_t *check_args(const struct request *request)
{
	static const char *const ours[] = {
		"parts", "other_parts", "generation", "other_generation", "job", "before",
		"before_parts", "before_image", "before_generation",
	};
	size_t i;

	for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (json_object_get(request->args, ours[i]))
			return outcome_usage("%s: bad arguments", request->verb);
	}
	return NULL;
}

static void image_op(struct request *request, image_fn of_one, image_fn of_parts)
{
	json_t *args = json_copy(request->args);
	json_t *outcome = check_args(request);

	if (!outcome)
		outcome = verb_image_resolve(request, args, &first);
	if (!outcome)
		outcome = verb_image_resolve(request, args, &second);
	if (outcome)
		request_answer(request, outcome);
	else
		verb_image_start(request, args, json_object_get(args, "parts") ||
				 json_object_get(args, "other_parts") ? of_parts : of_one);
	json_decref(args);
}

void verb_show(struct request *request)
{
	image_op(request, op_show, generation_show);
}

void verb_verify(struct request *request)
{
	image_op(request, op_verify, generation_verify);
}

void verb_diff(struct request *request)
{
	image_op(request, op_diff, generation_diff);
}

/* Name, in "before_image", the generation before that of "image", if there is one. */
static void verb_image_before(struct request *request, json_t *args)
{
	const char *text = json_string_value(json_object_get(args, "image"));
	long long id, generation;
	json_t *list, *number;
	json_int_t before = 0;
	size_t i;
	int n = 0;

	if (!text || sscanf(text, "%lld:%lld%n", &id, &generation, &n) != 2)
		return;
	list = catalog_generations(&request->common->catalog, id);
	json_array_foreach(list, i, number) {
		json_int_t one = json_integer_value(number);

		if (one < generation && one > before)
			before = one;
	}
	json_decref(list);
	if (before)
		json_object_set_new(args, "before_image",
				    json_sprintf("%lld:%lld%s", id, (long long)before, text + n));
}

/*
 * The generation before is a second witness, no condition: if it is damaged, the diagnosis is made
 * without it.
 */
static json_t *verb_image_diagnosed(struct request *request, json_t *args)
{
	json_int_t patience = DIAGNOSE_PATIENCE_MS, recent = DIAGNOSE_RECENT, rank;
	json_t *outcome = check_args(request), *damaged;
	json_error_t error;
	int stacks = 0;

	if (!outcome && json_unpack_ex(args, &error, 0, "{s?s, s?s, s?I, s?b, s?I, s?I !}", "image",
				       &(const char *){ NULL }, "dir", &(const char *){ NULL },
				       "patience_ms", &patience, "stacks", &stacks, "recent",
				       &recent, "rank", &rank))
		outcome = outcome_usage("diagnose_image: %s", error.text);
	if (outcome)
		return outcome;
	json_object_set_new(args, "patience_ms", json_integer(patience));
	json_object_set_new(args, "recent", json_integer(recent));
	verb_image_before(request, args);
	outcome = verb_image_resolve(request, args, &first);
	if (outcome)
		return outcome;
	damaged = verb_image_resolve(request, args, &earlier);
	json_decref(damaged);
	return NULL;
}

void verb_diagnose_image(struct request *request)
{
	json_t *args = json_copy(request->args);
	json_t *outcome = verb_image_diagnosed(request, args);

	if (outcome)
		request_answer(request, outcome);
	else
		verb_image_start(request, args, diagnose_image);
	json_decref(args);
}
