/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection between a node and its partner: the proof that both have the ticket, and
 * frames that arrive whole, in order and unread by others, or not at all (partner_wire.h).
 *
 * No wait lasts longer than idle_ms (send_ms) without a byte that moved.  The first failure
 * ends the connection: later calls return -ENOTCONN.
 */
#ifndef STILLPOINT_LEVELS_PARTNER_LINK_H
#define STILLPOINT_LEVELS_PARTNER_LINK_H

#include "base/error.h"
#include "levels/partner_wire.h"

struct partner_link {
	int fd;
	const char *who;		/* the other node, for messages */
	unsigned int idle_ms;
	unsigned int send_ms;		/* of one frame that goes out; 0: idle_ms */
	/*
	 * For how long, while one frame is sent, received bytes count as progress: the receiver
	 * reports that it is at work.  0: they do not count.
	 */
	uint64_t busy_ms;
	bool plain;
	bool broken;
	bool (*cancelled)(void *arg);	/* asked ten times a second of a wait; or NULL */
	void *arg;
	uint8_t *out, *in;		/* payloads, aligned to 4096, PARTNER_PIECE_MAX */
	uint8_t *out_room, *in_room;	/* allocated */
	uint64_t sent, received;	/* frames */
	uint8_t send_key[32], receive_key[32];
};

/* @fd is taken over, also on failure; made to be non-blocking. */
int partner_link_init(struct partner_link *l, int fd, const char *who, unsigned int idle_ms,
		      struct ckpt_error *error);
void partner_link_done(struct partner_link *l);	/* a zeroed one is fine */

/*
 * The client's half of the proof: hello, back, keys.
 *
 * -EAGAIN: the server hung up; a new ticket may help.  -EKEYREJECTED: the server does not
 * have the token.
 */
int partner_link_meet(struct partner_link *l, const struct partner_ticket *ticket,
		      struct ckpt_error *error);

/*
 * partner_hello_check() - check that the hello's sender has the token
 *
 * The server finds the token by hello->id, and must accept each token only once.
 * -EPROTO: no hello; -EPROTONOSUPPORT: of another version; -EKEYREJECTED.
 */
int partner_hello_check(const struct partner_hello *hello,
			const uint8_t token[PARTNER_TOKEN_BYTES], bool plain);
/* The server's half of the proof; call after partner_hello_check(). */
int partner_link_welcome(struct partner_link *l, const struct partner_hello *hello,
			 const uint8_t token[PARTNER_TOKEN_BYTES], bool plain,
			 struct ckpt_error *error);

/*
 * partner_link_send() - a frame; its payload is in l->out
 *
 * -ECANCELED only before anything of it went out: then the connection goes on.
 */
int partner_link_send(struct partner_link *l, enum partner_type type, size_t len,
		      struct ckpt_error *error);
/* As partner_link_send(), with a short payload from elsewhere; l->out is not used. */
int partner_link_tell(struct partner_link *l, enum partner_type type, const void *payload,
		      size_t len, struct ckpt_error *error);

/*
 * partner_link_receive() - the next frame; its payload is in l->in until the next one
 * @wait_ms: for its first byte; 0: idle_ms
 *
 * -EPIPE: the other side has closed the connection between two frames.
 * -ECANCELED only before anything of it came.
 */
int partner_link_receive(struct partner_link *l, unsigned int wait_ms,
			 enum partner_type *ret_type, size_t *ret_len,
			 struct ckpt_error *error);
/* True if there is a byte to receive, or the connection has ended. */
bool partner_link_ready(const struct partner_link *l);

#endif /* STILLPOINT_LEVELS_PARTNER_LINK_H */
