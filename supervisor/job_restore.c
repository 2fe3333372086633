// SPDX-License-Identifier: GPL-2.0-only
/*
 * See job_restore.h.
 *
 * A worker reads the manifest (is it this job's, this generation's, ours?): image
 * directories may be slow.  What the checkpoint left in its note (lengths of the logs, which
 * process was which) goes to a new shim, which restores.
 */
#include "supervisor/job_restore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/generation.h"
#include "supervisor/launch.h"
#include "supervisor/op.h"
#include "supervisor/outcome.h"
#include "supervisor/parts.h"
#include "supervisor/worker.h"

struct job_restore {
	struct job *job;
	const struct job_restore_ops *ops;
	void *arg;
	json_t *args;		/* of op_restore() */
	bool any_rights, dry_run;
	int part;		/* of several nodes, this one's; -1: its image is all */
	int attach;
	struct worker *worker;
	struct channel *channel;
};

static void finish(struct job_restore *r, json_t *outcome)
{
	const struct job_restore_ops *ops = r->ops;
	void *arg = r->arg;

	if (r->attach >= 0)
		close(r->attach);
	json_decref(r->args);
	free(r);
	ops->ended(outcome, arg);
}

static void on_progress(json_t *progress, void *arg)
{
	struct job_restore *r = arg;

	if (r->ops->progress)
		r->ops->progress(progress, r->arg);
}

/* -------------------------------------------------------------- the shim */

static void on_launched(json_t *outcome, void *arg)
{
	finish(arg, outcome ? outcome :
	       outcome_error(-ECHILD, "the job's shim ended without a word"));
}

static const struct channel_ops launch_ops = { on_progress, on_launched };

/* @note: what the checkpoint left in the manifest for us. */
static json_t *make_spec(const struct job_restore *r, const json_t *note)
{
	json_t *spec = launch_spec(r->job, json_incref(r->args));

	json_object_set(spec, "main_pid", json_object_get(note, "main_pid"));
	/* json_object_set() of nothing is none: a job without ranks, an older image. */
	json_object_set(json_object_get(spec, "ranks"), "pids", json_object_get(note, "pids"));
	json_object_set(json_object_get(spec, "ranks"), "failed", json_object_get(note, "failed"));
	json_object_set_new(spec, "any_rights", json_boolean(r->any_rights));
	json_object_set_new(spec, "log_len",
			    json_pack("[O, O]", json_object_get(note, "out"),
				      json_object_get(note, "err")));
	return spec;
}

static json_t *launch(struct job_restore *r, const json_t *note)
{
	int attach = r->attach, err;
	json_t *spec;

	err = job_prepare(r->job);
	if (err)
		return outcome_error(err, "%s: %s", r->job->state_dir, strerror(-err));
	spec = make_spec(r, note);
	r->attach = -1;
	err = launch_start(r->job, spec, attach, &launch_ops, r, &r->channel);
	json_decref(spec);
	return err ? outcome_error(err, "the job's shim cannot be started: %s", strerror(-err)) :
	       NULL;
}

/* ----------------------------------------------------------------- check */

/* What the manifest says, if the image is the one that belongs here. */
static json_t *describe(const struct job_restore *r, const struct op_env *env)
{
	json_t *args = json_pack("{s:O, s:O, s:O}", "dir", json_object_get(r->args, "dir"),
				 "generation", json_object_get(r->args, "generation"),
				 "job", json_object_get(r->args, "job"));
	json_t *outcome = op_describe(env, args), *failure = NULL;

	if (outcome_is_ok(outcome) && r->part >= 0)
		failure = generation_check_part(json_string_value(json_object_get(args, "dir")),
						json_object_get(json_object_get(outcome, "result"), "note"),
						(unsigned int)r->part);
	json_decref(args);
	if (!failure)
		return outcome;
	json_decref(outcome);
	return failure;
}

