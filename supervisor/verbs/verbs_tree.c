// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests about process trees that belong to no job: dump, restore, doctor.
 *
 * A worker runs the operation.  Only root may name trees and directories:
 * a directory of the caller's choice, written by root, could be made to lead
 * anywhere.  Users checkpoint and restart jobs instead.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "libckptctl/version.h"
#include "shim/proto.h"
#include "supervisor/checkpoint/coord_driver.h"
#include "supervisor/job/job_externals.h"
#include "supervisor/auto/services.h"
#include "supervisor/job/job_namespaces.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/jobs_read.h"
#include "supervisor/storage/levels_report.h"
#include "supervisor/net/nodes.h"
#include "engine/op/op.h"
#include "base/outcome.h"
#include "supervisor/control/launch_link.h"
#include "supervisor/control/worker.h"

struct tree_request {
	struct request *request;
	struct worker *worker;
	json_t *args;
	json_t *(*op)(const struct op_env *env, json_t *args);
	const struct job *job;	/* use in the worker only; NULL: the tree is no job's */
	int64_t job_id;		/* 0: the tree is no job's */
	bool nodes;		/* doctor: ask the other nodes, too */
	bool ranks;		/* doctor: the job has MPI ranks, which the caller asks together */
	json_t *outcome;
	/* restore, in the worker */
	pid_t root;		/* root process of the tree; 0: none */
};

static int verb_tree_on_targeted(void *arg, struct ckpt_error *error)
{
	const struct tree_request *t = arg;

	return t->job ? job_check_init(t->job, error) : 0;
}

/* For doctor, which asks only whether records can be read. */
static void op_skip_job(const struct job *job, void *arg)
{
}

static json_t *op_run(struct channel_reporter *reporter, void *arg)
{
	struct tree_request *t = arg;
	json_t *asker = t->job ? job_record_encode(&t->job->record) : NULL;
	struct op_env env = {
		.key = t->request->common->config.key,
		.secret = t->request->common->config.secret,
		.progress = channel_report_progress,
		.progress_arg = reporter,
		.memory = t->request->common->config.pipeline_memory,
		/* by pid or directory: root's alone, root_only() */
		.any_rights = !t->job || !t->request->uid || !t->job->uid,
		.asker = asker,	/* freed with the worker */
		.targeted = verb_tree_on_targeted,
		.frozen_arg = t,
	};
	const struct jobs_wanted everybody = { .everybody = true };
	struct externals externals;
	json_t *outcome = NULL;

	if (t->job)
		outcome = job_namespaces_enter(t->job) ?:
			  job_externals_open(t->job, &externals, &env);
	if (outcome)
		return outcome;
	outcome = t->op(&env, t->args);
	if (t->nodes) {
		jobs_read_all(t->request->jobs, &everybody, op_skip_job, NULL);
		json_object_set(json_object_get(outcome, "result"), "unreadable",
				(json_t *)jobs_unreadable(t->request->jobs));
		levels_report_check(t->request->common,
				    json_object_get(json_object_get(outcome, "result"), "checks"));
	}
	return outcome;
}

static void verb_tree_on_progress(json_t *progress, void *arg)
{
	struct tree_request *t = arg;

	request_progress(t->request, progress);
}

/* ------------------------------------------------------- doctor: ckptd itself */

/* Add a check that has to pass. @advice: NULL: passed; else taken over, as @found is. */
static void doctor_add(json_t *result, size_t at, const char *check, json_t *found, json_t *advice)
{
	json_t *row = json_pack("{s:s, s:b, s:o, s:b}", "check", check, "ok", !advice, "found",
				found, "required", 1);

	if (advice) {
		json_object_set_new(row, "advice", advice);
		json_object_set_new(result, "ready", json_false());
	}
	json_array_insert_new(json_object_get(result, "checks"), at, row);
}

/* The numbers of the jobs that are, or are not, of another key; "": there is none. */
static size_t doctor_numbers(const json_t *unreadable, bool other_key, char *text, size_t size)
{
	const json_t *row;
	size_t i, nr = 0, len = 0;

	text[0] = '\0';
	json_array_foreach(unreadable, i, row) {
		if (json_is_true(json_object_get(row, "other_key")) != other_key)
			continue;
		if (len + 32 < size)
			len += (size_t)snprintf(text + len, size - len, "%s%lld", nr ? ", " : "",
						(long long)json_integer_value(
							json_object_get(row, "job")));
		else
			snprintf(text + len, size - len, ", ...");
		nr++;
	}
	return nr;
}

