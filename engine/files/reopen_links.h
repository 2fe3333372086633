/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Links of an image: connections of TCP to other nodes of the job (sock_link.h).
 *
 * reopen_links_place() is for a dry run: on which address of this node a link would be. All else is
 * between reopen_inet.c and reopen_links*.c.
 */
#ifndef STILLPOINT_REOPEN_LINKS_H
#define STILLPOINT_REOPEN_LINKS_H

#include "engine/core/sock_link.h"
#include "engine/files/reopen.h"

#include <netinet/in.h>

/*
 * The address of this node that takes the place of the own address of @sock, as text without a
 * port: the same one, or one of the same network. -EADDRNOTAVAIL: there is none.
 */
int reopen_links_place(const struct state_sock *sock, char buf[SOCK_LINK_ADDR]);

/* Make all links with the other nodes, and send what was on its way: see reopen_links.c. */
int reopen_links(struct reopen *r);

/* One end of a link, here. */
struct reopen_link {
	const struct state_sock *sock;
	struct sockaddr_in6 own, remote;	/* IPv4 is mapped */
	struct sockaddr_storage own_addr, remote_addr;	/* of the socket's family */
	int fd;			/* -1: none yet */
	bool connecting;
	int64_t again_ms;	/* when to connect again */
	uint8_t *out;		/* hello and unread bytes */
	size_t out_len, out_at;
	uint8_t *in;		/* the same of the other end */
	size_t in_len, in_at;
};

/* reopen_links_talk.c: what both ends tell each other over the new connection */
/* Prepare what this end tells. -ENOMEM, or -EFBIG */
int reopen_link_prepare(const struct reopen *r, struct reopen_link *link);
void reopen_link_reset(struct reopen_link *link);	/* for a new connection */
/* Bytes that may be said so far, of out_len. */
size_t reopen_link_may_say(const struct reopen_link *link);
/* Send and receive as much as is possible now. -errno; -EPROTO: it is not the other end */
int reopen_link_talk(const struct reopen *r, struct reopen_link *link);
/* Send what the other end has not read; it has told which bytes these are. -errno */
int reopen_link_fill(struct reopen *r, struct reopen_link *link);

#endif /* STILLPOINT_REOPEN_LINKS_H */
