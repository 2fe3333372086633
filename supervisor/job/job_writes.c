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
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/core/kdev.h"
#include "engine/core/write_journal.h"
#include "engine/core/write_log.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/rank_record.h"

bool job_writes_has(const struct job *job)
{
	return !job->host_ns;
}

uint64_t job_writes_tag(const struct job *job)
{
	char label[64], text[64 + NAME_MAX];

	job_label(job, label);
	if (!rank_record_nodes(job->record.ranks))
		return write_log_tag(label);
	/* two nodes may have one kernel */
	snprintf(text, sizeof(text), "%s@%s", label, jobs_common(job->jobs)->config.node);
	return write_log_tag(text);
}

/* Index of this node among the job's; of a draft, too. */
static unsigned int writes_node(const struct job *job)
{
	int node = rank_record_node_index(job->record.ranks,
					  jobs_common(job->jobs)->config.node);

	return node < 0 ? 0 : (unsigned int)node;
}

const char *job_writes_path(const struct job *job, unsigned int node, char *buf, size_t size)
{
	if (node)
		snprintf(buf, size, "%s/" CATALOG_WRITES ".%u", job->image_dir, node);
	else
		snprintf(buf, size, "%s/" CATALOG_WRITES, job->image_dir);
	return buf;
}

const char *job_writes_path_since(const struct job *job, unsigned int node, unsigned int nodes,
				  bool whole, char *buf, size_t size)
{
	if (!whole || !access(job_writes_path(job, nodes, buf, size), F_OK))
		snprintf(buf, size, "%s/" CATALOG_WRITES ".unknown", job->image_dir);
	else
		job_writes_path(job, node, buf, size);
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

/* There is no log, or no directory of the job, so no image is here: nothing to keep. */
static int writes_no_log(int err)
{
	return err == -ENODATA || err == -ESRCH || err == -EOPNOTSUPP || err == -ENOENT ? 0 : err;
}

/* Generations of a job over several nodes are known at its home: other nodes suppose there are. */
static bool writes_has_generation(const struct job *job)
{
	return rank_record_nodes(job->record.ranks) ||
	       catalog_last(&jobs_common(job->jobs)->catalog, job->id) > 0;
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
	char path[4096], state[PATH_MAX], images[PATH_MAX];
	const char *const own[] = { state, images, NULL };
	int ret;

	if (!dev)
		return 0;
	job_writes_own(jobs_common(job->jobs), state, images);
	/* a later mount is known from now on; a log that is not there shows below */
	write_log_extend(dev, job->init, job_writes_tag(job));
	job_writes_path(job, writes_node(job), path, sizeof(path));
	ret = write_journal_keep(dev, job->init, path, own, mark);
	kdev_close(dev);
	return writes_no_log(ret);
}

static int writes_keep_ended(const struct common *common, uint64_t tag, const char *path)
{
	struct kdev *dev = writes_open();
	char state[PATH_MAX], images[PATH_MAX];
	const char *const own[] = { state, images, NULL };
	int ret = 0;

	if (!dev)
		return 0;
	job_writes_own(common, state, images);
	ret = write_journal_keep_ended(dev, tag, path, own);
	kdev_close(dev);
	return writes_no_log(ret);
}

static int writes_drop_ended(uint64_t tag)
{
	struct kdev *dev = writes_open();
	int ret = 0;

	if (!dev)
		return 0;
	while (!ret)
		ret = write_log_drop_ended(dev, tag);
	kdev_close(dev);
	return writes_no_log(ret);
}

int job_writes_keep_ended(const struct job *job)
{
	uint64_t tag = job_writes_tag(job);
	char path[4096];

	if (!writes_has_generation(job))
		return writes_drop_ended(tag);
	job_writes_path(job, writes_node(job), path, sizeof(path));
	return writes_keep_ended(jobs_common(job->jobs), tag, path);
}

struct job_writes_part *job_writes_part(const struct job *job)
{
	struct job_writes_part *part;
	char path[4096];

	job_writes_path(job, writes_node(job), path, sizeof(path));
	part = calloc(1, sizeof(*part) + strlen(path) + 1);
	if (part) {
		part->tag = job_writes_tag(job);
		memcpy(part->path, path, strlen(path) + 1);
	}
	return part;
}

int job_writes_keep_part(const struct common *common, const struct job_writes_part *part)
{
	const char *slash = strrchr(part->path, '/');
	_cleanup_free_ char *dir = slash ? strndup(part->path, (size_t)(slash - part->path)) : NULL;

	/* the job was removed, or never saved here */
	if (dir && access(dir, F_OK) && errno == ENOENT)
		return writes_drop_ended(part->tag);
	return writes_keep_ended(common, part->tag, part->path);
}
