// SPDX-License-Identifier: GPL-2.0-only
/*
 * Places of a node where another end of a connection may be that no socket of the tree is: ports
 * that the tree listens at, where connections wait to be accepted, and orphans: connections that
 * were closed while bytes are on their way.  The kernel does not know whose those were, so all of
 * the node are told.
 */
#include "engine/dump/dump_sock.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "engine/core/sock_link.h"
#include "engine/dump/dump_run.h"

/* States of <netinet/tcp.h>, which the kernel's headers hide. */
#define STATE_FIN_WAIT1		4
#define STATE_LAST_ACK		9
#define STATE_CLOSING		11

struct places {
	struct sock_link *links;
	unsigned int nr, room;
};

static struct sock_link *places_add(struct places *p)
{
	if (p->nr == p->room)
		return NULL;
	p->links[p->nr] = (struct sock_link){ 0 };
	return &p->links[p->nr++];
}

static void places_listener(struct places *p, const struct state_sock *sock)
{
	const struct sockaddr *own = state_sock_own(sock);
	struct sock_link *link;

	if (dump_sock_addr_is_narrow(own))
		return;
	link = places_add(p);
	if (!link)
		return;
	if (dump_sock_addr_is_any(own))
		snprintf(link->own, sizeof(link->own), SOCK_LINK_ANY ":%u",
			 ntohs(state_sock_port(own)));
	else
		dump_sock_addr_text(own, link->own, sizeof(link->own));
}

static void places_address(struct places *p, const struct sockaddr *addr)
{
	struct sockaddr_storage at = { .ss_family = addr->sa_family };
	struct sock_link *link;

	if (!state_sock_addr_len(addr->sa_family) || dump_sock_addr_is_narrow(addr))
		return;
	link = places_add(p);
	if (!link)
		return;
	memcpy(&at, addr, state_sock_addr_len(addr->sa_family));
	((struct sockaddr_in *)(void *)&at)->sin_port = 0;
	dump_sock_addr_text((const struct sockaddr *)&at, link->own, sizeof(link->own));
}

/* Read an address of /proc/net/tcp: words of memory, in hexadecimal digits. */
static bool places_parse(const char *digits, unsigned int port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (void *)ret;
	struct sockaddr_in6 *in6 = (void *)ret;
	unsigned int nr = (unsigned int)strlen(digits) / 8, word[4];

	if (nr != 1 && nr != 4)
		return false;
	for (unsigned int i = 0; i < nr; i++)
		if (sscanf(digits + (size_t)8 * i, "%8x", &word[i]) != 1)
			return false;
	memset(ret, 0, sizeof(*ret));
	ret->ss_family = nr == 1 ? AF_INET : AF_INET6;
	memcpy(nr == 1 ? (void *)&in->sin_addr : (void *)&in6->sin6_addr, word, sizeof(*word) * nr);
	in->sin_port = htons((uint16_t)port);
	return true;
}

static bool places_is_orphan(unsigned int state, unsigned long inode)
{
	return !inode && (state == STATE_FIN_WAIT1 || state == STATE_LAST_ACK ||
			  state == STATE_CLOSING);
}

static int places_orphans(struct places *p, const char *path)
{
	FILE *f = fopen(path, "re");
	struct sockaddr_storage own;
	struct sock_link *link;
	char line[512], digits[33];
	unsigned int port, state;
	unsigned long inode;
	int ret;

	if (!f)
		return errno == ENOENT ? 0 : -errno;	/* no IPv6 here */
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " %*u: %32[0-9A-F]:%4x %*32[0-9A-F]:%*4x %2x %*x:%*x %*x:%*x "
			   "%*x %*u %*u %lu", digits, &port, &state, &inode) != 4 ||
		    !places_is_orphan(state, inode) || !places_parse(digits, port, &own) ||
		    dump_sock_addr_is_narrow((const struct sockaddr *)&own))
			continue;
		link = places_add(p);
		if (link)
			dump_sock_addr_text((const struct sockaddr *)&own, link->own,
					    sizeof(link->own));
	}
	ret = ferror(f) ? -EIO : 0;
	fclose(f);
	return ret;
}

int dump_sock_places(struct dump *d, const struct ifaddrs *ours, struct sock_link *links,
		     unsigned int room)
{
	struct places p = { .links = links, .room = room };
	const struct state *state = d->cap.state;
	int ret = 0;

	for (unsigned int i = 0; i < state->nr_socks; i++)
		if (!state_sock_is_unix(&state->socks[i]) &&
		    !state_sock_is_datagram(&state->socks[i]) &&
		    state->socks[i].rec->state == CKPT_SOCK_LISTENS)
			places_listener(&p, &state->socks[i]);
	for (; ours; ours = ours->ifa_next)
		if (ours->ifa_addr)
			places_address(&p, ours->ifa_addr);
	/* without a rule all that is no link is refused */
	if (d->cap.sockets)
		ret = places_orphans(&p, "/proc/thread-self/net/tcp");
	if (!ret && d->cap.sockets)
		ret = places_orphans(&p, "/proc/thread-self/net/tcp6");
	return ret ? ret : (int)p.nr;
}
