// SPDX-License-Identifier: GPL-2.0-only
/*
 * New members of a group of replicas; see vote.h.
 *
 * A worker writes the leader's image anew, as one of the other job: with its label, its record and
 * its own logs. The copy is a full image and shares nothing with the leader's.
 */
#include "supervisor/vote/vote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/outcome.h"
#include "engine/op/op_args.h"
#include "image/merge.h"
#include "image/reader.h"
#include "supervisor/catalog/trust.h"
#include "supervisor/control/worker.h"
#include "supervisor/job/job_l0.h"
#include "supervisor/job/key_of_job.h"

struct replica {
	struct request *request;
	struct worker *worker;
	struct job *job;	/* busy until the copy is made */
	bool fresh;		/* the job was made for this copy */
	struct vote_member from, to;
	int64_t before;		/* the job's last generation before the copy; 0: none */
	char *record;		/* of the job, for the image */
};

static void replica_free(struct replica *r)
{
	free(r->record);
	free(r);
}

/* ----------------------------------------------------------- in the worker */

/* The note of an image, or NULL; a new reference. */
static json_t *replica_note(const struct common *common, const struct vote_member *m,
			    int64_t generation, const struct image_key *key)
{
	char *dir = catalog_image_dir(&common->catalog, m->job, generation);
	struct image_reader *reader = NULL;
	struct ckpt_error error = {};
	json_t *note = NULL;

	if (dir && !image_open(dir, key, NULL, &reader, &error)) {
		note = json_loads(image_get(reader, "note") ?: "", 0, NULL);
		image_close(reader);
	}
	free(dir);
	return note;
}

/* The note of the copy: as the image's, with the lengths of the logs of the job that gets it. */
static char *replica_note_text(const struct replica *r, const struct image_key *key)
{
	const struct common *common = r->request->common;
	json_t *note = replica_note(common, &r->from, r->from.generation, key);
	json_t *own = r->before ? replica_note(common, &r->to, r->before, key) : NULL;
	static const char *const lengths[] = { "out", "err" };
	char *text = NULL;

	for (size_t i = 0; note && i < 2; i++) {
		if (own)
			json_object_set(note, lengths[i], json_object_get(own, lengths[i]));
		else
			json_object_set_new(note, lengths[i], json_integer(0));
	}
	if (note)
		text = json_dumps(note, JSON_COMPACT);
	json_decref(note);
	json_decref(own);
	return text;
}

static int replica_copy(const struct replica *r, const struct image_key *key,
			struct ckpt_error *error)
{
	const struct common *common = r->request->common;
	char *from = catalog_image_dir(&common->catalog, r->from.job, r->from.generation);
	char *to = catalog_image_dir(&common->catalog, r->to.job, r->to.generation);
	const struct image_expect expect = { .generation = (uint64_t)r->from.generation,
					     .job = r->from.label };
	char *note = replica_note_text(r, key);
	const struct image_copy_options options = {
		.job = r->to.label, .generation = (uint64_t)r->to.generation, .note = note,
		.record = r->record, .memory = common->config.pipeline_memory,
	};
	int err = from && to ? image_copy(from, to, key, &expect, &options, error) :
		  error_set(error, -ENOMEM, "out of memory");

	free(from);
	free(to);
	free(note);
	return err;
}

static json_t *replica_run(struct channel_reporter *reporter, void *arg)
{
	const struct replica *r = arg;
	const struct config *config = &r->request->common->config;
	const struct op_env env = { .key = config->key, .secret = config->secret };
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	json_t *outcome = NULL;
	int err;

	(void)reporter;
	if (op_key_load(&env, true, &key, &outcome))
		return outcome;
	err = replica_copy(r, key, &error);
	image_key_destroy(key);
	return err ? outcome_error(err, "generation %lld of job %lld cannot be copied: %s",
				   (long long)r->from.generation, (long long)r->from.job,
				   error.text) :
	       outcome_ok(json_pack("{s:I, s:I}", "job", (json_int_t)r->to.job, "generation",
				    (json_int_t)r->to.generation));
}

/* ----------------------------------------------------------- in the daemon */

/* NULL or an outcome. */
static json_t *replica_settle(struct replica *r)
{
	const struct common *common = r->request->common;
	struct ckpt_error error = {};
	int err = job_raise_floor(r->job, r->to.generation, &error);

	if (!err && r->fresh)
		err = job_set_state(r->job, JOB_SAVED, &error);
	else if (!err)
		err = trust_set(&common->catalog, r->to.job, r->to.generation, TRUST_REPAIRED,
				NULL, common->config.node, &error);
	job_l0_check(r->job->l0);
	return err ? outcome_error(err, "%s", error.text) : NULL;
}

