// SPDX-License-Identifier: GPL-2.0-only
/*
 * The disk that one user's jobs take; see user_size.h.
 *
 * Counts what is allocated, not what files are long: images are sparse, and generations share
 * files by hard links, which count for each name. Looks at no job of another user.
 */
#include "supervisor/job/user_size.h"

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/outcome.h"
#include "supervisor/control/worker.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/jobs_read.h"

uint64_t user_size_of(const struct job *job)
{
	char *const roots[] = { job->image_dir, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	const FTSENT *entry;
	uint64_t bytes = 0;

	while (walk && (entry = fts_read(walk))) {
		if (entry->fts_info == FTS_F || entry->fts_info == FTS_D)
			bytes += 512 * (uint64_t)entry->fts_statp->st_blocks;
	}
	if (walk)
		fts_close(walk);
	return bytes;
}

json_t *user_size_check(const struct config *config, uint64_t bytes)
{
	if (!config->user_max_size || bytes < config->user_max_size)
		return NULL;
	return outcome_error(-EDQUOT,
			     "user_max_size: your jobs take %" PRIu64 " bytes of the image "
			     "directory, of %" PRIu64 " that a user may take; remove "
			     "generations (ckptctl list, ckptctl prune --keep N, ckptctl rm JOB)",
			     bytes, config->user_max_size);
}

struct user_size {
	struct jobs *jobs;
	uid_t uid;
	uint64_t bytes;
};

static void user_size_add(const struct job *job, void *arg)
{
	struct user_size *size = arg;

	size->bytes += user_size_of(job);
}

static json_t *user_size_run(struct channel_reporter *reporter, void *arg)
{
	struct user_size *size = arg;
	const struct jobs_wanted wanted = { .uid = size->uid };

	jobs_read_all(size->jobs, &wanted, user_size_add, size);
	return user_size_check(&jobs_common(size->jobs)->config, size->bytes) ?: outcome_ok(NULL);
}

static const struct worker_kind user_size_work = {
	.name = "ckptd-limits",
	.run = user_size_run,
};

int user_size_start(struct jobs *jobs, uid_t uid, const struct channel_ops *ops, void *arg,
		    struct worker **ret_worker)
{
	/* the worker has a copy of it */
	struct user_size size = { .jobs = jobs, .uid = uid };
	const struct worker_spec spec = { .kind = &user_size_work, .arg = &size };

	return jobs_worker_start(jobs, &spec, ops, arg, ret_worker);
}
