// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request checkpoint.
 *
 * A worker asks the job's shim for the ends of its standard streams, dumps what
 * is below the job's init, and, while it stands still, has the shim take out what
 * the job wrote before; how long the logs are then goes into the manifest.
 * The image is in the catalog when its manifest is: nothing is recorded twice.
 * One thing at a time is done to a job (job->busy); who comes second is told so.
 */
#include "supervisor/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/util.h"
#include "supervisor/ends.h"
#include "supervisor/jobs.h"
#include "supervisor/op.h"
#include "supervisor/outcome.h"
#include "supervisor/worker.h"

struct checkpoint {
	struct request *request;
	struct job *job;
	struct worker *worker;
	int64_t generation;
	char *dir;
	json_t *args;		/* of op_dump() */
	bool kill;
	bool dry_run;
	/* in the worker */
	struct ends ends;
	char note[256 + RANKS_NODE_MAX * 12];
};

static void checkpoint_free(struct checkpoint *c)
{
	json_decref(c->args);
	free(c->dir);
	free(c);
}

/* The tree stands still: the logs now end where the image does. */
static int on_frozen(void *arg)
{
	struct checkpoint *c = arg;
	struct shim_logs logs;
	int n, err = ends_drain(&c->ends, &logs);
	unsigned int i;

	if (err)
		return err;
	n = snprintf(c->note, sizeof(c->note),
		     "{\"out\": %llu, \"err\": %llu, \"main_pid\": %d, \"killed\": %s, \"pids\": [",
		     (unsigned long long)logs.out, (unsigned long long)logs.err,
		     (int)c->ends.status.main_pid, c->kill ? "true" : "false");
	for (i = 0; i < c->ends.nr_ranks; i++)
		n += snprintf(c->note + n, sizeof(c->note) - (size_t)n, "%s%d", i ? "," : "",
			      (int)c->ends.pids[i]);
	n += snprintf(c->note + n, sizeof(c->note) - (size_t)n, "]");
	if (c->ends.nr_ranks && c->ends.status.failed >= 0)
		n += snprintf(c->note + n, sizeof(c->note) - (size_t)n, ", \"failed\": [%d, %d]",
			      (int)c->ends.status.failed, c->ends.failed_status);
	snprintf(c->note + n, sizeof(c->note) - (size_t)n, "}");
	return 0;
}

/* The logs are part of the checkpoint: durable before the image is. */
static void sync_logs(const struct checkpoint *c)
{
	static const char *const names[] = { "stdout", "stderr" };
	char path[4096];
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", c->job->image_dir, names[i]);
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		fsync(fd);
		close(fd);
	}
}

struct checkpoint_progress {
	struct channel_reporter *reporter;
	const struct checkpoint *checkpoint;
};

static void on_phase(const struct engine_progress *progress, void *arg)
{
	struct checkpoint_progress *p = arg;

	if (!strcmp(progress->phase, "commit"))
		sync_logs(p->checkpoint);
	channel_report_progress(progress, p->reporter);
}

static json_t *checkpoint_run(struct channel_reporter *reporter, void *arg)
{
	struct checkpoint *c = arg;
	const struct daemon *daemon = c->request->daemon;
	struct checkpoint_progress progress = { reporter, c };
	struct op_env env = {
		.key = daemon->config.key,
		.progress = on_phase,
		.progress_arg = &progress,
		.frozen = on_frozen,
		.frozen_arg = c,
		.note = c->note,
	};
	json_t *outcome = ends_open(c->job, &c->ends, &env);

	if (outcome)
		return outcome;
	return op_dump(&env, c->args);
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

static void on_checkpoint(json_t *outcome, void *arg)
{
	struct checkpoint *c = arg;
	const struct log *log = &c->request->daemon->log;
	json_t *result = json_object_get(outcome, "result");
	bool ok = outcome_is_ok(outcome);

	c->job->busy = NULL;
	settle_state(c, ok);
	if (ok) {
		json_object_set_new(result, "job", json_integer(c->job->id));
		if (!c->dry_run)
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

static const struct channel_ops checkpoint_ops = { on_progress, on_checkpoint };

static int64_t job_floor(const struct job *job)
{
	return json_integer_value(json_object_get(job->record, "floor"));
}

/* Arguments of op_dump(); NULL with an outcome. */
static struct checkpoint *parse_checkpoint(struct request *request, struct job *job,
					   json_t **ret_outcome)
{
	const struct config *config = &request->daemon->config;
	int kill = 0, dry_run = 0, copy = 0, pause = (int)config->max_pause_ms;
	const char *files = NULL;
	struct checkpoint *c;
	json_error_t why;
	json_int_t id;
	char label[64];

	if (json_unpack_ex(request->args, &why, 0, "{s:I, s?b, s?b, s?b, s?i, s?s !}",
			   "job", &id, "kill", &kill, "dry_run", &dry_run,
			   "stop_and_copy", &copy, "max_pause_ms", &pause,
			   "files", &files)) {
		*ret_outcome = outcome_error(-EINVAL, "checkpoint: bad arguments: %s",
					     why.text);
		return NULL;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->request = request;
	c->job = job;
	c->kill = kill;
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

void verb_checkpoint(struct request *request)
{
	struct worker_spec spec = { .name = "ckptd-dump", .run = checkpoint_run };
	struct checkpoint *c = NULL;
	json_t *outcome = NULL;
	struct job *job = jobs_find_for(request, &outcome);
	int err;

	if (job)
		outcome = job_check_free(job, "checkpoint");
	if (job && !outcome)
		outcome = job_check_running(job);
	if (job && !outcome)
		c = parse_checkpoint(request, job, &outcome);
	if (!c) {
		request_answer(request, outcome);
		return;
	}
	spec.arg = c;
	err = worker_start(request->daemon, &spec, &checkpoint_ops, c, &c->worker);
	if (err) {
		checkpoint_free(c);
		request_answer(request, outcome_error(err, "no worker: %s", strerror(-err)));
		return;
	}
	job->busy = "checkpoint";
	job->saving = c->kill && !c->dry_run;
}
