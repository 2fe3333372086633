// SPDX-License-Identifier: GPL-2.0-only
/*
 * Orders to ckpt-launch as messages; see order.h.
 *
 * Owns which descriptor of a message is which: struct launch_message says how many of each kind
 * there are, in the order of its fields. Starts nothing.
 */
#include "launch/order.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FDS_MAX		(4 + LAUNCH_HIERARCHIES + LAUNCH_NS_COUNT)

struct launch_message {
	struct launch_text text;
	uint8_t attach, v2, nr_tasks;	/* after specification and report */
	uint8_t ns[LAUNCH_NS_COUNT];
};

union launch_control {
	char buf[CMSG_SPACE(sizeof(int) * FDS_MAX)];
	struct cmsghdr align;
};

const char *launch_ns_name(enum launch_ns ns)
{
	static const char *const names[] = { "net", "uts", "ipc", "cgroup" };

	return names[ns];
}

void launch_order_init(struct launch_order *order)
{
	*order = (struct launch_order) {
		.text.version = LAUNCH_VERSION,
		.spec = -1, .report = -1, .attach = -1, .v2 = -1, .ns = { -1, -1, -1, -1 },
	};
}

void launch_order_done(struct launch_order *order)
{
	int *const single[] = { &order->spec, &order->report, &order->attach, &order->v2 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(single); i++) {
		if (*single[i] >= 0)
			close(*single[i]);
	}
	for (i = 0; i < order->nr_tasks; i++)
		close(order->tasks[i]);
	for (i = 0; i < LAUNCH_NS_COUNT; i++) {
		if (order->ns[i] >= 0)
			close(order->ns[i]);
	}
	launch_order_init(order);
}

/* The message of @order; its descriptors go to @fds. Return: their number. */
static unsigned int order_write(const struct launch_order *order, struct launch_message *message,
				int fds[FDS_MAX])
{
	unsigned int nr = 0, i;

	*message = (struct launch_message) {
		.text = order->text, .attach = order->attach >= 0, .v2 = order->v2 >= 0,
		.nr_tasks = (uint8_t)order->nr_tasks,
	};
	fds[nr++] = order->spec;
	fds[nr++] = order->report;
	if (message->attach)
		fds[nr++] = order->attach;
	if (message->v2)
		fds[nr++] = order->v2;
	for (i = 0; i < order->nr_tasks; i++)
		fds[nr++] = order->tasks[i];
	for (i = 0; i < LAUNCH_NS_COUNT; i++) {
		message->ns[i] = order->ns[i] >= 0;
		if (message->ns[i])
			fds[nr++] = order->ns[i];
	}
	return nr;
}

int launch_order_send(int sock, const struct launch_order *order)
{
	struct launch_message message;
	union launch_control control = {};
	struct iovec iov = { &message, sizeof(message) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf };
	int fds[FDS_MAX];
	unsigned int nr = order_write(order, &message, fds);
	struct cmsghdr *c;

	msg.msg_controllen = CMSG_SPACE(sizeof(int) * nr);
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * nr);
	memcpy(CMSG_DATA(c), fds, sizeof(int) * nr);
	return sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* All descriptors of @msg. Return: their number. */
static unsigned int order_take_fds(struct msghdr *msg, int fds[FDS_MAX])
{
	unsigned int nr = 0, n;
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (unsigned int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		if (n > FDS_MAX - nr)
			n = FDS_MAX - nr;
		memcpy(fds + nr, CMSG_DATA(c), sizeof(int) * n);
		nr += n;
	}
	return nr;
}

/* How many descriptors a message has; 0: it is none. */
static unsigned int order_count(const struct launch_message *message)
{
	const struct launch_text *text = &message->text;
	unsigned int nr = 2 + !!message->attach + !!message->v2 + message->nr_tasks, i;

	if (text->version != LAUNCH_VERSION || message->nr_tasks > LAUNCH_HIERARCHIES ||
	    text->role[sizeof(text->role) - 1] || text->group[sizeof(text->group) - 1] ||
	    text->loginuid[sizeof(text->loginuid) - 1])
		return 0;
	for (i = 0; i < LAUNCH_NS_COUNT; i++)
		nr += !!message->ns[i];
	return nr;
}

static void order_read(const struct launch_message *message, const int *fds,
		       struct launch_order *ret_order)
{
	unsigned int i;

	launch_order_init(ret_order);
	ret_order->text = message->text;
	ret_order->spec = *fds++;
	ret_order->report = *fds++;
	if (message->attach)
		ret_order->attach = *fds++;
	if (message->v2)
		ret_order->v2 = *fds++;
	for (i = 0; i < message->nr_tasks; i++)
		ret_order->tasks[ret_order->nr_tasks++] = *fds++;
	for (i = 0; i < LAUNCH_NS_COUNT; i++) {
		if (message->ns[i])
			ret_order->ns[i] = *fds++;
	}
}

int launch_order_receive(int sock, struct launch_order *ret_order)
{
	struct launch_message message;
	union launch_control control;
	struct iovec iov = { &message, sizeof(message) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	int fds[FDS_MAX];
	unsigned int nr;
	ssize_t n;

	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	nr = order_take_fds(&msg, fds);
	if (n != (ssize_t)sizeof(message) || msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ||
	    nr < 2 || order_count(&message) != nr) {
		while (nr)
			close(fds[--nr]);
		return -EPROTO;
	}
	order_read(&message, fds, ret_order);
	return 1;
}
