// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sockets in the model of a tree; see state_sock.h.
 *
 * The stream may come from a damaged or hostile image, so every length is checked when a record
 * is appended, and every number when it is followed.  Nothing here touches a socket.
 */
#include "engine/core/state_sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "engine/core/sock_link.h"
#include "engine/core/sock_rules.h"
#include "engine/core/state_parse.h"

#define FILES_MAX	253	/* the kernel's limit of descriptors in one message */
#define NAME_MAX_LEN	sizeof(((struct sockaddr_un *)0)->sun_path)

/* ---------------------------------------------------------------- records */

static bool state_sock_path_fits(const char *path, uint64_t len, uint64_t room)
{
	return len == 0 || (len <= room && path[len - 1] == 0 && strlen(path) == len - 1 &&
			    path[0] == '/');
}

socklen_t state_sock_addr_len(int family)
{
	return family == AF_INET ? sizeof(struct sockaddr_in) :
	       family == AF_INET6 ? sizeof(struct sockaddr_in6) : 0;
}

/* Are the @len bytes at @name @nr addresses of @family? */
static bool state_sock_addrs_fit(int family, const char *name, uint32_t len, unsigned int nr)
{
	socklen_t each = state_sock_addr_len(family);

	if (len != nr * each)
		return false;
	for (unsigned int i = 0; i < nr; i++) {
		struct sockaddr addr;

		memcpy(&addr, name + i * each, sizeof(addr));
		if (addr.sa_family != family)
			return false;
	}
	return true;
}

/* Is the socket of TCP or UDP, with the addresses that it must have? */
static bool state_sock_inet_fits(const struct ckpt_rec_sock *rec, const char *name)
{
	bool tcp = rec->type == SOCK_STREAM && rec->protocol == IPPROTO_TCP;
	bool udp = rec->type == SOCK_DGRAM && rec->protocol == IPPROTO_UDP;

	if ((!tcp && !udp) || rec->path_len || (udp && (rec->state == CKPT_SOCK_LISTENS ||
							rec->peer || rec->listener)))
		return false;
	return state_sock_addrs_fit(rec->family, name, rec->name_len,
				    rec->state == CKPT_SOCK_CONNECTED ? 2 : 1);
}

int state_sock_add(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_sock *rec = (const void *)hdr;
	const char *name = (const char *)(rec + 1);
	uint64_t room = hdr->len - sizeof(*rec);
	struct state_sock *sock;

	if (rec->id == 0 || (rec->type != SOCK_STREAM && rec->type != SOCK_DGRAM &&
			     rec->type != SOCK_SEQPACKET))
		return state_fail(p, -EBADMSG, "socket %u is of unknown type %u", rec->id,
				  rec->type);
	if (rec->family != AF_UNIX && !state_sock_addr_len(rec->family))
		return state_fail(p, -EPROTONOSUPPORT,
				  "socket %u of family %u is newer than this program", rec->id,
				  rec->family);
	if (rec->state < CKPT_SOCK_OPEN || rec->state > CKPT_SOCK_CONNECTED || rec->shutdown > 3)
		return state_fail(p, -EBADMSG, "socket %u in unknown state %u", rec->id,
				  rec->state);
	if (rec->name_len > NAME_MAX_LEN || rec->name_len > room ||
	    !state_sock_path_fits(name + rec->name_len, rec->path_len, room - rec->name_len) ||
	    (rec->family != AF_UNIX && !state_sock_inet_fits(rec, name)))
		return state_fail(p, -EBADMSG, "name of socket %u is not well formed", rec->id);
	sock = &p->state->socks[p->state->nr_socks++];
	sock->rec = rec;
	sock->name = name;
	sock->path = rec->path_len ? name + rec->name_len : "";
	sock->msgs = p->state->sock_msgs + p->state->nr_sock_msgs;
	return 0;
}

int state_sock_add_msg(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_sock_msg *rec = (const void *)hdr;
	struct state *state = p->state;
	struct state_sock *sock = state->nr_socks ? &state->socks[state->nr_socks - 1] : NULL;
	uint64_t room = hdr->len - sizeof(*rec);
	struct state_sock_msg *msg;

	if (!sock || sock->rec->id != rec->sock)
		return state_fail(p, -EBADMSG, "message away from its socket %u", rec->sock);
	if (rec->nr_files > FILES_MAX || rec->name_len > NAME_MAX_LEN ||
	    rec->data_len > CKPT_SOCK_QUEUE_MAX ||
	    rec->nr_files * sizeof(uint32_t) + rec->name_len + rec->data_len > room)
		return state_fail(p, -EBADMSG, "message of socket %u too short", rec->sock);
	if (!state_sock_is_unix(sock) &&
	    (rec->nr_files || rec->sender ||
	     !state_sock_addrs_fit(sock->rec->family,
				   (const char *)(rec + 1), rec->name_len,
				   state_sock_is_datagram(sock) ? 2 : 0)))
		return state_fail(p, -EBADMSG, "message of socket %u is not well formed",
				  rec->sock);
	msg = &state->sock_msgs[state->nr_sock_msgs++];
	msg->rec = rec;
	msg->files = (const uint32_t *)(rec + 1);
	msg->name = (const char *)(msg->files + rec->nr_files);
	msg->data = msg->name + rec->name_len;
	sock->nr_msgs++;
	return 0;
}

