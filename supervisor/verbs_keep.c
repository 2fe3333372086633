// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requests pin, unpin and prune: what stays of a job's generations.
 *
 * A pin is set here and now: it is one small file, and who was told that a generation is pinned
 * may rely on it.  Pruning is the keeper's.
 */
#include "supervisor/verbs.h"

#include <errno.h>
#include <string.h>

#include "image/util.h"
#include "supervisor/jobs.h"
#include "supervisor/keeper.h"
#include "supervisor/outcome.h"
#include "supervisor/pin.h"

/* ------------------------------------------------------------- pin, unpin */

/* The generation that is named, or the newest; an outcome if there is none. */
static json_t *choose(const struct request *request, const struct job *job, json_int_t *ret_generation)
{
	const struct catalog *catalog = &request->daemon->catalog;
	json_int_t id, generation = 0;
	json_error_t why;

	if (json_unpack_ex(request->args, &why, 0, "{s:I, s?I !}", "job", &id, "generation",
			   &generation) || generation < 0)
		return outcome_usage("%s: bad arguments", request->verb);
	*ret_generation = generation ? generation : catalog_last(catalog, job->id);
	return *ret_generation ? NULL : outcome_error(-ENOENT, "job %lld has no generation",
						      (long long)job->id);
}

/* With the lock; @why says what went wrong. */
static int change(const struct request *request, const struct job *job, json_int_t generation,
		  bool pin, char *why, size_t size)
{
	const struct daemon *daemon = request->daemon;
	int err;

	if (pin)
		return pin_set(&daemon->catalog, job->id, generation, request->uid,
			       daemon->config.node, why, size);
	err = pin_clear(&daemon->catalog, job->id, generation);
	if (err == -ENOENT)
		snprintf(why, size, "generation %lld of job %lld is not pinned",
			 (long long)generation, (long long)job->id);
	else if (err)
		snprintf(why, size, "%s: %s", job->image_dir, strerror(-err));
	return err;
}

static void pin_or_not(struct request *request, bool pin)
{
	_cleanup_fd_ int lock = -1;
	json_t *outcome = NULL;
	struct job *job = jobs_find_for(request, &outcome);
	json_int_t generation = 0;
	char why[512];
	int err = 0;

	if (job)
		outcome = choose(request, job, &generation);
	if (job && !outcome) {
		err = catalog_lock(&request->daemon->catalog, job->id, &lock);
		if (err)
			outcome = outcome_error(err, "%s: %s", job->image_dir, err == -EBUSY ?
						"generations are being removed or pinned just now; try again" :
						strerror(-err));
	}
	if (job && !outcome) {
		err = change(request, job, generation, pin, why, sizeof(why));
		outcome = err ? outcome_error(err, "%s", why) :
			  outcome_ok(json_pack("{s:I, s:I, s:b}", "job", (json_int_t)job->id,
					       "generation", generation, "pinned", pin));
	}
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

/* What is not said is as configured. */
static json_t *parse_rule(const struct request *request, struct retention_rule *ret_rule,
			  bool *ret_dry_run)
{
	struct retention_rule rule = request->daemon->config.retain;
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
	return retention_is_rule(rule) ? NULL :
	       outcome_usage("what is to be kept? Say --keep, --keep-every or --max-size; there is no rule in the configuration, either");
}

static json_t *find_targets(struct request *request, json_t *targets)
{
	struct jobs *jobs = request->daemon->jobs;
	json_t *outcome = NULL;
	struct job *job;

	if (json_object_get(request->args, "job")) {
		job = jobs_find_for(request, &outcome);
		if (job)
			outcome = keeper_check(job);
		if (job && !outcome)
			keeper_add(job, targets);
		return outcome;
	}
	jobs_load_all(jobs);
	for (job = jobs_next(jobs, NULL); job; job = jobs_next(jobs, job)) {
		if (request->uid == 0 || request->uid == job->uid)
			keeper_add(job, targets);
	}
	return NULL;
}

void verb_prune(struct request *request)
{
	struct retention_rule rule;
	json_t *targets = json_array();
	json_t *outcome;
	bool dry_run = false;

	outcome = parse_rule(request, &rule, &dry_run);
	if (!outcome)
		outcome = find_targets(request, targets);
	if (!outcome)
		outcome = check_rule(&rule);
	if (!outcome) {
		keeper_prune(request->daemon->keeper, request, targets, &rule, dry_run);
		return;
	}
	json_decref(targets);
	request_answer(request, outcome);
}
