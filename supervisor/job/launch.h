/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starting a shim for a job: ckptd's side of shim/main.c.
 */
#ifndef STILLPOINT_LAUNCH_H
#define STILLPOINT_LAUNCH_H

#include "supervisor/control/channel.h"
#include "supervisor/job/jobs.h"

/*
 * launch_spec() - what a shim is told, from the job's record
 * @restore: arguments of op_restore(), taken over; NULL: run the command
 *
 * A new reference; NULL without memory.
 */
json_t *launch_spec(const struct job *job, json_t *restore);

/*
 * launch_start() - start the shim
 * @attach: the shim's end of a terminal's connection, taken over; -1: none
 * @ops: progress and the outcome, after which the job runs or nothing is left
 */
int launch_start(struct job *job, const json_t *spec, int attach,
		 const struct channel_ops *ops, void *arg,
		 struct channel **ret_channel);

#endif /* STILLPOINT_LAUNCH_H */