int state_sock_add_options(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_sock_options *rec = (const void *)hdr;
	const struct engine_sock_option *option = (const void *)(rec + 1);

	if (rec->nr > (hdr->len - sizeof(*rec)) / sizeof(*option))
		return state_fail(p, -EBADMSG, "options of socket %u too short", rec->sock);
	for (unsigned int i = 0; i < rec->nr; i++)
		if (option[i].len > sizeof(option[i].value))
			return state_fail(p, -EBADMSG, "option of socket %u too long", rec->sock);
	p->state->index->sock_options[p->state->index->nr_sock_options++] = rec;
	return 0;
}

/* Does @rec go on behind @last, of the same socket? */
static bool state_sock_sent_goes_on(const struct ckpt_rec_sock_sent *last,
				    const struct ckpt_rec_sock_sent *rec)
{
	return (const char *)last + last->hdr.len == (const char *)rec &&
	       rec->read_seq == last->read_seq && rec->sent_seq == last->sent_seq + last->data_len;
}

static const struct ckpt_rec_sock_sent *state_sock_sent_next(const struct ckpt_rec_sock_sent *rec)
{
	return (const void *)((const char *)rec + rec->hdr.len);
}

int state_sock_add_sent(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_sock_sent *rec = (const void *)hdr, *last;
	struct state *state = p->state;
	struct state_sock *sock = state->nr_socks ? &state->socks[state->nr_socks - 1] : NULL;

	if (!sock || sock->rec->id != rec->sock || state_sock_is_unix(sock) ||
	    state_sock_is_datagram(sock) || sock->rec->state != CKPT_SOCK_CONNECTED ||
	    !state_sock_is_outside(sock))
		return state_fail(p, -EBADMSG, "bytes sent away from their socket %u", rec->sock);
	if (rec->data_len > hdr->len - sizeof(*rec) ||
	    rec->data_len > CKPT_SOCK_QUEUE_MAX - state_sock_sent(sock))
		return state_fail(p, -EBADMSG, "bytes sent by socket %u too short", rec->sock);
	last = sock->sent;
	for (unsigned int i = 1; i < sock->nr_sent; i++)
		last = state_sock_sent_next(last);
	if (last && !state_sock_sent_goes_on(last, rec))
		return state_fail(p, -EBADMSG, "bytes sent by socket %u have a gap", rec->sock);
	if (!sock->sent)
		sock->sent = rec;
	sock->nr_sent++;
	return 0;
}

/* Records of the engine follow those of the kernel, and are in the order of their sockets. */
int state_sock_add_link(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_sock_link *rec = (const void *)hdr;

	for (unsigned int i = 0; i < p->state->nr_socks; i++) {
		struct state_sock *sock = &p->state->socks[i];

		if (sock->rec->id != rec->sock)
			continue;
		if (sock->link || sock->cut || !sock->sent || !rec->link ||
		    (rec->role != SOCK_LINK_LISTENS && rec->role != SOCK_LINK_CONNECTS) ||
		    rec->more_len > hdr->len - sizeof(*rec) ||
		    rec->more_len > CKPT_SOCK_QUEUE_MAX)
			break;
		sock->link = rec;
		return 0;
	}
	return state_fail(p, -EBADMSG, "socket %u has no end that could be linked", rec->sock);
}

int state_sock_add_end(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_sock_end *rec = (const void *)hdr;

	for (unsigned int i = 0; i < p->state->nr_socks; i++) {
		struct state_sock *sock = &p->state->socks[i];

		if (sock->rec->id != rec->sock)
			continue;
		if (sock->cut || sock->link || !state_sock_is_outside(sock) ||
		    (rec->action != SOCK_RULE_CLOSE && rec->action != SOCK_RULE_RESET))
			break;
		sock->cut = rec->action;
		return 0;
	}
	return state_fail(p, -EBADMSG, "socket %u has no end that could be cut", rec->sock);
}

/* ---------------------------------------------------------------- look up */

