/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The control socket's frames, for both of its ends.
 *
 *	frame   := header body
 *	header  := magic:u32 version:u16 nr_fds:u16 length:u32	(little-endian)
 *	body    := JSON text of length bytes
 *
 * A request is {"verb": "...", "args": {...}}; the answer is any number of
 * {"progress": {"phase": "...", "done": n, "total": n}} and then one outcome:
 * {"ok": true, "result": {...}} or {"ok": false, "error": {...}}.
 * Descriptors (SCM_RIGHTS) travel with the first byte of their frame.
 *
 * A connection carries one request at a time.  The version is that of the
 * frame and of the grammar above; an old end refuses unknown fields inside a
 * request by name.
 */
#ifndef STILLPOINT_WIRE_H
#define STILLPOINT_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_MAGIC		0x54504b43u	/* "CKPT" */
#define WIRE_VERSION		1
#define WIRE_HEADER		12
#define WIRE_FDS_MAX		16
#define WIRE_SCM_MAX		253	/* what the kernel hands over at once: SCM_MAX_FD */
#define WIRE_REQUEST_MAX	(1u << 20)	/* environment and command line of a job */
#define WIRE_ANSWER_MAX		(256u << 20)	/* show of a big image */

/* Bytes received and not used yet.  Zero-initialise, set limit. */
struct wire_in {
	size_t limit;		/* longest body taken */
	uint8_t *buf;
	size_t len;
	size_t size;
	int fds[WIRE_FDS_MAX + WIRE_SCM_MAX];	/* those past WIRE_FDS_MAX get closed */
	unsigned int nr_fds;
};

void wire_in_done(struct wire_in *in);

/*
 * wire_receive() - read once from a socket
 *
 * Return: bytes read; 0 at the end; -EAGAIN; -EPROTO for descriptors beyond
 * reason, after which there is no more to read; other negative errno.
 */
int wire_receive(struct wire_in *in, int sock);

/*
 * wire_next() - is a whole frame there?
 * @ret_body: not NUL-terminated; valid until wire_consume()
 *
 * Return: 1; 0: not yet; -EPROTO (no frame), -EPROTONOSUPPORT (another
 * version), -EMSGSIZE (longer than the limit): the connection is of no more use.
 */
int wire_next(const struct wire_in *in, const char **ret_body, size_t *ret_len);

/* Drop the frame that wire_next() found and close the descriptors left of it. */
void wire_consume(struct wire_in *in);

/* Take the @i-th descriptor of the frame; -EBADF if there is none. */
int wire_take_fd(struct wire_in *in, unsigned int i);

/* Header for a body of @len bytes. */
void wire_header(uint8_t header[WIRE_HEADER], size_t len, unsigned int nr_fds);

/* Send a whole frame; for a blocking socket.  0 or negative errno. */
int wire_send(int sock, const char *body, size_t len, const int *fds,
	      unsigned int nr_fds);

/*
 * One sendmsg() of @len bytes with descriptors; returns bytes sent or negative
 * errno.  The descriptors went with the first byte.
 */
int wire_send_some(int sock, const void *data, size_t len, const int *fds,
		   unsigned int nr_fds);

#endif /* STILLPOINT_WIRE_H */
