/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes a TCP connection to a partner; may wait CONNECT_MS for each of the partner's addresses.
 */
#ifndef STILLPOINT_LEVELS_PARTNER_CONNECT_H
#define STILLPOINT_LEVELS_PARTNER_CONNECT_H

#include "base/error.h"
#include "levels/partner.h"

/*
 * Connect to the ticket's address.
 * @idle_ms: limits the wait if it is less than CONNECT_MS; 0: no limit
 *
 * Return: descriptor, or an error of level_partner_open()
 */
int partner_connect(const struct partner_ticket *ticket, unsigned int idle_ms,
		    bool (*cancelled)(void *arg), void *arg, struct ckpt_error *error);

/* Set the options of both sides' sockets, which detect a node that is switched off. */
void partner_socket_options(int fd);

#endif /* STILLPOINT_LEVELS_PARTNER_CONNECT_H */
