/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The disk that the jobs of one user take in the image directory, and its limits: user_max_size and
 * user_reserve of ckptd.conf(5). Root has none.
 *
 * The reserve is a part of the file system, in percent. When less is free, a user gets nothing more
 * whose jobs take more than what is free. So one user cannot fill the file system, and others still
 * have as much room as is free.
 *
 * Counting looks at every file of the user's jobs, so it is for a worker.
 */
#ifndef STILLPOINT_USER_SIZE_H
#define STILLPOINT_USER_SIZE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct channel_ops;
struct config;
struct job;
struct jobs;
struct worker;

/**
 * struct user_room - what decides about the room of one user
 * @bytes: allocated in the directories of the user's jobs
 * @free: bytes of the image directory's file system that are free
 * @total: all bytes of that file system; 0: not known
 */
struct user_room {
	uint64_t bytes, free, total;
};

/* True if any limit of a user's disk is set. */
bool user_size_is_limited(const struct config *config);
/* Set @room's free and total, in a worker; not if the file system does not tell. */
void user_size_free(const struct config *config, struct user_room *room);
/* True if user_size_check() depends on room->bytes, as the rest of @room is. */
bool user_size_counts(const struct config *config, const struct user_room *room);

/* The bytes that are allocated in the directory of @job and below; in a worker. */
uint64_t user_size_of(const struct job *job);

/*
 * Is there room for a user with @room? Pure. NULL: yes, or there is no limit; else
 * an outcome (-EDQUOT) that names the setting, the present figure and what to do.
 */
json_t *user_size_check(const struct config *config, const struct user_room *room);

/*
 * user_size_start() - count the bytes of user @uid in a worker, and check them
 * @ops: gets the outcome: there is room, or that of user_size_check()
 */
int user_size_start(struct jobs *jobs, uid_t uid, const struct channel_ops *ops, void *arg,
		    struct worker **ret_worker);

#endif /* STILLPOINT_USER_SIZE_H */
