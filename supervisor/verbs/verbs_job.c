// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests about running jobs: run, ps, kill, wait, attach.
 *
 * A job runs as the user who asked for it, with what caller.c takes from the calling
 * process.  The user's rights and arguments are checked here, before root does anything
 * for him.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "shim/proto.h"
#include "shim/spec.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/jobs_read.h"
#include "supervisor/job/key_of_job.h"
#include "supervisor/job/launch.h"
#include "base/outcome.h"
#include "supervisor/parts/parts.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/auto/schedule.h"
#include "supervisor/control/worker.h"
#include "supervisor/verbs/caller.h"
#include "supervisor/verbs/run_lookup.h"
#include "supervisor/verbs/user_limits.h"

/* ------------------------------------------------------------------- run */

struct run {
	struct request *request;
	struct job *job;
	struct channel *channel;
	int client;		/* the client's end of the job's terminal; -1: none */
};

static json_t *verb_job_bad(const char *what)
{
	return outcome_usage("run: %s", what);
}

static bool string_list(const json_t *array, bool empty)
{
	size_t i;

	if (!json_is_array(array) || (!empty && !json_array_size(array)))
		return false;
	for (i = 0; i < json_array_size(array); i++) {
		if (!json_is_string(json_array_get(array, i)))
			return false;
	}
	return true;
}

