// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requests checkpoint and auto; auto sets whether ckptd takes checkpoints by itself.
 *
 * Owns only the check of rights and arguments: job_checkpoint.c takes the checkpoint, schedule.c
 * decides when ckptd takes one.  A setting counts once it is in the job's record on disk.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/checkpoint/job_checkpoint.h"
#include "supervisor/checkpoint/scrub.h"
#include "supervisor/job/jobs.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "engine/core/sock_rules.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/parts/parts.h"
#include "supervisor/auto/schedule.h"
#include "supervisor/verbs/user_limits.h"

/* ------------------------------------------------------------ checkpoint */

static void verb_checkpoint_on_progress(json_t *progress, void *arg)
{
	request_progress(arg, progress);
}

static void verb_checkpoint_on_ended(json_t *outcome, void *arg)
{
	request_answer(arg, outcome);
}

static const struct job_checkpoint_ops ops = { verb_checkpoint_on_progress,
	verb_checkpoint_on_ended };

/* NULL or an outcome. */
static json_t *verb_checkpoint_parse(const struct request *request,
				     struct job_checkpoint_options *o)
{
	int kill = 0, dry_run = 0, copy = 0, incremental = -1;
	json_error_t why;
	json_int_t id;

	o->max_pause_ms = -1;
	if (json_unpack_ex(request->args, &why, 0,
			   "{s:I, s?b, s?b, s?b, s?i, s?i, s?s, s?b, s?s, s?s, s?i !}",
			   "job", &id, "kill", &kill, "dry_run", &dry_run,
			   "stop_and_copy", &copy, "max_pause_ms", &o->max_pause_ms,
			   "quiesce_timeout_ms", &o->quiesce_ms, "files", &o->files,
			   "incremental", &incremental, "sockets", &o->sockets, "scrub",
			   &o->scrub, "scrub_every", &o->scrub_every) || o->quiesce_ms < 0)
		return outcome_usage("checkpoint: bad arguments: %s",
				     o->quiesce_ms < 0 ? "quiesce_timeout_ms" : why.text);
	if (o->sockets && !sock_rules_valid(o->sockets))
		return outcome_usage("checkpoint: sockets is %s, not %s", SOCK_RULES_SYNTAX,
				     o->sockets);
	if ((o->scrub && !scrub_is_policy(o->scrub)) || o->scrub_every < 0 ||
	    o->scrub_every > SCRUB_EVERY_MAX)
		return outcome_usage("checkpoint: scrub is off, report, stop or repair, and "
				     "scrub_every at most %d", SCRUB_EVERY_MAX);
	if (o->scrub && strcmp(o->scrub, "off") && !incremental)
		return outcome_usage("checkpoint: a scrub compares with an earlier generation, and "
				     "a full one has none");
	o->kill = kill;
	o->dry_run = dry_run;
	o->stop_and_copy = copy;
	o->any_rights = request->uid == 0;
	o->full = incremental == 0;
	o->incremental = incremental == 1 || (o->scrub && strcmp(o->scrub, "off"));
	return NULL;
}

static void verb_checkpoint_begin(struct request *request)
{
	struct job_checkpoint_options options = { 0 };
	int64_t before_ms;
	json_t *outcome = NULL;
	struct job *job = jobs_reconcile_for(request, &outcome);

	if (job)
		outcome = verb_checkpoint_parse(request, &options);
	before_ms = job ? job->asked_ms : 0;
	if (job && !outcome && !options.dry_run && request->uid)
		job->asked_ms = clock_monotonic_ms();
	if (job && !outcome)
		outcome = job_checkpoint_start(job, &options, &ops, request);
	if (job && outcome)
		job->asked_ms = before_ms;
	if (outcome)
		request_answer(request, outcome);
}

void verb_checkpoint(struct request *request)
{
	/* A dry run makes no image. */
	if (json_is_true(json_object_get(request->args, "dry_run")))
		verb_checkpoint_begin(request);
	else
		user_limits_pass(request, USER_CHECKPOINTS, verb_checkpoint_begin);
}

/* ------------------------------------------------------------------ auto */

/* The node where the job runs writes the record; if the job runs nowhere, any node may. */
static json_t *verb_checkpoint_check_place(const struct job *job)
{
	bool away = job->node_index;

	return job->state == JOB_ELSEWHERE || away ? job_check_running(job) : NULL;
}

/* Give @job new settings, which this takes over. NULL or an outcome. */
static json_t *verb_checkpoint_set(struct job *job, struct job_automatic *settings)
{
	struct job_automatic before = job->record.automatic;
	struct ckpt_error error = {};
	json_t *outcome = NULL;
	int err;

	job->record.automatic = *settings;
	*settings = (struct job_automatic) { 0 };
	err = job_save(job, &error);
	if (err) {
		outcome = outcome_error(err, "%s", error.text);
		job_automatic_done(&job->record.automatic);
		job->record.automatic = before;
	} else {
		log_info(&jobs_common(job->jobs)->log, "job %lld: checkpoints by itself: %s",
			 (long long)job->id, schedule_is_on(job) ? "on" : "off");
		job_automatic_done(&before);
		schedule_changed(job);
	}
	return outcome;
}

void verb_auto(struct request *request)
{
	json_t *outcome = NULL, *settings = NULL;
	struct job *job = jobs_reconcile_for(request, &outcome);
	struct job_automatic automatic = { 0 };
	json_error_t why;
	json_int_t id;
	int on = -1;

	if (!job) {
		request_answer(request, outcome);
		return;
	}
	if (json_unpack_ex(request->args, &why, 0, "{s:I, s?b, s?o !}", "job", &id, "on", &on,
			   "settings", &settings) || (settings && on != 1))
		outcome = outcome_usage("auto: bad arguments");
	else if (settings)
		outcome = schedule_parse(settings, &automatic);
	automatic.on = on == 1;
	if (!outcome && on == 1)
		outcome = rank_record_check_auto(job->record.ranks);
	if (!outcome && on >= 0)
		outcome = verb_checkpoint_check_place(job);
	if (!outcome && on >= 0)
		outcome = verb_checkpoint_set(job, &automatic);
	job_automatic_done(&automatic);
	if (!outcome)
		outcome = outcome_ok(json_pack("{s:I, s:b, s:o*}", "job", (json_int_t)job->id,
					       "on", schedule_is_on(job), "auto",
					       schedule_describe(job)));
	request_answer(request, outcome);
}
