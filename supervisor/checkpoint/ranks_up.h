/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waits until the MPI ranks of a restored job run again: each rank has loaded its library,
 * connected to the others, and made its objects anew.  The ranks have five minutes for that,
 * counted from when no node reads memory any more; reading memory has no limit.
 */
#ifndef STILLPOINT_RANKS_UP_H
#define STILLPOINT_RANKS_UP_H

#include "supervisor/job/jobs.h"

/* Return: 0: @done will be called; 1: there is nothing to wait for; or negative errno. */
int ranks_up_wait(struct job *job, ranks_up_fn done, void *arg);

#endif /* STILLPOINT_RANKS_UP_H */