static bool stream_ok(const char *how)
{
	return how[0] == '/' || !strcmp(how, SPEC_TTY) ||
	       !strcmp(how, SPEC_PIPE) || !strcmp(how, SPEC_NULL);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Put the requested ranks into the record; NULL or the outcome. */
static json_t *add_ranks(const struct request *request, const json_t *ranks, json_t *record)
{
	json_t *outcome = NULL, *kept;
	unsigned int i;

	if (!ranks)
		return NULL;
	for (i = 0; i < 3; i++) {
		const char *how =
			json_string_value(json_array_get(json_object_get(record, "stdio"), i));

		if (how && !strcmp(how, SPEC_TTY))
			return verb_job_bad("ranks have no terminal");
	}
	kept = rank_record_make(ranks, &request->common->config, &outcome);
	if (kept) {
		json_object_set_new(record, "ranks", kept);
		/* Remains of another job that had the same number then count as an earlier run. */
		json_object_set_new(record, "run", json_integer(time(NULL)));
		json_object_set(kept, "library", json_object_get(request->found, "library"));
	}
	return outcome;
}

/*
 * The record of a new job from a request; NULL with an outcome.
 *
 * Long: each argument of `run` is unpacked, checked and put into the record once, in order.
 */
static json_t *parse_run(struct request *request, bool *ret_attach, json_t **ret_outcome)
{
	const char *cwd, *name = NULL, *in = SPEC_NULL, *out = SPEC_PIPE;
	const char *err = SPEC_PIPE;
	int host_ns = 0, tty = 0, window = 0, mask = 022, attach = 0;
	json_t *argv, *env, *record, *ranks = NULL, *settings = NULL, *mempolicy = NULL;
	json_int_t keep = 0;
	const char *credential = NULL;	/* goes to other nodes, and not into the record */
	json_error_t why;

	if (json_unpack_ex(request->args, &why, 0,
			   "{s:o, s:o, s:s, s?s, s?b, s?b, s?s, s?s, s?s, s?i, s?i, s?b, s?o, s?o, "
			   "s?o, s?I, s?s !}",
			   "argv", &argv, "env", &env, "cwd", &cwd, "name", &name, "host_ns",
			   &host_ns, "tty", &tty, "stdin", &in, "stdout", &out, "stderr", &err,
			   "window", &window, "umask", &mask, "attach", &attach, "ranks", &ranks,
			   "auto", &settings, "mempolicy", &mempolicy, "keep", &keep,
			   "credential", &credential)) {
		*ret_outcome = verb_job_bad(why.text);
		return NULL;
	}
	if (tty) {
		in = strcmp(in, SPEC_NULL) ? in : SPEC_TTY;
		out = strcmp(out, SPEC_PIPE) ? out : SPEC_TTY;
		err = strcmp(err, SPEC_PIPE) ? err : SPEC_TTY;
	}
	*ret_outcome = NULL;
	if (!string_list(argv, false) || !string_list(env, true))
		*ret_outcome = verb_job_bad("command and environment are lists of strings");
	else if (name && !name[0])
		*ret_outcome = verb_job_bad("the name is empty");
	else if (cwd[0] != '/')
		*ret_outcome = verb_job_bad("the working directory is an absolute path");
	else if (!stream_ok(in) || !stream_ok(out) || !stream_ok(err))
		*ret_outcome = verb_job_bad("files for input and output are absolute paths");
	else if (keep < 0 || keep > UINT32_MAX)
		*ret_outcome = verb_job_bad("that many generations cannot be kept");
	else if (settings)
		*ret_outcome = schedule_parse(settings, NULL);
	if (*ret_outcome)
		return NULL;
	if (!name)
		name = base_name(json_string_value(json_array_get(argv, 0)));
	record = json_pack("{s:s, s:O, s:I, s:I, s:o, s:O, s:O, s:s, s:i, s:b, s:[sss], s:i, s:I}",
			   "name", name, "user", json_object_get(request->found, "user"),
			   "uid", (json_int_t)request->uid,
			   "gid", (json_int_t)request->gid,
			   "groups", caller_groups(request), "argv", argv,
			   "env", env, "cwd", cwd, "umask", mask & 0777,
			   "host_ns", host_ns, "stdio", in, out, err,
			   "window", window, "created", (json_int_t)time(NULL));
	if (record && keep)
		json_object_set_new(record, "keep", json_integer(keep));
	if (record && settings)
		json_object_set(record, "auto", settings);
	*ret_outcome = record ? confines_take(request) : NULL;
	if (record && !*ret_outcome)
		*ret_outcome = caller_add(request, mempolicy, record);
	if (record && !*ret_outcome)
		*ret_outcome = add_ranks(request, ranks, record);
	if (settings && !*ret_outcome)
		*ret_outcome = rank_record_check_auto(json_object_get(record, "ranks"));
	if (*ret_outcome) {
		json_decref(record);
		return NULL;
	}
	*ret_attach = attach;
	return record;
}

static void on_run_progress(json_t *progress, void *arg)
{
	struct run *run = arg;

	request_progress(run->request, progress);
}

/* Nothing is left of a job that did not start. */
static void verb_job_discard(struct job *job)
{
	const struct common *common = jobs_common(job->jobs);
	int64_t id = job->id;

	job_unprepare(job);
	jobs_forget(job);
	catalog_job_remove(&common->catalog, id);
	key_of_job_remove(common, id);
}

/* All nodes have started their parts, or nothing of the job is left. */
static void on_parts_started(json_t *outcome, void *arg)
{
	struct run *run = arg;
	struct job *job = run->job;
	int client = -1;
	struct ckpt_error error = {};

	job->busy = NULL;
	if (outcome_is_ok(outcome)) {
		if (job_set_state(job, JOB_RUNNING, &error))
			log_error(&run->request->common->log, "%s", error.text);
		json_decref(outcome);
		outcome = outcome_ok(job_describe(job));
		client = take_fd(&run->client);
	} else {
		verb_job_discard(job);
	}
	if (run->client >= 0)
		close(run->client);
	request_answer_fd(run->request, outcome, client);
	free(run);
}

static json_t *job_started(struct job *job)
{
	struct ckpt_error error = {};
	int err = job_adopt(job);

	/* If the job is already over, job_recover() finds that by its exit status. */
	if (err) {
		job->state = JOB_RUNNING;
		job_recover(job);
	} else if (job_set_state(job, JOB_RUNNING, &error)) {
		log_error(&jobs_common(job->jobs)->log, "%s", error.text);
	}
	return outcome_ok(job_describe(job));
}

static void on_run_outcome(json_t *outcome, void *arg)
{
	struct run *run = arg;
	struct job *job = run->job;
	int client = -1;

	if (outcome_is_ok(outcome) && job->parts) {
		json_decref(outcome);
		job_take(job);
		parts_start(job->parts, NULL,
			    json_object_get(run->request->args, "credential"), NULL,
			    on_parts_started, run);
		return;
	}
	job->busy = NULL;
	if (!outcome)
		outcome = outcome_error(-ECHILD, "the job's shim ended without a word");
	if (outcome_is_ok(outcome)) {
		log_info(&run->request->common->log, "job %lld (%s) started",
			 (long long)job->id, job->name);
		json_decref(outcome);
		outcome = job_started(job);
		client = take_fd(&run->client);
	} else {
		verb_job_discard(job);
	}
	if (run->client >= 0)
		close(run->client);
	request_answer_fd(run->request, outcome, client);
	free(run);
}

static const struct channel_ops run_ops = { on_run_progress, on_run_outcome };

static int verb_job_start(struct run *run, bool attach)
{
	int pair[2] = { -1, -1 };
	json_t *spec;
	int err;

	err = job_prepare(run->job);
	if (err)
		return err;
	if (attach) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
			return -errno;
		run->client = pair[0];
	}
	spec = launch_spec(run->job, NULL);
	err = launch_start(run->job, spec, pair[1], run->request->confines, &run_ops, run,
			   &run->channel);
	json_decref(spec);
	return err;
}

