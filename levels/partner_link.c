// SPDX-License-Identifier: GPL-2.0-only
/*
 * A connection between a node and its partner; see partner_link.h.
 *
 * Owns the socket, two buffers of one frame each, and the keys of the connection, which
 * are wiped.  A payload lies in its buffer at a page's begin with the header right before
 * and room for the tag behind: it is read from the disk, sealed, sent, received, opened and
 * written to the disk where it is, and never copied.
 *
 * A sender makes progress when the other side took bytes, not when this node's kernel
 * did: a slow reader on a limit is not a dead one.  Frames received meanwhile count as
 * progress, too, for as long as busy_ms allows.
 *
 * Must not know what frames mean.
 */
#include "levels/partner_link.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/clock.h"

#define PAGE		4096U
#define SLICE_MS	100
#define HEADER		sizeof(struct partner_frame)
#define ROOM		(PAGE + PARTNER_PIECE_MAX + PAGE)

_Static_assert(PARTNER_TAG_BYTES == crypto_aead_chacha20poly1305_ietf_ABYTES, "tag");

/* ----------------------------------------------------------------- waits */

static int partner_link_end(struct partner_link *l, int err, struct ckpt_error *error,
			    const char *what)
{
	l->broken = true;
	return error_set(error, err, "%.63s: %s", l->who, what);
}

static int partner_link_failed(struct partner_link *l, int err, struct ckpt_error *error)
{
	l->broken = true;
	if (err == -ECONNRESET || err == -EPIPE || !err)
		return error_set(error, -ECONNRESET,
				 "%.63s: the connection was lost: did ckptd or the node go down? "
				 "Then try again when it is back",
				 l->who);
	return error_set(error, err, "%.63s: the connection failed: %s", l->who,
			       strerror(-err));
}

static int partner_link_unsent(const struct partner_link *l)
{
	int bytes = 0;

	return ioctl(l->fd, SIOCOUTQ, &bytes) ? 0 : bytes;
}

static int partner_link_unread(const struct partner_link *l)
{
	int bytes = 0;

	return ioctl(l->fd, FIONREAD, &bytes) ? 0 : bytes;
}

/* 0, -ETIMEDOUT, -ECANCELED (only if @may_cancel) */
static int wait_for(struct partner_link *l, short events, unsigned int wait_ms,
		    bool may_cancel)
{
	int64_t until = clock_monotonic_ms() + wait_ms;
	int64_t busy_until = clock_monotonic_ms() + l->busy_ms;
	int queue = events & POLLOUT ? partner_link_unsent(l) : 0, heard = partner_link_unread(l);

	for (;;) {
		struct pollfd p = { .fd = l->fd, .events = events };
		int64_t now = clock_monotonic_ms();
		int left = now < until ? (int)(until - now) : 0, n;

		if (may_cancel && l->cancelled && l->cancelled(l->arg))
			return -ECANCELED;
		n = poll(&p, 1, left > SLICE_MS ? SLICE_MS : left);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (events & POLLOUT && partner_link_unsent(l) != queue) {
			queue = partner_link_unsent(l);
			until = clock_monotonic_ms() + wait_ms;
		} else if (events & POLLOUT && partner_link_unread(l) != heard &&
			   clock_monotonic_ms() < busy_until) {
			heard = partner_link_unread(l);
			until = clock_monotonic_ms() + wait_ms;
		}
		if (clock_monotonic_ms() >= until)
			return -ETIMEDOUT;
	}
}

static unsigned int send_ms(const struct partner_link *l)
{
	return l->send_ms ? l->send_ms : l->idle_ms;
}

static int timed_out(struct partner_link *l, unsigned int ms, struct ckpt_error *error)
{
	l->broken = true;
	return error_set(error, -ETIMEDOUT,
			 "%.63s: nothing has moved for %u.%u s: is the node up, its disk well, and "
			 "the network between?",
			 l->who, ms / 1000, ms % 1000 / 100);
}

static int send_bytes(struct partner_link *l, const uint8_t *p, size_t len, bool may_cancel,
		      struct ckpt_error *error)
{
	int err;

