/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signs of life on a connection to a client that waits: while the serving thread waits for a
 * disk, another thread sends PARTNER_ALIVE in its place (partner_wire.h).
 *
 * Between partner_alive_begin() and partner_alive_end() the connection is that thread's, and
 * nothing else may be sent; before and after that the thread leaves it alone.
 */
#ifndef STILLPOINT_LEVELS_PARTNER_ALIVE_H
#define STILLPOINT_LEVELS_PARTNER_ALIVE_H

#include <pthread.h>

#include "levels/partner_link.h"

struct partner_alive {
	struct partner_link *link;
	pthread_t thread;
	bool running;			/* @thread is */
	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t wake;
	bool stop, busy;
	int64_t since_ms;		/* busy */
};

/* @link: its idle_ms is that of the client.  Without a thread the client hears nothing. */
void partner_alive_start(struct partner_alive *alive, struct partner_link *link);
void partner_alive_stop(struct partner_alive *alive);	/* after which @link may go */

void partner_alive_begin(struct partner_alive *alive);
void partner_alive_end(struct partner_alive *alive);	/* without a begin, too */

#endif /* STILLPOINT_LEVELS_PARTNER_ALIVE_H */
