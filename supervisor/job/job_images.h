/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The images that a node's part of a job is restored from.
 *
 * Usually that is one. Of a job whose nodes have become more or fewer, ranks come from one or
 * several, some of each.
 */
#ifndef STILLPOINT_JOB_IMAGES_H
#define STILLPOINT_JOB_IMAGES_H

#include <jansson.h>

#include "supervisor/job/jobs.h"
#include "engine/op/op.h"

/*
 * job_images() - find them and read their manifests; for a worker
 * @node: which of the job's nodes, by its record; 0 for a job of one
 * @args: as of op_restore(), without a directory
 *
 * {"images": [@args with directory, and roots and others where not all is taken, ...],
 *  "note": {"main_pid", "pids" (by index, of ranks), "failed" (if one had), "out", "err"
 *  (lengths of the node's logs), "logs" (at home: of nodes that the job does not have any
 *  more)}}
 */
json_t *job_images(const struct job *job, unsigned int node, const json_t *args,
		   const struct op_env *env);

#endif /* STILLPOINT_JOB_IMAGES_H */
