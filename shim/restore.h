/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In init: restores the job's processes on this node from their images.
 *
 * Usually there is one image, of this node or of another one whose ranks are to run here.
 * If the job gets another number of nodes there are several images, and some ranks of each
 * are restored; they become one tree, in one PID namespace. Their pids do not collide, because
 * the nodes of a job give their processes different numbers from the start (restore_spread()).
 */
#ifndef STILLPOINT_SHIM_RESTORE_H
#define STILLPOINT_SHIM_RESTORE_H

#include "shim/shim.h"
#include "engine/core/engine.h"

/* Move this node's pids to their own range. Call before a new job's first process. */
void restore_spread(const struct shim *shim);

/*
 * restore_images() - restore all images that spec.restore names
 * @held: as in struct restore_options, when all images are ready; or NULL
 * @arg: of @progress and @held
 * @ret_main: the main process, or the first
 *
 * Return: the outcome of op_restore(), with sums over all images. After a failure the processes
 * that were restored before it stay, and end with the caller.
 */
json_t *restore_images(const struct shim *shim, engine_progress_fn progress,
		       engine_held_fn held, void *arg, pid_t *ret_main);

#endif /* STILLPOINT_SHIM_RESTORE_H */
