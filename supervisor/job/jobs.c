// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry of jobs; see jobs.h.
 *
 * Owns the entries of the jobs that live on this node, and for a moment of those that a request
 * acts on. The record of any other job is on disk alone. jobs.h says how long a pointer to an
 * entry stays valid.
 */
#include "supervisor/job/jobs_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "image/key.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/outcome.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/job_l0.h"
#include "supervisor/job/key_of_job.h"

struct common *jobs_common(const struct jobs *jobs)
{
	return jobs->common;
}

struct job_events_subscriber **jobs_subscribers(struct jobs *jobs)
{
	return &jobs->subscribers;
}

struct job *jobs_lookup(const struct jobs *jobs, int64_t id)
{
	return job_table_find(&jobs->table, id);
}

struct job *jobs_next(struct jobs *jobs, struct job *after)
{
	return job_table_above(&jobs->table, after ? after->id : 0);
}

static void job_free(struct job *job)
{
	job_answer_waiters(job);
	job_events_forgotten(job);
	if (job->parts)
		job->ops->parts_close(job);
	job_l0_destroy(job->l0);
	reactor_remove(job->shim_source);
	reactor_remove(job->init_source);
	reactor_remove(job->last_resort);
	if (job->shim >= 0)
		close(job->shim);
	job_record_done(&job->record);
	free(job->state_dir);
	free(job->image_dir);
	free(job);
}

void jobs_forget(struct job *job)
{
	job_table_remove(&job->jobs->table, job->id);
	job_free(job);
}

/* @json is taken over, also on failure. */
static int job_new(struct jobs *jobs, int64_t id, json_t *json, struct job **ret_job,
		   struct ckpt_error *error)
{
	struct job *job = calloc(1, sizeof(*job));
	int err;

	if (!job) {
		json_decref(json);
		return error_set(error, -ENOMEM, "out of memory");
	}
	job->jobs = jobs;
	job->ops = jobs->ops;
	job->id = id;
	job->shim = -1;
	job->image_dir = catalog_job_dir(&jobs->common->catalog, id);
	if (asprintf(&job->state_dir, "%s/%lld", jobs->common->config.state_dir,
		     (long long)id) < 0)
		job->state_dir = NULL;
	err = job_record_decode(json, &job->record, error);
	json_decref(json);
	if (!err && (!job->image_dir || !job->state_dir))
		err = error_set(error, -ENOMEM, "out of memory");
	if (err) {
		job_free(job);
		return err;
	}
	job->uuid = job->record.uuid;
	job->name = job->record.name;
	job->uid = job->record.uid;
	job->host_ns = job->record.host_ns;
	job->state = job->record.change.state;
	job->status = job->record.change.status;
	*ret_job = job;
	return 0;
}

int jobs_draft(struct jobs *jobs, int64_t id, json_t *record, struct job **ret_job,
	       struct ckpt_error *error)
{
	return job_new(jobs, id, record, ret_job, error);
}

void job_draft_free(struct job *draft)
{
	if (draft)
		job_free(draft);
}

/* Register @job, which is freed on failure. */
static int jobs_insert(struct jobs *jobs, struct job *job, struct ckpt_error *error)
{
	struct job *had = jobs_lookup(jobs, job->id);
	int err;

	/* Another image directory may have come in place of that which had the job. */
	if (had && !job_is_alive(had) && !had->busy && !had->parts && !had->waiters)
		jobs_forget(had);
	err = job_table_add(&jobs->table, job->id, job);
	if (!err)
		jobs_tidy_soon(jobs);
	else if (err == -EEXIST)
		error_set(error, err, "job %lld is registered already", (long long)job->id);
	else
		error_set(error, err, "out of memory");
	if (err)
		job_free(job);
	return err;
}

int jobs_enter(struct jobs *jobs, int64_t id, json_t *record, struct job **ret_job,
	       struct ckpt_error *error)
{
	struct job *job;
	int err = job_new(jobs, id, record, &job, error);

