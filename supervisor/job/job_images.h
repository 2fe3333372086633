/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The images that a node's part of a job is restored from.
 *
 * Usually there is one image. If the job is restarted on more or fewer nodes, a node takes some
 * ranks of one or of several images.
 */
#ifndef STILLPOINT_JOB_IMAGES_H
#define STILLPOINT_JOB_IMAGES_H

#include <jansson.h>

#include "supervisor/job/jobs.h"
#include "engine/op/op.h"

/*
 * job_images() - find the images and read their manifests; call in a worker
 * @node: index of this node among the job's nodes, by its record; 0 for a job on one node
 * @args: as of op_restore(), without a directory
 *
 * Return: an outcome. Its result is {"images": [@args with a directory, and with roots and others
 * where only a part of the image is taken, ...], "note": {"main_pid", "pids" (of this node's
 * ranks, in order), "failed" (if a rank had failed), "out", "err" (lengths of the node's logs),
 * "logs" (at home only: lengths of the logs of nodes that the job does not have any more)}}
 */
json_t *job_images(const struct job *job, unsigned int node, const json_t *args,
		   const struct op_env *env);

#endif /* STILLPOINT_JOB_IMAGES_H */
