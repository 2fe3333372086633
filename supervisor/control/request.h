/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request of ckptd's control socket, for those who answer it.
 *
 * A request is answered exactly once, now or later.  Its connection may be
 * gone by then; whoever works for the request neither knows nor cares.
 * ctl.c makes requests and implements these functions.
 */
#ifndef STILLPOINT_REQUEST_H
#define STILLPOINT_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libckptctl/wire.h"

struct ctl_connection;
struct daemon;

struct request {
	struct daemon *daemon;
	struct ctl_connection *connection;	/* NULL: gone */
	const char *verb;
	json_t *args;
	pid_t pid;		/* of the caller, as of connect(2) */
	uid_t uid;
	gid_t gid;
	int64_t came_ms;	/* CLOCK_MONOTONIC */
	int fds[WIRE_FDS_MAX];	/* that came with it, if it is root's; -1 where taken */
	unsigned int nr_fds;
	struct request *next, **link;	/* of those under way: ctl.c's */
};

/* Answers the request, or sees to it that it will be answered. */
typedef void (*request_fn)(struct request *request);

/* Ends the request: both references are taken over. @fd -1: none; else taken over. */
void request_answer(struct request *request, json_t *outcome);
void request_answer_fd(struct request *request, json_t *outcome, int fd);
/* Dropped if the client is slow.  @progress stays the caller's. */
void request_progress(struct request *request, json_t *progress);
/* Has the client gone? Waiting for it can stop. */
bool request_abandoned(const struct request *request);
/* Call @fn when the client goes away before the answer; NULL: do not. */
void request_on_abandon(struct request *request,
			void (*fn)(struct request *request, void *arg), void *arg);

/* The caller's supplementary groups; -1 or their number (at most @max). */
int request_groups(const struct request *request, gid_t *groups, int max);

#endif /* STILLPOINT_REQUEST_H */
