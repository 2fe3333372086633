// SPDX-License-Identifier: GPL-2.0-only
/*
 * Restore of a job's processes on this node; see job_restore.h.
 *
 * A worker finds the images and reads their manifests (job_images.h), as image directories may be
 * slow. The notes in the manifests (lengths of the logs, the pid of each rank) go to a new shim,
 * which restores.
 */
#include "supervisor/job/job_restore.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi-glue/lower/lower.h"
#include "supervisor/job/job_images.h"
#include "supervisor/job/job_writes.h"
#include "supervisor/job/launch.h"
#include "engine/op/op.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/catalog/private.h"
#include "supervisor/control/worker.h"
#include "shim/spec.h"

#define TAKE_BACK_MS	60000	/* for files, after the end of a hold */
#define LOOKING_MS	(INT64_MAX - TAKE_BACK_MS)	/* answered: until it is held once more */

struct job_restore {
	struct job *job;
	const struct job_restore_ops *ops;
	void *arg;
	json_t *args;		/* of op_restore(), without a directory */
	json_t *images;		/* array of args with a directory, one for each image */
	json_t *env;		/* for the ranks' MPI library; NULL: none */
	bool any_rights, dry_run, rollback, reread, hold;
	bool looks;		/* held for its look at other nodes' files */
	json_t *asker;		/* op_asker.h; NULL: root asks */
	/* as of op_restore(); NULL: no other node is asked */
	json_t *given, *wanted;
	bool ask, links_only;
	json_t *links;		/* as of op_restore(); NULL: none are known */
	unsigned int node;	/* index of this node in the job; 0: home, or the only node */
	int attach;
	const struct confines *confines;
	struct worker *worker;
	struct channel *channel;
};

static void job_restore_finish(struct job_restore *r, json_t *outcome)
{
	const struct job_restore_ops *ops = r->ops;
	void *arg = r->arg;

	if (r->hold) {
		r->job->held = NULL;
		r->job->answered_ms = 0;
	}
	if (r->attach >= 0)
		close(r->attach);
	json_decref(r->args);
	json_decref(r->images);
	json_decref(r->env);
	json_decref(r->asker);
	json_decref(r->given);
	json_decref(r->wanted);
	json_decref(r->links);
	free(r);
	ops->ended(outcome, arg);
}

static void job_restore_on_progress(json_t *progress, void *arg)
{
	struct job_restore *r = arg;
	const char *phase = json_string_value(json_object_get(progress, "phase"));

	if (r->hold && phase && (!strcmp(phase, SPEC_HELD) || !strcmp(phase, SPEC_LOOKS))) {
		r->job->held = r;
		r->looks = !strcmp(phase, SPEC_LOOKS);
		r->ops->held(r->arg);
		return;
	}
	/*
	 * Files are put back: the init is not to be killed before it is held, and told to end. A
	 * part with links may be killed before, as it waits for other nodes.
	 */
	if (r->hold && phase && (!strcmp(phase, SPEC_NEXT) ||
				 (r->links && !strcmp(phase, "state") && !r->job->answered_ms)))
		r->job->answered_ms = LOOKING_MS;
	if (r->ops->progress)
		r->ops->progress(progress, r->arg);
}

void job_restore_answer(struct job *job, bool go)
{
	struct job_restore *r = job->held;

	if (!r)
		return;
	job->held = NULL;
	job->answered_ms = go && r->looks ? LOOKING_MS : clock_monotonic_ms();
	channel_answer(r->channel, go);
}

bool job_restore_looks(const struct job *job)
{
	return job->held && job->held->looks;
}

bool job_restore_is_busy(const struct job *job)
{
	return job->held || (job->answered_ms &&
			     clock_monotonic_ms() < job->answered_ms + TAKE_BACK_MS);
}

/* -------------------------------------------------------------- the shim */

static void job_restore_on_launched(json_t *outcome, void *arg)
{
	job_restore_finish(arg, outcome ? outcome :
			   outcome_error(-ECHILD, "the job's shim ended without a word"));
}

static const struct channel_ops launch_ops = { job_restore_on_progress, job_restore_on_launched };

