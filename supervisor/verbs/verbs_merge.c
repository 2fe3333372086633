// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request merge: make a generation whole that is based on earlier ones.
 *
 * Anybody who may checkpoint the job may ask for a merge, on the node that has the job.  The
 * merger does the work, and decides when to give up; nothing is written here.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>

#include "supervisor/job/jobs.h"
#include "supervisor/auto/merger.h"
#include "supervisor/auto/services.h"
#include "base/outcome.h"

static json_t *verb_merge_check(const struct job *job)
{
	const char *node = job_record_node(&job->record);

	if (job->state == JOB_ELSEWHERE)
		return outcome_error(-EBUSY, "job %lld was last on node %s: ask there",
				     (long long)job->id, node ? node : "?");
	return job_check_free(job, "merge");
}

static json_t *verb_merge_parse(const struct request *request, const struct job *job,
				json_int_t *ret_generation, bool *ret_dry_run)
{
	const struct catalog *catalog = &request->common->catalog;
	json_int_t id, generation = 0;
	json_error_t why;
	int dry_run = 0;

	if (json_unpack_ex(request->args, &why, 0, "{s:I, s?I, s?b !}", "job", &id, "generation",
			   &generation, "dry_run", &dry_run) || generation < 0)
		return outcome_usage("merge: bad arguments");
	if (!generation)
		generation = catalog_last(catalog, job->id);
	if (!generation || !catalog_has(catalog, job->id, generation))
		return outcome_error(-ENOENT, "job %lld has no generation%s; see ckptctl list %lld",
				     (long long)job->id, generation ? " of that number" : "",
				     (long long)job->id);
	*ret_generation = generation;
	*ret_dry_run = dry_run;
	return NULL;
}

void verb_merge(struct request *request)
{
	json_t *outcome = NULL;
	struct job *job = jobs_reconcile_for(request, &outcome);
	json_int_t generation = 0;
	bool dry_run = false;

	if (job)
		outcome = verb_merge_parse(request, job, &generation, &dry_run);
	if (job && !outcome && !dry_run)
		outcome = verb_merge_check(job);
	if (outcome)
		request_answer(request, outcome);
	else
		merger_merge(request->services->merger, request, job, generation, dry_run);
}
