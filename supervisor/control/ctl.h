/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control socket: who connects, what is read and written there. Requests go to the
 * function that find() of the options has for their verb; request.h is what that function sees.
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
	const char *socket;		/* path; an old socket there is removed */
	unsigned int idle_timeout_ms;	/* of a connection without a request; 0: none */
	struct daemon *daemon;		/* handed to requests, not looked at */
	request_fn (*find)(const char *verb);	/* NULL: there is no such verb */
};

/* @options is copied; what it points to outlives @ret_ctl. What goes wrong is logged. */
int ctl_open(const struct ctl_options *options, struct ctl **ret_ctl);
void ctl_close(struct ctl *ctl);	/* NULL is fine */

#endif /* STILLPOINT_CTL_H */
