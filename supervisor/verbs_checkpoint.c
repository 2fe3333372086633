// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request checkpoint: of a job that one dump saves (job_dump.h), and of one whose MPI
 * ranks have to be quiesced for it (coord_driver.h).
 *
 * One thing at a time is done to a job (job->busy); who comes second is told so.
 */
#include "supervisor/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/coord_driver.h"
#include "supervisor/job_dump.h"
#include "supervisor/jobs.h"
#include "supervisor/outcome.h"

/* How long a job that was killed may take to be gone before the caller is answered all the same. */
#define END_LOOK_MS	20
#define END_LOOKS	500

struct checkpoint {
	struct request *request;
	struct job *job;
	struct job_dump *dump;	/* NULL: a coordinator has it */
	int64_t generation;
	char *dir;
	json_t *args;		/* of op_dump() */
	int quiesce_ms;
	bool kill;
	bool dry_run;
	json_t *outcome;	/* of one that ended the job, until that is seen */
	unsigned int looks;
};

static void checkpoint_free(struct checkpoint *c)
{
	json_decref(c->args);
	free(c->dir);
	free(c);
}

static void on_progress(json_t *progress, void *arg)
{
	struct checkpoint *c = arg;

	request_progress(c->request, progress);
}

/* A job that a checkpoint ended is saved; one that ended meanwhile is not. */
static void settle_state(struct checkpoint *c, bool ok)
{
	struct job *job = c->job;
	enum job_state state = job->state;
	char why[512];

	job->saving = false;
	if (ok && c->kill && !c->dry_run) {
		if (state == JOB_ENDED || state == JOB_LOST)
			state = JOB_SAVED;
		else if (job_is_alive(job))
			job->saving = true;
	} else if (state == JOB_SAVED) {
		state = JOB_ENDED;
	}
	if (state != job->state && job_set_state(job, state, why, sizeof(why)))
		log_error(&c->request->daemon->log, "%s", why);
}

static void finish(struct checkpoint *c, json_t *outcome)
{
	const struct log *log = &c->request->daemon->log;
	json_t *result = json_object_get(outcome, "result");
	bool ok = outcome_is_ok(outcome);

	c->job->busy = NULL;
	settle_state(c, ok);
	if (ok) {
		json_object_set_new(result, "job", json_integer(c->job->id));
		if (json_object_get(result, "generation"))
			c->generation = json_integer_value(json_object_get(result, "generation"));
		else if (!c->dry_run)
			json_object_set_new(result, "generation",
					    json_integer(c->generation));
		log_info(log, "job %lld: %s %lld, paused %.2f ms, %lld bytes stored",
			 (long long)c->job->id, c->dry_run ? "dry run of generation" :
			 "generation", (long long)c->generation,
			 (double)json_integer_value(json_object_get(result, "pause_ns")) / 1e6,
			 (long long)json_integer_value(json_object_get(result, "bytes_stored")));
	} else {
		log_warning(log, "job %lld: no checkpoint: %s", (long long)c->job->id,
			    json_string_value(json_object_get(json_object_get(outcome, "error"),
							      "text")));
	}
	request_answer(c->request, outcome);
	checkpoint_free(c);
}

static void on_ended(void *arg);

/* Killed, and not yet buried: who is told that it is saved may restart it at once. */
static bool must_wait(struct checkpoint *c, json_t *outcome)
{
	struct reactor_source *timer;

	if (!c->kill || c->dry_run || !outcome_is_ok(outcome) || !job_is_alive(c->job) ||
	    c->looks++ >= END_LOOKS)
		return false;
	c->job->saving = true;
	c->outcome = outcome;
	return !reactor_timer(c->request->daemon->reactor, END_LOOK_MS, on_ended, c, &timer);
}

static void on_checkpoint(json_t *outcome, void *arg)
{
	struct checkpoint *c = arg;

	if (!must_wait(c, outcome))
		finish(c, outcome);
}

