/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks of pids on this node: which numbers of a plan are taken, and whether the tree of
 * the image still runs.  These functions only look: a number that is free now may be taken
 * when the tree is created.
 */
#ifndef STILLPOINT_RESTORE_NUMBERS_H
#define STILLPOINT_RESTORE_NUMBERS_H

#include "base/error.h"
#include "engine/core/plan.h"

/* Is a number of the plan in use in our PID namespace? *ret_pid: the first; may be NULL. */
bool numbers_taken(const struct plan *plan, pid_t *ret_pid);
/* Add a PID_TAKEN refusal for each number that is in use; -EOPNOTSUPP. */
int numbers_refuse(const struct plan *plan, struct ckpt_error *error);
/* Refuse (RUNNING) if the tree itself still runs; -ERANGE if a number is too large here. */
int numbers_check(const struct state *state, const struct plan *plan,
		  struct ckpt_error *error);

#endif /* STILLPOINT_RESTORE_NUMBERS_H */
