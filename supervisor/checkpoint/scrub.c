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

bool scrub_settle(struct job *job, int64_t generation, const struct scrub *scrub, json_t *result)
{
	const json_t *found = json_object_get(result, "scrub");
	bool wrong = json_integer_value(json_object_get(found, "wrong"));

	json_object_set_new(result, "trust",
			    json_string(trust_name(wrong ? TRUST_SUSPECT : TRUST_UNVERIFIED)));
	if (!wrong)
		return false;
	scrub_log(job, generation, found);
	scrub_mark(job, generation, found);
	scrub_mark_older(job, generation, scrub->every, found, result);
	return strcmp(scrub->policy, "report");
}
