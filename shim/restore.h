/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The job's processes on this node from their images, in init.
 *
 * Usually there is one image, that of this node or of another one whose ranks are to run here.
 * If the job is to have another count of nodes there are several, of which some ranks each
 * are taken; they become one tree, in one PID namespace. That goes well because the
 * nodes of a job give their processes different numbers from the start (restore_spread()).
 */
#ifndef STILLPOINT_SHIM_RESTORE_H
#define STILLPOINT_SHIM_RESTORE_H

#include "shim/shim.h"
#include "engine/core/engine.h"

/* Before the first process of a job that starts. */
void restore_spread(const struct shim *shim);

/*
 * restore_images() - all that spec.restore names
 * @ret_main: the main process, or the first
 *
 * The outcome of op_restore(), with sums for all. After a failure what was restored before is
 * left to the caller's end.
 */
json_t *restore_images(const struct shim *shim, engine_progress_fn progress, void *arg,
		       pid_t *ret_main);

#endif /* STILLPOINT_SHIM_RESTORE_H */
