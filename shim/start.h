/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starting a job's main process, or one of its ranks.
 *
 * Called by init only, as root, after the namespaces and the standard streams were made.
 */
#ifndef STILLPOINT_SHIM_START_H
#define STILLPOINT_SHIM_START_H

#include <jansson.h>

#include "shim/shim.h"

/*
 * Fork, become the owner, exec.  The outcome is ok once the command's program
 * has been found and loaded; *ret_pid is then its pid.
 *
 * @index: which of the ranks; -1: the main process of a job without
 * @env: strings NAME=VALUE for this process alone; may be NULL
 */
json_t *start_process(const struct shim *shim, int index, const json_t *env,
		      pid_t *ret_pid);

#endif /* STILLPOINT_SHIM_START_H */
