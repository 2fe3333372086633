// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request restart: a job from one of its generations, on this node.
 *
 * A worker reads the manifest (is it this job's, this generation's, ours?),
 * then a new shim restores, and MPI ranks make their library anew (ranks_up.h).  Refused while the job's processes may still run:
 * here, because init lives; elsewhere, because the record says so and nobody
 * has said that node is off.  A failed restart leaves job and images as they
 * were.
 */
#include "supervisor/verbs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "image/util.h"
#include "supervisor/jobs.h"
#include "supervisor/launch.h"
#include "supervisor/op.h"
#include "supervisor/outcome.h"
#include "supervisor/ranks_up.h"
#include "supervisor/worker.h"

/* How long a job whose ranks could not go on may take to be gone. */
#define END_LOOK_MS	20
#define END_LOOKS	500

struct restart {
	struct request *request;
	struct job *job;
	enum job_state before;
	int64_t generation;
	bool dry_run;
	bool attach;
	bool claimed;
	json_t *args;		/* of op_restore() */
	struct worker *worker;
	struct channel *channel;
	int client;		/* the client's end of its terminal; -1 */
	json_t *outcome;	/* of the restore, until the ranks run or the job is gone */
	unsigned int looks;
};

static void finish(struct restart *r, json_t *outcome)
{
	int client = outcome_is_ok(outcome) ? take_fd(&r->client) : -1;

	r->job->busy = NULL;
	if (r->claimed)
		catalog_unclaim(&r->request->daemon->catalog, r->job->id);
	if (r->client >= 0)
		close(r->client);
	request_answer_fd(r->request, outcome, client);
	json_decref(r->args);
	free(r);
}

static void on_progress(json_t *progress, void *arg)
{
	struct restart *r = arg;

	request_progress(r->request, progress);
}

/* ---------------------------------------------------------------- launch */

static void back(struct restart *r)
{
	char why[512];

	job_unprepare(r->job);
	/* Of a job that another node had, only its images are known to be left. */
	if (job_set_state(r->job, r->before == JOB_ELSEWHERE ? JOB_LOST : r->before,
			  why, sizeof(why)))
		log_error(&r->request->daemon->log, "%s", why);
}

static void adopt(struct restart *r)
{
	struct job *job = r->job;
	char why[512];

	json_object_set_new(job->record, "generation", json_integer(r->generation));
	if (job_adopt(job)) {
		job->state = JOB_RUNNING;
		job_recover(job);
	} else if (job_set_state(job, JOB_RUNNING, why, sizeof(why))) {
		log_error(&r->request->daemon->log, "%s", why);
	}
}

/* ----------------------------------------------------------- MPI ranks */

static void say_failed(const struct restart *r, const json_t *outcome)
{
	log_warning(&r->request->daemon->log, "job %lld: no restart from generation %lld: %s",
		    (long long)r->job->id, (long long)r->generation,
		    json_string_value(json_object_get(json_object_get(outcome, "error"), "text")));
}

static void on_gone(void *arg)
{
	struct restart *r = arg;
	struct reactor_source *timer;

	if (job_is_alive(r->job) && r->looks++ < END_LOOKS &&
	    !reactor_timer(r->request->daemon->reactor, END_LOOK_MS, on_gone, r, &timer))
		return;
	if (!job_is_alive(r->job))
		back(r);
	finish(r, r->outcome);
}

/* What was restored and cannot go on is of no use to anybody. */
static void on_ranks(json_t *failure, void *arg)
{
	struct restart *r = arg;

	if (!failure) {
		log_info(&r->request->daemon->log, "job %lld: its ranks run again",
			 (long long)r->job->id);
		finish(r, r->outcome);
		return;
	}
	say_failed(r, failure);
	json_decref(r->outcome);
	r->outcome = failure;
	if (r->job->init)
		kill(r->job->init, SIGKILL);
	on_gone(r);
}