static void replica_on_outcome(json_t *outcome, void *arg)
{
	struct replica *r = arg;
	json_t *why = outcome_is_ok(outcome) ? replica_settle(r) : NULL;

	r->job->busy = NULL;
	if (why) {
		json_decref(outcome);
		outcome = why;
	}
	if (!outcome_is_ok(outcome) && r->fresh) {
		jobs_forget(r->job);
		catalog_job_remove(&r->request->common->catalog, r->to.job);
		key_of_job_remove(r->request->common, r->to.job);
	}
	request_answer(r->request, outcome);
	replica_free(r);
}

static const struct channel_ops replica_ops = { NULL, replica_on_outcome };

static const struct worker_kind replica_work = {
	.name = "ckptd-replica",
	.run = replica_run,
};

static void replica_start(struct request *request, struct job *job, bool fresh,
			  const struct replica_wish *wish)
{
	struct worker_spec spec = { .kind = &replica_work };
	struct replica *r = calloc(1, sizeof(*r));
	json_t *record = job_record_encode(&job->record);
	int err = -ENOMEM;

	if (r && record) {
		r->request = request;
		r->job = job;
		r->fresh = fresh;
		r->from = wish->from;
		r->to.job = job->id;
		r->before = catalog_last(&request->common->catalog, job->id);
		r->to.generation = catalog_next(&request->common->catalog, job->id,
						job->record.floor);
		r->record = json_dumps(record, JSON_COMPACT);
		job_label(job, r->to.label);
		job->busy = "replicate";
		spec.arg = r;
		err = worker_start(&request->common->workers, &spec, &replica_ops, r, &r->worker);
	}
	json_decref(record);
	if (!err)
		return;
	job->busy = NULL;
	if (r)
		replica_free(r);
	if (fresh) {
		catalog_job_remove(&request->common->catalog, job->id);
		key_of_job_remove(request->common, job->id);
		jobs_forget(job);
	}
	request_answer(request, outcome_error(err, "no worker: %s", strerror(-err)));
}

/* The record of a new member: the leader's, without what is of its runs and its checkpoints. */
static json_t *replica_record(const struct job *leader, const struct replica_wish *wish)
{
	static const char *const of_leader[] = {
		"job", "uuid", "state", "status", "since", "node", "boot", "failed_rank",
		"kill_signal", "auto", "floor", "generation", "run", "unwanted", "replicas",
		"job_key",
	};
	json_t *shared = job_record_encode(&leader->record), *record = json_deep_copy(shared);

	json_decref(shared);
	for (size_t i = 0; i < sizeof(of_leader) / sizeof(of_leader[0]); i++)
		json_object_del(record, of_leader[i]);
	json_object_set_new(record, "created", json_integer((json_int_t)time(NULL)));
	json_object_set_new(record, "name", json_sprintf("%.200s.%d", leader->name, wish->number));
	json_object_set_new(record, "replicas",
			    json_pack("{s:I, s:i, s:O*}", "leader", (json_int_t)leader->id,
				      "number", wish->number, "paths", wish->paths));
	return record;
}

/* Copies of wrong memory are equal, so no vote would ever find the error. NULL or an outcome. */
static json_t *replica_doubt(const struct request *request, const struct job *leader,
			     const struct replica_wish *wish)
{
	const struct catalog *catalog = &request->common->catalog;

	if (!leader->record.tainted &&
	    !trust_is_doubted(trust_get(catalog, leader->id, wish->from.generation, NULL)))
		return NULL;
	return outcome_error(-EUCLEAN,
			     "the memory of job %lld is in doubt (ckptctl list %lld), and its "
			     "replicas would be wrong alike; roll it back first: ckptctl "
			     "rollback %lld", (long long)leader->id, (long long)leader->id,
			     (long long)leader->id);
}

void replica_create(struct request *request, const struct job *leader,
		    const struct replica_wish *wish)
{
	json_t *record, *doubt = replica_doubt(request, leader, wish);
	struct ckpt_error error = {};
	struct job *job = NULL;
	int err;

	if (doubt) {
		request_answer(request, doubt);
		return;
	}
	record = replica_record(leader, wish);
	err = record ? jobs_create(request->jobs, record, &job, &error) : -ENOMEM;

	if (err)
		request_answer(request, outcome_error(err, "%s", error.text));
	else
		replica_start(request, job, true, wish);
}

void replica_repair(struct request *request, struct job *job, const struct replica_wish *wish)
{
	replica_start(request, job, false, wish);
}
