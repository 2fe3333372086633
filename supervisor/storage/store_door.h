/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a store (store.h) listens: connections are accepted and held until they have said
 * hello (levels/partner_wire.h), or have taken too long.  What a hello is worth is not judged here.
 */
#ifndef STILLPOINT_STORE_DOOR_H
#define STILLPOINT_STORE_DOOR_H

#include "levels/partner_wire.h"
#include "supervisor/daemon.h"

struct store_door;

/* @fd is @fn's: non-blocking, and nobody else listens to it. */
typedef void (*store_door_fn)(const struct partner_hello *hello, int fd, void *arg);

/* At `listen` and `store_port` of ckptd.conf.  -EADDRINUSE and what else listening can say; -ENOMEM. */
int store_door_open(struct daemon *daemon, store_door_fn fn, void *arg,
		    struct store_door **ret_door);
void store_door_close(struct store_door *door);		/* NULL is fine */

uint16_t store_door_port(const struct store_door *door);

#endif /* STILLPOINT_STORE_DOOR_H */
