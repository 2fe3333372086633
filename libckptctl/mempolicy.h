/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The NUMA policy of the calling thread, for a request that starts a job: the kernel tells it to
 * nobody else.
 */
#ifndef STILLPOINT_MEMPOLICY_H
#define STILLPOINT_MEMPOLICY_H

#include <jansson.h>

/*
 * Set "mempolicy" of @args to {"mode": number of the kernel, "nodes": [numbers]}, if the thread
 * has a policy.
 */
void mempolicy_add(json_t *args);

#endif /* STILLPOINT_MEMPOLICY_H */