	if (!err)
		err = jobs_insert(jobs, job, error);
	if (!err)
		*ret_job = job;
	return err;
}

int jobs_read_record(struct jobs *jobs, int64_t id, struct job **ret_job,
		     struct ckpt_error *error)
{
	struct ckpt_error cause = {};
	json_t *record;
	int err;

	err = catalog_job_read(&jobs->common->catalog, id, &record, error);
	if (err)
		return err;
	err = job_new(jobs, id, record, ret_job, &cause);
	if (err)
		error_set(error, err, "the record of job %lld is not understood: %.400s",
			  (long long)id, cause.text);
	return err;
}

int jobs_load(struct jobs *jobs, int64_t id, struct job **ret_job, struct ckpt_error *error)
{
	struct job *job;
	int err = jobs->ops->has_images(jobs->common, error);

	if (!err)
		err = jobs_read_record(jobs, id, &job, error);
	if (!err)
		err = jobs_insert(jobs, job, error);
	if (err)
		return err;
	job_recover(job);
	/* job_recover() frees the job if its part here turns out to have ended. */
	*ret_job = jobs_lookup(jobs, id);
	if (!*ret_job) {
		return error_set(error, -EAGAIN,
				 "what was left of job %lld here has just ended; try again",
				 (long long)id);
	}
	job_events_changed(*ret_job);
	return 0;
}

/* Read the record again unless the job is alive or busy here: another node may have changed it. */
static struct job *jobs_renew(struct jobs *jobs, struct job *job)
{
	int64_t id = job->id;
	struct ckpt_error error = {};

	if (job_is_alive(job) || job->busy)
		return job;
	jobs_forget(job);
	return jobs_load(jobs, id, &job, &error) ? NULL : job;
}

int jobs_check_key(struct jobs *jobs, struct ckpt_error *error)
{
	struct common *common = jobs->common;
	struct image_key *key = NULL;
	int err = image_key_load(common->config.key, &key, error);

	if (err && !jobs->keyless)
		log_error(&common->log, "no job's record can be read: %s", error->text);
	jobs->keyless = err;
	image_key_destroy(key);
	return err;
}

static bool has_key(struct jobs *jobs)
{
	struct ckpt_error error = {};

	return !jobs_check_key(jobs, &error);
}

json_t *jobs_refuse(struct jobs *jobs, int64_t id, int err, const char *why)
{
	if (err == -ENOENT && has_key(jobs))
		return outcome_error(err, "there is no job %lld: ckptctl ps -a shows those of this "
				     "node", (long long)id);
	return outcome_error(err, "%s", why);
}

struct job *jobs_reconcile(struct jobs *jobs, int64_t id, json_t **ret_outcome)
{
	struct job *job = jobs_lookup(jobs, id);
	struct ckpt_error error = {};
	int err;

	if (job)
		job = jobs_renew(jobs, job);
	if (job)
		return job;
	err = jobs_load(jobs, id, &job, &error);
	if (!err)
		return job;
	*ret_outcome = jobs_refuse(jobs, id, err, error.text);
	return NULL;
}

bool jobs_named(const struct request *request, int64_t *ret_id, json_t **ret_outcome)
{
	const json_t *id = json_object_get(request->args, "job");

	if (!json_is_integer(id))
		*ret_outcome = outcome_error(-EINVAL, "%s: which job?", request->verb);
	*ret_id = json_integer_value(id);
	return json_is_integer(id);
}

bool jobs_allowed(const struct request *request, const struct job *job, json_t **ret_outcome)
{
	if (request->uid == 0 || request->uid == job->uid)
		return true;
	*ret_outcome = outcome_error(-EPERM, "job %lld belongs to %s",
				     (long long)job->id,
				     job->record.user);
	return false;
}

struct job *jobs_reconcile_for(struct request *request, json_t **ret_outcome)
{
	struct job *job;
	int64_t id;

	if (!jobs_named(request, &id, ret_outcome))
		return NULL;
	job = jobs_reconcile(request->jobs, id, ret_outcome);
	return job && jobs_allowed(request, job, ret_outcome) ? job : NULL;
}