	while (len) {
		ssize_t n = send(l->fd, p, len, MSG_NOSIGNAL);

		if (n >= 0) {
			p += n;
			len -= (size_t)n;
			may_cancel = may_cancel && !n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return partner_link_failed(l, -errno, error);
		err = wait_for(l, POLLOUT, send_ms(l), may_cancel);
		if (err == -ECANCELED)
			return error_set(error, err, "cancelled");
		if (err)
			return err == -ETIMEDOUT ? timed_out(l, send_ms(l), error) :
						   partner_link_failed(l, err, error);
	}
	return 0;
}

/* @first_ms: for the first byte */
static int receive_bytes(struct partner_link *l, uint8_t *p, size_t len, unsigned int first_ms,
			 bool is_start, struct ckpt_error *error)
{
	size_t done = 0;
	unsigned int ms;
	int err;

	while (done < len) {
		ssize_t n = recv(l->fd, p + done, len - done, 0);

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (!n && is_start && !done) {
			partner_link_failed(l, 0, error);
			return -EPIPE;
		}
		if (!n)
			return partner_link_failed(l, 0, error);
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return partner_link_failed(l, -errno, error);
		ms = done ? l->idle_ms : first_ms;
		err = wait_for(l, POLLIN, ms, is_start && !done);
		if (err == -ECANCELED)
			return error_set(error, err, "cancelled");
		if (err)
			return err == -ETIMEDOUT ? timed_out(l, ms, error)
						 : partner_link_failed(l, err, error);
	}
	return 0;
}

/* ------------------------------------------------------------ both begin */

static void partner_link_derive(uint8_t ret_key[32], const char *label, const uint8_t *token,
				const uint8_t *client, const uint8_t *server)
{
	crypto_generichash_state state;

	crypto_generichash_init(&state, token, PARTNER_TOKEN_BYTES, 32);
	crypto_generichash_update(&state, (const uint8_t *)label, strlen(label) + 1);
	if (client) {
		crypto_generichash_update(&state, client, PARTNER_NONCE_BYTES);
		crypto_generichash_update(&state, server, PARTNER_NONCE_BYTES);
	}
	crypto_generichash_final(&state, ret_key, 32);
	sodium_memzero(&state, sizeof(state));
}

static void hello_mac(const struct partner_hello *hello, const uint8_t *token,
		      uint8_t ret_mac[PARTNER_MAC_BYTES])
{
	uint8_t key[32];

	partner_link_derive(key, "stillpoint partner hello", token, NULL, NULL);
	crypto_generichash(ret_mac, PARTNER_MAC_BYTES, (const uint8_t *)hello,
			   offsetof(struct partner_hello, mac), key, sizeof(key));
	sodium_memzero(key, sizeof(key));
}

static void back_mac(const struct partner_hello *hello, const struct partner_back *back,
		     const uint8_t *token, uint8_t ret_mac[PARTNER_MAC_BYTES])
{
	crypto_generichash_state state;
	uint8_t key[32];

	partner_link_derive(key, "stillpoint partner back", token, NULL, NULL);
	crypto_generichash_init(&state, key, sizeof(key), PARTNER_MAC_BYTES);
	crypto_generichash_update(&state, (const uint8_t *)hello, sizeof(*hello));
	crypto_generichash_update(&state, (const uint8_t *)back,
				  offsetof(struct partner_back, mac));
	crypto_generichash_final(&state, ret_mac, PARTNER_MAC_BYTES);
	sodium_memzero(key, sizeof(key));
}

int partner_hello_check(const struct partner_hello *hello,
			const uint8_t token[PARTNER_TOKEN_BYTES], bool plain)
{
	uint8_t mac[PARTNER_MAC_BYTES];

	if (memcmp(hello->magic, PARTNER_MAGIC, sizeof(hello->magic)) || hello->pad)
		return -EPROTO;
	if (le16toh(hello->version) != PARTNER_VERSION)
		return -EPROTONOSUPPORT;
	hello_mac(hello, token, mac);
	if (sodium_memcmp(mac, hello->mac, sizeof(mac)))
		return -EKEYREJECTED;
	return le16toh(hello->flags) == (plain ? PARTNER_F_PLAIN : 0) ? 0 : -EPROTO;
}

static void take_keys(struct partner_link *l, bool client, const uint8_t *token,
		      const struct partner_hello *hello, const struct partner_back *back)
{
	partner_link_derive(client ? l->send_key : l->receive_key, "stillpoint partner up", token,
			    hello->nonce, back->nonce);
	partner_link_derive(client ? l->receive_key : l->send_key, "stillpoint partner down", token,
			    hello->nonce, back->nonce);
}

int partner_link_meet(struct partner_link *l, const struct partner_ticket *ticket,
		      struct ckpt_error *error)
{
	struct partner_hello hello = {
		.version = htole16(PARTNER_VERSION),
		.flags = htole16(ticket->plain ? PARTNER_F_PLAIN : 0),
	};
	uint8_t mac[PARTNER_MAC_BYTES];
	struct partner_back back;
	int err;

