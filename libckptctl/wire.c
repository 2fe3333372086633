// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Frames of the control socket; see wire.h.
 *
 * Everything received is hostile until proved otherwise: lengths are checked
 * before memory is taken for them, memory grows only as bytes arrive, and
 * descriptors that nobody took are closed with their frame.
 */
#include "libckptctl/wire.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK	16384

static uint32_t wire_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static uint16_t wire_get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static void close_fds(struct wire_in *in)
{
	unsigned int i;

	for (i = 0; i < in->nr_fds; i++) {
		if (in->fds[i] >= 0)
			close(in->fds[i]);
	}
	in->nr_fds = 0;
}

void wire_in_done(struct wire_in *in)
{
	close_fds(in);
	free(in->buf);
	in->buf = NULL;
	in->len = in->size = 0;
}

static int make_room(struct wire_in *in)
{
	size_t size = in->size ? in->size * 2 : CHUNK;
	uint8_t *buf;

	if (in->size - in->len >= CHUNK / 2)
		return 0;
	if (size > in->limit + WIRE_HEADER + CHUNK)
		size = in->limit + WIRE_HEADER + CHUNK;
	if (size <= in->len)
		return -EMSGSIZE;
	buf = realloc(in->buf, size);
	if (!buf)
		return -ENOMEM;
	in->buf = buf;
	in->size = size;
	return 0;
}

/* Keep all descriptors of a message; the caller refuses a frame with too many. */
static int keep_fds(struct wire_in *in, struct msghdr *msg)
{
	struct cmsghdr *c;
	bool too_many = msg->msg_flags & MSG_CTRUNC;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		unsigned int i, n;
		int fd;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (unsigned int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (in->nr_fds < sizeof(in->fds) / sizeof(in->fds[0]))
				in->fds[in->nr_fds++] = fd;
			else
				close(fd);
		}
	}
	return too_many || in->nr_fds > WIRE_FDS_MAX ? -EPROTO : 0;
}

int wire_receive(struct wire_in *in, int sock)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * WIRE_SCM_MAX)];
		struct cmsghdr align;
	} control;
	struct iovec iov;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	ssize_t n;
	int err = make_room(in);

	if (err)
		return err;
	iov.iov_base = in->buf + in->len;
	iov.iov_len = in->size - in->len;
	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	in->len += (size_t)n;
	err = keep_fds(in, &msg);
	return err ? err : (int)n;
}

int wire_next(const struct wire_in *in, const char **ret_body, size_t *ret_len)
{
	uint32_t len;

	/* A wrong start is noticed with its first bytes, not after a wait. */
	if (in->len >= 4 && wire_get32(in->buf) != WIRE_MAGIC)
		return -EPROTO;
	if (in->len < WIRE_HEADER)
		return 0;
	if (wire_get16(in->buf + 4) != WIRE_VERSION)
		return -EPROTONOSUPPORT;
	if (wire_get16(in->buf + 6) > WIRE_FDS_MAX)
		return -EPROTO;
	len = wire_get32(in->buf + 8);
	if (len > in->limit)
		return -EMSGSIZE;
	if (in->len - WIRE_HEADER < len)
		return 0;
	if (wire_get16(in->buf + 6) != in->nr_fds)
		return -EPROTO;
	*ret_body = (const char *)in->buf + WIRE_HEADER;
	*ret_len = len;
	return 1;
}

void wire_consume(struct wire_in *in)
{
	size_t used = WIRE_HEADER + wire_get32(in->buf + 8);

	memmove(in->buf, in->buf + used, in->len - used);
	in->len -= used;
	close_fds(in);
}

int wire_take_fd(struct wire_in *in, unsigned int i)
{
	int fd;

	if (i >= in->nr_fds || in->fds[i] < 0)
		return -EBADF;
	fd = in->fds[i];
	in->fds[i] = -1;
	return fd;
}

void wire_header(uint8_t header[WIRE_HEADER], size_t len, unsigned int nr_fds)
{
	uint32_t magic = htole32(WIRE_MAGIC);
	uint32_t length = htole32((uint32_t)len);
	uint16_t version = htole16(WIRE_VERSION);
	uint16_t fds = htole16((uint16_t)nr_fds);

	memcpy(header, &magic, 4);
	memcpy(header + 4, &version, 2);
	memcpy(header + 6, &fds, 2);
	memcpy(header + 8, &length, 4);
}

int wire_send_some(int sock, const void *data, size_t len, const int *fds,
		   unsigned int nr_fds)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * WIRE_FDS_MAX)];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = (void *)data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t n;

	if (nr_fds > WIRE_FDS_MAX)
		return -EINVAL;
	if (nr_fds) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.buf;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nr_fds);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * nr_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * nr_fds);
	}
	do {
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (int)n;
}

static int send_all(int sock, const void *data, size_t len)
{
	const uint8_t *at = data;

	while (len) {
		size_t step = len > (1u << 20) ? 1u << 20 : len;
		int n = wire_send_some(sock, at, step, NULL, 0);

		if (n < 0)
			return n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int wire_send(int sock, const char *body, size_t len, const int *fds,
	      unsigned int nr_fds)
{
	uint8_t header[WIRE_HEADER];
	int n;

	if (len > WIRE_ANSWER_MAX)
		return -EMSGSIZE;
	wire_header(header, len, nr_fds);
	n = wire_send_some(sock, header, sizeof(header), fds, nr_fds);
	if (n < 0)
		return n;
	n = send_all(sock, header + n, sizeof(header) - (size_t)n);
	return n ? n : send_all(sock, body, len);
}
