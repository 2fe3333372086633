/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control socket: connections, requests, answers.
 *
 * A request is answered exactly once, now or later. Its connection may be gone by then;
 * code that works on the request need not know.
 */
#ifndef STILLPOINT_CTL_H
#define STILLPOINT_CTL_H

#include "base/log.h"
#include "base/reactor.h"
#include "supervisor/control/request.h"

struct ctl;

struct request {
	struct daemon *daemon;
	struct ctl_connection *connection;	/* NULL: the client is gone */
	const char *verb;
	json_t *args;
	pid_t pid;		/* of the caller, as of connect(2) */
	uid_t uid;
	gid_t gid;
	int64_t came_ms;	/* CLOCK_MONOTONIC */
	int fds[WIRE_FDS_MAX];	/* sent with the request, if it is root's; -1 where taken */
	unsigned int nr_fds;
	struct request *next, **link;	/* list of requests under way, owned by ctl.c */
};

/* @options is copied; what it points to outlives @ret_ctl. What goes wrong is logged. */
int ctl_open(const struct ctl_options *options, struct ctl **ret_ctl);
void ctl_close(struct ctl *ctl);	/* NULL is fine */

/* Ends the request: takes over @request, @outcome and @fd (-1: none). */
void request_answer(struct request *request, json_t *outcome);
void request_answer_fd(struct request *request, json_t *outcome, int fd);
/* Dropped if the client is slow. @progress stays the caller's. */
void request_progress(struct request *request, json_t *progress);
/* True if the client is gone: waiting on its behalf can stop. */
bool request_abandoned(const struct request *request);
/* Call @fn when the client goes away before the answer; @fn NULL: do not. */
void request_on_abandon(struct request *request,
			void (*fn)(struct request *request, void *arg), void *arg);

/* The caller's supplementary groups; -1 or their number (at most @max). */
int request_groups(const struct request *request, gid_t *groups, int max);

#endif /* STILLPOINT_CTL_H */
