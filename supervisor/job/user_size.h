/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The disk that the jobs of one user take in the image directory, and its limit: user_max_size of
 * ckptd.conf(5). Root has none.
 *
 * Counting looks at every file of the user's jobs, so it is for a worker.
 */
#ifndef STILLPOINT_USER_SIZE_H
#define STILLPOINT_USER_SIZE_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

struct channel_ops;
struct config;
struct job;
struct jobs;
struct worker;

/* The bytes that are allocated in the directory of @job and below; in a worker. */
uint64_t user_size_of(const struct job *job);

/*
 * Is there room for a user whose jobs take @bytes? Pure. NULL: yes, or there is no limit; else
 * an outcome (-EDQUOT) that names the setting, the present figure and what to do.
 */
json_t *user_size_check(const struct config *config, uint64_t bytes);

/*
 * user_size_start() - count the bytes of user @uid in a worker, and check them
 * @ops: gets the outcome: there is room, or that of user_size_check()
 */
int user_size_start(struct jobs *jobs, uid_t uid, const struct channel_ops *ops, void *arg,
		    struct worker **ret_worker);

#endif /* STILLPOINT_USER_SIZE_H */
