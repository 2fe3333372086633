/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Images of other nodes that this one keeps (its store), and the way to those that others
 * keep for this one.
 *
 * Asking: a ticket is asked for over the control connection and handed to a worker, which
 * opens a level with it (levels/partner.h):
 *
 *	err = partner_ticket_ask(daemon, "n2", NULL, false, on_ticket, arg);
 *	on_ticket:  worker_start(…) with a copy of the ticket in its argument
 *	in the worker:  level_partner_open(&(struct level_partner_options){
 *				.ticket = &ticket, .key = key }, &level, &error)
 *
 * A ticket is good for one connection, which must be made within PARTNER_TICKET_MS; it may
 * be used for any number of operations, one after the other.  An owner's images have one
 * connection that writes at a time (-EBUSY), and any number that read.
 *
 * Serving: `store = DIR` of ckptd.conf; each owner has DIR/NODE/, a level of levels/posix.h.
 * With this node itself as the owner it is the images in its image directory that can be got, for those
 * who rebuild one of their group's (level_config_group.h).
 * What came in is known to be from a node of the hosts file: who asks for a ticket by
 * the keys of the control connection, who connects by having what was said there.  The
 * verb between nodes (peer_ask.h):
 *
 *	store	{"version": PARTNER_VERSION, "owner": NAME, "read_only": B, "plain": B}
 *		{"port": P, "id": HEX, "token": HEX, "read_only": B, "plain": B}
 */
#ifndef STILLPOINT_PARTNER_SERVER_H
#define STILLPOINT_PARTNER_SERVER_H

#include <jansson.h>

#include "levels/partner.h"
#include "supervisor/daemon.h"

#define PARTNER_SESSIONS_MAX	8	/* connections served at a time, and tickets for more */
#define PARTNER_NODE_MAX		4	/* of them, of one node */

struct partner_server;

/* Without `store` nothing listens and who asks is told so.  -ENOMEM. */
int partner_server_open(struct daemon *daemon, struct partner_server **ret_store);
void partner_server_close(struct partner_server *store);	/* NULL is fine; ends what is being served */

/*
 * partner_ticket_ask() - ask @node for a ticket
 * @node: of the hosts file; not this one (-EINVAL)
 * @owner: whose images; NULL: this node's.  Those of others can only be read
 * @read_only: with it nobody else's writing is in the way
 * @fn: called once, later, if this returns 0; then either @ticket is there, which lives
 *	until it returns, or @outcome says why not (outcome.h; @fn takes it over)
 *
 * -ENOENT: no such node in the hosts file, or no hosts file; or as peer_ask().
 */
typedef void (*partner_ticket_fn)(const struct partner_ticket *ticket, json_t *outcome,
				void *arg);
int partner_ticket_ask(struct daemon *daemon, const char *node, const char *owner, bool read_only,
	      partner_ticket_fn fn, void *arg);

/*
 * partner_of_owner() - on which node those of @owner are to be kept (partner_choose())
 * @ret_name: lives as long as the daemon
 *
 * -ERANGE: there is no other node; -ENOMEM.
 */
int partner_of_owner(struct daemon *daemon, const char *owner, const char **ret_name);

#endif /* STILLPOINT_PARTNER_SERVER_H */
