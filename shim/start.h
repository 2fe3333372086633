/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starting a job's main process.
 */
#ifndef STILLPOINT_SHIM_START_H
#define STILLPOINT_SHIM_START_H

#include <jansson.h>

#include "shim/shim.h"

/*
 * Fork, become the owner, exec.  The outcome is ok once the command's program
 * has been found and loaded; *ret_main is then its pid.
 */
json_t *start_job(const struct shim *shim, pid_t *ret_main);

#endif /* STILLPOINT_SHIM_START_H */