static void on_launched(json_t *outcome, void *arg)
{
	struct restart *r = arg;
	const struct log *log = &r->request->daemon->log;
	int err;

	if (!outcome)
		outcome = outcome_error(-ECHILD, "the job's shim ended without a word");
	if (outcome_is_ok(outcome)) {
		log_info(log, "job %lld restarted from generation %lld",
			 (long long)r->job->id, (long long)r->generation);
		adopt(r);
		json_object_update_missing(json_object_get(outcome, "result"),
					   job_describe(r->job));
		r->outcome = outcome;
		err = ranks_up_wait(r->job, on_ranks, r);
		if (err < 0)
			on_ranks(outcome_error(err, "the ranks of job %lld cannot be watched: %s",
					       (long long)r->job->id, strerror(-err)), r);
		if (err <= 0)
			return;
	} else {
		say_failed(r, outcome);
		back(r);
	}
	finish(r, outcome);
}

static const struct channel_ops launch_ops = { on_progress, on_launched };

/* @note: what the checkpoint left in the manifest for us. */
static json_t *make_spec(const struct restart *r, const json_t *note)
{
	json_t *spec = launch_spec(r->job, json_incref(r->args));

	json_object_set(spec, "main_pid", json_object_get(note, "main_pid"));
	/* json_object_set() of nothing is none: a job without ranks, an older image. */
	json_object_set(json_object_get(spec, "ranks"), "pids", json_object_get(note, "pids"));
	json_object_set(json_object_get(spec, "ranks"), "failed", json_object_get(note, "failed"));
	json_object_set_new(spec, "any_rights", json_boolean(r->request->uid == 0));
	json_object_set_new(spec, "log_len",
			    json_pack("[O, O]", json_object_get(note, "out"),
				      json_object_get(note, "err")));
	return spec;
}

