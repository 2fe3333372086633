/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An image of a vote has its program waiting at the end of a section, for a vote that is over. So
 * whoever restarts or rolls back a job tells its processes to go on.
 */
#ifndef STILLPOINT_VOTE_RELEASE_H
#define STILLPOINT_VOTE_RELEASE_H

#include <stdint.h>
#include <sys/types.h>

struct common;

/* Begin to tell all processes below @init, in a worker; a failure is logged. */
void vote_release(struct common *common, int64_t job, pid_t init);

#endif /* STILLPOINT_VOTE_RELEASE_H */