static int by_sock_id(const void *a, const void *b)
{
	const struct state_sock *x = a, *y = b;

	return (x->rec->id > y->rec->id) - (x->rec->id < y->rec->id);
}

struct state_sock *state_sock_find(const struct state *state, uint32_t id)
{
	struct ckpt_rec_sock rec = { .id = id };
	struct state_sock key = { .rec = &rec };

	return bsearch(&key, state->socks, state->nr_socks, sizeof(key), by_sock_id);
}

bool state_sock_is_unix(const struct state_sock *sock)
{
	return sock->rec->family == AF_UNIX;
}

const struct sockaddr *state_sock_own(const struct state_sock *sock)
{
	return (const struct sockaddr *)sock->name;
}

const struct sockaddr *state_sock_remote(const struct state_sock *sock)
{
	return (const struct sockaddr *)(sock->name + state_sock_addr_len(sock->rec->family));
}

uint16_t state_sock_port(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET ?
	       ((const struct sockaddr_in *)(const void *)addr)->sin_port :
	       ((const struct sockaddr_in6 *)(const void *)addr)->sin6_port;
}

bool state_sock_was_accepted(const struct state *state, const struct state_sock *sock)
{
	uint16_t port = state_sock_port(state_sock_own(sock));

	for (unsigned int i = 0; i < state->nr_socks; i++) {
		const struct state_sock *other = &state->socks[i];

		if (!state_sock_is_unix(other) && other->rec->state == CKPT_SOCK_LISTENS &&
		    state_sock_port(state_sock_own(other)) == port)
			return true;
	}
	return false;
}

static void state_sock_addr_text(const struct sockaddr *addr, char *buf, size_t size)
{
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;
	char text[INET6_ADDRSTRLEN] = "";

	if (addr->sa_family == AF_INET)
		inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
	else
		inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
	snprintf(buf, size, addr->sa_family == AF_INET ? "%s:%u" : "[%s]:%u", text,
		 ntohs(state_sock_port(addr)));
}

void state_sock_text(const struct state_sock *sock, char *buf, size_t size)
{
	char own[INET6_ADDRSTRLEN + 10], remote[sizeof(own)];

	state_sock_addr_text(state_sock_own(sock), own, sizeof(own));
	if (sock->rec->state != CKPT_SOCK_CONNECTED) {
		snprintf(buf, size, "%s", own);
		return;
	}
	state_sock_addr_text(state_sock_remote(sock), remote, sizeof(remote));
	snprintf(buf, size, "%s to %s", own, remote);
}

bool state_sock_is_datagram(const struct state_sock *sock)
{
	return sock->rec->type == SOCK_DGRAM;
}

bool state_sock_is_outside(const struct state_sock *sock)
{
	return sock->rec->flags & CKPT_SOCK_OUTSIDE;
}

bool state_sock_is_cut(const struct state_sock *sock)
{
	return sock->cut;
}

bool state_sock_is_link(const struct state_sock *sock)
{
	return sock->link;
}

uint32_t state_sock_unread(const struct state_sock *sock)
{
	uint64_t len = sock->link ? sock->link->more_len : 0;

	for (unsigned int i = 0; i < sock->nr_msgs; i++)
		len += sock->msgs[i].rec->data_len;
	return len > 2 * CKPT_SOCK_QUEUE_MAX ? 2 * CKPT_SOCK_QUEUE_MAX : (uint32_t)len;
}

void state_sock_copy_unread(const struct state_sock *sock, uint8_t *buf)
{
	for (unsigned int i = 0; i < sock->nr_msgs; i++) {
		memcpy(buf, sock->msgs[i].data, sock->msgs[i].rec->data_len);
		buf += sock->msgs[i].rec->data_len;
	}
	if (sock->link)
		memcpy(buf, sock->link + 1, sock->link->more_len);
}

uint32_t state_sock_sent(const struct state_sock *sock)
{
	const struct ckpt_rec_sock_sent *rec = sock->sent;
	uint32_t len = 0;

	for (unsigned int i = 0; i < sock->nr_sent; i++) {
		len += rec->data_len;
		rec = state_sock_sent_next(rec);
	}
	return len;
}

void state_sock_copy_sent(const struct state_sock *sock, uint32_t at, uint8_t *buf)
{
	const struct ckpt_rec_sock_sent *rec = sock->sent;
	uint32_t skip;

	for (unsigned int i = 0; i < sock->nr_sent; i++) {
		skip = at < rec->data_len ? at : rec->data_len;
		memcpy(buf, (const uint8_t *)(rec + 1) + skip, rec->data_len - skip);
		buf += rec->data_len - skip;
		at -= skip;
		rec = state_sock_sent_next(rec);
	}
}

