/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waiting until the MPI ranks of a job that was restored run again: each has loaded its
 * library, connected to the others, and made its objects anew.  That has five minutes, from when no
 * node reads memory any more; reading has as long as it takes.
 */
#ifndef STILLPOINT_RANKS_UP_H
#define STILLPOINT_RANKS_UP_H

#include "supervisor/job/jobs.h"

/* 0: @done will be called; 1: there is nothing to wait for; negative errno. */
int ranks_up_wait(struct job *job, ranks_up_fn done, void *arg);

#endif /* STILLPOINT_RANKS_UP_H */
