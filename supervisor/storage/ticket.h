/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A worker's way to images that another node keeps (levels/partner.h): the worker asks its
 * ckptd over the control socket, as any client would, and ckptd asks the node. Only root
 * gets an answer.
 *
 *	ticket	{"node": NAME (optional: the one chosen for the owner), "owner": NAME,
 *		 "read_only": B}
 *		{"node", "address", "port", "owner", "read_only", "plain", "id": HEX, "token": HEX}
 *		{"dir": PATH}: this node keeps the images itself, in that directory
 */
#ifndef STILLPOINT_TICKET_H
#define STILLPOINT_TICKET_H

#include <stdbool.h>

#include "base/error.h"
#include "levels/partner.h"
#include "supervisor/control/request.h"

struct ticket_ask {
	const char *socket;
	const char *node;	/* NULL: the one chosen for the owner */
	const char *owner;
	bool read_only;
};

/* @ret_dir: the caller frees it; NULL if @ret_ticket was filled. */
int ticket_get(const struct ticket_ask *ask, struct partner_ticket *ret_ticket, char **ret_dir,
	       struct ckpt_error *error);

#endif /* STILLPOINT_TICKET_H */
