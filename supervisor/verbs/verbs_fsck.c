// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request fsck: a worker checks the catalog, as fsck.h says.
 *
 * The worker lists the jobs, and those that may be writing, before it checks any.  Only for root
 * are the index and files that belong to no job checked.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "supervisor/catalog/fsck.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/jobs_read.h"
#include "base/outcome.h"
#include "supervisor/control/worker.h"

struct fsck_request {
	struct request *request;
	struct worker *worker;
	json_t *jobs;		/* fsck_asked() */
	bool survey;		/* no job was named: check all that the caller may see */
	bool all;		/* root asked, and named no job */
	bool deep, repair;
};

/* ---------------------------------------------------------- in the worker */

/*
 * A job whose record says that it runs may have started since the worker has its copy of the
 * registry.
 */
static void verb_fsck_add(const struct job *job, void *arg)
{
	struct fsck_request *f = arg;
	bool alive = job_is_alive(job) || job->state == JOB_ELSEWHERE || job->busy ||
		     job->record.change.state == JOB_STARTING ||
		     job->record.change.state == JOB_RUNNING;
	char label[64];
	json_t *record;

	record = job_record_encode(&job->record);
	json_array_append_new(f->jobs, fsck_asked(&jobs_common(job->jobs)->catalog, job->id,
						  job_label(job, label), record, alive));
	json_decref(record);
}

static json_t *fsck_run(struct channel_reporter *reporter, void *arg)
{
	struct fsck_request *f = arg;
	const struct common *common = f->request->common;
	_cleanup_free_ char *path = listing_index_path(common->config.state_dir);
	struct op_env env = { .key = common->config.key,
				    .secret = common->config.secret };
	struct fsck fsck = {
		.listing = { .env = &env, .catalog = &common->catalog },
		.node = common->config.node, .deep = f->deep, .repair = f->repair,
		.levels = common->config.levels.nr,
		.findings = json_array(), .left_alone = json_array(),
	};
	const struct jobs_wanted wanted = jobs_wanted_of(f->request->uid);
	json_t *job, *result;
	size_t i;

	if (f->survey)
		jobs_read_all(f->request->jobs, &wanted, verb_fsck_add, f);
	if (path && !f->request->uid)
		fsck_index(&fsck, path);
	if (f->all)
		fsck_strangers(&fsck);
	json_array_foreach(f->jobs, i, job)
		fsck_job(&fsck, job);
	listing_index_close(&common->log, fsck.listing.index);
	result = fsck_result(&fsck);
	json_object_set_new(result, "jobs", json_integer((json_int_t)json_array_size(f->jobs)));
	return outcome_ok(result);
}

/* ---------------------------------------------------------- in the daemon */

static void verb_fsck_on_progress(json_t *progress, void *arg)
{
}

static void fsck_free(struct fsck_request *f)
{
	json_decref(f->jobs);
	free(f);
}

static void verb_fsck_on_outcome(json_t *outcome, void *arg)
{
	struct fsck_request *f = arg;

	request_answer(f->request, outcome);
	fsck_free(f);
}

static const struct channel_ops ops = { verb_fsck_on_progress, verb_fsck_on_outcome };

static json_t *verb_fsck_parse(struct request *request, struct fsck_request *f)
{
	int deep = 0, repair = 0;
	json_t *outcome = NULL;
	json_error_t why;
	const struct job *job;
	struct job *draft;
	json_int_t id = 0;

	if (json_unpack_ex(request->args, &why, 0, "{s?I, s?b, s?b !}", "job", &id, "deep", &deep,
			   "repair", &repair))
		return outcome_usage("fsck: bad arguments: %s", why.text);
	f->deep = deep;
	f->repair = repair;
	if (json_object_get(request->args, "job")) {
		if (repair && !jobs_reconcile_for(request, &outcome))
			return outcome;
		job = jobs_read_for(request, &draft, &outcome);
		if (job)
			verb_fsck_add(job, f);
		job_draft_free(draft);
		return outcome;
	}
	f->all = request->uid == 0;
	f->survey = true;
	return NULL;
}

static const struct worker_kind fsck_work = {
	.name = "ckptd-fsck",
	.run = fsck_run,
	.killed = "what it had repaired by then is (--repair): run it again",
};

void verb_fsck(struct request *request)
{
	struct worker_spec spec = { .kind = &fsck_work };
	struct fsck_request *f = calloc(1, sizeof(*f));
	json_t *outcome;
	int err;

	if (!f) {
		request_answer(request, NULL);
		return;
	}
	f->request = request;
	f->jobs = json_array();
	spec.arg = f;
	outcome = verb_fsck_parse(request, f);
	if (!outcome) {
		err = jobs_worker_start(request->jobs, &spec, &ops, f, &f->worker);
		if (!err) {
			if (!f->repair)
				request_on_abandon(request, worker_on_abandon, f->worker);
			return;
		}
		outcome = outcome_error(err, "no worker: %s", strerror(-err));
	}
	request_answer(request, outcome);
	fsck_free(f);
}
