/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control socket: its connections, and the requests and answers on them. ctl_options.find()
 * gives the function for the verb of a request; the function sees the request through request.h.
 *
 * In one turn of the event loop, after all other sources, each user gets one connection served: one
 * read, and the request that is complete by it. So a user who sends without end delays others by
 * the time of one request, whose size is bounded (request_head.h).
 */
#ifndef STILLPOINT_CTL_H
#define STILLPOINT_CTL_H

#include "base/log.h"
#include "base/reactor.h"
#include "supervisor/control/request.h"

struct ctl;

struct ctl_options {
	struct reactor *reactor;
	const struct log *log;
	const char *socket;		/* path; a dead ckptd's socket there is removed */
	unsigned int idle_timeout_ms;	/* close a connection without a request; 0: never */
	/* lists of access.h; NULL: nobody by this list, both NULL: everybody */
	const char *allow_users, *allow_groups;
	const char *socket_group;	/* NULL: ckptd's own */
	mode_t socket_mode;
	/* passed to requests; ctl.c does not use them */
	struct common *common;
	struct jobs *jobs;
	struct services *services;
	struct launch_link *launch;
	/* NULL: there is no such verb. Sets *@ret_max if its requests may be bigger than usual */
	request_fn (*find)(const char *verb, size_t *ret_max);
};

/* Open the socket. @options is copied; all it points to must outlive @ret_ctl. Logs errors. */
int ctl_open(const struct ctl_options *options, struct ctl **ret_ctl);
void ctl_close(struct ctl *ctl);	/* NULL is fine */

#endif /* STILLPOINT_CTL_H */
