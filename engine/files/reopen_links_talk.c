// SPDX-License-Identifier: GPL-2.0-only
/*
 * The words that both ends of a new link exchange, over the link itself, before the programs have
 * it.
 *
 * Each end says hello: which link it is, and which byte it waits for. When it has heard the other's
 * hello it gives the bytes that it had received and its program had not read. The other end sends
 * these bytes back, and behind them those that it had sent and the first end had not received: then
 * the kernels have all in their queues again, and nobody has to write into a queue.
 *
 * A hello has a word that only somebody can know who has the token of this restart. Each end of
 * each link has another one, so a stranger cannot give back the one that he has heard.
 */
#include "engine/files/reopen_inet.h"
#include "engine/files/reopen_links.h"

#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

#define LINK_MAGIC	"ckptlnk1"

/* All numbers are little-endian. */
struct link_hello {
	char magic[8];
	uint8_t word[32];
	uint32_t link;
	uint32_t role;		/* of the end that says hello */
	uint32_t got_seq;	/* the byte that it waits for */
	uint32_t unread;	/* bytes that follow */
};

static void reopen_link_word(const struct reopen *r, uint32_t link, uint32_t role, uint8_t word[32])
{
	const uint32_t what[2] = { htole32(link), htole32(role) };

	crypto_generichash(word, 32, (const void *)what, sizeof(what),
			   (const void *)r->options->links->token, SOCK_LINK_TOKEN);
}

void reopen_link_reset(struct reopen_link *link)
{
	link->out_at = link->in_at = 0;
	link->in_len = sizeof(struct link_hello);
}

/* Nothing of the job's is told before the other end has said the right word. */
size_t reopen_link_may_say(const struct reopen_link *link)
{
	return link->in_at < sizeof(struct link_hello) ? sizeof(struct link_hello) : link->out_len;
}

int reopen_link_prepare(const struct reopen *r, struct reopen_link *link)
{
	const struct state_sock *sock = link->sock;
	uint32_t unread = state_sock_unread(sock);
	struct link_hello hello = {
		.link = htole32(sock->link->link), .role = htole32(sock->link->role),
		.got_seq = htole32(sock->sent->read_seq + unread), .unread = htole32(unread),
	};

	if (unread > CKPT_SOCK_QUEUE_MAX)
		return -EFBIG;
	memcpy(hello.magic, LINK_MAGIC, sizeof(hello.magic));
	reopen_link_word(r, sock->link->link, sock->link->role, hello.word);
	link->out_len = sizeof(hello) + unread;
	link->out = malloc(link->out_len);
	link->in_len = sizeof(hello);
	link->in = malloc(sizeof(hello));
	if (!link->out || !link->in)
		return -ENOMEM;
	memcpy(link->out, &hello, sizeof(hello));
	state_sock_copy_unread(sock, link->out + sizeof(hello));
	return 0;
}

/* The other end's hello is here: is it that of this link? */
static int reopen_link_greeted(const struct reopen *r, struct reopen_link *link)
{
	const struct engine_rec_sock_link *rec = link->sock->link;
	uint32_t other = rec->role == SOCK_LINK_LISTENS ? SOCK_LINK_CONNECTS : SOCK_LINK_LISTENS;
	struct link_hello hello;
	uint8_t word[32], *room;

	memcpy(&hello, link->in, sizeof(hello));
	reopen_link_word(r, rec->link, other, word);
	if (memcmp(hello.magic, LINK_MAGIC, sizeof(hello.magic)) != 0 ||
	    sodium_memcmp(hello.word, word, sizeof(word)) != 0 ||
	    le32toh(hello.link) != rec->link || le32toh(hello.role) != other ||
	    le32toh(hello.unread) > CKPT_SOCK_QUEUE_MAX)
		return -EPROTO;
	room = realloc(link->in, sizeof(hello) + le32toh(hello.unread));
	if (!room)
		return -ENOMEM;
	link->in = room;
	link->in_len += le32toh(hello.unread);
	return 0;
}

/* Never read behind the end of what is told: the bytes there are the program's. */
static int reopen_link_hear(const struct reopen *r, struct reopen_link *link)
{
	while (link->in_at < link->in_len) {
		ssize_t n = recv(link->fd, link->in + link->in_at, link->in_len - link->in_at,
				 MSG_DONTWAIT);
		int ret = 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN ? 0 : n < 0 ? -errno : -ECONNRESET;
		link->in_at += (size_t)n;
		if (link->in_at == sizeof(struct link_hello) && link->in_len == link->in_at)
			ret = reopen_link_greeted(r, link);
		if (ret)
			return ret;
	}
	return 0;
}

/* Say as much as the socket takes now. */
static int reopen_link_say(struct reopen_link *link)
{
	while (link->out_at < reopen_link_may_say(link)) {
		ssize_t n = send(link->fd, link->out + link->out_at,
				 reopen_link_may_say(link) - link->out_at,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		link->out_at += (size_t)n;
	}
	return 0;
}

int reopen_link_talk(const struct reopen *r, struct reopen_link *link)
{
	int ret = reopen_link_say(link);

	if (!ret)
		ret = reopen_link_hear(r, link);
	return ret ? ret : reopen_link_say(link);
}

static int reopen_link_send(int fd, const uint8_t *data, size_t len)
{
	while (len) {
		ssize_t n = send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? -ENOBUFS : -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int reopen_link_fill(struct reopen *r, struct reopen_link *link)
{
	const struct state_sock *sock = link->sock;
	uint32_t sent = state_sock_sent(sock), from;
	const struct link_hello *hello = (const void *)link->in;
	_cleanup_free_ uint8_t *buf = malloc(sent + 1);
	int ret;

	if (!buf)
		return -ENOMEM;
	/* bytes between what the other end has and what we have would be lost, others be doubled */
	from = le32toh(hello->got_seq) - sock->sent->sent_seq;
	if (from > sent)
		return -EBADMSG;
	state_sock_copy_sent(sock, from, buf);
	reopen_sock_widen(reopen_sock_of(r, sock), link->fd);
	ret = reopen_link_send(link->fd, link->in + sizeof(*hello), link->in_len - sizeof(*hello));
	return ret ? ret : reopen_link_send(link->fd, buf, sent - from);
}
