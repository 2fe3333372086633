// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks before a restart; see precheck.h.
 *
 * Nothing is started here: the request is compared with the job's record, the generation and this
 * node's state. Only the remains of a job that has lost a node are ended, because the same job
 * must never run twice.
 */
#include "supervisor/restart/precheck.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/auto/fetching.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/key_of_job.h"
#include "base/outcome.h"
#include "supervisor/parts/parts.h"
#include "supervisor/job/rank_record.h"

/* How often, and how many times, to look whether the remains of an abandoned job have ended. */
#define END_LOOK_MS	20
#define END_LOOKS	1500
/* Looks until a node that went off a moment ago counts as silent. */
#define LOST_LOOKS	500
/* Looks until the home has told this node's part that all parts have ended. */
#define OVER_LOOKS	250

json_t *precheck_not_running(const struct job *job, bool node_lost)
{
	const char *node = job_record_node(&job->record);

	if (job_is_alive(job) && parts_has_ended(job->parts))
		return outcome_refused(CKPT_R_RUNNING, 0,
				       "job %lld has ended on this node, and whether it has on all "
				       "only node %.40s knows, which does not say so: if that is "
				       "off, use --node-lost",
				       (long long)job->id, node ? node : "?");
	if (job_is_alive(job))
		return outcome_refused(CKPT_R_RUNNING, job->init, "job %lld on this node",
				       (long long)job->id);
	/* The job's processes were found, but could not be adopted: the log says why. */
	if (jobs_has_processes(job->jobs, job->id))
		return outcome_refused(CKPT_R_RUNNING, 0,
				       "job %lld: processes of it run on this node, and ckptd "
				       "could not take them over: see its log",
				       (long long)job->id);
	if (job->state != JOB_ELSEWHERE || node_lost)
		return NULL;
	return outcome_refused(CKPT_R_RUNNING, 0,
			       "job %lld was last on node %.40s; if that is off, use --node-lost",
			       (long long)job->id, node ? node : "?");
}

json_t *precheck_replica(const struct job *job, const json_t *args)
{
	json_t *row = job_describe(job), *outcome = NULL;
	const json_t *paths = json_object_get(json_object_get(row, "replicas"), "paths");

	if (json_array_size(paths) && !json_object_get(args, "map_path"))
		outcome = outcome_error(-EXDEV,
					"job %lld is a replica, and its image may name the files "
					"of another one; ckptctl vote restarts replicas; by hand, "
					"map each file: --map-path %s=%s",
					(long long)job->id,
					json_string_value(json_array_get(json_array_get(paths, 0),
									 0)) ?: "FILE",
					json_string_value(json_array_get(json_array_get(paths, 0),
									 1)) ?: "COPY");
	json_decref(row);
	return outcome;
}

/* Nothing is to be placed: no nodes were named, or only this one. */
static bool is_here(const json_t *nodes, const struct common *common)
{
	return !nodes || (json_array_size(nodes) == 1 &&
			  !strcmp(json_string_value(json_array_get(nodes, 0)) ?: "",
				  common->config.node));
}

/*
 * "ranks" as the generation had them, a new reference. NULL with an outcome on errors; NULL
 * without an outcome if the job has no ranks.
 */
static json_t *ranks_of(const struct common *common, const struct job *job, int64_t generation,
			const json_t *nodes, json_t **ret_outcome)
{
	const json_t *record = job->record.ranks;
	json_t *ranks = NULL;
	struct ckpt_error error = {};
	int err;

	err = catalog_generation_parts(&common->catalog, job->id, generation, &ranks, &error);
	if (!err)
		return ranks;
	if (err != -ENOENT)
		*ret_outcome = outcome_error(err, "%s", error.text);
	else if (record)
		return rank_record_gathered(record);
	else if (!is_here(nodes, common))
		*ret_outcome = outcome_error(-EINVAL,
					     "job %lld has no ranks: restart it on that node which "
					     "is to run it, without --nodes",
					     (long long)job->id);
	return NULL;
}

json_t *precheck_place(const struct common *common, const struct job *job, int64_t generation,
		     json_t *nodes, json_t *map, json_t **ret_outcome)
{
	json_t *ranks;

	*ret_outcome = key_of_job_check(common, job->id, job->record.other);
	ranks = *ret_outcome ? NULL : ranks_of(common, job, generation, nodes, ret_outcome);
	if (!ranks)
		return NULL;
	*ret_outcome = rank_record_place(ranks, nodes, map, &common->config);
	if (!*ret_outcome)
		*ret_outcome = parts_check_names(common, rank_record_nodes(ranks));
	if (!*ret_outcome && (rank_record_nodes(ranks) ||
			      !json_equal(ranks, job->record.ranks)))
		return ranks;
	json_decref(ranks);
	return NULL;
}