bool state_sock_same_name(const struct state_sock *a, const struct state_sock *b)
{
	return a->rec->flags & b->rec->flags & CKPT_SOCK_NAMED &&
	       a->rec->name_len == b->rec->name_len &&
	       memcmp(a->name, b->name, a->rec->name_len) == 0;
}

/* ---------------------------------------------------------------- link */

static int state_sock_link_file(struct state_parser *p, struct state_sock *sock)
{
	struct state_file *file = state_file_find(p->state, sock->rec->file);

	if (!file || file->rec->kind != CKPT_FILE_SOCK || file->sock)
		return state_fail(p, -EBADMSG, "file %u is not that of socket %u",
				  sock->rec->file, sock->rec->id);
	file->sock = sock;
	sock->file = file;
	return 0;
}

/* Is what the numbers of the socket say possible? */
static bool state_sock_is_sound(const struct state_sock *sock)
{
	const struct ckpt_rec_sock *rec = sock->rec;
	const struct state_sock *listener = sock->listener;

	if (!rec->peer != !sock->peer || !rec->listener != !listener)
		return false;
	if (sock->file ? listener != NULL : !listener)
		return false;
	if (listener && (listener->rec->state != CKPT_SOCK_LISTENS || !listener->file ||
			 listener->rec->type != rec->type ||
			 listener->rec->family != rec->family))
		return false;
	if (rec->state == CKPT_SOCK_LISTENS &&
	    (sock->peer || state_sock_is_datagram(sock) || !(rec->flags & CKPT_SOCK_NAMED)))
		return false;
	if (sock->peer && (sock->peer->rec->type != rec->type ||
			   rec->state != CKPT_SOCK_CONNECTED ||
			   state_sock_is_unix(sock) != state_sock_is_unix(sock->peer)))
		return false;
	if (listener && sock->peer && !sock->peer->file)
		return false;
	return !sock->peer || state_sock_is_datagram(sock) ||
	       (sock->peer != sock && sock->peer->rec->peer == rec->id);
}

static int state_sock_link_msgs(struct state_parser *p, struct state_sock *sock)
{
	if (sock->nr_msgs != sock->rec->nr_msgs)
		return state_fail(p, -EBADMSG, "socket %u: %u messages of %u", sock->rec->id,
				  sock->nr_msgs, sock->rec->nr_msgs);
	for (unsigned int i = 0; i < sock->nr_msgs; i++) {
		struct state_sock_msg *msg = &sock->msgs[i];

		msg->sender = msg->rec->sender ? state_sock_find(p->state, msg->rec->sender) :
						 NULL;
		if (msg->rec->sender && !msg->sender)
			return state_fail(p, -EBADMSG, "socket %u is not in the stream",
					  msg->rec->sender);
		for (unsigned int k = 0; k < msg->rec->nr_files; k++)
			if (!state_file_find(p->state, msg->files[k]))
				return state_fail(p, -EBADMSG, "file %u is not in the stream",
						  msg->files[k]);
	}
	return 0;
}

static int state_socks_link_options(struct state_parser *p)
{
	for (unsigned int i = 0; i < p->state->index->nr_sock_options; i++) {
		const struct engine_rec_sock_options *rec = p->state->index->sock_options[i];
		struct state_sock *sock = state_sock_find(p->state, rec->sock);

		if (!sock || sock->options)
			return state_fail(p, -EBADMSG, "options of socket %u, which is not there",
					  rec->sock);
		sock->options = rec;
	}
	return 0;
}

int state_socks_link(struct state_parser *p)
{
	struct state *state = p->state;
	int ret = 0;

	qsort(state->socks, state->nr_socks, sizeof(*state->socks), by_sock_id);
	for (unsigned int i = 1; i < state->nr_socks; i++)
		if (by_sock_id(&state->socks[i - 1], &state->socks[i]) == 0)
			return state_fail(p, -EBADMSG, "socket %u appears twice",
					  state->socks[i].rec->id);
	for (unsigned int i = 0; !ret && i < state->nr_socks; i++) {
		struct state_sock *sock = &state->socks[i];

		if (sock->rec->file)
			ret = state_sock_link_file(p, sock);
		if (sock->rec->peer)
			sock->peer = state_sock_find(state, sock->rec->peer);
		if (sock->rec->listener)
			sock->listener = state_sock_find(state, sock->rec->listener);
	}
	for (unsigned int i = 0; !ret && i < state->nr_socks; i++) {
		struct state_sock *sock = &state->socks[i];

		if (!state_sock_is_sound(sock))
			return state_fail(p, -EBADMSG, "socket %u contradicts itself",
					  sock->rec->id);
		ret = state_sock_link_msgs(p, sock);
	}
	return ret ? ret : state_socks_link_options(p);
}
