/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The socket on which a partner server (partner_server.h) listens. Connections are accepted
 * and held until they have said hello (levels/partner_wire.h) or have taken too long. The
 * listener does not judge a hello; its callback does.
 */
#ifndef STILLPOINT_PARTNER_LISTENER_H
#define STILLPOINT_PARTNER_LISTENER_H

#include <stdint.h>

#include "base/log.h"
#include "base/reactor.h"
#include "levels/partner_wire.h"

struct partner_listener;

/* @fd becomes @fn's: non-blocking, and in no reactor. */
typedef void (*partner_listener_fn)(const struct partner_hello *hello, int fd, void *arg);

struct partner_listener_options {
	struct reactor *reactor;
	const struct log *log;
	const char *listen;	/* `listen` and `store_port` of ckptd.conf */
	unsigned int port;
};

/*
 * @options is copied; what it points to outlives @ret_door.
 * Return: 0, -EADDRINUSE and other errors of listening, -ENOMEM.
 */
int partner_listener_open(const struct partner_listener_options *options, partner_listener_fn fn,
			  void *arg, struct partner_listener **ret_door);
void partner_listener_close(struct partner_listener *door);		/* NULL is fine */

uint16_t partner_listener_port(const struct partner_listener *door);

#endif /* STILLPOINT_PARTNER_LISTENER_H */
