// SPDX-License-Identifier: GPL-2.0-only
/*
 * A checkpoint of a job; see job_checkpoint.h.
 *
 * A job has one operation at a time (job->busy); a second one is refused.
 * The costs of a checkpoint go into the job's history (history.h). If the history cannot be
 * written, the checkpoint is valid all the same.
 */
#include "supervisor/checkpoint/job_checkpoint.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "supervisor/checkpoint/coord_driver.h"
#include "supervisor/checkpoint/scrub.h"
#include "supervisor/job/job_dump.h"
#include "supervisor/job/job_events.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/auto/schedule.h"

/* A killed job may take END_LOOKS looks to be gone; then the caller is answered all the same. */
#define END_LOOK_MS	20
#define END_LOOKS	500

struct checkpoint {
	struct common *common;
	struct job *job;
	const struct job_checkpoint_ops *ops;
	void *arg;
	struct job_dump *dump;	/* NULL: the coordinator has the dump */
	int64_t generation;
	char *dir;
	json_t *args;		/* of op_dump() */
	int quiesce_ms;
	struct scrub scrub;	/* its policy is copied */
	bool kill;
	bool dry_run;
	bool automatic;
	int64_t began_ms;	/* clock_monotonic_ms() */
	int64_t taken;		/* seconds since 1970 */
	json_t *outcome;	/* kept until the end of the killed job is seen */
	unsigned int looks;
};

static void checkpoint_free(struct checkpoint *c)
{
	json_decref(c->args);
	free((char *)c->scrub.policy);
	free(c->dir);
	free(c);
}

static void job_checkpoint_on_progress(json_t *progress, void *arg)
{
	struct checkpoint *c = arg;

	if (c->ops->progress)
		c->ops->progress(progress, c->arg);
}

/* A job that its checkpoint ended is saved; a job that ended meanwhile is not. */
static void settle_state(struct checkpoint *c, bool ok)
{
	struct job *job = c->job;
	enum job_state state = job->state;
	struct ckpt_error error = {};

	if (ok && c->kill && !c->dry_run) {
		job->saving = false;
		if (state == JOB_ENDED || state == JOB_LOST)
			state = JOB_SAVED;
		else if (job_is_alive(job))
			job->saving = true;
	} else {
		job_note_saving(job, false);
		if (state == JOB_SAVED)
			state = JOB_ENDED;
	}
	if (state != job->state && job_set_state(job, state, &error))
		log_error(&c->common->log, "%s", error.text);
}

/*
 * Raise the floor so that the number is never used again, whatever becomes of the generation's
 * directory: levels may have a generation of that number, and a restart takes the newest.
 */
static void use_up_number(const struct checkpoint *c)
{
	struct ckpt_error error = {};

	if (job_raise_floor(c->job, c->generation, &error))
		log_error(&c->common->log,
			  "job %lld: that generation %lld was taken cannot be written down, and "
			  "its number may be used again: %s",
			  (long long)c->job->id, (long long)c->generation, error.text);
}

/* Note the number in memory; if the checkpoint ends the job, it is written with the job's end. */
static void job_checkpoint_note_number(struct checkpoint *c, const json_t *outcome)
{
	const json_t *result = json_object_get(outcome, "result");

	if (!outcome_is_ok(outcome) || c->dry_run)
		return;
	if (json_object_get(result, "generation"))
		c->generation = json_integer_value(json_object_get(result, "generation"));
	job_note_floor(c->job, c->generation);
}

/* Nobody reads the answer of an automatic checkpoint: name the files that a restart may miss. */
static void job_checkpoint_log_watched(const struct checkpoint *c, const json_t *result)
{
	const json_t *file;
	size_t i;

	json_array_foreach(json_object_get(result, "files_named"), i, file) {
		const char *how = json_string_value(json_object_get(file, "how"));

		/* finished output would be in each line of the log */
		if (how && !strcmp(how, "watched") &&
		    !json_is_true(json_object_get(file, "once")))
			log_warning(&c->common->log, "job %lld: %s is not kept with generation "
				    "%lld: a restart is refused if it changes (files_max)",
				    (long long)c->job->id,
				    json_string_value(json_object_get(file, "path")),
				    (long long)c->generation);
	}
}

/* Memory of the job is wrong: end the job, so that it computes no more with it. */
static void job_checkpoint_end_job(struct checkpoint *c, json_t *result)
{
	json_t *why = job_kill(c->job, SIGKILL);

	if (why)
		log_error(&c->common->log, "job %lld is to be ended, as its memory is wrong: %s",
			  (long long)c->job->id,
			  json_string_value(json_object_get(json_object_get(why, "error"),
							    "text")));
	json_object_set_new(result, "ended", json_boolean(!why));
	json_decref(why);
}

