// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines of checkpoints in the histories of jobs; see history_writer.h.
 *
 * Owns its subscription to the events of jobs and nothing else: the file of a history belongs to
 * catalog/history.c, which also bounds the file's size. Runs in the event loop of ckptd, in the
 * middle of a commit, and so must neither wait nor fail the commit.
 */
#include "supervisor/auto/history_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/catalog/history.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/jobs.h"

struct history_writer {
	struct jobs *jobs;
	struct job_events_subscriber subscriber;
};

static void history_writer_on_committed(const struct job_commit *commit, struct job *job, void *arg)
{
	const struct common *common = jobs_common(job->jobs);
	json_t *row;
	int err;

	if (!commit->taken)
		return;
	row = history_row(commit->result, commit->generation, commit->taken_s);
	if (commit->automatic)
		json_object_set_new(row, "auto", json_true());
	err = history_append(&common->catalog, job->id, row);
	if (err)
		log_warning(&common->log,
			    "job %lld: what generation %lld has cost cannot be written down: %s",
			    (long long)job->id, (long long)commit->generation, strerror(-err));
	json_decref(row);
}

static const struct job_events history_writer_events = {
	.committed = history_writer_on_committed,
};

int history_writer_open(struct jobs *jobs, struct history_writer **ret_writer)
{
	struct history_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return -ENOMEM;
	writer->jobs = jobs;
	writer->subscriber.events = &history_writer_events;
	writer->subscriber.arg = writer;
	job_events_subscribe(jobs, &writer->subscriber);
	*ret_writer = writer;
	return 0;
}

void history_writer_close(struct history_writer *writer)
{
	if (!writer)
		return;
	job_events_unsubscribe(writer->jobs, &writer->subscriber);
	free(writer);
}
