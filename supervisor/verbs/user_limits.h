/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits of one user: how much of the node's ckptd, and of the image directory, he may take up.
 *
 * The limits are the settings user_max_jobs, user_max_records, user_max_size, user_reserve and
 * user_min_interval (config.h). They hold for requests; root is exempt.
 */
#ifndef STILLPOINT_USER_LIMITS_H
#define STILLPOINT_USER_LIMITS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/control/request.h"
#include "supervisor/job/user_size.h"

struct config;

/* Acts of a user that limits may refuse. */
enum user_act {
	USER_RUNS,		/* makes a live job and a record */
	USER_RESTARTS,		/* makes a live job */
	USER_CHECKPOINTS,	/* makes an image */
};

/*
 * struct user_figures - what a user takes up now
 * @jobs: live jobs on this node
 * @since_ms: since he last asked for a checkpoint of a job that lives here; -1: never
 * @records: recorded jobs in the image directory
 * @room: disk of these jobs, and what is free
 */
struct user_figures {
	uint64_t jobs;
	int64_t since_ms;
	uint64_t records;
	struct user_room room;
};

/*
 * user_limits_check() - check the limits that are known in the event loop: jobs and interval
 *
 * Pure. NULL, or an outcome (-EDQUOT, -EAGAIN for the interval) that names the setting, the present
 * figure and what to do.
 */
json_t *user_limits_check(const struct config *config, enum user_act act,
			  const struct user_figures *figures);
/* The same of the limits whose figures are on disk: records and bytes. */
json_t *user_limits_check_disk(const struct config *config, enum user_act act,
			       const struct user_figures *figures);
/* True if user_limits_check_disk() needs figures to decide. */
bool user_limits_need_disk(const struct config *config, enum user_act act);

/*
 * user_limits_pass() - call @go, now or later, if the caller of @request may do @act; else answer
 *	@request
 *
 * If figures on disk are needed, a worker counts them. @go is not called for a request that was
 * abandoned meanwhile.
 */
void user_limits_pass(struct request *request, enum user_act act, request_fn go);

#endif /* STILLPOINT_USER_LIMITS_H */