static void job_checkpoint_succeeded(struct checkpoint *c, json_t *result)
{
	json_object_set_new(result, "job", json_integer(c->job->id));
	if (json_object_get(result, "generation"))
		c->generation = json_integer_value(json_object_get(result, "generation"));
	else if (!c->dry_run)
		json_object_set_new(result, "generation", json_integer(c->generation));
	log_info(&c->common->log, "job %lld: %s %lld, paused %.2f ms, %lld bytes stored",
		 (long long)c->job->id, c->dry_run ? "dry run of generation" :
		 "generation", (long long)c->generation,
		 (double)json_integer_value(json_object_get(result, "pause_ns")) / 1e6,
		 (long long)json_integer_value(json_object_get(result, "bytes_stored")));
	if (c->dry_run)
		return;
	job_checkpoint_log_watched(c, result);
	use_up_number(c);
	if (scrub_settle(c->job, c->generation, &c->scrub, result) && !c->kill)
		job_checkpoint_end_job(c, result);
}

/* The base was found damaged by the scrub: the next checkpoint does not stand on it. */
static void job_checkpoint_failed(struct checkpoint *c, const json_t *outcome)
{
	log_warning(&c->common->log, "job %lld: no checkpoint: %s", (long long)c->job->id,
		    json_string_value(json_object_get(json_object_get(outcome, "error"), "text")));
	if (json_object_get(c->args, "scrub_every") && outcome_errno(outcome) == -EBADMSG)
		c->job->bad_base = true;
}

static void job_checkpoint_finish(struct checkpoint *c, json_t *outcome)
{
	struct job_commit commit = {
		.taken = true, .began_ms = c->began_ms, .taken_s = c->taken,
		.incremental = json_object_get(c->args, "base"), .automatic = c->automatic,
		.result = json_object_get(outcome, "result"),
	};
	bool ok = outcome_is_ok(outcome);

	c->job->busy = NULL;
	settle_state(c, ok);
	if (ok)
		job_checkpoint_succeeded(c, json_object_get(outcome, "result"));
	else
		job_checkpoint_failed(c, outcome);
	if (ok && !c->dry_run) {
		commit.generation = c->generation;
		job_events_committed(c->job, &commit);
		if (!commit.incremental)
			c->job->bad_base = false;
	}
	c->ops->ended(outcome, c->arg);
	checkpoint_free(c);
}

static void job_checkpoint_on_ended(void *arg);

/*
 * True if the job was killed and is not gone yet: the answer waits, as a caller who is told that
 * the job is saved may restart it at once.
 */
static bool must_wait(struct checkpoint *c, json_t *outcome)
{
	struct reactor_source *timer;

	if (!c->kill || c->dry_run || !outcome_is_ok(outcome) || !job_is_alive(c->job) ||
	    c->looks++ >= END_LOOKS)
		return false;
	c->job->saving = true;
	c->outcome = outcome;
	return !reactor_timer(c->common->reactor, END_LOOK_MS, job_checkpoint_on_ended, c, &timer);
}

static void job_checkpoint_on_checkpoint(json_t *outcome, void *arg)
{
	struct checkpoint *c = arg;

	job_checkpoint_note_number(c, outcome);
	if (!must_wait(c, outcome))
		job_checkpoint_finish(c, outcome);
}

static void job_checkpoint_on_ended(void *arg)
{
	struct checkpoint *c = arg;

	job_checkpoint_on_checkpoint(c->outcome, c);
}

static const struct job_dump_ops dump_ops = {
	.progress = job_checkpoint_on_progress, .ended = job_checkpoint_on_checkpoint,
};

static int64_t job_floor(const struct job *job)
{
	return job->record.floor;
}

/*
 * Have the dump build on the last generation, or at least track changes so that the next dump
 * can.  Not for a job on several nodes: their images are written apart, and each of its
 * generations is full.
 */
static void build_upon(struct checkpoint *c, const struct job_checkpoint_options *o)
{
	const struct common *common = c->common;
	unsigned int chain = common->config.incremental;
	int64_t last = catalog_last(&common->catalog, c->job->id);
	char *dir = NULL;

	if (o->full || c->job->parts || (!chain && !o->incremental))
		return;
	json_object_set_new(c->args, "track", json_true());
	if (last && !c->job->bad_base)
		dir = catalog_image_dir(&common->catalog, c->job->id, last);
	if (dir)
		json_object_set_new(c->args, "base", json_string(dir));
	if (chain)
		json_object_set_new(c->args, "chain_max", json_integer(chain));
	free(dir);
}

