// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write journal of a job; see job_writes.h.
 *
 * The kernel module may be away, or an older one: then there is no log, and a restart says that
 * it does not know what the job changed.
 */
#include "supervisor/job/job_writes.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/core/kdev.h"
#include "engine/core/write_journal.h"
#include "engine/core/write_log.h"
#include "supervisor/job/jobs.h"

bool job_writes_has(const struct job *job)
{
	return !job->host_ns && !job->parts &&
	       json_array_size(json_object_get(job->record.ranks, "map")) <= 1;
}

const char *job_writes_path(const struct job *job, char *buf, size_t size)
{
	snprintf(buf, size, "%s/" CATALOG_WRITES, job->image_dir);
	return buf;
}

static struct kdev *writes_open(void)
{
	struct ckpt_error error = { 0 };
	struct kdev *dev = NULL;

	if (kdev_open(&dev, &error))
		dev = NULL;
	error_done(&error);
	return dev;
}

/* There is no log: nothing to keep. */
static int writes_no_log(int err)
{
	return err == -ENODATA || err == -ESRCH || err == -EOPNOTSUPP ? 0 : err;
}

static bool writes_has_generation(const struct job *job)
{
	return catalog_last(&jobs_common(job->jobs)->catalog, job->id) > 0;
}

void job_writes_own(const struct common *common, char *state, char *images)
{
	if (!realpath(common->config.state_dir, state))
		snprintf(state, PATH_MAX, "%s", common->config.state_dir);
	if (!realpath(common->config.image_dir, images))
		snprintf(images, PATH_MAX, "%s", common->config.image_dir);
}

int job_writes_keep(const struct job *job, struct write_journal_mark *mark)
{
	struct kdev *dev = job->init && writes_has_generation(job) ? writes_open() : NULL;
	char path[4096], label[64], state[PATH_MAX], images[PATH_MAX];
	const char *const own[] = { state, images, NULL };
	int ret;

	if (!dev)
		return 0;
	job_writes_own(jobs_common(job->jobs), state, images);
	/* a later mount is known from now on; a log that is not there shows below */
	write_log_extend(dev, job->init, write_log_tag(job_label(job, label)));
	ret = write_journal_keep(dev, job->init, job_writes_path(job, path, sizeof(path)), own,
				 mark);
	kdev_close(dev);
	return writes_no_log(ret);
}

int job_writes_keep_ended(const struct job *job)
{
	struct kdev *dev = writes_open();
	char path[4096], label[64], state[PATH_MAX], images[PATH_MAX];
	const char *const own[] = { state, images, NULL };
	uint64_t tag = write_log_tag(job_label(job, label));
	int ret = 0;

	if (!dev)
		return 0;
	job_writes_own(jobs_common(job->jobs), state, images);
	if (writes_has_generation(job))
		ret = write_journal_keep_ended(dev, tag, job_writes_path(job, path, sizeof(path)),
					       own);
	else
		while (!ret)
			ret = write_log_drop_ended(dev, tag);
	kdev_close(dev);
	return writes_no_log(ret);
}
