/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The calling process of a request: what a job that it starts takes over from it, as a child
 * would. All of it is read from the kernel; nothing that a client sends stands for it.
 */
#ifndef STILLPOINT_CALLER_H
#define STILLPOINT_CALLER_H

#include <jansson.h>

#include "supervisor/control/request.h"

/* The caller's supplementary groups, a new reference. */
json_t *caller_groups(const struct request *request);

/*
 * caller_add() - put the caller's resource limits and scheduling into the record of a new job
 * @mempolicy: the caller's NUMA policy as in base/scheduling.h, which the kernel tells only the
 *	process itself; NULL: none. It gives no right.
 *
 * Sets "limits" and "sched". If they cannot be read, a user's job is refused; root's gets ckptd's
 * and the log says so.
 *
 * Return: NULL, or an outcome.
 */
json_t *caller_add(const struct request *request, const json_t *mempolicy, json_t *record);

/*
 * caller_asker() - tell who asks for a restart: the bounds of what it may give (op_asker.h)
 * @ret_asker: a new reference; NULL: root, who has no bounds
 *
 * Return: NULL, or an outcome: a user's process that connected has ended, and nobody can tell any
 * more what it might do.
 */
json_t *caller_asker(const struct request *request, json_t **ret_asker);

#endif /* STILLPOINT_CALLER_H */
