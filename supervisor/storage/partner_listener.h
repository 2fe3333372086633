/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a store (partner_server.h) listens: connections are accepted and held until they have said
 * hello (levels/partner_wire.h), or have taken too long.  What a hello is worth is not judged here.
 */
#ifndef STILLPOINT_PARTNER_LISTENER_H
#define STILLPOINT_PARTNER_LISTENER_H

#include "levels/partner_wire.h"
#include "supervisor/daemon.h"

struct partner_listener;

/* @fd is @fn's: non-blocking, and nobody else listens to it. */
typedef void (*partner_listener_fn)(const struct partner_hello *hello, int fd, void *arg);

/* At `listen` and `store_port` of ckptd.conf.  -EADDRINUSE and what else listening can say; -ENOMEM. */
int partner_listener_open(struct daemon *daemon, partner_listener_fn fn, void *arg,
		    struct partner_listener **ret_door);
void partner_listener_close(struct partner_listener *door);		/* NULL is fine */

uint16_t partner_listener_port(const struct partner_listener *door);

#endif /* STILLPOINT_PARTNER_LISTENER_H */
