// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry of jobs; see jobs.h.
 *
 * Owns the entries of all jobs of this node, and of those jobs of the catalog that were asked
 * for. jobs.h says how long a pointer to an entry stays valid.
 */
#include "supervisor/job/jobs.h"

#include <dirent.h>
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
#include "shim/identity.h"
#include "base/outcome.h"
#include "supervisor/job/job_events.h"

#define LOOK_MS	5000	/* until jobs here without a readable record are looked for again */
#define LOOK_TRACES_MS	60000	/* the same of jobs without processes here */

struct jobs {
	struct common *common;
	const struct job_ops *ops;
	struct job *first;	/* ascending ids */
	struct reactor_source *look;	/* timer of on_look() */
	struct job_events_subscriber *subscribers;
	bool keyless;		/* the key cannot be used; the log says why */
	bool missed;		/* some job runs here without a record, and that was logged */
	json_t *unreadable;	/* jobs_unreadable() */
};

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
	struct job *job = jobs->first;

	while (job && job->id < id)
		job = job->next;
	return job && job->id == id ? job : NULL;
}

static void jobs_insert(struct jobs *jobs, struct job *job)
{
	struct job **at = &jobs->first;

	while (*at && (*at)->id < job->id)
		at = &(*at)->next;
	job->next = *at;
	*at = job;
}