/* @note: gathered from the notes in the manifests, as in job_images(). */
static json_t *make_spec(const struct job_restore *r, const json_t *note)
{
	json_t *spec = launch_spec(r->job, json_incref(r->images));

	json_object_set(spec, "main_pid", json_object_get(note, "main_pid"));
	/* json_object_set() ignores NULL: a job without ranks, an older image. */
	json_object_set(json_object_get(spec, "ranks"), "pids", json_object_get(note, "pids"));
	json_object_set(json_object_get(spec, "ranks"), "failed", json_object_get(note, "failed"));
	json_object_set(json_object_get(spec, "ranks"), "env", r->env);
	json_object_set_new(spec, "any_rights", json_boolean(r->any_rights));
	if (r->hold)
		json_object_set_new(spec, "hold", json_true());
	json_object_set(spec, "asker", r->asker);
	json_object_set_new(spec, "log_len",
			    json_pack("[O, O]", json_object_get(note, "out"),
				      json_object_get(note, "err")));
	json_object_set(spec, "old_logs", json_object_get(note, "logs"));
	return spec;
}

static json_t *job_restore_launch(struct job_restore *r, const json_t *note)
{
	int attach = r->attach, err;
	json_t *spec;

	if (r->job->record.hidden)
		return outcome_error(-ENOKEY,
				     "command line and environment of job %lld are encrypted with "
				     "another key than encryption_key of ckptd.conf, or it is not "
				     "there",
				     (long long)r->job->id);
	err = job_prepare(r->job);
	if (err)
		return outcome_error(err, "%s: %s", r->job->state_dir, strerror(-err));
	spec = make_spec(r, note);
	r->attach = -1;
	err = launch_start(r->job, spec, attach, r->confines, &launch_ops, r, &r->channel);
	json_decref(spec);
	return err ? outcome_error(err, "the job's shim cannot be started: %s",
				   launch_strerror(err)) : NULL;
}

/* ----------------------------------------------------------------- a try */

/* Add up what the images would give. */
static void job_restore_on_tried(json_t *outcome, void *arg)
{
	const json_t *tried = json_object_get(json_object_get(outcome, "result"), "tried"), *one;
	json_t *sum = NULL;
	size_t i;

	json_array_foreach(tried, i, one) {
		if (sum)
			job_restore_add_figures(sum, one);
		else
			sum = json_deep_copy(one);
	}
	if (!outcome)
		outcome = outcome_error(-ECHILD, "the dry run ended without a word; nothing was "
					"changed");
	if (outcome_is_ok(outcome)) {
		json_decref(outcome);
		outcome = outcome_ok(sum);
	}
	job_restore_finish(arg, outcome);
}

static const struct channel_ops try_ops = { job_restore_on_progress, job_restore_on_tried };

/*
 * A dry run is a child of the launcher as well: whether a restore would succeed depends on the
 * capabilities and namespaces there, and not on those of ckptd.
 */
static json_t *job_restore_try(struct job_restore *r)
{
	const struct config *config = &jobs_common(r->job->jobs)->config;
	json_t *spec = json_pack("{s:O, s:b, s:b, s:s, s:s*, s:O*}", "try", r->images,
				 "host_ns", r->job->host_ns, "any_rights", r->any_rights,
				 "key", config->key, "encryption_key", config->secret,
				 "asker", r->asker);
	int err = spec ? launch_start(r->job, spec, -1, NULL, &try_ops, r, &r->channel) : -ENOMEM;

	json_decref(spec);
	return err ? outcome_error(err, "the dry run cannot be started: %s",
				   launch_strerror(err)) : NULL;
}

/* -------------------------------------------------------------- rollback */

/* Without an outcome nobody knows whether the tree was ended: that shows soon. */
static void job_restore_on_rolled_back(json_t *outcome, void *arg)
{
	if (!outcome)
		outcome = outcome_ok(json_pack("{s:b, s:b, s:s}", "in_place", false, "unknown",
					       true, "why",
					       "the process that did it ended unexpectedly"));
	job_restore_finish(arg, outcome);
}

static const struct channel_ops rollback_ops = {
	job_restore_on_progress, job_restore_on_rolled_back,
};

/*
 * A rollback is a child of the launcher, too: it enters the job's mount and PID namespaces, which
 * ckptd may not.
 */