/* Reads the manifest, and for a dry run all else there is to check. */
static json_t *check_run(struct channel_reporter *reporter, void *arg)
{
	struct job_restore *r = arg;
	struct op_env env = {
		.key = jobs_daemon(r->job->jobs)->config.key,
		.progress = channel_report_progress,
		.progress_arg = reporter,
		.any_rights = r->any_rights,
	};
	json_t *outcome = describe(r, &env);
	unsigned int nr_roots;
	pid_t roots[OP_ROOTS_MAX];

	if (!r->dry_run || !outcome_is_ok(outcome))
		return outcome;
	json_decref(outcome);
	/* Its pids are free in the namespace it would get. */
	if (!r->job->host_ns)
		json_object_set_new(r->args, "pidns", json_string("new"));
	json_object_set_new(r->args, "dry_run", json_true());
	return op_restore(&env, r->args, roots, &nr_roots);
}

static void on_checked(json_t *outcome, void *arg)
{
	struct job_restore *r = arg;
	const json_t *note = json_object_get(json_object_get(outcome, "result"), "note");
	json_t *failure = NULL;

	if (!outcome_is_ok(outcome) || r->dry_run) {
		finish(r, outcome);
		return;
	}
	if (!note)
		failure = outcome_error(-EBADMSG, "generation %lld was not taken of a job: use ckptctl restore",
					(long long)json_integer_value(json_object_get(r->args, "generation")));
	else if (r->ops->checked)
		failure = r->ops->checked(r->arg);
	if (!failure)
		failure = launch(r, note);
	json_decref(outcome);
	if (failure)
		finish(r, failure);
}

static const struct channel_ops check_ops = { on_progress, on_checked };

char *job_restore_dir(const struct job *job, int64_t generation)
{
	const struct daemon *daemon = jobs_daemon(job->jobs);
	int part = parts_number(job->record, daemon->config.node);

	return part < 0 ? catalog_image_dir(&daemon->catalog, job->id, generation) :
	       catalog_part_dir(&daemon->catalog, job->id, generation, (unsigned int)part);
}

static struct job_restore *parse(struct job *job, const json_t *how)
{
	int accept = 0, dry_run = 0, any_rights = 0;
	struct job_restore *r = calloc(1, sizeof(*r));
	const char *files = NULL;
	json_int_t generation;
	char label[64];
	char *dir;

	if (!r || json_unpack((json_t *)how, "{s:I, s?b, s?b, s?b, s?s}", "generation",
			      &generation, "accept_changed", &accept, "any_rights", &any_rights,
			      "dry_run", &dry_run, "files", &files)) {
		free(r);
		return NULL;
	}
	dir = job_restore_dir(job, generation);
	*r = (struct job_restore) {
		.job = job, .any_rights = any_rights, .dry_run = dry_run, .attach = -1,
		.part = parts_number(job->record, jobs_daemon(job->jobs)->config.node),
	};
	r->args = json_pack("{s:s, s:I, s:s, s:b, s:s}", "dir", dir,
			    "generation", generation, "job", job_label(job, label),
			    "accept_changed", accept,
			    "pidns", job->host_ns ? "auto" : "caller");
	if (files)
		json_object_set_new(r->args, "files", json_string(files));
	free(dir);
	if (r->args)
		return r;
	free(r);
	return NULL;
}

int job_restore_start(struct job *job, const json_t *how, int attach,
		      const struct job_restore_ops *ops, void *arg)
{
	struct worker_spec spec = { .name = "ckptd-check", .run = check_run };
	struct job_restore *r = parse(job, how);
	int err = r ? 0 : -EINVAL;

	if (r) {
		r->ops = ops;
		r->arg = arg;
		r->attach = attach;
		spec.arg = r;
		err = worker_start(jobs_daemon(job->jobs), &spec, &check_ops, r, &r->worker);
	}
	if (!err)
		return 0;
	if (attach >= 0)
		close(attach);
	if (r)
		json_decref(r->args);
	free(r);
	return err;
}
