/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A TCP connection to a partner; takes as long as CONNECT_MS of each of its addresses.
 */
#ifndef STILLPOINT_LEVELS_PARTNER_CONNECT_H
#define STILLPOINT_LEVELS_PARTNER_CONNECT_H

#include "base/error.h"
#include "levels/partner.h"

/* @idle_ms: if it is less; 0: no matter.  Return: descriptor, or as level_partner_open() */
int partner_connect(const struct partner_ticket *ticket, unsigned int idle_ms,
		    bool (*cancelled)(void *arg), void *arg, struct ckpt_error *error);

/* What both sides want of such a socket: a node that is switched off is found out. */
void partner_socket_options(int fd);

#endif /* STILLPOINT_LEVELS_PARTNER_CONNECT_H */
