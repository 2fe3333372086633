/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The merger: rewrites generations that need earlier ones as whole ones in the background, so
 * that chains stay short without a full checkpoint.
 *
 * After a commit the newest generation is merged if it needs as many earlier ones as merge_after
 * allows, or if the next one could not stand on it. One worker at a time does that, at the
 * lowest priority, copying at most merge_limit bytes a second. A checkpoint, restart or removal
 * of the job (job_events.h) ends the worker; the generation then stays as it was, the next
 * commit tries again, and a request that waits is answered with -EINTR.
 */
#ifndef STILLPOINT_MERGER_H
#define STILLPOINT_MERGER_H

#include <jansson.h>
#include <stdint.h>

#include "supervisor/control/request.h"
#include "base/log.h"

struct flusher;
struct job;
struct jobs;
struct merger;

/* @flusher: learns what was merged; must outlive the merger's runs */
int merger_open(struct jobs *jobs, struct flusher *flusher, struct merger **ret_merger);
void merger_close(struct merger *merger);	/* NULL is fine */

/* Merge @generation, then answer @request; @dry_run: only tell what there is to merge. */
void merger_merge(struct merger *merger, struct request *request, const struct job *job,
		  int64_t generation, bool dry_run);

/* Log that a generation was merged; for the merger and for the flusher. */
void merger_log(const struct log *log, int64_t job, int64_t generation, int64_t bytes,
		int64_t took_ns);

#endif /* STILLPOINT_MERGER_H */