static struct checkpoint *checkpoint_new(struct job *job, const struct job_checkpoint_options *o)
{
	struct checkpoint *c = calloc(1, sizeof(*c));
	struct common *common = jobs_common(job->jobs);
	const struct config *config = &common->config;
	char label[64];

	if (!c)
		return NULL;
	c->common = common;
	c->job = job;
	c->kill = o->kill;
	c->quiesce_ms = o->quiesce_ms;
	c->dry_run = o->dry_run;
	c->automatic = o->automatic;
	c->scrub = scrub_of(common, o);
	c->scrub.policy = strdup(c->scrub.policy);
	c->began_ms = clock_monotonic_ms();
	c->taken = time(NULL);
	c->generation = catalog_next(&common->catalog, job->id, job_floor(job));
	c->dir = catalog_image_dir(&common->catalog, job->id, c->generation);
	c->args = json_pack("{s:[i], s:s, s:b, s:b, s:b, s:i, s:i, s:I, s:s}",
			    "pids", (int)job->init, "dir", c->dir, "kill", o->kill,
			    "dry_run", o->dry_run, "stop_and_copy", o->stop_and_copy,
			    "freeze_timeout_ms", (int)config->freeze_timeout_ms,
			    "max_pause_ms", o->max_pause_ms < 0 ? (int)config->max_pause_ms :
			    o->max_pause_ms, "generation", (json_int_t)c->generation,
			    "job", job_label(job, label));
	if (!c->args || !c->scrub.policy) {
		checkpoint_free(c);
		return NULL;
	}
	if (o->any_rights)
		json_object_set_new(c->args, "any_rights", json_true());
	json_object_set_new(c->args, "sockets", json_string(o->sockets ? o->sockets :
							    config->sockets));
	if (o->files)
		json_object_set_new(c->args, "files", json_string(o->files));
	build_upon(c, o);
	if (json_object_get(c->args, "track"))
		scrub_ask(&c->scrub, c->args);
	return c;
}

static int job_checkpoint_begin(struct checkpoint *c)
{
	const struct job_dump_options options = { .args = c->args };
	const struct coord_checkpoint coordinated = {
		.args = c->args,
		.quiesce_ms = (unsigned int)c->quiesce_ms,
		.progress = job_checkpoint_on_progress,
		.done = job_checkpoint_on_checkpoint,
		.arg = c,
	};

	if (coord_driver_leads(c->job))
		return coord_driver_checkpoint(c->job, &coordinated);
	return job_dump_start(c->job, &options, &dump_ops, c, &c->dump);
}

static json_t *job_checkpoint_check(const struct job *job)
{
	json_t *outcome = job_check_free(job, "checkpoint");
	struct ckpt_error error = {};

	if (!outcome)
		outcome = job_check_running(job);
	if (!outcome && catalog_next(&jobs_common(job->jobs)->catalog, job->id, job_floor(job)) < 0)
		outcome = outcome_error(-ERANGE,
					"no checkpoint of job %lld: no number is left for a "
					"generation; start the job anew",
					(long long)job->id);
	/* The directory is another job's: images of this job there would be usable by neither. */
	if (!outcome && job_check_owner(job, &error))
		outcome = outcome_error(-ESTALE, "no checkpoint of job %lld: %s",
					(long long)job->id, error.text);
	return outcome;
}

json_t *job_checkpoint_start(struct job *job, const struct job_checkpoint_options *options,
			     const struct job_checkpoint_ops *ops, void *arg)
{
	json_t *outcome = job_checkpoint_check(job);
	struct checkpoint *c;
	int err;

	if (outcome)
		return outcome;
	c = checkpoint_new(job, options);
	if (!c)
		return outcome_error(-ENOMEM, "out of memory");
	c->ops = ops;
	c->arg = arg;
	if (!c->dry_run)
		job_events_checkpoint(job);
	job->busy = "checkpoint";
	job_note_saving(job, c->kill && !c->dry_run);
	err = job_checkpoint_begin(c);
	if (!err)
		return NULL;
	job->busy = NULL;
	job_note_saving(job, false);
	checkpoint_free(c);
	if (err == -ESRCH)
		return outcome_error(err, "no checkpoint of job %lld: it has just ended",
				     (long long)job->id);
	return outcome_error(err, "the checkpoint of job %lld cannot be begun: %s",
			     (long long)job->id, strerror(-err));
}
