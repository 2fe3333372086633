/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A level whose images another node's ckptd keeps: its partner.
 *
 * One level is one connection, and one connection needs one ticket.  ckptd gets a ticket from
 * the partner over its control connection (supervisor/storage/partner_server.h:
 * partner_ticket_ask()), hands it to the worker that moves the data, and forgets it:
 *
 *	options.ticket = &ticket; options.key = key;
 *	level_partner_open(&options, &level, error);
 *	level_put(level, "12.gen-3", "/…/12/gen-3", &o, error);	level.h, as ever
 *	level_close(level);
 *
 * All of level.h holds, seen from here: a put has been read back and authenticated on
 * the partner's disk when it returns 0.  What a network adds:
 *
 *   - Every wait ends: after idle_ms in which nothing moved (and, while the partner reads
 *     an image back, a minute and a second for each MiB of it) with -ETIMEDOUT.
 *   - After -ETIMEDOUT, -ECONNRESET or -EPROTO the level is broken: all that follows is
 *     -ENOTCONN.  Take another ticket.  The partner removes uncommitted data.
 *   - A put that ended so after its last byte may have been committed all the same.  Repeat
 *     it to find out; that is harmless, as for every put.
 *
 * Beside the errors of level.h
 *   -EKEYREJECTED	the partner has another key of images (or did not give the ticket)
 *   -EAGAIN		the partner rejects the ticket, or cannot serve now: try a new ticket
 *   -EPROTONOSUPPORT	the partner speaks another version
 *   -EDQUOT		store_max of the partner is reached
 *   -EROFS		the ticket is for reading, and this would write
 *   -ECONNREFUSED, -EHOSTUNREACH, -ENETUNREACH	nothing answers at the address and port
 * Every text begins with the partner's name.
 *
 * Memory: 2 MiB.
 */
#ifndef STILLPOINT_LEVELS_PARTNER_H
#define STILLPOINT_LEVELS_PARTNER_H

#include "base/error.h"
#include "levels/groups.h"
#include "levels/level.h"

#define PARTNER_VERSION		3	/* 1 knew no parity, 2 no lists by name */
#define PARTNER_ID_BYTES	16
#define PARTNER_TOKEN_BYTES	32
#define PARTNER_NAME_SIZE	64	/* of a node, with the NUL */
#define PARTNER_IDLE_MS		30000

/*
 * The right to one connection, for PARTNER_TICKET_MS; made by the node that serves and
 * told over the control connection, which is authenticated and encrypted.
 */
#define PARTNER_TICKET_MS	30000
struct partner_ticket {
	char node[PARTNER_NAME_SIZE];	/* the partner */
	char address[256];		/* of the hosts file; IPv6 in brackets */
	uint16_t port;
	char owner[PARTNER_NAME_SIZE];	/* node whose images they are */
	bool read_only;			/* always, if the images are not the asking node's */
	bool plain;			/* data is authenticated and not encrypted */
	uint8_t id[PARTNER_ID_BYTES];	/* names the ticket; no secret */
	uint8_t token[PARTNER_TOKEN_BYTES];
};

/**
 * struct level_partner_options
 * @ticket: used during the call
 * @key: of images; must live as long as the level
 * @idle_ms: 0: PARTNER_IDLE_MS
 * @cancelled: asked while a connection is being made; may be NULL
 * @arg: of it
 * @fd: 0: connect to the ticket's address; else connected already, taken over in any case
 */
struct level_partner_options {
	const struct partner_ticket *ticket;
	const struct image_key *key;
	unsigned int idle_ms;
	bool (*cancelled)(void *arg);
	void *arg;
	int fd;
};

int level_partner_open(const struct level_partner_options *options,
		       struct level **ret_level, struct ckpt_error *error);

/**
 * partner_choose() - choose the node that keeps copies of a node's images
 * @nodes: in the order of the hosts file, which all nodes have
 * @ret_shared: the partner shares the failure domain, as there is no other; may be NULL
 *
 * The partner is in another failure domain if there is one.  If no domain has more than half
 * of the nodes, each node is the partner of exactly one; without domains the partner is the
 * next node of the file.  Otherwise the nodes of the largest domain are dealt out to the
 * others as evenly as possible.
 *
 * Return: index, -ENOENT (no such node), -ERANGE (it is the only one), -ENOMEM
 */
int partner_choose(const struct levels_node *nodes, unsigned int nr_nodes, const char *node,
		   bool *ret_shared);

#endif /* STILLPOINT_LEVELS_PARTNER_H */