static json_t *job_restore_roll_back(struct job_restore *r, const json_t *note)
{
	const struct config *config = &jobs_common(r->job->jobs)->config;
	json_t *args = json_deep_copy(json_array_get(r->images, 0)), *spec;
	char state[PATH_MAX], images[PATH_MAX];
	int err;

	if (json_array_size(r->images) != 1 || json_object_get(args, "roots") ||
	    json_object_get(args, "others")) {
		json_decref(args);
		return outcome_ok(json_pack("{s:b, s:b, s:s}", "in_place", false, "ended", false,
					    "why", "its ranks were on other nodes then"));
	}
	job_writes_own(jobs_common(r->job->jobs), state, images);
	json_object_set_new(args, "init", json_integer(r->job->init));
	if (rank_record_has_mpi(r->job->record.ranks))
		json_object_set_new(args, "library", json_pack("[I, I]", (json_int_t)LOWER_BASE,
							       (json_int_t)LOWER_END));
	/* memory in doubt may have changed without a write */
	json_object_set_new(args, "reread", json_boolean(r->reread || r->job->record.tainted));
	if (!job_writes_has(r->job))
		json_object_del(args, "writes");
	spec = json_pack("{s:o, s:s, s:s, s:[O, O], s:[s, s], s:b, s:s, s:s*, s:O*}", "rollback",
			 args, "state_dir", r->job->state_dir, "image_dir", r->job->image_dir,
			 "logs", json_object_get(note, "out"), json_object_get(note, "err"),
			 "own", state, images, "any_rights", r->any_rights,
			 "key", config->key, "encryption_key", config->secret,
			 "asker", r->asker);
	err = spec ? launch_start(r->job, spec, -1, NULL, &rollback_ops, r, &r->channel) : -ENOMEM;
	json_decref(spec);
	return err ? outcome_error(err, "the rollback cannot be started: %s",
				   launch_strerror(err)) : NULL;
}

/* ----------------------------------------------------------------- check */

/*
 * Read all of the image before a job that runs is touched: a page that cannot be read would show
 * when there is no way back. NULL, or an outcome.
 */
static json_t *job_restore_read_all(const struct job_restore *r, const struct op_env *env,
				    const json_t *found)
{
	const json_t *images = json_object_get(json_object_get(found, "result"), "images"), *image;
	json_t *outcome = NULL;
	size_t i;

	json_array_foreach(images, i, image) {
		json_t *args = json_pack("{s:O, s:b, s:O, s:O}", "dir",
					 json_object_get(image, "dir"), "deep", true,
					 "generation", json_object_get(r->args, "generation"),
					 "job", json_object_get(r->args, "job"));

		outcome = op_verify(env, args);
		json_decref(args);
		if (!outcome_is_ok(outcome))
			return outcome;
		json_decref(outcome);
	}
	return NULL;
}

/* In the worker: read the manifests, and the images before a job is ended for a rollback. */
static json_t *job_restore_check_run(struct channel_reporter *reporter, void *arg)
{
	struct job_restore *r = arg;
	struct op_env env = {
		.key = jobs_common(r->job->jobs)->config.key,
		.secret = jobs_common(r->job->jobs)->config.secret,
		.progress = channel_report_progress,
		.progress_arg = reporter,
		.any_rights = r->any_rights,
		.asker = r->asker,
	};
	json_t *outcome, *bad = NULL;

	/* After an error the restart says that the last changes are not known. */
	if (job_writes_has(r->job))
		job_writes_keep_ended(r->job);
	outcome = job_images(r->job, r->node, r->args, &env);
	/* a rollback in place reads what it needs by itself */
	if (r->rollback && r->dry_run && outcome_is_ok(outcome))
		bad = job_restore_read_all(r, &env, outcome);
	if (!bad)
		return outcome;
	json_decref(outcome);
	return bad;
}

/*
 * Other nodes may have the content of files that ranks here have changed. Of several images one is
 * restored before the others, when nothing is put back yet.
 */
static void job_restore_take_given(struct job_restore *r)
{
	json_t *image = json_array_get(r->images, 0);

	if (json_array_size(r->images) != 1 || !(r->hold || r->dry_run))
		return;
	/* NULL: not set */
	json_object_set(image, "given", r->given);
	json_object_set(image, "wanted", r->wanted);
	json_object_set(image, "links", r->links);
	if (r->ask)
		json_object_set_new(image, "ask", json_true());
	if (r->links_only)
		json_object_set_new(image, "links_only", json_true());
}

static void job_restore_on_checked(json_t *outcome, void *arg)
{
	struct job_restore *r = arg;
	const json_t *result = json_object_get(outcome, "result");
	json_t *failure = NULL;

	if (!outcome_is_ok(outcome)) {
		job_restore_finish(r, outcome);
		return;
	}
	json_decref(r->images);
	r->images = json_incref(json_object_get(result, "images"));
	job_restore_take_given(r);
	/* a dry run of the restart would refuse, as the job's processes run */
	if (r->rollback && r->dry_run) {
		json_decref(outcome);
		job_restore_finish(r, outcome_ok(json_object()));
		return;
	}
	if (r->ops->checked && !r->dry_run)
		failure = r->ops->checked(r->arg);
	if (!failure)
		failure = r->dry_run ? job_restore_try(r) :
			  r->rollback ? job_restore_roll_back(r, json_object_get(result, "note")) :
			  job_restore_launch(r, json_object_get(result, "note"));
	json_decref(outcome);
	if (failure)
		job_restore_finish(r, failure);
}

