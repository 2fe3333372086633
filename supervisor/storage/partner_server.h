/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The partner server keeps images of other nodes in this node's store. This header also has
 * the way to the copies that other nodes keep for this one.
 *
 * Asking: ckptd asks for a ticket over the control connection and hands it to a worker,
 * which opens a level with it (levels/partner.h):
 *
 *	err = partner_ticket_ask(daemon, "n2", NULL, false, on_ticket, arg);
 *	on_ticket:  worker_start(…) with a copy of the ticket in its argument
 *	in the worker:  level_partner_open(&(struct level_partner_options){
 *				.ticket = &ticket, .key = key }, &level, &error)
 *
 * A ticket is good for one connection, which must be made within PARTNER_TICKET_MS; the
 * connection may be used for any number of operations, one after the other. An owner's
 * images have at most one connection that writes (-EBUSY), and any number that read.
 *
 * Serving: `store = DIR` of ckptd.conf; each owner has DIR/NODE/, a level of
 * levels/posix.h. If the owner is this node itself, the images of its image directory can
 * be read; nodes that rebuild an image of their group need them (level_config_group.h).
 * Everything received is known to be from a node of the hosts file: the keys of the control
 * connection identify the node that asks for a ticket, and the ticket's token identifies
 * the connection.
 * The verb between nodes (peer_ask.h):
 *
 *	store	{"version": PARTNER_VERSION, "owner": NAME, "read_only": B, "plain": B}
 *		{"port": P, "id": HEX, "token": HEX, "read_only": B, "plain": B}
 */
#ifndef STILLPOINT_PARTNER_SERVER_H
#define STILLPOINT_PARTNER_SERVER_H

#include <jansson.h>

#include "levels/partner.h"
#include "supervisor/storage/common.h"

#define PARTNER_SESSIONS_MAX	8	/* connections served at a time, and open tickets */
#define PARTNER_NODE_MAX		4	/* the same, of one node */

struct partner_server;

/* Without `store` nothing listens, and nodes that ask are told so. -ENOMEM. */
int partner_server_open(struct common *common, struct partner_server **ret_store);
/* NULL is fine; ends all sessions */
void partner_server_close(struct partner_server *store);

/*
 * partner_ticket_ask() - ask @node for a ticket
 * @node: a node of the hosts file; not this one (-EINVAL)
 * @owner: whose images; NULL: this node's. Those of others can only be read
 * @read_only: a reader is not in the way of a writer
 * @fn: called once, later, if this returns 0; gets either @ticket, which lives until @fn
 *	returns, or @outcome, which tells why not (outcome.h; @fn takes it over)
 *
 * -ENOENT: no such node in the hosts file, or no hosts file; or as peer_ask().
 */
typedef void (*partner_ticket_fn)(const struct partner_ticket *ticket, json_t *outcome,
				void *arg);
int partner_ticket_ask(struct common *common, const char *node, const char *owner, bool read_only,
	      partner_ticket_fn fn, void *arg);

/*
 * partner_of_owner() - the node that is to keep the copies of @owner (partner_choose())
 * @ret_name: lives as long as the daemon
 *
 * -ERANGE: there is no other node; -ENOMEM.
 */
int partner_of_owner(struct common *common, const char *owner, const char **ret_name);

#endif /* STILLPOINT_PARTNER_SERVER_H */
