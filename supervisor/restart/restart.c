// SPDX-License-Identifier: GPL-2.0-only
/*
 * A restart, from the request until this node's processes are restored: fetch, try, begin.
 * restart_end.c has the rest.
 *
 * Images are restored (job_restore.h; parts.h on the other nodes), and MPI ranks build their
 * library anew (ranks_up.h). The restart has succeeded only when all ranks run. A failed restart
 * leaves the job and its images as they were.
 *
 * A job over several nodes is first tried on all of them (parts_try()), so that anything missing
 * on any node is reported before anything is begun. A dry run ends there; it uses a draft of the
 * job.
 */
#include "supervisor/restart/restart_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/auto/services.h"
#include "supervisor/job/job_restore.h"
#include "supervisor/job/jobs.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/parts/parts.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/restart/precheck.h"
#include "supervisor/restart/restart_given.h"
#include "supervisor/restart/restart_links.h"
#include "supervisor/restart/restart_times.h"

/* How far the clock of a lost node may have been ahead of this one's; see next_run(). */
#define LOST_SECONDS	86400

/* ---------------------------------------------------------------- the start */

/*
 * A run number above every earlier one, also those of nodes that could not be asked: remains of
 * earlier runs are recognised by their lower number.
 *
 * The time in seconds is above the number of every earlier restart, except for clocks that
 * differ. Differing clocks matter if the node of the last restart is lost and no record here is
 * as new; therefore LOST_SECONDS is added then. So the lost node's clock may have been ahead by a
 * day, unless its own last restart was one with --node-lost, too.
 */
static json_int_t next_run(const struct restart *r)
{
	json_int_t run = r->job->record.run;
	json_int_t now = time(NULL);

	if (!r->request->common->config.image_dir_shared &&
	    json_is_true(json_object_get(r->request->args, "node_lost")))
		now += LOST_SECONDS;

	run = run > r->run ? run : r->run;
	return run < now ? now : run + 1;
}

/* Reading and asking may have taken hours; another node may have taken over the job meanwhile. */
static json_t *check_claim(const struct job *job)
{
	const struct common *common = jobs_common(job->jobs);
	char holder[80];

	if (catalog_claimed(&common->catalog, job->id, holder, sizeof(holder)) &&
	    !strcmp(holder, common->config.node))
		return NULL;
	return outcome_error(-ESTALE, "node %s has taken over the restart of job %lld meanwhile",
			     holder[0] ? holder : "?", (long long)job->id);
}

/* The image has been checked: from here on the record describes the restarted job. */
static json_t *restart_on_checked(void *arg)
{
	struct restart *r = arg;
	struct job *job = r->job;
	struct ckpt_error error = {};
	json_t *outcome = check_claim(job);
	int err = 0;

	if (outcome)
		return outcome;
	job->record.run = next_run(r);
	job->saving = false;
	/* A signal to the run before is none to this one. */
	job->kill_signal = 0;
	if (restart_is_of_nodes(job))
		err = parts_open(job, true, &error);
	if (!err) {
		err = job_set_state(job, JOB_STARTING, &error);
		r->begun = !err;
		if (err)
			job->state = r->before;
	}
	if (err)
		return outcome_error(err, "%s", error.text);
	/* parts that connect to each other wait for each other while they are restored */
	r->together = job->parts && json_object_get(r->how, "links");
	if (r->together)
		restart_begin_others(r);
	return NULL;
}

