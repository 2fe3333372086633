/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A port of this machine for ranks that exist already: a rank connects and names a
 * token that only this rank was told; the connection is the rank's from then on.
 *
 * Everybody on the machine can connect, so a connection counts only if its other
 * end is a socket of the job's owner and its first line has a valid token.
 */
#ifndef STILLPOINT_SHIM_PM_PORT_H
#define STILLPOINT_SHIM_PM_PORT_H

#include <sys/types.h>

#include "base/reactor.h"

struct pm_port;

/* A rank has connected; the callee owns @fd. The first line has been read. */
typedef void (*pm_port_fn)(unsigned int index, int fd, void *arg);

int pm_port_open(struct reactor *reactor, unsigned int nr, uid_t uid, pm_port_fn fn,
		 void *arg, struct pm_port **ret_port);
void pm_port_close(struct pm_port *port);	/* NULL is fine */

unsigned int pm_port_number(const struct pm_port *port);
/* The token that the rank at @index must name; fits an int. */
unsigned int pm_port_token(const struct pm_port *port, unsigned int index);

#endif /* STILLPOINT_SHIM_PM_PORT_H */
