/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connection to the launcher, which forks shims for ckptd (launch/launcher.h).
 *
 * With a socket the launcher is a service of its own. Without one it is a child of ckptd, made
 * before ckptd opens anything, and ends with it. One that has ended is started, or connected,
 * again; jobs do not notice.
 */
#ifndef STILLPOINT_LAUNCH_LINK_H
#define STILLPOINT_LAUNCH_LINK_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/log.h"

struct launch_link;
struct launch_order;
struct reactor;

/**
 * launch_link_open() - have a launcher; waits for it, for some seconds at most
 * @log: outlives the link
 * @socket: of ckpt-launch; NULL: fork a launcher
 * @shim: path of ckpt-shim, for a launcher that is forked
 *
 * A launcher that does not answer is no error: it is logged, and tried again.
 *
 * Return: 0 or negative errno.
 */
int launch_link_open(const struct log *log, const char *socket, const char *shim,
		     struct launch_link **ret_link);

/* From now on notice in the event loop if the launcher ends. */
void launch_link_watch(struct launch_link *link, struct reactor *reactor);

void launch_link_close(struct launch_link *link);	/* NULL is fine */

/*
 * The launcher's process, which stands where shims do that nothing confines. 0: there is none at
 * the moment.
 */
pid_t launch_link_pid(const struct launch_link *link);

/* The launcher is a service of its own: ckptd may be confined, and shims are not. */
bool launch_link_is_service(const struct launch_link *link);

/*
 * launch_link_send() - give an order; its descriptors stay the caller's
 *
 * Return: 0, or negative errno, and nothing was started: -ENOTCONN: there is no launcher; -EAGAIN:
 * it takes no orders.
 */
int launch_link_send(struct launch_link *link, const struct launch_order *order);

#endif /* STILLPOINT_LAUNCH_LINK_H */