/* Jobs whose records cannot be read are in no other list. */
static void doctor_add_jobs(const struct request *request, const json_t *unreadable,
			    json_t *result)
{
	const struct common *common = request->common;
	size_t n, at = json_array_size(json_object_get(result, "checks"));
	char numbers[256];

	n = doctor_numbers(unreadable, true, numbers, sizeof(numbers));
	if (n)
		doctor_add(result, at++, "jobs",
			   json_sprintf("%zu job%s of another key: %s", n, n == 1 ? "" : "s",
					numbers),
			   json_sprintf("put the key that wrote them back at %s, or move their "
					"directories out of %s", common->config.key,
					common->config.image_dir));
	n = doctor_numbers(unreadable, false, numbers, sizeof(numbers));
	if (n)
		doctor_add(result, at, "jobs",
			   json_sprintf("%zu job%s cannot be read: %s", n, n == 1 ? "" : "s",
					numbers),
			   json_string("ckptctl list JOB tells the reason: a damaged record, or "
				       "the key of another node"));
}

static void doctor_add_own(const struct tree_request *t)
{
	const struct common *common = t->request->common;
	json_t *result = json_object_get(t->outcome, "result");

	doctor_add(result, 0, "ckptd",
		   json_sprintf("version " CKPT_VERSION ", pid %d, node %s", (int)getpid(),
				common->config.node),
		   NULL);
	if (t->nodes)
		doctor_add_jobs(t->request, json_object_get(result, "unreadable"), result);
	json_object_del(result, "unreadable");
}

static void verb_tree_answer(struct tree_request *t)
{
	request_answer(t->request, t->outcome);
	json_decref(t->args);
	free(t);
}

/* All nodes have been probed: add their checks to the doctor's outcome. */
static void on_nodes(void *arg)
{
	struct tree_request *t = arg;
	json_t *result = json_object_get(t->outcome, "result");

	nodes_check(t->request->common->nodes, json_object_get(result, "checks"));
	verb_tree_answer(t);
}

static void verb_tree_on_outcome(json_t *outcome, void *arg)
{
	struct tree_request *t = arg;

	t->outcome = outcome;
	if (t->op == op_doctor && outcome_is_ok(outcome))
		doctor_add_own(t);
	if (t->job_id)
		json_object_set_new(json_object_get(outcome, "result"), "job",
				    json_integer(t->job_id));
	if (t->ranks)
		json_object_set_new(json_object_get(outcome, "result"), "ranks", json_true());
	if (!t->nodes || !outcome_is_ok(outcome) ||
	    nodes_probe(t->request->common->nodes, on_nodes, t))
		verb_tree_answer(t);
}

static const struct channel_ops ops = { verb_tree_on_progress, verb_tree_on_outcome };

static json_t *root_only(const struct request *request)
{
	if (request->uid == 0)
		return NULL;
	return outcome_error(-EPERM,
			     "%s by pid or directory is root's: use jobs (ckptctl run, checkpoint, "
			     "restart)",
			     request->verb);
}

static const struct worker_kind op_work = {
	.name = "ckptd-worker",
	.run = op_run,
};

static const struct worker_kind op_dump_work = {
	.name = "ckptd-worker",
	.run = op_run,
	.killed = "if the image was complete by then it stays (ckptctl verify), and with --kill "
		  "the tree may have ended",
};

static void verb_tree_start(struct request *request, json_t *args, const struct job *job,
			    json_t *(*op)(const struct op_env *env, json_t *args))
{
	struct worker_spec spec = { .kind = op == op_dump ? &op_dump_work : &op_work };
	struct tree_request *t = calloc(1, sizeof(*t));
	int err = -ENOMEM;

	if (t) {
		t->request = request;
		t->args = json_incref(args);
		t->op = op;
		t->job = job;
		t->job_id = job ? job->id : 0;
		t->ranks = op == op_doctor && job && coord_driver_leads(job);
		/* the request is about this node as a whole, not about one tree */
		t->nodes = op == op_doctor && !json_object_get(args, "pid");
		spec.arg = t;
		err = jobs_worker_start(request->jobs, &spec, &ops, t, &t->worker);
		if (!err)
			return;
		json_decref(t->args);
		free(t);
	}
	request_answer(request, outcome_error(err, "no worker: %s", strerror(-err)));
}

void verb_dump(struct request *request)
{
	json_t *outcome = root_only(request);

	if (outcome)
		request_answer(request, outcome);
	else
		verb_tree_start(request, request->args, NULL, op_dump);
}

/* --------------------------------------------------------------- restore */

static json_t *restore_run(struct channel_reporter *reporter, void *arg)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };
	struct tree_request *t = arg;
	struct engine_external externals[3];
	struct op_env env = {
		.key = t->request->common->config.key,
		.secret = t->request->common->config.secret,
		.progress = channel_report_progress,
		.progress_arg = reporter,
		.externals = externals,
		.any_rights = true,	/* verb_restore() is root's alone */
	};
	unsigned int i, nr_roots;
	pid_t roots[OP_ROOTS_MAX];
	json_t *outcome;

	/* The caller's descriptors: three standard streams, then the socket for the tree's end. */
	for (i = 0; i < 3 && i < t->request->nr_fds; i++) {
		strcpy(externals[i].name, names[i]);
		externals[i].fd = t->request->fds[i];
		env.nr_externals++;
	}
	outcome = op_restore(&env, t->args, roots, &nr_roots);
	t->root = nr_roots ? roots[0] : 0;
	return outcome;
}

