// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages on a shim's socket; see proto.h.
 *
 * Sizes come from the kernel (one message per datagram), so there is nothing
 * to parse but the fixed head; a message that is too short or too long is an error.
 */
#include "shim/proto.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MS	10000

/* Fill in @addr; by way of a directory descriptor if the path does not fit an address. */
static int fill_address(const char *path, struct sockaddr_un *addr, int *ret_dir)
{
	char copy[PATH_MAX];
	char *slash;

	addr->sun_family = AF_UNIX;
	*ret_dir = -1;
	if (strlen(path) < sizeof(addr->sun_path)) {
		strcpy(addr->sun_path, path);
		return 0;
	}
	slash = strrchr(path, '/');
	if (!slash || strlen(path) >= sizeof(copy))
		return -ENAMETOOLONG;
	memcpy(copy, path, (size_t)(slash - path));
	copy[slash - path] = '\0';
	*ret_dir = open(copy, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*ret_dir < 0)
		return -errno;
	snprintf(addr->sun_path, sizeof(addr->sun_path), "/proc/self/fd/%d%.80s",
		 *ret_dir, slash);
	return 0;
}

int shim_connect(const char *path)
{
	struct sockaddr_un addr = { 0 };
	int dir, sock, err;

	err = fill_address(path, &addr, &dir);
	if (err)
		return err;
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = sock < 0 ? -errno : 0;
	if (!err && connect(sock, (struct sockaddr *)&addr, sizeof(addr))) {
		err = -errno;
		close(sock);
	}
	if (dir >= 0)
		close(dir);
	return err ? err : sock;
}

int shim_send(int sock, const struct shim_msg *msg, const void *data, size_t len,
	      const int *fds, unsigned int nr_fds)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * SHIM_FDS_MAX)];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov[2] = {
		{ .iov_base = (void *)msg, .iov_len = sizeof(*msg) },
		{ .iov_base = (void *)data, .iov_len = len },
	};
	struct msghdr hdr = { .msg_iov = iov, .msg_iovlen = len ? 2 : 1 };
	struct cmsghdr *c;
	ssize_t n;

	if (len > SHIM_DATA_MAX || nr_fds > SHIM_FDS_MAX)
		return -EMSGSIZE;
	if (nr_fds) {
		hdr.msg_control = control.buf;
		hdr.msg_controllen = CMSG_SPACE(sizeof(int) * nr_fds);
		c = CMSG_FIRSTHDR(&hdr);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * nr_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * nr_fds);
	}
	do {
		n = sendmsg(sock, &hdr, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static void take_fds(struct msghdr *hdr, int *ret_fds, unsigned int *ret_nr_fds)
{
	unsigned int i, n, nr = 0;
	struct cmsghdr *c;
	int fd;

	for (c = CMSG_FIRSTHDR(hdr); c; c = CMSG_NXTHDR(hdr, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (unsigned int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (ret_fds && nr < SHIM_FDS_MAX)
				ret_fds[nr++] = fd;
			else
				close(fd);
		}
	}
	if (ret_nr_fds)
		*ret_nr_fds = nr;
}

int shim_receive(int sock, struct shim_msg *ret_msg, void *data, size_t size,
		 int *ret_fds, unsigned int *ret_nr_fds)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * SHIM_FDS_MAX)];
		struct cmsghdr align;
	} control;
	struct iovec iov[2] = {
		{ .iov_base = ret_msg, .iov_len = sizeof(*ret_msg) },
		{ .iov_base = data, .iov_len = size },
	};
	struct msghdr hdr = {
		.msg_iov = iov, .msg_iovlen = size ? 2 : 1,
		.msg_control = control.buf, .msg_controllen = sizeof(control.buf),
	};
	ssize_t n;

	/*
	 * A peer that closes before it read all our messages resets the connection: the
	 * kernel reports ECONNRESET once, and then the messages that the peer had sent.
	 */
	do {
		n = recvmsg(sock, &hdr, MSG_CMSG_CLOEXEC);
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0)
		return -errno;
	if (n == 0)
		return -EPIPE;
	take_fds(&hdr, ret_fds, ret_nr_fds);
	if (hdr.msg_flags & MSG_TRUNC)
		return -EMSGSIZE;
	if ((size_t)n < sizeof(*ret_msg))
		return -EPROTO;
	return (int)((size_t)n - sizeof(*ret_msg));
}

/* The next message that is no unasked SHIM_EXITED. */
static int proto_await(int sock, struct shim_msg *ret_msg, void *data, size_t size,
		       int *ret_fds, unsigned int *ret_nr_fds)
{
	struct pollfd readable = { .fd = sock, .events = POLLIN };
	int n;

	for (;;) {
		n = poll(&readable, 1, ANSWER_MS);
		if (n == 0)
			return -ETIMEDOUT;
		if (n < 0 && errno != EINTR)
			return -errno;
		n = shim_receive(sock, ret_msg, data, size, ret_fds, ret_nr_fds);
		if (n == -EAGAIN || (n >= 0 && ret_msg->type == SHIM_EXITED))
			continue;
		return n;
	}
}

int shim_ask(int sock, enum shim_msg_type type, uint64_t number,
	     struct shim_msg *ret_msg, void *data, size_t size, int *ret_fds,
	     unsigned int *ret_nr_fds)
{
	struct shim_msg msg = { .type = type, .number = number };
	int n = shim_send(sock, &msg, NULL, 0, NULL, 0);

	if (!n)
		n = proto_await(sock, ret_msg, data, size, ret_fds, ret_nr_fds);
	if (n < 0)
		return n;
	if (ret_msg->type != type)
		return -EPROTO;
	return ret_msg->value < 0 ? ret_msg->value : n;
}

int shim_ask_with(int sock, enum shim_msg_type type, int fd)
{
	struct shim_msg msg = { .type = type };
	int n = shim_send(sock, &msg, NULL, 0, &fd, 1);

	if (!n)
		n = proto_await(sock, &msg, NULL, 0, NULL, NULL);
	if (n < 0)
		return n;
	if (msg.type != type)
		return -EPROTO;
	return msg.value < 0 ? msg.value : 0;
}
