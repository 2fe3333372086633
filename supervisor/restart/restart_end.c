// SPDX-License-Identifier: GPL-2.0-only
/*
 * The second half of a restart: processes are held until all nodes have theirs, ranks build their
 * library anew, and the restart ends; a failure undoes what was begun.
 *
 * Ranks must not write to a file that another node still puts back, so all nodes' ranks begin to
 * run only when all are ready.
 */
#include "supervisor/restart/restart_priv.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/catalog/history.h"
#include "supervisor/checkpoint/coord_driver.h"
#include "supervisor/checkpoint/ranks_up.h"
#include "supervisor/checkpoint/scrub.h"
#include "supervisor/job/job_restore.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/parts/parts.h"
#include "supervisor/restart/restart_times.h"

/* How often, and how many times, to look whether a job that failed to restart has ended. */
#define END_LOOK_MS	20
#define END_LOOKS	1500

bool restart_is_of_nodes(const struct job *job)
{
	return rank_record_nodes(job->record.ranks);
}

bool restart_is_dry_run(const struct restart *r)
{
	return json_is_true(json_object_get(r->how, "dry_run"));
}

void restart_free(struct restart *r)
{
	if (r->client >= 0)
		close(r->client);
	json_decref(r->how);
	json_decref(r->how_tried);
	json_decref(r->wants);
	json_decref(r->ranks_before);
	json_decref(r->of_run);
	json_decref(r->others);
	job_draft_free(r->draft);
	free(r);
}

void restart_finish(struct restart *r, json_t *outcome)
{
	int client = outcome_is_ok(outcome) ? take_fd(&r->client) : -1;
	const struct restart_ops *ops = r->ops;
	void *arg = r->arg;

	r->job->busy = NULL;
	restart_free(r);
	ops->ended(outcome, client, arg);
}

void restart_on_progress(json_t *progress, void *arg)
{
	struct restart *r = arg;

	request_progress(r->request, progress);
}

/* ------------------------------------------------------------ undo */

static void restart_back(struct restart *r)
{
	struct job *job = r->job;
	struct ckpt_error error = {};

	if (job == r->draft)
		return;
	job_let_go(job);
	job_unprepare(job);
	if (r->ranks_before)
		job_record_replace(&job->record.ranks, json_incref(r->ranks_before));
	if (!r->begun)
		return;
	/* The job has the end that it had, also for whoever asks whether that was its own. */
	job->kill_signal = r->kill_before;
	job->killed_ms = clock_monotonic_ms();
	/* If another node had the job, only its images are known to be left. */
	if (job_set_state(job, r->before == JOB_ELSEWHERE ? JOB_LOST : r->before,
			  &error))
		log_error(&r->request->common->log, "%s", error.text);
	job_answer_waiters(job);
}

/* Takes over @failure. */
void restart_give_up(struct restart *r, json_t *failure)
{
	log_warning(&r->request->common->log, "job %lld: no restart from generation %lld: %s",
		    (long long)r->job->id, (long long)r->generation,
		    json_string_value(json_object_get(json_object_get(failure, "error"), "text")));
	restart_back(r);
	restart_finish(r, failure);
}

/* ----------------------------------------------------------- MPI ranks */

static void restart_on_gone(void *arg)
{
	struct restart *r = arg;
	struct reactor_source *timer;

	if (r->nothing_left || !job_is_alive(r->job))
		restart_give_up(r, r->failure);
	else if (r->looks++ >= END_LOOKS ||
		 reactor_timer(r->request->common->reactor, END_LOOK_MS, restart_on_gone, r,
			       &timer))
		restart_finish(r, r->failure);	/* the job's end will be noticed later */
}

/* Write the restart's times into the job's history; the job runs even if that fails. */
static void restart_remember(const struct restart *r)
{
	json_t *row = history_restart_row(json_object_get(r->outcome, "result"), r->generation,
					  time(NULL));
	int err = history_append(&r->request->common->catalog, r->job->id, row);

	if (err)
		log_warning(&r->request->common->log,
			    "job %lld: what the restart took cannot be written down: %s",
			    (long long)r->job->id, strerror(-err));
	json_decref(row);
}

/* Tell what was done to the job's files, also to whoever did not ask for the restart. */
static void restart_log_notes(const struct restart *r)
{
	const json_t *note;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(r->outcome, "result"), "notes"), i, note)
		log_info(&r->request->common->log, "job %lld: %s", (long long)r->job->id,
			 json_string_value(note));
}

/* One pending answer has come; after the last one the restart has succeeded or failed. */
static void restart_settle(struct restart *r)
{
	struct ckpt_error error = {};

	if (--r->waits)
		return;
	if (r->failure) {
		json_decref(r->outcome);
		restart_on_gone(r);
		return;
	}
	if (r->others)
		job_restore_add_figures(json_object_get(r->outcome, "result"), r->others);
	if (r->job->parts && job_set_state(r->job, JOB_RUNNING, &error))
		log_error(&r->request->common->log, "%s", error.text);
	log_info(&r->request->common->log, "job %lld runs again from generation %lld",
		 (long long)r->job->id, (long long)r->generation);
	restart_log_notes(r);
	/* Without ranks or other nodes to wait for, the job ran as soon as it was restored. */
	if (r->job->parts || coord_driver_wanted(r->job))
		restart_times_end(r->times, RESTART_RANKS, clock_monotonic_ns());
	restart_times_put(r->times, clock_monotonic_ns(), json_object_get(r->outcome, "result"));
	restart_remember(r);
	json_object_update_missing(json_object_get(r->outcome, "result"), job_describe(r->job));
	restart_finish(r, r->outcome);
}

