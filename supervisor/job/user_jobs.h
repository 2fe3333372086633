/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The live jobs of one user on this node, and their limit: user_max_jobs of ckptd.conf(5). Parts
 * of jobs of other nodes count. Root has no limit.
 */
#ifndef STILLPOINT_USER_JOBS_H
#define STILLPOINT_USER_JOBS_H

#include <jansson.h>
#include <stdint.h>

struct config;
struct jobs;

/*
 * May a user with @live live jobs have one more? Pure. NULL: yes; else an outcome (-EDQUOT) that
 * names the setting, the present figure and what to do.
 */
json_t *user_jobs_check(const struct config *config, uint64_t live);

/* The same for the owner of @record, whose job @id, from another node, does not count. */
json_t *user_jobs_check_part(struct jobs *jobs, const json_t *record, int64_t id);

#endif /* STILLPOINT_USER_JOBS_H */