	memcpy(hello.magic, PARTNER_MAGIC, sizeof(hello.magic));
	memcpy(hello.id, ticket->id, sizeof(hello.id));
	randombytes_buf(hello.nonce, sizeof(hello.nonce));
	hello_mac(&hello, ticket->token, hello.mac);
	err = send_bytes(l, (const uint8_t *)&hello, sizeof(hello), true, error);
	if (!err)
		err = receive_bytes(l, (uint8_t *)&back, sizeof(back), l->idle_ms, true, error);
	if (err == -EPIPE)	/* a server that rejects the ticket, or is busy, closes */
		return partner_link_end(l, -EAGAIN, error,
					"hung up on the ticket: it is too old, was used before, "
					"ckptd there was restarted or has no room for a process; "
					"try again, with another");
	if (err)
		return err;
	if (memcmp(back.magic, PARTNER_MAGIC, sizeof(back.magic)))
		return partner_link_end(l, -EPROTO, error, "who answers at its port is no ckptd");
	if (le16toh(back.version) != PARTNER_VERSION)
		return partner_link_end(l, -EPROTONOSUPPORT, error,
					"speaks another version of the protocol: install the same "
					"version on both nodes");
	back_mac(&hello, &back, ticket->token, mac);
	if (sodium_memcmp(mac, back.mac, sizeof(mac)))
		return partner_link_end(l, -EKEYREJECTED, error,
					"who answers at its port does not have the ticket: not the "
					"node that gave it");
	l->plain = ticket->plain;
	take_keys(l, true, ticket->token, &hello, &back);
	return 0;
}

int partner_link_welcome(struct partner_link *l, const struct partner_hello *hello,
			 const uint8_t token[PARTNER_TOKEN_BYTES], bool plain,
			 struct ckpt_error *error)
{
	struct partner_back back = {
		.version = htole16(PARTNER_VERSION),
		.flags = htole16(plain ? PARTNER_F_PLAIN : 0),
	};
	int err = partner_hello_check(hello, token, plain);

