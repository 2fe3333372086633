/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The watch over this node's devices: measures each dump and each copy to a level, has workers
 * judge them (device_judge.h), asks other nodes where that is needed, and says in the log and to
 * the other nodes what changed. Lives in the event loop. Does nothing with degraded_devices = off.
 */
#ifndef STILLPOINT_DEVICE_WATCH_H
#define STILLPOINT_DEVICE_WATCH_H

#include <jansson.h>

#include "supervisor/job/jobs.h"

struct device_watch;

int device_watch_open(struct jobs *jobs, struct device_watch **ret_watch);
void device_watch_close(struct device_watch *watch);	/* NULL is fine */

/* An image was copied to @level. */
void device_watch_copied(struct device_watch *watch, int64_t job, int64_t generation,
			 const char *level, int64_t bytes, int64_t ns);

/* Forget the history of a level, and answer @request. */
void device_watch_forget(struct device_watch *watch, const char *level, struct request *request);

#endif /* STILLPOINT_DEVICE_WATCH_H */