static const struct channel_ops check_ops = { job_restore_on_progress, job_restore_on_checked };

static struct job_restore *job_restore_parse(struct job *job, const json_t *how)
{
	int accept = 0, dry_run = 0, any_rights = 0, rollback = 0, reread = 0, hold = 0;
	struct job_restore *r = calloc(1, sizeof(*r));
	const char *files = NULL;
	json_int_t generation;
	json_t *map = NULL;
	char label[64];
	int node;

	if (!r || json_unpack((json_t *)how, "{s:I, s?b, s?b, s?b, s?b, s?b, s?b, s?s, s?o}",
			      "generation", &generation, "accept_changed", &accept, "any_rights",
			      &any_rights, "dry_run", &dry_run, "rollback", &rollback, "reread",
			      &reread, "hold", &hold, "files", &files, "map_path", &map)) {
		free(r);
		return NULL;
	}
	node = rank_record_node_index(job->record.ranks,
				      jobs_common(job->jobs)->config.node);
	*r = (struct job_restore) {
		.job = job, .any_rights = any_rights, .dry_run = dry_run, .attach = -1,
		.rollback = rollback, .reread = reread, .hold = hold,
		.node = node < 0 ? 0 : (unsigned int)node,
	};
	r->args = json_pack("{s:I, s:s, s:b, s:s}", "generation", generation, "job",
			    job_label(job, label), "accept_changed", accept, "pidns",
			    job->host_ns ? "auto" : "caller");
	if (files)
		json_object_set_new(r->args, "files", json_string(files));
	json_object_set(r->args, "map_path", map);	/* NULL: not set */
	r->given = json_incref(json_object_get(how, "given"));
	r->wanted = json_incref(json_object_get(how, "wanted"));
	r->links = json_incref(json_object_get(how, "links"));
	r->ask = json_is_true(json_object_get(how, "ask"));
	r->links_only = json_is_true(json_object_get(how, "links_only"));
	r->env = json_incref(json_object_get(how, "env"));
	r->asker = json_incref(json_object_get(how, "asker"));
	if (r->args)
		return r;
	json_decref(r->env);
	json_decref(r->asker);
	json_decref(r->given);
	json_decref(r->wanted);
	json_decref(r->links);
	free(r);
	return NULL;
}

static const struct worker_kind job_restore_check_work = {
	.name = "ckptd-check",
	.run = job_restore_check_run,
};

int job_restore_start(struct job *job, const json_t *how, int attach,
		      const struct confines *confines,
		      const struct job_restore_ops *ops, void *arg)
{
	struct worker_spec spec = { .kind = &job_restore_check_work };
	struct job_restore *r = job_restore_parse(job, how);
	int err = r ? 0 : -EINVAL;

	if (r) {
		r->ops = ops;
		r->arg = arg;
		r->attach = attach;
		r->confines = confines;
		spec.arg = r;
		err = worker_start(&jobs_common(job->jobs)->workers, &spec, &check_ops, r,
				   &r->worker);
	}
	if (!err)
		return 0;
	if (attach >= 0)
		close(attach);
	if (r) {
		json_decref(r->args);
		json_decref(r->env);
		json_decref(r->asker);
		json_decref(r->given);
		json_decref(r->wanted);
		json_decref(r->links);
	}
	free(r);
	return err;
}

void job_restore_add_figures(json_t *sum, const json_t *figures)
{
	static const char *const names[] = { "processes", "threads", "bytes_read" };
	static const char *const lists[] = { "notes", "wants", "keeps", "made", "links" };
	json_int_t longest = json_integer_value(json_object_get(sum, "total_ns"));
	json_int_t total = json_integer_value(json_object_get(figures, "total_ns"));
	json_t *list;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		json_object_set_new(sum, names[i],
				    json_integer(
					    json_integer_value(json_object_get(sum, names[i])) +
					    json_integer_value(
						    json_object_get(figures, names[i]))));
	json_object_set_new(sum, "total_ns", json_integer(total > longest ? total : longest));
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		list = json_object_get(figures, lists[i]);
		/* a part of several images has none */
		if (list && !json_object_get(sum, lists[i]))
			json_object_set_new(sum, lists[i], json_array());
		json_array_extend(json_object_get(sum, lists[i]), list);
	}
}
