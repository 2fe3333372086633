// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs as they are, for requests that only read; see jobs_read.h.
 *
 * Must not register, write, end or adopt anything: a job that is not alive or busy here is a
 * draft, made from its record and freed after its use.
 */
#include "supervisor/job/jobs_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/outcome.h"
#include "supervisor/catalog/catalog_index.h"
#include "supervisor/catalog/listing.h"
#include "supervisor/job/jobs_priv.h"

/* In the index the record of a job is the row of its generation 0, with this label. */
#define BRIEF_LABEL	"job"

static void jobs_note_unreadable(struct jobs *jobs, int64_t id, int err, const char *why)
{
	/* The job has gone since its directory was seen, or is just ending. */
	if (err != -ENOENT && err != -EAGAIN)
		json_array_append_new(jobs->unreadable,
				      json_pack("{s:I, s:b, s:s}", "job", (json_int_t)id,
						"other_key", err == -EKEYREJECTED, "error", why));
}

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
	err = jobs->ops->has_images(jobs->common, &error);
	if (!err)
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

int jobs_read_owner(struct jobs *jobs, int64_t id, uid_t *ret_uid)
{
	const struct job *job = jobs_lookup(jobs, id);
	struct job *draft = NULL;
	struct ckpt_error error;
	int err = 0;

	if (!job) {
		err = jobs->no_images ?: jobs_read_record(jobs, id, &draft, &error);
		job = draft;
	}
	if (err)
		return err;
	*ret_uid = job->uid;
	job_draft_free(draft);
	return 0;
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
	int64_t *all;

	nr += jobs->table.nr;
	all = calloc(nr + 1, sizeof(*all));
	*ret_nr = all ? nr : 0;
	nr = 0;
	for (i = 0; all && i < json_array_size(ids); i++)
		all[nr++] = json_integer_value(json_array_get(ids, i));
	for (i = 0; all && i < jobs->table.nr; i++)
		all[nr++] = jobs->table.rows[i].id;
	json_decref(ids);
	if (all)
		qsort(all, nr, sizeof(*all), jobs_compare_ids);
	return all;
}

const json_t *jobs_unreadable(const struct jobs *jobs)
{
	return jobs->unreadable;
}

/* True if @wanted asks for a job of @uid whose last change, @state, was written by @node. */
static bool jobs_is_wanted(const struct jobs *jobs, const struct jobs_wanted *wanted, uid_t uid,
			   const char *state, const char *node)
{
	if (!wanted->everybody && uid != wanted->uid)
		return false;
	return !wanted->lost_here ||
	       ((!strcmp(state, job_state_name(JOB_STARTING)) ||
		 !strcmp(state, job_state_name(JOB_RUNNING))) &&
		node && !strcmp(node, jobs->common->config.node));
}

/*
 * True if the index knows, from the record as it is now, that @wanted does not ask for the job.
 * *@ret_stamp is the record's stamp, to be given to jobs_note_brief() otherwise.
 */
static bool jobs_may_skip(const struct jobs *jobs, const struct jobs_wanted *wanted,
			  struct catalog_index *index, int64_t id, uint64_t *ret_stamp)
{
	const char *state = NULL, *node = NULL;
	json_int_t uid = -1;
	bool skip = false;
	json_t *brief;

	*ret_stamp = index ? catalog_index_job_stamp(&jobs->common->catalog, id) : 0;
	brief = catalog_index_get(index, id, 0, BRIEF_LABEL, *ret_stamp);
	if (brief && !json_unpack(brief, "{s:I, s:s, s?s}", "uid", &uid, "state", &state, "node",
				  &node))
		skip = !jobs_is_wanted(jobs, wanted, (uid_t)uid, state, node);
	json_decref(brief);
	/* A record that is wanted is read; its row in the index is good already. */
	if (state)
		*ret_stamp = 0;
	return skip;
}

static void jobs_note_brief(struct catalog_index *index, const struct job *job, uint64_t stamp)
{
	const struct job_change *change = &job->record.change;
	json_t *brief = json_pack("{s:I, s:s, s:s*}", "uid", (json_int_t)job->uid, "state",
				  job_state_name(change->state), "node",
				  job_record_node(&job->record));

	if (brief)
		catalog_index_put(index, job->id, 0, BRIEF_LABEL, stamp, brief);
	json_decref(brief);
}

/* Read one job of jobs_read_all(), and call @fn if it is wanted. */
static void jobs_read_one(struct jobs *jobs, const struct jobs_wanted *wanted,
			  struct catalog_index *index, int64_t id, jobs_read_fn fn, void *arg)
{
	const struct job *job = jobs_lookup(jobs, id);
	bool known = job;
	struct job *draft = NULL;
	struct ckpt_error error;
	uint64_t stamp = 0;
	int err;

	if (known && wanted->lost_here)
		return;
	if (!known && jobs_may_skip(jobs, wanted, index, id, &stamp))
		return;
	error = jobs->no_images_error;
	err = jobs->no_images ?: jobs_read_job(jobs, id, &job, &draft, &error);
	if (err) {
		jobs_note_unreadable(jobs, id, err, error.text);
		if (err != -ENOENT || !known)
			log_warning(&jobs->common->log, "%s", error.text);
		return;
	}
	if (draft && stamp)
		jobs_note_brief(index, draft, stamp);
	if (jobs_is_wanted(jobs, wanted, job->uid, job_state_name(job->record.change.state),
			   job_record_node(&job->record)))
		fn(job, arg);
	job_draft_free(draft);
}

void jobs_read_all(struct jobs *jobs, const struct jobs_wanted *wanted, jobs_read_fn fn, void *arg)
{
	struct ckpt_error no_key = {};
	bool keyed = !jobs_check_key(jobs, &no_key);
	const struct common *common = jobs->common;
	struct catalog_index *index = NULL;
	const struct job *job;
	int64_t *ids;
	size_t i, nr;

	json_array_clear(jobs->unreadable);
	ids = jobs_numbers(jobs, &nr);
	/* Whoever wants all jobs of all users reads all records anyway. */
	if (keyed && (!wanted->everybody || wanted->lost_here))
		index = listing_index_open(common->config.state_dir, &common->catalog,
					   &common->log);
	for (i = 0; i < nr; i++) {
		if (i && ids[i] == ids[i - 1])
			continue;
		if (keyed) {
			jobs_read_one(jobs, wanted, index, ids[i], fn, arg);
			continue;
		}
		job = jobs_lookup(jobs, ids[i]);
		if (!job)
			jobs_note_unreadable(jobs, ids[i], -ENOKEY, no_key.text);
		else if (!wanted->lost_here && (wanted->everybody || job->uid == wanted->uid))
			fn(job, arg);
	}
	listing_index_close(&common->log, index);
	free(ids);
}
