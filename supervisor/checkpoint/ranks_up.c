// SPDX-License-Identifier: GPL-2.0-only
/*
 * See ranks_up.h.
 *
 * The shim ordered the ranks to run when it found their status pages. This file gives the shim
 * the same order once more, which makes it report. The first event decides: all ranks run, a
 * rank is broken, the shim or the job is gone, or the time is over. The caller decides what
 * happens to the job then.
 */
#include "supervisor/checkpoint/ranks_up.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/status_page.h"
#include "shim/ranks.h"
#include "supervisor/checkpoint/coord_driver.h"
#include "base/outcome.h"
#include "supervisor/parts/parts.h"
#include "supervisor/job/rank_link.h"
#include "supervisor/job/rank_record.h"

#define UP_MS	300000		/* since any node last read an image */
#define LOOK_MS	5000

struct ranks_up {
	struct job *job;
	struct rank_link *link;
	struct reactor_source *timer;
	int left_ms;
	struct shim_wait stuck;
	bool has_stuck;
	ranks_up_fn done;
	void *arg;
};

static void ranks_up_finish(struct ranks_up *up, json_t *failure)
{
	rank_link_close(up->link);
	reactor_remove(up->timer);
	up->done(failure, up->arg);
	free(up);
}

static void ranks_up_on_reached(uint32_t state, void *arg)
{
	if (state == STATUS_RUNNING)
		ranks_up_finish(arg, NULL);
}

static void ranks_up_on_stuck(const struct shim_wait *wait, void *arg)
{
	struct ranks_up *up = arg;

	up->stuck = *wait;
	up->has_stuck = true;
}

static void ranks_up_on_failed(uint32_t state, const struct shim_failure *failure, void *arg)
{
	struct ranks_up *up = arg;

	ranks_up_finish(up, outcome_error(-EIO,
					  "job %lld was restored, but its rank %u cannot go on: %s",
					  (long long)up->job->id, failure->rank, failure->text));
}

static void on_lost(int err, void *arg)
{
	struct ranks_up *up = arg;

	/* Ranks without status pages have no MPI objects to make anew. */
	if (err == -EOPNOTSUPP)
		ranks_up_finish(up, NULL);
	else
		ranks_up_finish(up, outcome_error(err,
						  "job %lld was restored, but its ranks did not "
						  "come to run: %s",
						  (long long)up->job->id,
						  err == -EPIPE ? "it has ended (see its standard "
								  "error), or its shim has"
								: strerror(-err)));
}

static void ranks_up_on_time(void *arg)
{
	struct ranks_up *up = arg;
	char who[64] = "its shim does not answer";

	up->timer = NULL;
	/* The ranks here wait for ranks on nodes that still read their images. */
	up->left_ms = parts_restoring(up->job->parts) ? UP_MS : up->left_ms - LOOK_MS;
	if (up->left_ms > 0 && !reactor_timer(jobs_common(up->job->jobs)->reactor, LOOK_MS,
					      ranks_up_on_time, up, &up->timer))
		return;
	if (up->has_stuck)
		snprintf(who, sizeof(who), "rank %u is not there yet", up->stuck.rank);
	ranks_up_finish(up, outcome_error(-ETIMEDOUT,
					  "job %lld was restored, but its ranks do not run after "
					  "%d s: %s",
					  (long long)up->job->id, UP_MS / 1000, who));
}

/* Events of checkpoints only: ignored here. */
static void ranks_up_on_begun(const struct shim_seq *seqs, size_t nr, void *arg)
{
}

static void ranks_up_on_counts(bool received, const struct shim_count *counts, size_t nr, void *arg)
{
}

static void ranks_up_on_caught_up(void *arg)
{
}

static const struct rank_link_ops ops = {
	.begun = ranks_up_on_begun,
	.counts = ranks_up_on_counts,
	.reached = ranks_up_on_reached,
	.caught_up = ranks_up_on_caught_up,
	.stuck = ranks_up_on_stuck,
	.failed = ranks_up_on_failed,
	.lost = on_lost,
};

int ranks_up_wait(struct job *job, ranks_up_fn done, void *arg)
{
	struct reactor *reactor = jobs_common(job->jobs)->reactor;
	struct ranks_up *up;
	char path[4096];
	int err;

	if (!coord_driver_wanted(job))
		return 1;
	up = calloc(1, sizeof(*up));
	if (!up)
		return -ENOMEM;
	*up = (struct ranks_up) { .job = job, .left_ms = UP_MS, .done = done, .arg = arg };
	snprintf(path, sizeof(path), "%s/shim.sock", job->state_dir);
	err = rank_link_open(reactor, path,
			     rank_record_size(job->record.ranks), &ops, up,
			     &up->link);
	if (!err)
		err = rank_link_order(up->link, STATUS_RUN);
	if (!err)
		err = reactor_timer(reactor, LOOK_MS, ranks_up_on_time, up, &up->timer);
	if (err) {
		rank_link_close(up->link);
		free(up);
	}
	return err;
}
