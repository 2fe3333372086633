// SPDX-License-Identifier: GPL-2.0-only
/*
 * The jobs that belong into the registry, and those that do not any more; see jobs.h.
 *
 * STATE_DIR names the jobs that run here or ended here; they are registered when ckptd starts. A
 * worker then looks through the catalog for jobs whose record says that they run here, although
 * STATE_DIR has no trace of them. The entry of a job that is over is freed a moment later: its
 * record is on disk. Must not read a record of the catalog in the event loop unless STATE_DIR or
 * the worker has named its job.
 */
#include "supervisor/job/jobs_priv.h"
#include "supervisor/job/jobs_read.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/outcome.h"
#include "shim/identity.h"

#define LOOK_MS	5000	/* until jobs here without a readable record are looked for again */
#define LOOK_TRACES_MS	60000	/* the same of jobs without processes here */
#define TIDY_MS	1000	/* until entries of jobs that are over are freed */

/* ------------------------------------------------------ processes found here */

static void state_path(const struct jobs *jobs, int64_t id, char *buf, size_t size)
{
	snprintf(buf, size, "%s/%lld", jobs->common->config.state_dir, (long long)id);
}

bool jobs_has_processes(const struct jobs *jobs, int64_t id)
{
	char path[PATH_MAX];
	struct identity is;
	int err;

	state_path(jobs, id, path, sizeof(path));
	err = identity_read(path, &is);
	if (err)
		return err != -ENOENT && err != -ESTALE && err != -EBADMSG;
	return is.init_alive;
}

bool jobs_has_traces(const struct jobs *jobs, int64_t id)
{
	char path[PATH_MAX];

	state_path(jobs, id, path, sizeof(path));
	return !access(path, F_OK) || errno != ENOENT;
}

/*
 * Register the job named @name, of which this node has a directory. Return: ms until it is looked
 * for again, as its record cannot be read; 0: never.
 */
static uint64_t jobs_look(struct jobs *jobs, const char *name)
{
	struct ckpt_error error = {};
	char *end;
	struct job *job;
	int64_t id = strtoll(name, &end, 10);

	if (id <= 0 || *end || jobs_lookup(jobs, id) ||
	    !jobs_load(jobs, id, &job, &error))
		return 0;
	if (!jobs_has_processes(jobs, id))
		return LOOK_TRACES_MS;
	if (!jobs->missed)
		log_error(&jobs->common->log,
			  "processes of job %lld run here, but: %s; looking again", (long long)id,
			  error.text);
	return LOOK_MS;
}

/*
 * Register jobs that run here or ended here: the image directory may have been absent when ckptd
 * started.
 */
static void on_look(void *arg)
{
	struct jobs *jobs = arg;
	_cleanup_dir_ DIR *dir = opendir(jobs->common->config.state_dir);
	uint64_t ms, soonest = 0;
	struct dirent *entry;

	jobs->look = NULL;
	while (dir && (entry = readdir(dir))) {
		ms = jobs_look(jobs, entry->d_name);
		if (ms && (!soonest || ms < soonest))
			soonest = ms;
	}
	jobs->missed = soonest == LOOK_MS;
	if (soonest && reactor_timer(jobs->common->reactor, soonest, on_look, jobs, &jobs->look))
		log_error(&jobs->common->log, "no timer to look for jobs; restart ckptd");
}

/* ------------------------------------------------------ jobs that were lost here */

static void jobs_add_living(const struct job *job, void *arg)
{
	json_array_append_new(arg, json_integer((json_int_t)job->id));
}

/* In the worker: the numbers of unregistered jobs whose record says that they run here. */
static json_t *jobs_survey_run(struct channel_reporter *reporter, void *arg)
{
	struct jobs *jobs = arg;
	const struct jobs_wanted wanted = { .everybody = true, .lost_here = true };
	json_t *found = json_array();

	jobs_read_all(jobs, &wanted, jobs_add_living, found);
	return outcome_ok(found);
}

static void jobs_on_survey_progress(json_t *progress, void *arg)
{
}

static void jobs_on_survey(json_t *outcome, void *arg)
{
	struct jobs *jobs = arg;
	const json_t *number;
	json_t *no;
	size_t i;

	jobs->survey = NULL;
	if (!outcome_is_ok(outcome))
		log_warning(&jobs->common->log, "the records in %s cannot be looked through: a job "
			    "that was lost here keeps its old state until it is asked for",
			    jobs->common->catalog.dir);
	json_array_foreach(json_object_get(outcome, "result"), i, number) {
		no = NULL;
		jobs_reconcile(jobs, json_integer_value(number), &no);
		json_decref(no);
	}
	json_decref(outcome);
}

static const struct worker_kind jobs_survey_work = {
	.name = "ckptd-survey",
	.run = jobs_survey_run,
};

void jobs_find_again(struct jobs *jobs)
{
	static const struct channel_ops ops = { jobs_on_survey_progress, jobs_on_survey };
	const struct worker_spec spec = { .kind = &jobs_survey_work, .arg = jobs };
	struct ckpt_error error = {};
	int err;

	jobs_check_key(jobs, &error);
	on_look(jobs);
	err = jobs_worker_start(jobs, &spec, &ops, jobs, &jobs->survey);
	if (err)
		log_warning(&jobs->common->log, "the records in %s are not looked through: no "
			    "worker: %s", jobs->common->catalog.dir, strerror(-err));
}

/* ------------------------------------------------------ entries of jobs that are over */

/* True if nothing here needs @job's entry any more, and the record on disk has all of it. */
static bool jobs_is_over(const struct job *job)
{
	return !job_is_alive(job) && !job->busy && !job->unsaved && !job->floor_noted &&
	       !job->parts && !job->coord && !job->waiters && !job->init && job->shim < 0 &&
	       !job->init_source && !job->shim_source && !job->last_resort;
}

static void jobs_on_tidy(void *arg)
{
	struct jobs *jobs = arg;
	struct job *job, *next;
	bool again = false;

	jobs->tidy = NULL;
	for (job = jobs_next(jobs, NULL); job; job = next) {
		next = jobs_next(jobs, job);
		if (jobs_is_over(job))
			jobs_forget(job);
		else
			again = again || !job_is_alive(job);
	}
	if (again)
		jobs_tidy_soon(jobs);
}

void jobs_tidy_soon(struct jobs *jobs)
{
	if (!jobs->tidy && reactor_timer(jobs->common->reactor, TIDY_MS, jobs_on_tidy, jobs,
					 &jobs->tidy))
		log_error(&jobs->common->log, "no timer: jobs that are over stay in memory until "
			  "the next one ends");
}

void jobs_find_close(struct jobs *jobs)
{
	reactor_remove(jobs->look);
	reactor_remove(jobs->tidy);
	if (jobs->survey)
		worker_abort(jobs->survey);
}