static void restart_start_parts(struct restart *r)
{
	static const struct job_restore_ops ops = {
		.progress = restart_on_progress,
		.checked = restart_on_checked,
		.held = restart_on_held,
		.ended = restart_on_restored,
	};
	int pair[2] = { -1, -1 }, err;

	if (restart_is_of_nodes(r->job))
		json_object_set_new(r->how, "hold", json_true());
	if (r->attach && !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		r->client = pair[0];
	restart_times_begin(r->times, clock_monotonic_ns());
	err = job_restore_start(r->job, r->how, pair[1], r->request->confines, &ops, r);
	if (err)
		restart_give_up(r, outcome_error(err, "the restart cannot be begun: %s",
						 strerror(-err)));
}

/*
 * Parts have told the files that they want, or which of these they give. Return: they are to be
 * tried again: to tell the latter, or to refuse what they want and nobody gives.
 */
static bool restart_take_given(struct restart *r, json_t *tried)
{
	json_t *given, *wanted = NULL;
	bool missing;

	if (!r->wants) {
		r->wants = restart_given_wants(tried, &wanted);
		if (r->wants)
			json_object_set_new(r->how_tried, "wanted", wanted);
		return r->wants;
	}
	missing = restart_given(r->wants, tried, &given);
	json_object_set(r->how, "given", given);
	json_object_set_new(r->how_tried, "given", given);
	json_object_del(r->how_tried, "wanted");
	json_object_del(r->how_tried, "ask");
	return missing;
}

/* Where both ends of the connections between nodes are. NULL, or an outcome. */
static json_t *restart_take_links(struct restart *r, json_t *tried)
{
	json_t *links, *failure = restart_links(tried, &links);

	json_object_set(r->how, "links", links);	/* NULL: not set */
	json_object_set(r->how_tried, "links", links);
	json_decref(links);
	return failure;
}

static void restart_try(struct restart *r);

/* The restart was tried on all nodes. */
static void restart_on_tried(json_t *outcome, void *arg)
{
	struct restart *r = arg;
	json_t *failure = NULL;

	if (outcome_is_ok(outcome) && json_object_get(r->how_tried, "ask"))
		failure = restart_take_links(r, json_object_get(outcome, "result"));
	if (failure) {
		json_decref(outcome);
		outcome = failure;
	}
	if (outcome_is_ok(outcome) && json_object_get(r->how_tried, "ask") &&
	    restart_take_given(r, json_object_get(outcome, "result"))) {
		json_decref(outcome);
		restart_try(r);
		return;
	}
	restart_times_end(r->times, RESTART_TRY, clock_monotonic_ns());
	if (restart_is_dry_run(r)) {
		restart_finish(r, outcome);
	} else if (!outcome_is_ok(outcome)) {
		restart_give_up(r, outcome);
	} else {
		json_decref(outcome);
		restart_start_parts(r);
	}
}

static void on_tried_here(json_t *outcome, void *arg)
{
	struct restart *r = arg;

	parts_try(r->draft, r->how_tried, outcome, restart_on_tried, r);
}

static void restart_try(struct restart *r)
{
	static const struct job_restore_ops ops = {
		.progress = restart_on_progress, .ended = on_tried_here,
	};
	int err;

	if (!json_object_get(r->how_tried, "wanted") && json_object_get(r->how_tried, "ask"))
		restart_times_begin(r->times, clock_monotonic_ns());
	err = job_restore_start(r->draft, r->how_tried, -1, NULL, &ops, r);
	if (err)
		restart_give_up(r, outcome_error(err, "the restart cannot be tried: %s",
						 strerror(-err)));
}

/* ----------------------------------------------------------------- check */

/* Make the draft to try, and change the record; @ranks (taken over) as of precheck_place(). */
static json_t *restart_prepare(struct restart *r, json_t *ranks)
{
	struct ckpt_error error = {};
	json_t *record = NULL;
	int err = 0;

	if (ranks || restart_is_dry_run(r)) {
		json_t *shared = job_record_encode(&r->job->record);

		record = json_deep_copy(shared);
		json_decref(shared);
		if (ranks)
			json_object_set(record, "ranks", ranks);
		err = jobs_draft(r->job->jobs, r->job->id, record, &r->draft, &error);
		r->how_tried = json_copy(r->how);
		json_object_set_new(r->how_tried, "dry_run", json_true());
		json_object_set_new(r->how_tried, "given", json_array());
		json_object_set_new(r->how_tried, "ask", json_true());
	}
	if (err) {
		json_decref(ranks);
		return outcome_error(err, "the record of job %lld is not understood: %s",
				     (long long)r->job->id, error.text);
	}
	if (restart_is_dry_run(r)) {
		json_decref(ranks);
		r->job = r->draft;
	} else if (ranks) {
		r->ranks_before = json_incref(r->job->record.ranks);
		job_record_replace(&r->job->record.ranks, ranks);
	}
	return NULL;
}

static struct restart *restart_parse(struct request *request, struct job *job, json_t *asker,
				     json_t **ret_outcome)
{
	int accept = 0, dry_run = 0, node_lost = 0, attach = 0;
	json_t *nodes = NULL, *map = NULL, *env = NULL, *paths = NULL, *ranks;
	json_int_t id, generation = 0;
	const char *files = NULL, *credential = NULL;
	struct restart *r;
	json_error_t why;

	if (json_unpack_ex(request->args, &why, 0,
			   "{s:I, s?I, s?b, s?b, s?b, s?b, s?s, s?o, s?o, s?o, s?o, s?s !}",
			   "job", &id,
			   "generation", &generation, "accept_changed", &accept,
			   "dry_run", &dry_run, "node_lost", &node_lost,
			   "attach", &attach, "files", &files, "nodes", &nodes,
			   "map", &map, "env", &env, "map_path", &paths,
			   "credential", &credential)) {
		*ret_outcome = outcome_usage("restart: bad arguments: %s",
					     why.text);
		return NULL;
	}
	*ret_outcome = rank_record_check_env(job->record.ranks, env) ?:
		       precheck_choose(&request->common->catalog, job, &generation);
	if (*ret_outcome)
		return NULL;
	ranks = precheck_place(request->common, job, generation, nodes, map, ret_outcome);
	r = *ret_outcome ? NULL : calloc(1, sizeof(*r));
	if (!r) {
		json_decref(ranks);
		return NULL;
	}
	*r = (struct restart) {
		.request = request, .job = job, .before = job->state,
		.kill_before = job->record.change.kill_signal,
		.generation = generation, .attach = attach, .client = -1,
	};
	r->how = json_pack("{s:I, s:b, s:b, s:b}", "generation", generation,
			   "accept_changed", accept, "any_rights", request->uid == 0,
			   "dry_run", dry_run);
	json_object_set(r->how, "asker", asker);
	if (credential)
		json_object_set_new(r->how, "credential", json_string(credential));
	if (files)
		json_object_set_new(r->how, "files", json_string(files));
	json_object_set(r->how, "env", env);
	json_object_set(r->how, "map_path", paths);
	*ret_outcome = restart_prepare(r, ranks);
	if (!*ret_outcome)
		return r;
	restart_free(r);
	return NULL;
}

/* ------------------------------------------------------------ fetch */

static void begin_restart(struct restart *r)
{
	if (r->draft)
		restart_try(r);
	else
		restart_start_parts(r);
}

/* Each node has the images it needs, or, in a dry run, could fetch them. */
static void on_parts_fetched(json_t *outcome, void *arg)
{
	struct restart *r = arg;
	const json_t *result = json_object_get(outcome, "result");
	json_int_t run;

	restart_times_end(r->times, RESTART_FETCH, clock_monotonic_ns());
	if (!outcome_is_ok(outcome)) {
		restart_give_up(r, outcome);
		return;
	}
	run = json_integer_value(json_object_get(result, "run"));
	r->run = run > r->run ? run : r->run;
	r->ops->fetched(result, r->arg);
	if (json_is_true(json_object_get(result, "in_l1"))) {
		json_decref(outcome);
		begin_restart(r);
		return;
	}
	json_decref(outcome);
	restart_finish(r, outcome_ok(json_pack("{s:I, s:b, s:b, s:I}", "job",
					       (json_int_t)r->job->id, "dry_run", 1, "fetch", 1,
					       "generation", (json_int_t)r->generation)));
}

/* False: no node needs to fetch anything, as image directories are shared or there are no ranks. */
static bool fetch_parts(struct restart *r)
{
	const struct common *common = r->request->common;
	struct parts_fetch how = {
		.flusher = r->request->services->flusher,
		.generation = r->generation, .deep = r->deep, .dry_run = restart_is_dry_run(r),
		.of_run = r->of_run,
	};
	const struct job *job = r->draft ? r->draft : r->job;
	struct ckpt_error error = {};
	int err;

	if (common->config.image_dir_shared || !job->record.ranks)
		return false;
	err = catalog_generation_parts(&common->catalog, job->id, r->generation, &how.was, &error);
	if (err && err != -ENOENT) {
		restart_give_up(r, outcome_error(err, "%s", error.text));
		return true;
	}
	restart_times_begin(r->times, clock_monotonic_ns());
	parts_fetch(job, &how, on_parts_fetched, r);
	json_decref(how.was);
	return true;
}

json_t *restart_start(struct request *request, struct job *job,
		      const struct restart_options *options, const struct restart_ops *ops,
		      void *arg)
{
	json_t *outcome = NULL;
	struct restart *r = restart_parse(request, job, options->asker, &outcome);

	if (!r)
		return outcome ? outcome : outcome_error(-ENOMEM, "no memory for a restart");
	r->ops = ops;
	r->arg = arg;
	r->run = options->run;
	r->of_run = json_incref(options->of_run);
	r->deep = options->deep;
	r->times = options->times;
	r->job->busy = "restart";
	if (!fetch_parts(r))
		begin_restart(r);
	return NULL;
}
