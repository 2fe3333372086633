/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scheduling of a process: policy, nice value, I/O priority, CPUs and NUMA policy, as a child
 * takes them over from its parent.
 *
 * As JSON: {"policy", "priority", "nice", "ioprio": numbers of the kernel, "cpus": "0-3,8",
 * "mempolicy": {"mode": number, "nodes": [numbers]}}; "cpus" and "mempolicy" may be missing.
 */
#ifndef STILLPOINT_SCHEDULING_H
#define STILLPOINT_SCHEDULING_H

#include <jansson.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * scheduling_of() - read what a child of a process would take over, but for the NUMA policy
 * @pid: a process, whose main thread counts; the caller makes sure that the number is still its
 *
 * A realtime policy, or a negative nice value, that is not for children (SCHED_RESET_ON_FORK) is
 * left out. SCHED_DEADLINE never is for children.
 *
 * Return: 0 or negative errno; -ESRCH: there is no such process.
 */
int scheduling_of(pid_t pid, json_t **ret_json);

/* Check a NUMA policy from outside, as in the comment above: 0 or -EINVAL. */
int scheduling_check_mempolicy(const json_t *mempolicy);

/*
 * scheduling_set() - set the scheduling of this process, which must have one thread only
 * @json: "cpus" that this process may use already are not set again, so that a restart on a larger
 *	node is not bound to them
 * @ret_what: on failure, what could not be set; @size of 256 is enough
 *
 * Call after setsid(): the nice value is that of the session's group as well (priority.h). Needs
 * the rights to all of it, and gives none that the kernel would not give this process.
 *
 * Return: 0 or negative errno.
 */
int scheduling_set(const json_t *json, struct ckpt_error *error);

#endif /* STILLPOINT_SCHEDULING_H */
