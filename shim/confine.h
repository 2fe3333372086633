/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of what confines a job's owner that the shim cannot take on itself, as it needs its
 * own rights and keys until the job runs: supervisor/control/confines.h has the rest.
 */
#ifndef STILLPOINT_SHIM_CONFINE_H
#define STILLPOINT_SHIM_CONFINE_H

#include "shim/spec.h"

/*
 * confine_self() - take from this process, and so from its children, what the owner has not
 * @spec: struct shim_spec *
 *
 * Drops capabilities from the bounding set that the caller's set has not, and leaves the session
 * keyring of ckptd for a new one: the job must not read keys of root. Call as root. As of
 * op_env.enter. Return: 0 or negative errno.
 */
int confine_self(void *spec);

/* Have the next execve(2) of this process put it under the owner's AppArmor profile, if any. */
int confine_next_exec(const struct shim_spec *spec);

#endif /* STILLPOINT_SHIM_CONFINE_H */
