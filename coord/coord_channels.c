// SPDX-License-Identifier: GPL-2.0-only
/*
 * Was every message that was sent also received?
 *
 * Messages are counted per channel, that is per pair of ranks, never as a sum over
 * channels: a sum can hide a lost message.
 *
 * When no rank of a node starts a send any more, the node announces to the nodes of
 * their peers how many messages each channel has carried since the job began.
 * A receiving node is drained when it has received as many messages on every channel
 * announced to it.  No node knows whether all announcements have arrived, so reports
 * carry how many channels were announced and how many are known, and the root waits
 * until the two sums are equal.  A late announcement may reach a node that was drained:
 * the node is then no longer drained, and the report that counts the announcement says
 * so.  A channel is counted once, however often it is announced: the table is keyed by
 * the pair.
 */
#include "coord/coord_priv.h"

void coord_channels_clear(struct coord *c)
{
	memset(c->in, 0, c->config.max_channels * sizeof(*c->in));
	c->nr_out = 0;
	c->out_next = 0;
	c->nr_in = 0;
	c->nr_open = 0;
	c->closed = false;
}

static struct channel_in *coord_channels_find(struct coord *c, uint32_t source, uint32_t dest)
{
	uint64_t hash = ((uint64_t)source << 32 | dest) * 0x9e3779b97f4a7c15ull;
	uint32_t i, at, size = c->config.max_channels;

	if (!size)
		return NULL;
	at = (uint32_t)((hash >> 32) % size);
	for (i = 0; i < size; i++, at = at + 1 == size ? 0 : at + 1) {
		struct channel_in *in = &c->in[at];

		if (!in->used) {
			in->used = true;
			in->source = source;
			in->dest = dest;
			return in;
		}
		if (in->source == source && in->dest == dest)
			return in;
	}
	return NULL;
}

static void coord_channels_check(struct coord *c, const struct channel_in *in)
{
	struct coord_wait wait = {
		.node = c->config.self, .rank = in->dest, .peer = in->source,
		.reason = COORD_WHY_COUNTERS,
	};

	if (in->known && in->received > in->announced)
		coord_node_fail(c, COORD_WHY_COUNTERS, -EPROTO, &wait);
}

static void coord_channels_announce(struct coord *c, const struct coord_channel *channel)
{
	struct channel_in *in = coord_channels_find(c, channel->source, channel->dest);

	if (!in) {
		coord_node_fail(c, COORD_WHY_TABLE, -ENOSPC, NULL);
		return;
	}
	if (in->known)
		return;
	in->known = true;
	in->announced = channel->count;
	c->nr_in++;
	c->nr_open += in->received < in->announced;
	coord_channels_check(c, in);
}

void coord_channels_received(struct coord *c, const struct coord_channel *channel)
{
	struct channel_in *in = coord_channels_find(c, channel->source, channel->dest);
	bool open;

	if (!in) {
		coord_node_fail(c, COORD_WHY_TABLE, -ENOSPC, NULL);
		return;
	}
	if (channel->count <= in->received)
		return;
	open = in->known && in->received < in->announced;
	in->received = channel->count;
	if (open && in->received >= in->announced)
		c->nr_open--;
	coord_channels_check(c, in);
}

void coord_channels_sent(struct coord *c, const struct coord_channel *channel)
{
	if (c->closed || channel->dest >= c->config.nr_ranks)
		return;
	if (c->nr_out == c->config.max_channels) {
		coord_node_fail(c, COORD_WHY_TABLE, -ENOSPC, NULL);
		return;
	}
	c->out_state[c->nr_out] = 0;
	c->out[c->nr_out++] = *channel;
	if (c->config.node_of[channel->dest] == c->config.self) {
		c->out_state[c->nr_out - 1] = 1;
		coord_channels_announce(c, channel);
	}
}

static void coord_channels_on_ack(struct coord *c, const struct coord_msg *msg)
{
	uint64_t i;

	for (i = msg->serial; i < msg->serial + msg->count && i < c->nr_out; i++)
		c->out_state[i] = 1;
}

void coord_channels_on_msg(struct coord *c, const struct coord_msg *msg)
{
	struct coord_msg *ack;
	unsigned int i;

	/* CHANNELS may arrive before our own order to drain, but not before the operation */
	if (!id_equal(msg->id, c->id) || c->order < COORD_ORDER_QUIESCE ||
	    c->order > COORD_ORDER_DRAIN || c->aborting || msg->count > COORD_BATCH)
		return;
	if (msg->kind == COORD_MSG_CHANNELS_ACK) {
		coord_channels_on_ack(c, msg);
		return;
	}
	ack = coord_send(c, msg->from, COORD_MSG_CHANNELS_ACK);
	if (!ack)
		return;
	ack->count = msg->count;
	ack->serial = msg->serial;
	for (i = 0; i < msg->count; i++)
		coord_channels_announce(c, &msg->channels[i]);
}

/*
 * Send entries from @at on to the node of the first, as many as fit into one message.
 * Returns the entry to go on with; @at if there was no room for a message.
 */
static uint32_t send_batch(struct coord *c, uint32_t at)
{
	uint32_t node = c->config.node_of[c->out[at].dest];
	struct coord_msg *msg;

	if (!coord_has_room(c))
		return at;
	msg = coord_send(c, node, COORD_MSG_CHANNELS);
	msg->serial = at;
	while (at < c->nr_out && msg->count < COORD_BATCH && !c->out_state[at] &&
	       c->config.node_of[c->out[at].dest] == node)
		msg->channels[msg->count++] = c->out[at++];
	return at;
}

/* Send entries that were never sent; @again: also those sent but not acknowledged. */
void coord_channels_flush(struct coord *c, bool again)
{
	uint32_t at, next;

	if (!c->closed || c->order != COORD_ORDER_DRAIN)
		return;
	if (again && c->out_next == c->nr_out)
		c->out_next = 0;
	for (at = c->out_next; at < c->nr_out; at = next) {
		next = at + 1;
		if (c->out_state[at])
			continue;
		next = send_batch(c, at);
		if (next == at) {
			/* no room for more messages: go on at once, in the next step */
			c->retry_at = c->now;
			break;
		}
	}
	c->out_next = at;
}

bool coord_channels_drained(const struct coord *c)
{
	return c->closed && !c->nr_open;
}
