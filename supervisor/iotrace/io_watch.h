/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which jobs' I/O is watched: those of the setting io_trace, and those for which somebody said so
 * (ckptctl io watch JOB on | off). Lives in the event loop of ckptd, starts the collector
 * (collect.h) when it is needed, and tells the collector the jobs.
 */
#ifndef STILLPOINT_IO_WATCH_H
#define STILLPOINT_IO_WATCH_H

#include <stdbool.h>

#include "supervisor/job/jobs.h"

struct io_watch;

int io_watch_open(struct jobs *jobs, struct io_watch **ret_watch);
/* The collector goes on, for the next ckptd. NULL is fine. */
void io_watch_close(struct io_watch *watch);

/*
 * io_watch_set() - watch @job, or do not, until the job ends here
 *
 * Answers @request when the collector has begun, with how it counts, or at once if @on is false.
 */
void io_watch_set(struct io_watch *watch, struct job *job, bool on, struct request *request);

#endif /* STILLPOINT_IO_WATCH_H */