static void random_name(char *hex)
{
	uint8_t bytes[8];

	randombytes_buf(bytes, sizeof(bytes));
	sodium_bin2hex(hex, 2 * sizeof(bytes) + 1, bytes, sizeof(bytes));
}

#define NUMBERS_TRIED	1000

/*
 * Take a number for a new job, and make the job's key.  A number whose key is here was given
 * before, in an image directory that is no more: it is not given again.
 */
static int jobs_take_number(struct jobs *jobs, json_t *record, int64_t *ret_id,
			    struct ckpt_error *error)
{
	const struct common *common = jobs->common;
	unsigned int tries = 0;
	int err;

	do {
		err = catalog_job_create(&common->catalog, ret_id);
		if (err)
			return error_set(error, err, "no directory for the job in %s: %s",
					 common->catalog.dir, err == -EBUSY ?
					 "another ckptd keeps the job numbers locked (see the "
					 "log); try again" : strerror(-err));
		err = key_of_job_make(common, *ret_id, record, error);
		if (err)
			catalog_job_remove(&common->catalog, *ret_id);
	} while (err == -EEXIST && ++tries < NUMBERS_TRIED);
	if (err == -EEXIST)
		error_set(error, err, "%s has keys of earlier jobs with the %u numbers up to %lld: "
			  "try again, or ckptctl keys remove", common->config.job_keys_dir, tries,
			  (long long)*ret_id);
	return err;
}

int jobs_create(struct jobs *jobs, json_t *record, struct job **ret_job, struct ckpt_error *error)
{
	struct ckpt_error cause = {};
	struct job *job;
	char uuid[17];
	int64_t id;
	int err;

	err = jobs->ops->has_images(jobs->common, error);
	if (err) {
		json_decref(record);
		return err;
	}
	err = jobs_take_number(jobs, record, &id, error);
	if (err) {
		json_decref(record);
		return err;
	}
	random_name(uuid);
	json_object_set_new(record, "job", json_integer(id));
	json_object_set_new(record, "uuid", json_string(uuid));
	json_object_set_new(record, "state",
			    json_string(job_state_name(JOB_STARTING)));
	err = job_new(jobs, id, record, &job, &cause);
	if (err) {
		error_set(error, err, "the record of the new job: %.400s", cause.text);
	} else {
		err = jobs_insert(jobs, job, error);
	}
	if (!err) {
		err = job_set_state(job, JOB_STARTING, error);
		if (err)
			jobs_forget(job);
		else
			*ret_job = job;
	}
	if (err) {
		catalog_job_remove(&jobs->common->catalog, id);
		key_of_job_remove(jobs->common, id);
	}
	return err;
}

int jobs_open(struct common *common, const struct job_ops *ops, bool keyless,
	      struct jobs **ret_jobs)
{
	struct jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs || sodium_init() < 0) {
		free(jobs);
		return -ENOMEM;
	}
	jobs->common = common;
	jobs->ops = ops;
	jobs->keyless = keyless;
	jobs->unreadable = json_array();
	*ret_jobs = jobs;
	return 0;
}

void jobs_close(struct jobs *jobs)
{
	struct job *job;

	if (!jobs)
		return;
	jobs_find_close(jobs);
	while ((job = jobs_next(jobs, NULL)))
		jobs_forget(job);
	job_table_done(&jobs->table);
	json_decref(jobs->unreadable);
	free(jobs);
}

int jobs_worker_start(struct jobs *jobs, const struct worker_spec *spec,
		      const struct channel_ops *ops, void *arg, struct worker **ret_worker)
{
	jobs->no_images = jobs->ops->has_images(jobs->common, &jobs->no_images_error);
	for (struct job *job = jobs_next(jobs, NULL); job; job = jobs_next(jobs, job))
		job_l0_refresh(job->l0);
	return worker_start(&jobs->common->workers, spec, ops, arg, ret_worker);
}
