// SPDX-License-Identifier: GPL-2.0-only
/*
 * The vote over generations of replicas; see vote.h.
 *
 * A worker compares the images (compare.c), tally.c decides, and the event loop writes the trust:
 * after the answer the marks are on disk.
 */
#include "supervisor/vote/vote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "engine/op/op_args.h"
#include "mpi-glue/own_table.h"
#include "supervisor/catalog/trust.h"
#include "supervisor/control/worker.h"
#include "supervisor/job/job_l0.h"
#include "supervisor/vote/compare.h"

struct vote {
	struct request *request;
	struct worker *worker;
	unsigned int nr;
	struct vote_member members[TALLY_MEMBERS];
};

/* ----------------------------------------------------------- in the worker */

static json_t *vote_hex(uint64_t number)
{
	return json_sprintf("%llx", (unsigned long long)number);
}

static json_t *vote_wrong(const struct vote *v, const struct compared *c)
{
	json_t *list = json_array(), *row;

	for (unsigned int i = 0; i < c->nr_told; i++) {
		const struct compared_page *page = &c->told[i];

		row = json_pack("{s:I, s:i, s:o, s:o, s:o*, s:s}", "job", page->member < 0 ?
				(json_int_t)0 : (json_int_t)v->members[page->member].job, "pid",
				(int)page->pid, "address", vote_hex(page->addr), "byte",
				vote_hex(page->byte), "rank", page->place.rank < 0 ? NULL :
				json_integer(page->place.rank), "mapping", page->place.mapping);
		json_object_set_new(row, "start", vote_hex(page->place.start));
		json_object_set_new(row, "end", vote_hex(page->place.end));
		json_array_append_new(list, row);
	}
	return list;
}

/* The calls for which replicas may differ without an error. */
static json_t *vote_choices(uint32_t choices)
{
	static const struct {
		enum own_choice choice;
		const char *name;
	} names[] = {
		{ OWN_ANY_SOURCE, "MPI_ANY_SOURCE" }, { OWN_WHICH, "MPI_Waitany" },
		{ OWN_WHETHER, "MPI_Test" },
	};
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (choices & names[i].choice)
			json_array_append_new(list, json_string(names[i].name));
	return list;
}

static json_t *vote_result(const struct vote *v, const struct compared *c)
{
	json_t *digests = json_array(), *result;
	unsigned int minority = 0;
	enum tally_outcome outcome = tally_decide(&c->tally, &minority);

	for (unsigned int i = 0; i < v->nr; i++)
		json_array_append_new(digests, json_string(c->digest[i]));
	result = json_pack("{s:s, s:I, s:I, s:o, s:o}", "outcome", tally_name(outcome), "pages",
			   (json_int_t)c->tally.pages, "differ", (json_int_t)c->tally.differ,
			   "wrong", vote_wrong(v, c), "digests", digests);
	if (c->tally.choices)
		json_object_set_new(result, "choices", vote_choices(c->tally.choices));
	if (outcome == TALLY_REPAIRED)
		json_object_set_new(result, "minority",
				    json_integer((json_int_t)v->members[minority].job));
	return outcome_ok(result);
}

static json_t *vote_run(struct channel_reporter *reporter, void *arg)
{
	const struct vote *v = arg;
	const struct common *common = v->request->common;
	const struct op_env env = { .key = common->config.key,
				    .secret = common->config.secret };
	struct compare_member members[TALLY_MEMBERS] = { 0 };
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	struct compared compared;
	json_t *outcome = NULL;
	int err;

	(void)reporter;
	if (op_key_load(&env, false, &key, &outcome))
		return outcome;
	for (unsigned int i = 0; i < v->nr; i++) {
		members[i].dir = catalog_image_dir(&common->catalog, v->members[i].job,
						   v->members[i].generation);
		members[i].label = v->members[i].label;
		members[i].generation = (uint64_t)v->members[i].generation;
	}
	err = compare_images(members, v->nr, key, &compared, &error);
	outcome = err ? outcome_error(err, "job %lld: %s",
				      (long long)v->members[compared.culprit].job, error.text) :
		  vote_result(v, &compared);
	for (unsigned int i = 0; i < v->nr; i++)
		free((char *)members[i].dir);
	image_key_destroy(key);
	return outcome;
}

/* ----------------------------------------------------------- in the daemon */

static void vote_mark(const struct vote *v, const json_t *result)
{
	const struct common *common = v->request->common;
	const char *outcome = json_string_value(json_object_get(result, "outcome"));
	json_int_t minority = json_integer_value(json_object_get(result, "minority"));
	struct ckpt_error error = {};
	enum trust trust;
	struct job *job;

	if (!strcmp(outcome ?: "", tally_name(TALLY_UNSURE)))
		return;		/* nothing is known of them */
	for (unsigned int i = 0; i < v->nr; i++) {
		const struct vote_member *m = &v->members[i];

		if (trust_parse(outcome, &trust) || m->job == minority)
			trust = TRUST_REJECTED;
		if (trust_set(&common->catalog, m->job, m->generation, trust, result,
			      common->config.node, &error))
			log_error(&common->log,
				  "job %lld: that generation %lld is %s cannot be written down: %s",
				  (long long)m->job, (long long)m->generation, trust_name(trust),
				  error.text);
		log_info(&common->log, "job %lld: generation %lld is %s", (long long)m->job,
			 (long long)m->generation, trust_name(trust));
		job = jobs_lookup(v->request->jobs, m->job);
		if (job)
			job_l0_check(job->l0);
	}
}

static void vote_on_outcome(json_t *outcome, void *arg)
{
	struct vote *v = arg;

	if (outcome_is_ok(outcome))
		vote_mark(v, json_object_get(outcome, "result"));
	request_answer(v->request, outcome);
	free(v);
}

static const struct channel_ops vote_ops = { NULL, vote_on_outcome };

static const struct worker_kind vote_work = {
	.name = "ckptd-vote",
	.run = vote_run,
};

void vote_start(struct request *request, const struct vote_member *members, unsigned int nr)
{
	struct worker_spec spec = { .kind = &vote_work };
	struct vote *v = calloc(1, sizeof(*v));
	int err = -ENOMEM;

	if (v) {
		v->request = request;
		v->nr = nr;
		memcpy(v->members, members, nr * sizeof(*members));
		spec.arg = v;
		err = worker_start(&request->common->workers, &spec, &vote_ops, v, &v->worker);
	}
	if (!err)
		return;
	free(v);
	request_answer(request, outcome_error(err, "no worker: %s", strerror(-err)));
}