static void verb_run_begin(struct request *request)
{
	json_t *outcome = NULL, *record;
	bool attach = false;
	struct ckpt_error error = {};
	struct run *run;
	int err;

	record = parse_run(request, &attach, &outcome);
	run = record ? calloc(1, sizeof(*run)) : NULL;
	if (!run) {
		json_decref(record);
		request_answer(request, outcome);
		return;
	}
	run->request = request;
	run->client = -1;
	err = jobs_create(request->jobs, record, &run->job, &error);
	if (!err) {
		run->job->busy = "start";
		if (rank_record_nodes(run->job->record.ranks))
			err = parts_open(run->job, true, &error);
		if (!err) {
			err = verb_job_start(run, attach);
			if (!err)
				return;
			error_set(&error, err, "the job's shim cannot be started: %s",
				  launch_strerror(err));
		}
		verb_job_discard(run->job);
	}
	if (run->client >= 0)
		close(run->client);
	free(run);
	request_answer(request, outcome_error(err, "%s", error.text));
}

static void verb_run_found(struct request *request)
{
	user_limits_pass(request, USER_RUNS, verb_run_begin);
}

void verb_run(struct request *request)
{
	run_lookup(request, verb_run_found);
}

/* -------------------------------------------------------------------- ps */

static void verb_ps_add(const struct job *job, void *arg)
{
	json_array_append_new(arg, job_describe(job));
}

/* In the worker: jobs that do not run here are read from disk. */
static json_t *verb_ps_run(struct channel_reporter *reporter, void *arg)
{
	const struct request *request = arg;
	const struct jobs_wanted wanted = jobs_wanted_of(request->uid);
	json_t *result, *list = json_array();

	jobs_read_all(request->jobs, &wanted, verb_ps_add, list);
	result = json_pack("{s:o}", "jobs", list);
	if (json_array_size(jobs_unreadable(request->jobs)))
		json_object_set(result, "unreadable", (json_t *)jobs_unreadable(request->jobs));
	return outcome_ok(result);
}

static void verb_ps_on_progress(json_t *progress, void *arg)
{
}

static void verb_ps_on_outcome(json_t *outcome, void *arg)
{
	request_answer(arg, outcome);
}

static const struct worker_kind verb_ps_work = {
	.name = "ckptd-ps",
	.run = verb_ps_run,
};