static void tell_end(int sock, int status)
{
	struct shim_msg msg = { .type = SHIM_EXITED, .value = status };

	if (sock >= 0)
		shim_send(sock, &msg, NULL, 0, NULL, 0);
}

/* Pass on the client's signals to @root: all pending ones, as one SIGIO may stand for several. */
static void serve_client(int *sock, pid_t root)
{
	struct shim_msg msg;
	int n;

	while ((n = shim_receive(*sock, &msg, NULL, 0, NULL, NULL)) >= 0 &&
	       msg.type == SHIM_SIGNAL && msg.number < NSIG)
		kill(root, (int)msg.number);
	if (n != -EAGAIN)
		*sock = -1;
}

/* Stay the tree's parent until the tree has ended; nothing of the daemon is left in here. */
static int restore_stay(void *arg)
{
	struct tree_request *t = arg;
	int sock = t->request->nr_fds > 3 ? t->request->fds[3] : -1;
	int status, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t set;
	pid_t pid;

	prctl(PR_SET_NAME, "ckpt-reaper");
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGIO);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (sock >= 0) {
		fcntl(sock, F_SETOWN, getpid());
		fcntl(sock, F_SETFL, O_ASYNC | O_NONBLOCK);
	}
	for (;;) {
		int signo;

		while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
			if (pid == t->root)
				tell_end(sock, status);
		}
		if (pid < 0 && errno == ECHILD)
			return 0;
		if (sock >= 0)
			serve_client(&sock, t->root);
		sigwait(&set, &signo);
	}
}

static const struct worker_kind restore_work = {
	.name = "ckptd-restore",
	.flags = WORKER_STAYS,
	.run = restore_run,
	.stay = restore_stay,
	.killed = "look whether the tree runs: if its processes had been let go by then, "
		  "they run on",
};

/* The tree is a child of ckptd's. Return: NULL, or an outcome if ckptd is confined. */
static json_t *restore_confined(const struct request *request)
{
	if (!launch_link_is_service(request->launch))
		return NULL;
	return outcome_error(-EOPNOTSUPP,
			     "restore: this ckptd runs in the sandbox of its unit, and so would "
			     "the processes: ask without it (ckptctl restore --standalone)");
}

void verb_restore(struct request *request)
{
	struct worker_spec spec = { .kind = &restore_work };
	json_t *outcome = root_only(request) ?: restore_confined(request);
	struct tree_request *t = outcome ? NULL : calloc(1, sizeof(*t));
	int keep[WIRE_FDS_MAX + 1];
	unsigned int i;
	int err;

	if (!t) {
		request_answer(request, outcome);
		return;
	}
	for (i = 0; i < request->nr_fds; i++)
		keep[i] = request->fds[i];
	keep[i] = -1;
	t->request = request;
	t->args = json_incref(request->args);
	spec.arg = t;
	spec.keep = keep;
	err = worker_start(&request->common->workers, &spec, &ops, t, &t->worker);
	if (!err)
		return;
	json_decref(t->args);
	free(t);
	request_answer(request, outcome_error(err, "no worker: %s", strerror(-err)));
}

/* ---------------------------------------------------------------- doctor */

void verb_doctor(struct request *request)
{
	const json_t *pid = json_object_get(request->args, "pid");
	json_t *outcome = NULL, *args = json_object();
	struct job *job = NULL;

	json_object_set_new(args, "image_dir",
			    json_string(request->common->config.image_dir));
	if (json_object_size(request->args) > 1) {
		outcome = outcome_usage("doctor: bad arguments: a job, or a pid, or neither");
	} else if (json_object_get(request->args, "job")) {
		job = jobs_reconcile_for(request, &outcome);
		if (job)
			outcome = job_check_running(job);
		/* a rank on its own is refused: only a checkpoint asks all of them */
		if (job && !outcome && !coord_driver_leads(job))
			json_object_set_new(args, "pid", json_integer(job->init));
	} else if (json_is_integer(pid)) {
		/* doctor freezes and describes the tree, which may have others' processes */
		outcome = root_only(request);
		json_object_set(args, "pid", (json_t *)pid);
	} else if (json_object_size(request->args)) {
		outcome = outcome_usage("doctor: bad arguments");
	}
	if (outcome)
		request_answer(request, outcome);
	else
		verb_tree_start(request, args, job, op_doctor);
	json_decref(args);
}
