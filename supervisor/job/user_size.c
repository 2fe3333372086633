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
#include <sys/statvfs.h>

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

bool user_size_is_limited(const struct config *config)
{
	return config->user_max_size || config->user_reserve;
}

void user_size_free(const struct config *config, struct user_room *room)
{
	struct statvfs fs;

	if (!config->user_reserve || statvfs(config->image_dir, &fs))
		return;
	room->free = (uint64_t)fs.f_bavail * fs.f_frsize;
	room->total = (uint64_t)fs.f_blocks * fs.f_frsize;
}

static bool user_size_is_short(const struct config *config, const struct user_room *room)
{
	return config->user_reserve && room->free < room->total / 100 * config->user_reserve;
}

bool user_size_counts(const struct config *config, const struct user_room *room)
{
	return config->user_max_size || user_size_is_short(config, room);
}

json_t *user_size_check(const struct config *config, const struct user_room *room)
{
	static const char remedy[] = "generations (ckptctl list, ckptctl prune --keep N, ckptctl "
				     "rm JOB)";

	if (config->user_max_size && room->bytes >= config->user_max_size)
		return outcome_error(-EDQUOT,
				     "user_max_size: your jobs take %" PRIu64 " bytes of the image "
				     "directory, of %" PRIu64 " that a user may take; remove %s",
				     room->bytes, config->user_max_size, remedy);
	if (user_size_is_short(config, room) && room->bytes > room->free)
		return outcome_error(-EDQUOT,
				     "user_reserve: less than %u %% of the image directory's file "
				     "system is free, %" PRIu64 " bytes, and your jobs take more "
				     "than that, %" PRIu64 " bytes; remove %s",
				     config->user_reserve, room->free, room->bytes, remedy);
	return NULL;
}

struct user_size {
	struct jobs *jobs;
	uid_t uid;
	struct user_room room;
};

static void user_size_add(const struct job *job, void *arg)
{
	struct user_size *size = arg;

	size->room.bytes += user_size_of(job);
}

static json_t *user_size_run(struct channel_reporter *reporter, void *arg)
{
	struct user_size *size = arg;
	const struct config *config = &jobs_common(size->jobs)->config;
	const struct jobs_wanted wanted = { .uid = size->uid };

	user_size_free(config, &size->room);
	if (user_size_counts(config, &size->room))
		jobs_read_all(size->jobs, &wanted, user_size_add, size);
	return user_size_check(config, &size->room) ?: outcome_ok(NULL);
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