static json_t *launch(struct restart *r, const json_t *note)
{
	int pair[2] = { -1, -1 };
	json_t *spec;
	char why[512];
	int err;

	err = job_prepare(r->job);
	if (err)
		return outcome_error(err, "%s: %s", r->job->state_dir, strerror(-err));
	err = job_set_state(r->job, JOB_STARTING, why, sizeof(why));
	if (err) {
		r->job->state = r->before;
		return outcome_error(err, "%s", why);
	}
	if (r->attach && !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		r->client = pair[0];
	r->job->saving = false;
	spec = make_spec(r, note);
	err = launch_start(r->job, spec, pair[1], &launch_ops, r, &r->channel);
	json_decref(spec);
	if (!err)
		return NULL;
	back(r);
	return outcome_error(err, "the job's shim cannot be started: %s", strerror(-err));
}

/* ----------------------------------------------------------------- check */

/* Reads the manifest, or for a dry run all there is to check. */
static json_t *check_run(struct channel_reporter *reporter, void *arg)
{
	struct restart *r = arg;
	struct op_env env = {
		.key = r->request->daemon->config.key,
		.progress = channel_report_progress,
		.progress_arg = reporter,
		.any_rights = r->request->uid == 0,
	};
	unsigned int nr_roots;
	pid_t roots[OP_ROOTS_MAX];
	json_t *args, *outcome;

	if (r->dry_run) {
		/* Its pids are free in the namespace it would get. */
		if (!r->job->host_ns)
			json_object_set_new(r->args, "pidns", json_string("new"));
		json_object_set_new(r->args, "dry_run", json_true());
		return op_restore(&env, r->args, roots, &nr_roots);
	}
	args = json_pack("{s:O, s:O, s:O}", "dir", json_object_get(r->args, "dir"),
			 "generation", json_object_get(r->args, "generation"),
			 "job", json_object_get(r->args, "job"));
	outcome = op_describe(&env, args);
	json_decref(args);
	return outcome;
}

static void on_checked(json_t *outcome, void *arg)
{
	struct restart *r = arg;
	const json_t *note = json_object_get(json_object_get(outcome, "result"), "note");
	json_t *failure;

	if (!outcome_is_ok(outcome) || r->dry_run) {
		finish(r, outcome);
		return;
	}
	failure = note ? launch(r, note) :
		  outcome_error(-EBADMSG, "generation %lld was not taken of a job: use ckptctl restore",
				(long long)r->generation);
	json_decref(outcome);
	if (failure)
		finish(r, failure);
}

static const struct channel_ops check_ops = { on_progress, on_checked };

static json_t *check_not_running(const struct job *job, bool node_lost)
{
	const char *node = json_string_value(json_object_get(job->record, "node"));

	if (job_is_alive(job))
		return outcome_refused(CKPT_R_RUNNING, job->init, "job %lld on this node",
				       (long long)job->id);
	if (job->state != JOB_ELSEWHERE || node_lost)
		return NULL;
	return outcome_refused(CKPT_R_RUNNING, 0,
			       "job %lld was last on node %.40s; if that is off, use --node-lost",
			       (long long)job->id, node ? node : "?");
}

static struct restart *parse(struct request *request, struct job *job,
			     json_t **ret_outcome)
{
	const struct catalog *catalog = &request->daemon->catalog;
	int accept = 0, dry_run = 0, node_lost = 0, attach = 0;
	json_int_t id, generation = 0;
	const char *files = NULL;
	struct restart *r;
	json_error_t why;
	char label[64];
	char *dir;

	if (json_unpack_ex(request->args, &why, 0,
			   "{s:I, s?I, s?b, s?b, s?b, s?b, s?s !}", "job", &id,
			   "generation", &generation, "accept_changed", &accept,
			   "dry_run", &dry_run, "node_lost", &node_lost,
			   "attach", &attach, "files", &files)) {
		*ret_outcome = outcome_error(-EINVAL, "restart: bad arguments: %s",
					     why.text);
		return NULL;
	}
	*ret_outcome = check_not_running(job, node_lost);
	if (*ret_outcome)
		return NULL;
	if (!generation)
		generation = catalog_last(catalog, job->id);
	if (!generation || !catalog_has(catalog, job->id, generation)) {
		*ret_outcome = outcome_error(-ENOENT, generation ?
					     "job %lld has no generation %lld" :
					     "job %lld has no checkpoint to restart from",
					     (long long)id, (long long)generation);
		return NULL;
	}
	r = calloc(1, sizeof(*r));
	dir = catalog_image_dir(catalog, job->id, generation);
	if (!r || !dir) {
		free(r);
		free(dir);
		return NULL;
	}
	*r = (struct restart) {
		.request = request, .job = job, .before = job->state,
		.generation = generation, .dry_run = dry_run, .attach = attach,
		.client = -1,
	};
	r->args = json_pack("{s:s, s:I, s:s, s:b, s:s}", "dir", dir,
			    "generation", generation, "job", job_label(job, label),
			    "accept_changed", accept,
			    "pidns", job->host_ns ? "auto" : "caller");
	if (files)
		json_object_set_new(r->args, "files", json_string(files));
	free(dir);
	return r;
}

/* From here on no other node restarts it; @job is what it is now. */
static json_t *take_claim(struct request *request, struct job **job)
{
	const struct daemon *daemon = request->daemon;
	bool force = json_is_true(json_object_get(request->args, "node_lost"));
	int64_t id = (*job)->id;
	json_t *outcome = NULL;
	char holder[80];
	int err;

	err = catalog_claim(&daemon->catalog, id, daemon->config.node, force, holder,
			    sizeof(holder));
	if (err == -EBUSY)
		return outcome_error(err, "job %lld is being restarted on node %s",
				     (long long)id, holder);
	if (err)
		return outcome_error(err, "%s: %s", (*job)->image_dir, strerror(-err));
	*job = jobs_find(daemon->jobs, id, &outcome);
	if (!*job)
		catalog_unclaim(&daemon->catalog, id);
	return outcome;
}

static void start_check(struct restart *r)
{
	struct worker_spec spec = { .name = "ckptd-check", .run = check_run, .arg = r };
	int err = worker_start(r->request->daemon, &spec, &check_ops, r, &r->worker);

	if (err)
		finish(r, outcome_error(err, "no worker: %s", strerror(-err)));
	else
		r->job->busy = "restart";
}

void verb_restart(struct request *request)
{
	bool dry_run = json_is_true(json_object_get(request->args, "dry_run"));
	json_t *outcome = NULL;
	struct job *job = jobs_find_for(request, &outcome);
	struct restart *r = NULL;
	bool claimed = false;

	if (job)
		outcome = job_check_free(job, "restart");
	if (job && !outcome && !dry_run && !job_is_alive(job)) {
		outcome = take_claim(request, &job);
		claimed = job && !outcome;
	}
	if (job && !outcome)
		r = parse(request, job, &outcome);
	if (r) {
		r->claimed = claimed;
		start_check(r);
		return;
	}
	if (claimed)
		catalog_unclaim(&request->daemon->catalog, job->id);
	request_answer(request, outcome);
}
