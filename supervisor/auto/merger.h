/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Generations that stand on earlier ones are made whole in the background, so that chains stay
 * short without a full checkpoint.
 *
 * After a commit the newest one is, if it needs as many earlier ones as merge_after says, or if
 * the next one could not stand on it.  One worker at a time does that, with the last priority
 * and a limit; a checkpoint, restart or removal of the job ends it, at no loss: the generation is
 * what it was.  It is tried again after the next commit.
 */
#ifndef STILLPOINT_MERGER_H
#define STILLPOINT_MERGER_H

#include <jansson.h>
#include <stdint.h>

#include "supervisor/control/request.h"
#include "base/log.h"

struct job;
struct merger;

int merger_open(struct daemon *daemon, struct merger **ret_merger);
void merger_close(struct merger *merger);	/* NULL is fine */

/*
 * Its images are wanted, or the disk: nothing of it is merged any more; @wait: as
 * worker_abort().
 */
void merger_stop(struct merger *merger, int64_t job, bool wait);	/* NULL is fine */

/* Merge this generation, and answer @request; @dry_run: say what there is to merge. */
void merger_merge(struct merger *merger, struct request *request, const struct job *job,
		  int64_t generation, bool dry_run);

/* What is said of one that is merged, whoever did it. */
void merger_log(const struct log *log, int64_t job, int64_t generation, int64_t bytes,
		int64_t took_ns);

#endif /* STILLPOINT_MERGER_H */