/* End the processes that were restored, as they cannot go on. Takes over @failure. */
static void restart_fail(struct restart *r, json_t *failure)
{
	if (r->failure) {
		json_decref(failure);
		return;
	}
	r->failure = failure;
	if (r->nothing_left)
		return;
	if (r->job->parts)
		parts_cancel(r->job->parts, failure);
	else if (r->job->init)
		kill(r->job->init, SIGKILL);
}

static void restart_on_ranks(json_t *failure, void *arg)
{
	struct restart *r = arg;

	/* if another node's failure ended the ranks here, restart_on_parts() gets that one */
	if (failure && parts_gives_up(r->job->parts))
		json_decref(failure);
	else if (failure)
		restart_fail(r, failure);
	restart_settle(r);
}

static void restart_on_parts(json_t *outcome, void *arg)
{
	struct restart *r = arg;

	if (outcome_is_ok(outcome)) {
		r->others = json_incref(json_object_get(outcome, "result"));
		json_decref(outcome);
	} else {
		r->nothing_left = true;
		restart_fail(r, outcome);
	}
	restart_settle(r);
}

static void restart_adopt(struct restart *r)
{
	struct job *job = r->job;
	struct ckpt_error error = {};

	job->record.generation = r->generation;
	scrub_begin_from(job, r->generation);
	if (job->parts) {
		job_take(job);
	} else if (job_adopt(job)) {
		job->state = JOB_RUNNING;
		job_recover(job);
	} else if (job_set_state(job, JOB_RUNNING, &error)) {
		log_error(&r->request->common->log, "%s", error.text);
	}
}

/* Takes over @outcome; if the job is over several nodes, put this node's name into it. */
static json_t *of_node(const struct restart *r, json_t *outcome)
{
	json_t *named;

	if (!restart_is_of_nodes(r->job))
		return outcome;
	named = outcome_of_node(outcome, r->request->common->config.node);
	json_decref(outcome);
	return named;
}

static void restart_restored_time(struct restart *r)
{
	restart_times_end(r->times, RESTART_RESTORE, clock_monotonic_ns());
	restart_times_begin(r->times, clock_monotonic_ns());
}

/*
 * All nodes have their files back and their ranks ready. Before any rank runs, nodes look at files
 * that another one has put back: first this one, as the others are heard of again before they run.
 */
static void restart_go_on(struct restart *r)
{
	if (job_restore_looks(r->job)) {
		job_restore_answer(r->job, true);
	} else if (!r->looking && json_array_size(json_object_get(r->how, "given"))) {
		r->looking = true;
		parts_look(r->job->parts);
	} else {
		job_restore_answer(r->job, true);
		parts_go(r->job->parts);
	}
}

static void restart_on_all_held(void *arg)
{
	struct restart *r = arg;

	r->others_ready = true;
	if (!r->together || r->ready)
		restart_go_on(r);
}

/* Have the other nodes restore their parts. */
void restart_begin_others(struct restart *r)
{
	r->held = true;
	r->waits = 2;
	parts_start(r->job->parts, r->how, NULL, restart_on_all_held, restart_on_parts, r);
}

/*
 * The ranks here are ready. They must not write to a file that another node still puts back, so all
 * nodes' ranks begin to run only when all are ready.
 */
void restart_on_held(void *arg)
{
	struct restart *r = arg;

	/* the job was killed, or another node's look has failed meanwhile */
	if (parts_start_failed(r->job->parts)) {
		job_restore_answer(r->job, false);
		return;
	}
	if (r->ready) {	/* it has looked */
		restart_go_on(r);
		return;
	}
	restart_restored_time(r);
	r->ready = true;
	if (!r->together)
		restart_begin_others(r);
	/* the others may have waited for long: those that do not report are asked again */
	else if (r->others_ready && !parts_ask_unheard(r->job->parts))
		restart_on_all_held(r);
}

/* The restore here has failed while other nodes may have parts. Takes over @outcome. */
static void restart_held_failed(struct restart *r, json_t *outcome)
{
	const struct job_end nothing = { .found = true, .rank = -1 };

	/* that failure has ended ours, and restart_on_parts() gets it */
	if (parts_start_failed(r->job->parts))
		json_decref(outcome);
	else
		restart_fail(r, outcome);
	parts_gone(r->job->parts, &nothing);
	restart_settle(r);
}

void restart_on_restored(json_t *outcome, void *arg)
{
	struct restart *r = arg;
	struct job *job = r->job;
	int err;

	if (!r->held)
		restart_restored_time(r);
	if (!outcome_is_ok(outcome)) {
		outcome = of_node(r, outcome);
		if (r->held)
			restart_held_failed(r, outcome);
		else
			restart_give_up(r, outcome);
		return;
	}
	log_info(&r->request->common->log, "job %lld restored from generation %lld",
		 (long long)job->id, (long long)r->generation);
	restart_adopt(r);
	r->outcome = outcome;
	if (!r->held)
		r->waits = 1;
	r->waits++;
	err = ranks_up_wait(job, restart_on_ranks, r);
	if (err < 0)
		restart_fail(r, outcome_error(err, "the ranks of job %lld cannot be watched: %s",
					      (long long)job->id, strerror(-err)));
	if (err)
		r->waits--;
	restart_settle(r);
}
