// SPDX-License-Identifier: GPL-2.0-only
/*
 * The live jobs of one user; see user_jobs.h. Only looks at the registry.
 */
#include "supervisor/job/user_jobs.h"

#include <errno.h>
#include <inttypes.h>

#include "base/outcome.h"
#include "supervisor/job/jobs.h"

json_t *user_jobs_check(const struct config *config, uint64_t live)
{
	if (!config->user_max_jobs || live < config->user_max_jobs)
		return NULL;
	return outcome_error(-EDQUOT,
			     "user_max_jobs: you have %" PRIu64 " live jobs on this node, of %u "
			     "that a user may have; wait for one to end, or end one (ckptctl ps, "
			     "ckptctl kill JOB)",
			     live, config->user_max_jobs);
}

json_t *user_jobs_check_part(struct jobs *jobs, const json_t *record, int64_t id)
{
	uid_t uid = (uid_t)json_integer_value(json_object_get(record, "uid"));
	struct job *job;
	uint64_t live = 0;

	for (job = jobs_next(jobs, NULL); uid && job; job = jobs_next(jobs, job))
		live += job->uid == uid && job->id != id && job_is_alive(job);
	return uid ? user_jobs_check(&jobs_common(jobs)->config, live) : NULL;
}
