// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scrub of a job's checkpoint; see scrub.h.
 *
 * Owns the words of the policy and the marks of suspect generations. The engine finds pages; who
 * takes checkpoints ends the job.
 */
#include "supervisor/checkpoint/scrub.h"

#include <string.h>

#include "supervisor/catalog/trust.h"
#include "supervisor/job/job_l0.h"

#define OFF	"off"

bool scrub_is_policy(const char *policy)
{
	return !strcmp(policy, OFF) || !strcmp(policy, "report") || !strcmp(policy, "stop") ||
	       !strcmp(policy, "repair");
}

struct scrub scrub_of(const struct common *common, const struct job_checkpoint_options *o)
{
	return (struct scrub) {
		.policy = o->scrub ? o->scrub : common->config.scrub,
		.every = o->scrub_every ? (unsigned int)o->scrub_every : common->config.scrub_every,
	};
}

void scrub_ask(const struct scrub *scrub, json_t *args)
{
	if (strcmp(scrub->policy, OFF))
		json_object_set_new(args, "scrub_every", json_integer(scrub->every));
}

static void scrub_mark(const struct job *job, int64_t generation, const json_t *why)
{
	const struct common *common = jobs_common(job->jobs);
	struct ckpt_error error = {};

	if (trust_set(&common->catalog, job->id, generation, TRUST_SUSPECT, why,
		      common->config.node, &error))
		log_error(&common->log,
			  "job %lld: that generation %lld is suspect cannot be written down: %s",
			  (long long)job->id, (long long)generation, error.text);
	job_l0_check(job->l0);
}

static void scrub_log(const struct job *job, int64_t generation, const json_t *found)
{
	const struct common *common = jobs_common(job->jobs);
	const json_t *page;
	size_t i;

	log_warning(&common->log,
		    "job %lld: generation %lld is suspect: of %lld unwritten pages %lld are not "
		    "as they were written", (long long)job->id, (long long)generation,
		    (long long)json_integer_value(json_object_get(found, "pages")),
		    (long long)json_integer_value(json_object_get(found, "wrong")));
	json_array_foreach(json_object_get(found, "at"), i, page)
		log_warning(&common->log,
			    "job %lld: process %lld (%s): page %s of the mapping %s-%s (%s)",
			    (long long)job->id,
			    (long long)json_integer_value(json_object_get(page, "pid")),
			    json_string_value(json_object_get(page, "command")),
			    json_string_value(json_object_get(page, "address")),
			    json_string_value(json_object_get(page, "start")),
			    json_string_value(json_object_get(page, "end")),
			    json_string_value(json_object_get(page, "mapping")));
}

/* A stretch was compared last @every generations before: those in between may be wrong, too. */
static void scrub_mark_older(const struct job *job, int64_t generation, unsigned int every,
			     const json_t *found, json_t *result)
{
	const struct catalog *catalog = &jobs_common(job->jobs)->catalog;
	json_t *suspects = json_array();
	int64_t g = generation - every + 1;

	for (g = g < 1 ? 1 : g; g < generation; g++) {
		if (!catalog_has(catalog, job->id, g) ||
		    trust_get(catalog, job->id, g, NULL) != TRUST_UNVERIFIED)
			continue;
		scrub_mark(job, g, found);
		json_array_append_new(suspects, json_integer(g));
	}
	if (json_array_size(suspects))
		json_object_set(result, "suspects", suspects);
	json_decref(suspects);
}

/* No later checkpoint of this run has memory that can be trusted: remember that. */
static void scrub_taint(struct job *job, int64_t generation)
{
	struct ckpt_error error = {};

	if (job->record.tainted)
		return;
	job->record.tainted = generation;
	if (job_save(job, &error))
		log_error(&jobs_common(job->jobs)->log, "%s", error.text);
}

/* Nothing was found now, but the job has computed with what was wrong before. */
static void scrub_mark_tainted(const struct job *job, int64_t generation, json_t *result)
{
	json_t *why = json_pack("{s:I}", "tainted", (json_int_t)job->record.tainted);

	log_warning(&jobs_common(job->jobs)->log,
		    "job %lld: generation %lld is suspect, as the job's memory is in doubt since "
		    "generation %lld", (long long)job->id, (long long)generation,
		    (long long)job->record.tainted);
	scrub_mark(job, generation, why);
	json_decref(why);
	json_object_set_new(result, "tainted", json_integer(job->record.tainted));
}

void scrub_begin_from(struct job *job, int64_t generation)
{
	const struct catalog *catalog = &jobs_common(job->jobs)->catalog;
	enum trust trust = trust_get(catalog, job->id, generation, NULL);
	bool best = trust_choose(catalog, job->id) == generation;

	job->record.tainted = trust_is_doubted(trust) && !best ? generation : 0;
	if (trust_is_doubted(trust) && best)
		log_warning(&jobs_common(job->jobs)->log,
			    "job %lld: each of its generations is in doubt: it goes on from %lld, "
			    "the oldest; check its result", (long long)job->id,
			    (long long)generation);
}

bool scrub_settle(struct job *job, int64_t generation, const struct scrub *scrub, json_t *result)
{
	const json_t *found = json_object_get(result, "scrub");
	bool wrong = json_integer_value(json_object_get(found, "wrong"));
	bool suspect = wrong || job->record.tainted;
	int64_t from;

	json_object_set_new(result, "trust",
			    json_string(trust_name(suspect ? TRUST_SUSPECT : TRUST_UNVERIFIED)));
	if (suspect && !wrong)
		scrub_mark_tainted(job, generation, result);
	if (!wrong)
		return false;
	scrub_taint(job, generation);
	scrub_log(job, generation, found);
	scrub_mark(job, generation, found);
	scrub_mark_older(job, generation, scrub->every, found, result);
	from = trust_choose(&jobs_common(job->jobs)->catalog, job->id);
	if (from != generation)
		json_object_set_new(result, "repair_from", json_integer(from));
	return strcmp(scrub->policy, "report");
}