static void on_ended(void *arg)
{
	struct checkpoint *c = arg;

	on_checkpoint(c->outcome, c);
}

static const struct job_dump_ops dump_ops = {
	.progress = on_progress, .ended = on_checkpoint,
};

static int64_t job_floor(const struct job *job)
{
	return json_integer_value(json_object_get(job->record, "floor"));
}

/* Arguments of op_dump(); NULL with an outcome. */
static struct checkpoint *parse_checkpoint(struct request *request, struct job *job,
					   json_t **ret_outcome)
{
	const struct config *config = &request->daemon->config;
	int kill = 0, dry_run = 0, copy = 0, pause = (int)config->max_pause_ms, quiesce = 0;
	const char *files = NULL;
	struct checkpoint *c;
	json_error_t why;
	json_int_t id;
	char label[64];

	if (json_unpack_ex(request->args, &why, 0, "{s:I, s?b, s?b, s?b, s?i, s?i, s?s !}",
			   "job", &id, "kill", &kill, "dry_run", &dry_run,
			   "stop_and_copy", &copy, "max_pause_ms", &pause,
			   "quiesce_timeout_ms", &quiesce, "files", &files) || quiesce < 0) {
		*ret_outcome = outcome_error(-EINVAL, "checkpoint: bad arguments: %s",
					     quiesce < 0 ? "quiesce_timeout_ms" : why.text);
		return NULL;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->request = request;
	c->job = job;
	c->kill = kill;
	c->quiesce_ms = quiesce;
	c->dry_run = dry_run;
	c->generation = catalog_next(&request->daemon->catalog, job->id, job_floor(job));
	c->dir = catalog_image_dir(&request->daemon->catalog, job->id, c->generation);
	c->args = json_pack("{s:[i], s:s, s:b, s:b, s:b, s:i, s:i, s:I, s:s}",
			    "pids", (int)job->init, "dir", c->dir, "kill", kill,
			    "dry_run", dry_run, "stop_and_copy", copy,
			    "freeze_timeout_ms", (int)config->freeze_timeout_ms,
			    "max_pause_ms", pause,
			    "generation", (json_int_t)c->generation,
			    "job", job_label(job, label));
	if (files)
		json_object_set_new(c->args, "files", json_string(files));
	return c;
}

static int start(struct checkpoint *c)
{
	const struct job_dump_options options = { .args = c->args };
	const struct coord_checkpoint coordinated = {
		.args = c->args, .quiesce_ms = (unsigned int)c->quiesce_ms,
		.progress = on_progress, .done = on_checkpoint, .arg = c,
	};

	if (coord_driver_wanted(c->job))
		return coord_driver_checkpoint(c->job, &coordinated);
	return job_dump_start(c->job, &options, &dump_ops, c, &c->dump);
}

void verb_checkpoint(struct request *request)
{
	struct checkpoint *c = NULL;
	json_t *outcome = NULL;
	struct job *job = jobs_find_for(request, &outcome);
	int err;

	if (job)
		outcome = job_check_free(job, "checkpoint");
	if (job && !outcome)
		outcome = job_check_running(job);
	if (job && !outcome && job->parts && !coord_driver_wanted(job))
		outcome = outcome_error(-EOPNOTSUPP, "no checkpoint of job %lld: it is on several nodes and does not use MPI, so nothing tells what its processes have sent to each other",
					(long long)job->id);
	if (job && !outcome)
		c = parse_checkpoint(request, job, &outcome);
	if (!c) {
		request_answer(request, outcome);
		return;
	}
	job->busy = "checkpoint";
	job->saving = c->kill && !c->dry_run;
	err = start(c);
	if (err) {
		job->busy = NULL;
		job->saving = false;
		checkpoint_free(c);
		request_answer(request, outcome_error(err, "the checkpoint cannot be begun: %s",
						      strerror(-err)));
	}
}