static void job_free(struct job *job)
{
	job_answer_waiters(job);
	job_events_forgotten(job);
	if (job->parts)
		job->ops->parts_close(job);
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
	struct job **at = &job->jobs->first;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
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

int jobs_enter(struct jobs *jobs, int64_t id, json_t *record, struct job **ret_job,
	       struct ckpt_error *error)
{
	int err = job_new(jobs, id, record, ret_job, error);

	if (!err)
		jobs_insert(jobs, *ret_job);
	return err;
}

/* Make an entry from a job's record in the catalog; register it not. */
static int jobs_read_record(struct jobs *jobs, int64_t id, struct job **ret_job,
			    struct ckpt_error *error)
{
	struct ckpt_error cause = {};
	json_t *record;
	int err;

	err = jobs->ops->has_images(jobs->common, error);
	if (!err)
		err = catalog_job_read(&jobs->common->catalog, id, &record, error);
	if (err)
		return err;
	err = job_new(jobs, id, record, ret_job, &cause);
	if (err)
		error_set(error, err, "the record of job %lld is not understood: %.400s",
			  (long long)id, cause.text);
	return err;
}

/* Read a job's record from the catalog, register the job, and find out whether it runs. */
static int jobs_load(struct jobs *jobs, int64_t id, struct job **ret_job, struct ckpt_error *error)
{
	int err = jobs_read_record(jobs, id, ret_job, error);

	if (err)
		return err;
	jobs_insert(jobs, *ret_job);
	job_recover(*ret_job);
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

/* 0 if the key can be loaded. If not, log that once, and not an error for each record. */
static int check_key(struct jobs *jobs, struct ckpt_error *error)
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

	return !check_key(jobs, &error);
}

static void jobs_note_unreadable(struct jobs *jobs, int64_t id, int err, const char *why)
{
	/* The job has gone since its directory was seen, or is just ending. */
	if (err != -ENOENT && err != -EAGAIN)
		json_array_append_new(jobs->unreadable,
				      json_pack("{s:I, s:b, s:s}", "job", (json_int_t)id,
						"other_key", err == -EKEYREJECTED, "error", why));
}

/* The outcome of a record that could not be read; -ENOENT may mean that the key is missing. */
static json_t *jobs_refuse(struct jobs *jobs, int64_t id, int err, const char *why)
{
	if (err == -ENOENT && has_key(jobs))
		return outcome_error(err, "there is no job %lld", (long long)id);
	return outcome_error(err, "%s", why);
}

void jobs_reconcile_all(struct jobs *jobs)
{
	json_t *ids = catalog_jobs(&jobs->common->catalog), *number;
	struct ckpt_error error = {};
	int err, keyless = check_key(jobs, &error);
	struct job *job, *next;
	size_t i;

	json_array_clear(jobs->unreadable);
	for (job = keyless ? NULL : jobs->first; job; job = next) {
		next = job->next;
		jobs_renew(jobs, job);
	}
	json_array_foreach(ids, i, number) {
		int64_t id = json_integer_value(number);

		if (jobs_lookup(jobs, id))
			continue;
		if (keyless) {
			jobs_note_unreadable(jobs, id, -ENOKEY, error.text);
			continue;
		}
		err = jobs_load(jobs, id, &job, &error);
		if (!err)
			continue;
		log_warning(&jobs->common->log, "%s", error.text);
		jobs_note_unreadable(jobs, id, err, error.text);
	}
	json_decref(ids);
}

const json_t *jobs_unreadable(const struct jobs *jobs)
{
	return jobs->unreadable;
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

/* Get the "job" in @request's arguments; false, with an outcome, if there is none. */
static bool jobs_named(const struct request *request, int64_t *ret_id, json_t **ret_outcome)
{
	const json_t *id = json_object_get(request->args, "job");

	if (!json_is_integer(id))
		*ret_outcome = outcome_error(-EINVAL, "%s: which job?", request->verb);
	*ret_id = json_integer_value(id);
	return json_is_integer(id);
}

/* True if @request may name @job; false, with an outcome, if not. */
static bool jobs_allowed(const struct request *request, const struct job *job,
			 json_t **ret_outcome)
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

/* ------------------------------------------------------ jobs as they are, to read */

static bool jobs_same_run(const struct job *a, const struct job *b)
{
	return !strcmp(a->uuid, b->uuid) && a->record.run == b->record.run;
}

/*
 * Set *@ret_job to the entry of a job that is alive or busy here, else to a draft of its record,
 * which is *@ret_draft then. A record that says that the job runs here is out of date: the entry
 * of that run knows its end; without one the job is lost until on_look() or a request that acts
 * finds its end.
 */
static int jobs_read_job(struct jobs *jobs, int64_t id, const struct job **ret_job,
			 struct job **ret_draft, struct ckpt_error *error)
{
	struct job *known = jobs_lookup(jobs, id), *draft;
	const char *node;
	int err;

	*ret_draft = NULL;
	*ret_job = known;
	if (known && (job_is_alive(known) || known->busy))
		return 0;
	err = jobs_read_record(jobs, id, &draft, error);
	if (err)
		return err;
	node = job_record_node(&draft->record);
	if (job_is_alive(draft) && (!node || strcmp(node, jobs->common->config.node))) {
		draft->state = JOB_ELSEWHERE;
	} else if (job_is_alive(draft)) {
		if (known && jobs_same_run(known, draft)) {
			job_draft_free(draft);
			return 0;
		}
		draft->state = jobs_has_processes(jobs, id) ? JOB_RUNNING : JOB_LOST;
	}
	*ret_job = *ret_draft = draft;
	return 0;
}

const struct job *jobs_read_for(struct request *request, struct job **ret_draft,
				json_t **ret_outcome)
{
	struct jobs *jobs = request->jobs;
	const struct job *job;
	struct ckpt_error error = {};
	int64_t id;
	int err;

	*ret_draft = NULL;
	if (!jobs_named(request, &id, ret_outcome))
		return NULL;
	err = jobs_read_job(jobs, id, &job, ret_draft, &error);
	if (err) {
		*ret_outcome = jobs_refuse(jobs, id, err, error.text);
		return NULL;
	}
	if (jobs_allowed(request, job, ret_outcome))
		return job;
	job_draft_free(*ret_draft);
	*ret_draft = NULL;
	return NULL;
}

static int jobs_compare_ids(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Numbers of the catalog's jobs and of the registry's, in order; some twice. */
static int64_t *jobs_numbers(struct jobs *jobs, size_t *ret_nr)
{
	json_t *ids = catalog_jobs(&jobs->common->catalog);
	size_t nr = json_array_size(ids), i;
	const struct job *job;
	int64_t *all;

	for (job = jobs->first; job; job = job->next)
		nr++;
	all = calloc(nr + 1, sizeof(*all));
	*ret_nr = all ? nr : 0;
	nr = 0;
	for (i = 0; all && i < json_array_size(ids); i++)
		all[nr++] = json_integer_value(json_array_get(ids, i));
	for (job = jobs->first; all && job; job = job->next)
		all[nr++] = job->id;
	json_decref(ids);
	if (all)
		qsort(all, nr, sizeof(*all), jobs_compare_ids);
	return all;
}

void jobs_read_all(struct jobs *jobs, void (*fn)(const struct job *job, void *arg), void *arg)
{
	struct ckpt_error no_key = {}, error;
	bool keyed = !check_key(jobs, &no_key);
	const struct job *job;
	struct job *draft = NULL;
	int64_t *ids;
	size_t i, nr;
	int err;

	json_array_clear(jobs->unreadable);
	ids = jobs_numbers(jobs, &nr);
	for (i = 0; i < nr; i++) {
		if (i && ids[i] == ids[i - 1])
			continue;
		job = jobs_lookup(jobs, ids[i]);
		error = no_key;
		err = keyed ? jobs_read_job(jobs, ids[i], &job, &draft, &error) :
		      job ? 0 : -ENOKEY;
		if (!err)
			fn(job, arg);
		else
			jobs_note_unreadable(jobs, ids[i], err, error.text);
		if (err && keyed && (err != -ENOENT || !job))
			log_warning(&jobs->common->log, "%s", error.text);
		job_draft_free(draft);
		draft = NULL;
	}
	free(ids);
}

struct job *jobs_next(struct jobs *jobs, struct job *after)
{
	struct job *job = after ? after->next : jobs->first;

	return job;
}

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

static void random_name(char *hex)
{
	uint8_t bytes[8];

	randombytes_buf(bytes, sizeof(bytes));
	sodium_bin2hex(hex, 2 * sizeof(bytes) + 1, bytes, sizeof(bytes));
}

int jobs_create(struct jobs *jobs, json_t *record, struct job **ret_job, struct ckpt_error *error)
{
	struct ckpt_error cause = {};
	char uuid[17];
	int64_t id;
	int err;

	err = jobs->ops->has_images(jobs->common, error);
	if (err) {
		json_decref(record);
		return err;
	}
	err = catalog_job_create(&jobs->common->catalog, &id);
	if (err) {
		error_set(error, err, "no directory for the job in %s: %s",
			  jobs->common->catalog.dir, err == -EBUSY ?
			  "another ckptd keeps the job numbers locked (see the log); try again" :
			  strerror(-err));
		json_decref(record);
		return err;
	}
	random_name(uuid);
	json_object_set_new(record, "job", json_integer(id));
	json_object_set_new(record, "uuid", json_string(uuid));
	json_object_set_new(record, "state",
			    json_string(job_state_name(JOB_STARTING)));
	err = job_new(jobs, id, record, ret_job, &cause);
	if (err) {
		error_set(error, err, "the record of the new job: %.400s", cause.text);
	} else {
		jobs_insert(jobs, *ret_job);
		err = job_set_state(*ret_job, JOB_STARTING, error);
		if (err)
			jobs_forget(*ret_job);
	}
	if (err)
		catalog_job_remove(&jobs->common->catalog, id);
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

void jobs_find_again(struct jobs *jobs)
{
	jobs_reconcile_all(jobs);
	on_look(jobs);
}

void jobs_close(struct jobs *jobs)
{
	if (!jobs)
		return;
	reactor_remove(jobs->look);
	while (jobs->first)
		jobs_forget(jobs->first);
	json_decref(jobs->unreadable);
	free(jobs);
}