static void verb_ps_all(struct request *request)
{
	static const struct channel_ops ops = { verb_ps_on_progress, verb_ps_on_outcome };
	const struct worker_spec spec = { .kind = &verb_ps_work, .arg = request };
	struct worker *worker;
	int err = jobs_worker_start(request->jobs, &spec, &ops, request, &worker);

	if (err)
		request_answer(request, outcome_error(err, "no worker: %s", strerror(-err)));
	else
		request_on_abandon(request, worker_on_abandon, worker);
}

void verb_ps(struct request *request)
{
	json_error_t why;
	struct job *job;
	json_t *list;
	int all = 0;

	if (json_unpack_ex(request->args, &why, 0, "{s?b !}", "all", &all)) {
		request_answer(request, outcome_usage("ps: bad arguments: %s",
						      why.text));
		return;
	}
	if (all) {
		verb_ps_all(request);
		return;
	}
	list = json_array();
	for (job = jobs_next(request->jobs, NULL); job; job = jobs_next(request->jobs, job)) {
		if ((!request->uid || request->uid == job->uid) &&
		    (job_is_alive(job) || job->busy))
			verb_ps_add(job, list);
	}
	request_answer(request, outcome_ok(json_pack("{s:o}", "jobs", list)));
}

/* ------------------------------------------------------------------ kill */

void verb_kill(struct request *request)
{
	json_t *outcome = NULL;
	struct job *job = jobs_reconcile_for(request, &outcome);
	json_error_t why;
	json_int_t id;
	int signo;

	if (job && (json_unpack_ex(request->args, &why, 0, "{s:I, s:i !}", "job", &id,
				   "signal", &signo) || signo < 0 || signo >= NSIG))
		outcome = outcome_usage("kill: bad arguments");
	else if (job)
		outcome = job_kill(job, signo) ?: outcome_ok(NULL);
	request_answer(request, outcome);
}

/* ---------------------------------------------------------- wait, attach */

void verb_wait(struct request *request)
{
	json_t *outcome = NULL;
	struct job *job = jobs_reconcile_for(request, &outcome);

	if (job && json_object_size(request->args) != 1) {
		outcome = outcome_usage("wait: bad arguments");
	} else if (job && job->node_index) {
		outcome = job_check_running(job);
	} else if (job && job_is_alive(job)) {
		if (!job_wait(job, request))
			return;
		outcome = outcome_error(-ENOMEM, "out of memory");
	} else if (job && (job->state == JOB_ENDED || job->state == JOB_SAVED)) {
		outcome = outcome_ok(job_describe(job));
	} else if (job) {
		outcome = job_check_running(job);
	}
	request_answer(request, outcome);
}

/* Do not read the shim's answer: it comes first on the connection, and the client reads it. */
static int open_terminal(const struct job *job, uint64_t history, int *ret_sock)
{
	struct shim_msg msg = { .type = SHIM_ATTACH, .number = history };
	char path[4096];
	int err, sock;

	snprintf(path, sizeof(path), "%s/shim.sock", job->state_dir);
	sock = shim_connect(path);
	if (sock < 0)
		return sock;
	err = shim_send(sock, &msg, NULL, 0, NULL, 0);
	if (err)
		close(sock);
	else
		*ret_sock = sock;
	return err;
}

void verb_attach(struct request *request)
{
	json_t *outcome = NULL;
	struct job *job = jobs_reconcile_for(request, &outcome);
	json_int_t id, history = 0;
	json_error_t why;
	int sock = -1, err;

	if (!job)
		goto answer;
	if (json_unpack_ex(request->args, &why, 0, "{s:I, s?I !}", "job", &id,
			   "history", &history)) {
		outcome = outcome_usage("attach: bad arguments: %s", why.text);
		goto answer;
	}
	outcome = job_check_running(job);
	if (outcome)
		goto answer;
	err = open_terminal(job, (uint64_t)history, &sock);
	outcome = err ? outcome_error(err, "the shim of job %lld does not answer: %s",
				      (long long)job->id, strerror(-err)) :
		  outcome_ok(job_describe(job));
answer:
	request_answer_fd(request, outcome, sock);
}
