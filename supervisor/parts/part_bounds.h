/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bounds of what another node's ckptd may give a job's processes on this node. A node without
 * root=yes in the hosts file can act as a user who may be here, and as nobody else: the record and
 * the restart that it sends give no right that this node does not know the user to have.
 *
 * This file decides; it reads no process and no file.
 */
#ifndef STILLPOINT_PART_BOUNDS_H
#define STILLPOINT_PART_BOUNDS_H

#include <jansson.h>
#include <stddef.h>

#define PART_BOUNDS_TOLD	512

/**
 * part_bounds_lower() - lower a job's record and its restart to what a user may have here
 * @record: the job's record, JSON as sent; limits and sched change in place. A record without
 *	limits gets those of @bounds
 * @how: of a restart (job_restore.h); the limits of its "asker" change in place. Without an asker,
 *	because root asked on the other node, it gets @bounds as asker. NULL: no restart
 * @bounds: an asker (op_asker.h): uid, gid and groups of the record, and limits, sched and
 *	oom_score_adj that a process of the user may have here
 * @ret_told: of PART_BOUNDS_TOLD bytes: names of the values of @record that were lowered, for
 *	people; "": none. A restore tells by itself of the values of the image
 *
 * Values are lowered as asker_lower() does; CPU and NUMA masks stay.
 *
 * Return: NULL, or an outcome: fields are damaged, or the asker is not the job's owner.
 */
json_t *part_bounds_lower(json_t *record, json_t *how, json_t *bounds, char *ret_told);

#endif /* STILLPOINT_PART_BOUNDS_H */
