/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers of processes on this node: taken ones, and whether the processes that
 * have them are those of the image.
 */
#ifndef STILLPOINT_RESTORE_NUMBERS_H
#define STILLPOINT_RESTORE_NUMBERS_H

#include "base/error.h"
#include "engine/core/plan.h"

/* Is a number of the plan in use in our PID namespace? *ret_pid: the first, or NULL. */
bool numbers_taken(const struct plan *plan, pid_t *ret_pid);
/* PID_TAKEN for each; returns -EOPNOTSUPP. */
int numbers_refuse(const struct plan *plan, struct ckpt_error *error);
/* RUNNING if the tree itself still runs; an error if a number is too large here. */
int numbers_check(const struct state *state, const struct plan *plan,
		  struct ckpt_error *error);

#endif /* STILLPOINT_RESTORE_NUMBERS_H */