	if (err)
		return partner_link_end(l, err, error, "has no ticket");
	memcpy(back.magic, PARTNER_MAGIC, sizeof(back.magic));
	randombytes_buf(back.nonce, sizeof(back.nonce));
	back_mac(hello, &back, token, back.mac);
	l->plain = plain;
	take_keys(l, false, token, hello, &back);
	return send_bytes(l, (const uint8_t *)&back, sizeof(back), false, error);
}

/* ---------------------------------------------------------------- frames */

static void nonce_of(uint64_t number, uint8_t ret_nonce[12])
{
	uint64_t le = htole64(number);

	memset(ret_nonce, 0, 12);
	memcpy(ret_nonce + 4, &le, sizeof(le));
}

/* Header at @frame, payload behind it, room for the tag behind that. */
static void partner_link_seal(struct partner_link *l, uint8_t *frame, size_t len)
{
	uint8_t *payload = frame + HEADER, nonce[12];

	nonce_of(l->sent++, nonce);
	if (l->plain)
		crypto_aead_chacha20poly1305_ietf_encrypt_detached(
			payload + len, payload + len, NULL, NULL, 0, frame, HEADER + len, NULL,
			nonce, l->send_key);
	else
		crypto_aead_chacha20poly1305_ietf_encrypt_detached(
			payload, payload + len, NULL, payload, len, frame, HEADER, NULL,
			nonce, l->send_key);
}

static int partner_link_unseal(struct partner_link *l, uint8_t *frame, size_t len)
{
	uint8_t *payload = frame + HEADER, nonce[12];

	nonce_of(l->received++, nonce);
	if (l->plain)
		return crypto_aead_chacha20poly1305_ietf_decrypt_detached(
			NULL, NULL, payload + len, 0, payload + len, frame, HEADER + len,
			nonce, l->receive_key);
	return crypto_aead_chacha20poly1305_ietf_decrypt_detached(
		payload, NULL, payload, len, payload + len, frame, HEADER, nonce,
		l->receive_key);
}

static int not_connected(const struct partner_link *l, struct ckpt_error *error)
{
	return error_set(error, -ENOTCONN, "%.63s: the connection was lost before",
			       l->who);
}

static int send_frame(struct partner_link *l, uint8_t *frame, enum partner_type type,
		      size_t len, struct ckpt_error *error)
{
	struct partner_frame header = {
		.len = htole32((uint32_t)len), .type = htole16((uint16_t)type),
	};
	int err;

	if (l->broken)
		return not_connected(l, error);
	/* Cancel only before sealing: a sealed frame has a number and must go out. */
	err = wait_for(l, POLLOUT, send_ms(l), true);
	if (err == -ECANCELED)
		return error_set(error, err, "cancelled");
	if (err)
		return err == -ETIMEDOUT ? timed_out(l, send_ms(l), error)
					 : partner_link_failed(l, err, error);
	memcpy(frame, &header, sizeof(header));
	partner_link_seal(l, frame, len);
	return send_bytes(l, frame, HEADER + len + PARTNER_TAG_BYTES, false, error);
}

int partner_link_send(struct partner_link *l, enum partner_type type, size_t len,
		      struct ckpt_error *error)
{
	return send_frame(l, l->out - HEADER, type, len, error);
}

int partner_link_tell(struct partner_link *l, enum partner_type type, const void *payload,
		      size_t len, struct ckpt_error *error)
{
	uint8_t frame[HEADER + 1024 + PARTNER_TAG_BYTES];

	if (len > 1024)
		return partner_link_end(l, -EMSGSIZE, error, "too long a message");
	if (len)
		memcpy(frame + HEADER, payload, len);
	return send_frame(l, frame, type, len, error);
}

int partner_link_receive(struct partner_link *l, unsigned int wait_ms,
			 enum partner_type *ret_type, size_t *ret_len,
			 struct ckpt_error *error)
{
	uint8_t *frame = l->in - HEADER;
	struct partner_frame header;
	size_t len;
	int err;

	if (l->broken)
		return not_connected(l, error);
	err = receive_bytes(l, frame, HEADER, wait_ms ? wait_ms : l->idle_ms, true, error);
	if (err)
		return err;
	memcpy(&header, frame, sizeof(header));
	len = le32toh(header.len);
	if (len > PARTNER_PIECE_MAX || header.pad)
		return partner_link_end(l, -EPROTO, error,
					"sent what is no frame: disturbed or attacked");
	err = receive_bytes(l, l->in, len + PARTNER_TAG_BYTES, l->idle_ms, false, error);
	if (err)
		return err;
	if (partner_link_unseal(l, frame, len))
		return partner_link_end(l, -EPROTO, error,
					"what came is not what was sent (bad tag): disturbed or "
					"attacked");
	*ret_type = le16toh(header.type);
	*ret_len = len;
	return 0;
}

bool partner_link_ready(const struct partner_link *l)
{
	struct pollfd p = { .fd = l->fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* ----------------------------------------------------------------- whole */

int partner_link_init(struct partner_link *l, int fd, const char *who, unsigned int idle_ms,
		      struct ckpt_error *error)
{
	int flags = fcntl(fd, F_GETFL);

	*l = (struct partner_link){
		.fd = fd, .who = who, .idle_ms = idle_ms ? idle_ms : PARTNER_IDLE_MS,
	};
	if (sodium_init() < 0)
		return partner_link_end(l, -EIO, error, "libsodium cannot be used");
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK))
		return partner_link_failed(l, -errno, error);
	l->out_room = aligned_alloc(PAGE, ROOM);
	l->in_room = aligned_alloc(PAGE, ROOM);
	if (!l->out_room || !l->in_room)
		return partner_link_end(l, -ENOMEM, error, "out of memory");
	l->out = l->out_room + PAGE;
	l->in = l->in_room + PAGE;
	return 0;
}

void partner_link_done(struct partner_link *l)
{
	if (!l->who)
		return;
	close(l->fd);
	free(l->out_room);
	free(l->in_room);
	sodium_memzero(l, sizeof(*l));
}
