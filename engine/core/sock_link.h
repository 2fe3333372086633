/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Links: connections of TCP between trees of one job that are on different nodes.
 *
 * A tree alone cannot tell a link from a connection to a stranger: in the pause each node tells its
 * connections to the outside, the job's home finds those of which both ends were told, and gives
 * each a number.  A restart knows a link by that number.
 */
#ifndef STILLPOINT_SOCK_LINK_H
#define STILLPOINT_SOCK_LINK_H

#include <stdint.h>

#include <linux/ckpt.h>

#define SOCK_LINKS_MAX		4096	/* connections to the outside that one node tells */
#define SOCK_LINK_ANY		"*"	/* any address of a node */
#define SOCK_LINK_ADDR		64	/* bytes of an address as text, with NUL */
#define SOCK_LINK_TOKEN		32	/* hexadecimal digits */

/* The values are in images: new ones are added at the end. */
enum sock_link_role {
	SOCK_LINK_NONE = 0,
	SOCK_LINK_LISTENS = 1,	/* in a restart this end is the one that listens */
	SOCK_LINK_CONNECTS = 2,
	/* answers alone, never in images: see struct sock_link */
	SOCK_LINK_UNPAIRED = 3,
	SOCK_LINK_NEAR = 4,
};

/**
 * struct sock_link - a connection to the outside, as the nodes tell each other
 *
 * With an empty @remote a node tells where other ends of connections may be: ports that its tree
 * listens at ("*:80" at any address), its addresses ("10.0.0.1:0"), and, if a rule cuts
 * connections, those that were closed and have yet to send bytes.  So a connection to such a place
 * that has no other end in the job is noticed.
 *
 * @sock: number of the socket in its tree
 * @accepted: a socket of the tree listens on its port
 * @got_seq: sequence number of the byte that this end's kernel waits for
 * @end_seq: sequence number behind the last byte that this end has sent
 * @link: answer: number of the link, the same at both ends; 0: the peer is not the job's
 * @role: answer: enum sock_link_role; SOCK_LINK_UNPAIRED: @remote is an address and port of another
 *	tree of the job, which has told no end that fits; SOCK_LINK_NEAR: @remote is an address of
 *	another node of the job, at a port that is not the job's as far as is known
 * @own, @remote: "10.0.0.1:80", "[fe80::1]:80"; an IPv4 address in IPv6 is told as IPv4
 */
struct sock_link {
	uint32_t sock;
	uint32_t accepted;
	uint32_t got_seq;
	uint32_t end_seq;
	uint32_t link;
	uint32_t role;
	char own[SOCK_LINK_ADDR];
	char remote[SOCK_LINK_ADDR];
};

/*
 * Record SOCK_LINK: the connection of a socket, whose peer is outside of the tree, is a link.
 * @more_len bytes follow: those that came after the SOCK_MSGs of the socket.
 */
struct engine_rec_sock_link {
	struct ckpt_rec_hdr hdr;
	__u32 sock;
	__u32 link;
	__u32 role;		/* enum sock_link_role */
	__u32 more_len;
};

/* A restart: where the ends of a link are now; addresses without ports. */
struct sock_link_place {
	uint32_t link;
	char listens[SOCK_LINK_ADDR];
	char connects[SOCK_LINK_ADDR];
};

/* The links of a restart, as each part of it must know them. */
struct sock_links {
	const struct sock_link_place *places;	/* ascending by link */
	unsigned int nr;
	char token[SOCK_LINK_TOKEN + 1];	/* known to the nodes of this restart alone */
};

#endif /* STILLPOINT_SOCK_LINK_H */
