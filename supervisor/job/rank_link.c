// SPDX-License-Identifier: GPL-2.0-only
/*
 * The connection to a shim that watches the ranks of a job for ckptd; see rank_link.h.
 *
 * Owns one seqpacket socket. Orders are small and few, so an order that cannot be sent at once
 * means that the shim does not read: its ranks cannot be quiesced. Orders and targets share one
 * ascending number. A report has the number that it is about; reports that are not about the
 * latest are dropped here.
 */
#include "supervisor/job/rank_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rank_link {
	struct reactor_source *source;
	int sock;
	unsigned int nr_ranks;
	uint64_t number;	/* of the latest order or targets */
	uint64_t order;		/* of the latest order */
	const struct rank_link_ops *ops;
	void *arg;
};

static bool is_rank(const struct rank_link *link, uint32_t rank)
{
	return rank < link->nr_ranks;
}

static int rank_link_on_counts(struct rank_link *link, const struct shim_msg *msg, const void *data,
			       size_t len)
{
	const struct shim_count *counts = data;
	size_t i, nr = len / sizeof(*counts);

	if (len % sizeof(*counts))
		return -EPROTO;
	for (i = 0; i < nr; i++) {
		if (!is_rank(link, counts[i].source) || !is_rank(link, counts[i].dest))
			return -EPROTO;
	}
	link->ops->counts(msg->value, counts, nr, link->arg);
	return 0;
}

static int rank_link_on_stuck(struct rank_link *link, const void *data, size_t len)
{
	struct shim_wait wait;

	if (len != sizeof(wait))
		return -EPROTO;
	memcpy(&wait, data, sizeof(wait));
	wait.name[sizeof(wait.name) - 1] = '\0';
	if (!is_rank(link, wait.rank))
		return -EPROTO;
	link->ops->stuck(&wait, link->arg);
	return 0;
}

static int rank_link_on_failed(struct rank_link *link, const struct shim_msg *msg, const void *data,
			       size_t len)
{
	struct shim_failure failure;

	if (len != sizeof(failure))
		return -EPROTO;
	memcpy(&failure, data, sizeof(failure));
	failure.text[sizeof(failure.text) - 1] = '\0';
	if (!is_rank(link, failure.rank))
		return -EPROTO;
	link->ops->failed((uint32_t)msg->value, &failure, link->arg);
	return 0;
}

static int rank_link_handle(struct rank_link *link, const struct shim_msg *msg, const void *data,
			    size_t len)
{
	bool latest = msg->number == link->order;

	switch (msg->type) {
	case SHIM_WATCH:
		return msg->value < 0 ? msg->value : 0;
	case SHIM_BEGUN:
		if (len % sizeof(struct shim_seq))
			return -EPROTO;
		/* An older report may be dropped: after an order to quiesce all are sent anew. */
		if (latest)
			link->ops->begun(data, len / sizeof(struct shim_seq), link->arg);
		return 0;
	case SHIM_COUNTS:
		return latest ? rank_link_on_counts(link, msg, data, len) : 0;
	case SHIM_REACHED:
		if (latest)
			link->ops->reached((uint32_t)msg->value, link->arg);
		return 0;
	case SHIM_CAUGHT_UP:
		if (msg->number == link->number)
			link->ops->caught_up(link->arg);
		return 0;
	case SHIM_STUCK:
		return latest ? rank_link_on_stuck(link, data, len) : 0;
	case SHIM_RANK_FAILED:
		return latest ? rank_link_on_failed(link, msg, data, len) : 0;
	default:	/* SHIM_EXITED, and messages of a newer shim */
		return 0;
	}
}

static void rank_link_on_shim(uint32_t events, void *arg)
{
	struct rank_link *link = arg;
	char data[SHIM_DATA_MAX];
	struct shim_msg msg;
	int n, err;

	/* Handle one message only: the callback may close @link. */
	n = shim_receive(link->sock, &msg, data, sizeof(data), NULL, NULL);
	if (n == -EAGAIN)
		return;
	err = n < 0 ? n : rank_link_handle(link, &msg, data, (size_t)n);
	if (err) {
		reactor_remove(link->source);
		link->source = NULL;
		link->ops->lost(err, link->arg);
	}
}

static int rank_link_send(struct rank_link *link, uint32_t type, int32_t value, const void *data,
			  size_t len)
{
	struct shim_msg msg = { .type = type, .value = value, .number = ++link->number };

	return shim_send(link->sock, &msg, data, len, NULL, 0);
}

int rank_link_order(struct rank_link *link, uint32_t intent)
{
	link->order = link->number + 1;
	return rank_link_send(link, SHIM_ORDER, (int32_t)intent, NULL, 0);
}

int rank_link_targets(struct rank_link *link, const struct shim_seq *targets, size_t nr)
{
	return rank_link_send(link, SHIM_TARGETS, 0, targets, nr * sizeof(*targets));
}

int rank_link_open(struct reactor *reactor, const char *path, unsigned int nr_ranks,
		   const struct rank_link_ops *ops, void *arg, struct rank_link **ret_link)
{
	struct rank_link *link = calloc(1, sizeof(*link));
	struct shim_msg msg = { .type = SHIM_WATCH };
	int err;

	if (!link)
		return -ENOMEM;
	*link = (struct rank_link) { .nr_ranks = nr_ranks, .ops = ops, .arg = arg };
	link->sock = shim_connect(path);
	err = link->sock < 0 ? link->sock :
	      shim_send(link->sock, &msg, NULL, 0, NULL, 0);
	if (!err)
		err = reactor_fd(reactor, link->sock, EPOLLIN, rank_link_on_shim, link,
				 &link->source);
	if (err) {
		rank_link_close(link);
		return err;
	}
	*ret_link = link;
	return 0;
}

void rank_link_close(struct rank_link *link)
{
	if (!link)
		return;
	reactor_remove(link->source);
	if (link->sock >= 0)
		close(link->sock);
	free(link);
}
