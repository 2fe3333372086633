/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Namespaces that a job has from its caller (supervisor/control/confines.h) and that a dump of it
 * has to be in: the engine refuses a tree whose namespaces are not its own.
 */
#ifndef STILLPOINT_JOB_NAMESPACES_H
#define STILLPOINT_JOB_NAMESPACES_H

#include "supervisor/job/jobs.h"

/*
 * job_namespaces_enter() - enter the job's network, UTS and cgroup namespace
 *
 * Call in a worker, before it makes threads. Return: NULL, or an outcome.
 */
json_t *job_namespaces_enter(const struct job *job);

#endif /* STILLPOINT_JOB_NAMESPACES_H */