json_t *precheck_choose(const struct catalog *catalog, const struct job *job,
			json_int_t *generation)
{
	int err = *generation ? 0 : catalog_readable(catalog, job->id);

	if (err)
		return outcome_error(err,
				     "which generations job %lld has cannot be read just now: %s; "
				     "try again, or say which (%lld:GENERATION)",
				     (long long)job->id, strerror(-err), (long long)job->id);
	if (!*generation)
		*generation = catalog_last(catalog, job->id);
	if (*generation && catalog_has(catalog, job->id, *generation))
		return NULL;
	return *generation ? outcome_error(-ENOENT, "job %lld has no generation %lld",
					   (long long)job->id, (long long)*generation) :
	       outcome_error(-ENOENT, "job %lld has no checkpoint to restart from: ckptctl list "
			     "shows the jobs that have one", (long long)job->id);
}

/* ------------------------------------------------------ a job without a node */

struct abandoned {
	struct request *request;
	int64_t id;
	unsigned int looks;
	bool ending;
	void (*then)(struct request *request);
};

static json_t *not_abandoned(const struct abandoned *p, int err)
{
	if (p->ending)
		return outcome_error(err,
				     "what is left of job %lld does not end; it is not restarted",
				     (long long)p->id);
	return outcome_refused(CKPT_R_RUNNING, 0,
			       "job %lld on all its nodes, as far as this one hears; nothing was "
			       "ended: if it shall be, use ckptctl kill",
			       (long long)p->id);
}

static void on_abandoned(void *arg)
{
	struct abandoned *p = arg;
	struct jobs *jobs = p->request->jobs;
	struct job *job = jobs_lookup(jobs, p->id);
	struct request *request = p->request;
	struct reactor_source *timer;
	int err;

	if (job && job->parts && job_is_alive(job)) {
		if (!p->ending && parts_lost(job->parts)) {
			p->ending = true;
			p->looks = 0;
			parts_abandon(job->parts);
		}
		err = p->looks++ >= (p->ending ? END_LOOKS : LOST_LOOKS) ? -ETIMEDOUT :
		      reactor_timer(request->common->reactor, END_LOOK_MS, on_abandoned, p, &timer);
		if (!err)
			return;
		request_answer(request, not_abandoned(p, err));
	} else {
		p->then(request);
	}
	free(p);
}

/* A checkpoint or the home has ended the job, but this node has not seen it end yet. */
static bool is_ending(const struct job *job)
{
	return job_is_alive(job) && (job->saving || parts_has_ended(job->parts));
}

static void precheck_on_over(void *arg)
{
	struct abandoned *p = arg;
	struct request *request = p->request;
	const struct job *job = jobs_lookup(request->jobs, p->id);
	struct reactor_source *timer;

	if (job && is_ending(job) && p->looks++ < OVER_LOOKS &&
	    !reactor_timer(request->common->reactor, END_LOOK_MS, precheck_on_over, p, &timer))
		return;
	p->then(request);
	free(p);
}

bool precheck_await_over(struct request *request, const struct job *job,
			void (*then)(struct request *request))
{
	struct abandoned *p;

	if (job->busy || !is_ending(job))
		return false;
	p = malloc(sizeof(*p));
	if (!p)
		return false;
	*p = (struct abandoned) { .request = request, .id = job->id, .then = then };
	precheck_on_over(p);
	return true;
}

/*
 * Refuse now, before anything is ended, a restart that would be refused afterwards. A generation
 * that only levels have cannot be checked here.
 */
static json_t *check_wanted(const struct request *request, const struct job *job)
{
	const struct common *common = request->common;
	json_int_t generation = json_integer_value(json_object_get(request->args, "generation"));
	json_t *outcome, *ranks;

	outcome = rank_record_check_env(job->record.ranks,
					json_object_get(request->args, "env"));
	if (!outcome && !fetching_is_on(common))
		outcome = precheck_choose(&common->catalog, job, &generation);
	if (outcome || !generation || !catalog_has(&common->catalog, job->id, generation))
		return outcome;
	ranks = precheck_place(common, job, generation, json_object_get(request->args, "nodes"),
			      json_object_get(request->args, "map"), &outcome);
	json_decref(ranks);
	return outcome;
}

bool precheck_abandon(struct request *request, struct job *job,
		      void (*then)(struct request *request))
{
	struct abandoned *p;
	json_t *outcome;

	if (!json_is_true(json_object_get(request->args, "node_lost")) ||
	    json_is_true(json_object_get(request->args, "dry_run")) ||
	    !job->parts || !job_is_alive(job) ||
	    (job->busy && !parts_starts_here(job->parts) && !parts_gives_up(job->parts)))
		return false;
	outcome = check_wanted(request, job);
	if (outcome) {
		request_answer(request, outcome);
		return true;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return false;
	*p = (struct abandoned) { .request = request, .id = job->id, .then = then };
	on_abandoned(p);
	return true;
}
