// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target: the hosts file, and what a node with a good key may say.
 *
 * A first byte of 'h' makes the rest a hosts file, any other an envelope from node 1.  Held
 * to: a list that is taken has no name and no key twice, a job's message comes from
 * the number that its node has, and there are no more bytes than may be.
 */
#include <stdlib.h>
#include <string.h>

#include "supervisor/net/peer_core.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_corpus = "tests/fuzz/corpus/peer";

static void parse(const uint8_t *data, size_t size)
{
	struct hosts hosts = { 0 };
	struct ckpt_error error;
	unsigned int i;

	if (hosts_parse((const char *)data, size, &hosts, &error))
		fuzz_touch(error.text, strlen(error.text));
	for (i = 0; i < hosts.nr; i++) {
		if (hosts_find(&hosts, hosts.host[i].name) != (int)i ||
		    hosts_find_key(&hosts, hosts.host[i].key) != (int)i ||
		    !hosts.host[i].port)
			abort();
	}
	hosts_done(&hosts);
}

static int on_send(struct peer *peer, unsigned int host, uint8_t *bytes, size_t len)
{
	fuzz_touch(bytes, len);
	free(bytes);
	return 0;
}

static enum peer_state on_state(const struct peer *peer, unsigned int host, time_t *ret_since)
{
	return PEER_UP;
}

static void on_message(const struct peer_msg *msg, void *arg)
{
	struct coord_msg coord;

	if (msg->node != 1 || msg->len > PEER_DATA_MAX || !!msg->job != (msg->type < PEER_PROBE))
		abort();
	fuzz_touch(msg->data, msg->len);
	if (msg->type == PEER_COORD && !peer_coord_read(msg, &coord) &&
	    coord_msg_size(&coord) != msg->len)
		abort();
}

static void deliver(const uint8_t *data, size_t size)
{
	static const struct log log = { .name = "fuzz", .level = LOG_LEVEL_ERROR };
	static const char *const names[] = { "a", "b" };
	static const struct peer_ops ops = { .send = on_send, .state = on_state };
	struct host host[2] = { { .name = "a" }, { .name = "b" } };
	struct hosts hosts = { host, 2 };
	struct peer_node node;
	struct peer peer;
	int type;

	if (peer_init(&peer, &ops, &hosts, 0, &log))
		return;
	for (type = 1; type < PEER_TYPES; type++)
		peer_receive(&peer, (enum peer_type)type, on_message, NULL);
	peer_job_add(&peer, 1, 0, names, 2, NULL);
	peer_deliver(&peer, 1, data, size);
	peer_node(&peer, 1, &node);
	peer_done(&peer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (!size)
		return 0;
	/* exactly as long, so that an overrun is seen */
	copy = malloc(size);
	memcpy(copy, data, size);
	if (data[0] == 'h')
		parse(copy + 1, size - 1);
	else
		deliver(copy + 1, size - 1);
	free(copy);
	return 0;
}
