/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Start of a shim for a job: ckptd's side of shim/main.c. The shim outlives ckptd. Call in
 * ckptd's event loop.
 */
#ifndef STILLPOINT_LAUNCH_H
#define STILLPOINT_LAUNCH_H

#include "supervisor/control/channel.h"
#include "supervisor/control/confines.h"
#include "supervisor/job/jobs.h"

/*
 * launch_spec() - make the specification for a shim (shim/spec.h) from the job's record
 * @restore: arguments of op_restore(), taken over; NULL: run the command
 *
 * Return: a new reference; NULL: no memory.
 */
json_t *launch_spec(const struct job *job, json_t *restore);

/*
 * launch_start() - start the shim
 * @spec: of launch_spec(); gets what the shim itself takes from @confines
 * @attach: the shim's end of a terminal's connection, taken over; -1: none
 * @confines: where the shim and the job stand; NULL: where the launcher stands, as nobody
 *	of this node asked, and no batch step of the owner is here. Needed only during the call.
 * @ops: gets progress, then the outcome: the job runs, or nothing of it is left
 */
int launch_start(struct job *job, json_t *spec, int attach,
		 const struct confines *confines, const struct channel_ops *ops, void *arg,
		 struct channel **ret_channel);

/* Why launch_start() returned @err, for people. */
const char *launch_strerror(int err);

#endif /* STILLPOINT_LAUNCH_H */
