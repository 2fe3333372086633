/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sockets in a dump: those with an end outside of the tree, and the options of the others.
 *
 * All functions run in the pause.
 */
#ifndef STILLPOINT_DUMP_SOCK_H
#define STILLPOINT_DUMP_SOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct capture;
struct ifaddrs;
struct in_addr;
struct sock_link;
struct sockaddr;
struct dump;
struct dump_options;
struct state_sock;

/*
 * dump_sockets.c: refuse sockets with an end outside, but idle clients of the node's services, and
 * sockets that no restore could make again; see capture_options.
 */
int dump_sockets_check(struct capture *cap, struct ckpt_error *error);
/* The same for connections of TCP alone that are not linked, after dump_sock_links(). */
int dump_sockets_check_rest(struct capture *cap, struct ckpt_error *error);
/* Refuse a connection to another node of the job, which @flaw. */
void dump_sockets_refuse_link(struct capture *cap, const struct state_sock *sock, const char *flaw,
			      struct ckpt_error *error);
/*
 * dump_sock_links.c: with several nodes, ask the caller which connections to the outside are those
 * to other nodes of the job, record these, and decide about the others by the rules.
 */
bool dump_sock_links_wanted(const struct dump_options *options);
int dump_sock_links(struct dump *d);
/*
 * dump_sock_places.c: other places of this node where ends of connections may be: at most @room
 * @links, with an empty remote.  Return: their number, or -errno.
 */
int dump_sock_places(struct dump *d, const struct ifaddrs *ours, struct sock_link *links,
		     unsigned int room);
/* dump_sock_addr.c: the IPv4 address that @addr is, as one of IPv6 or not; false: it is none. */
bool dump_sock_addr_v4(const struct sockaddr *addr, struct in_addr *ret);
/* Is it an address without a port, that is the same on all nodes, or has a meaning here alone? */
bool dump_sock_addr_is_narrow(const struct sockaddr *addr);
bool dump_sock_addr_is_any(const struct sockaddr *addr);
/* May a socket be bound to it here? Not if the node has lost it since, or never had it. */
bool dump_sock_addr_is_here(const struct sockaddr *addr);
/* As struct sock_link has it: "10.0.0.1:80", "[fe80::1]:80". */
void dump_sock_addr_text(const struct sockaddr *addr, char *buf, size_t size);
/* dump_sock.c: add a record of the options of each socket that is saved whole. */
int dump_records_socks(struct dump *d);

#endif /* STILLPOINT_DUMP_SOCK_H */
