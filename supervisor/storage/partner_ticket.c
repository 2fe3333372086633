// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asking another node for a ticket to the copies that it keeps; see partner_server.h.
 *
 * The question goes over the control connection, so the answer is from the node of that key
 * and nobody else has read it. The token is passed on and forgotten: it appears in no log,
 * and in the JSON of an answer only while that is being read.
 */
#include "supervisor/storage/partner_server.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/net/nodes.h"
#include "base/outcome.h"

#define ASK_MS	10000

struct asking {
	struct partner_ticket t;	/* the fields known beforehand */
	bool may_be_plain;
	partner_ticket_fn fn;
	void *arg;
};

static bool partner_ticket_read_hex(const char *hex, uint8_t *bytes, size_t size)
{
	size_t len;

	return strlen(hex) == 2 * size &&
	       !sodium_hex2bin(bytes, size, hex, 2 * size, NULL, &len, NULL) && len == size;
}

static json_t *partner_ticket_read_ticket(struct asking *a, const json_t *outcome)
{
	json_t *result = json_object_get(outcome, "result");
	struct partner_ticket *t = &a->t;
	int read_only, plain;
	const char *id, *token;
	json_int_t port;

	if (!outcome_is_ok(outcome))
		return outcome_of_node(outcome, t->node);
	if (json_unpack(result, "{s:I, s:s, s:s, s:b, s:b !}", "port", &port, "id", &id,
			"token", &token, "read_only", &read_only, "plain", &plain) ||
	    port < 1 || port > UINT16_MAX || !partner_ticket_read_hex(id, t->id, sizeof(t->id)) ||
	    !partner_ticket_read_hex(token, t->token, sizeof(t->token)) ||
	    (plain && !a->may_be_plain) || (t->read_only && !read_only))
		return outcome_error(-EPROTO,
				     "node %s: what it answered is no ticket: install the same "
				     "version on both nodes",
				     t->node);
	t->port = (uint16_t)port;
	t->read_only = read_only;
	t->plain = plain;
	return NULL;
}

static void partner_ticket_on_answer(const json_t *outcome, void *arg)
{
	struct asking *a = arg;
	json_t *no = partner_ticket_read_ticket(a, outcome);

	a->fn(no ? NULL : &a->t, no, a->arg);
	sodium_memzero(a, sizeof(*a));
	free(a);
}

int partner_ticket_ask(struct common *common, const char *node, const char *owner, bool read_only,
	      partner_ticket_fn fn, void *arg)
{
	struct peer *peer = nodes_peer(common->nodes);
	bool plain = !common->config.store_encrypt;
	struct peer_node who;
	struct asking *a;
	int index, err;

	index = peer ? peer_find(peer, node) : -ENOENT;
	if (index < 0)
		return -ENOENT;
	if ((unsigned int)index == peer_self(peer))
		return -EINVAL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	*a = (struct asking) { .may_be_plain = plain, .fn = fn, .arg = arg };
	peer_node(peer, (unsigned int)index, &who);
	owner = owner ? owner : common->config.node;
	snprintf(a->t.node, sizeof(a->t.node), "%s", who.name);
	snprintf(a->t.address, sizeof(a->t.address), "%s", who.address);
	snprintf(a->t.owner, sizeof(a->t.owner), "%s", owner);
	a->t.read_only = read_only || strcmp(owner, common->config.node);
	err = peer_ask(nodes_asks(common->nodes), (unsigned int)index, "store",
		       json_pack("{s:i, s:s, s:b, s:b}", "version", PARTNER_VERSION, "owner",
				 owner, "read_only", (int)a->t.read_only, "plain", (int)plain),
		       ASK_MS, partner_ticket_on_answer, a, NULL);
	if (err)
		free(a);
	return err;
}

int partner_of_owner(struct common *common, const char *owner, const char **ret_name)
{
	unsigned int nr;
	const struct levels_node *nodes = nodes_list(common->nodes, &nr);
	int index;

	if (nr < 2)
		return -ERANGE;
	index = partner_choose(nodes, nr, owner, NULL);
	if (index < 0)
		return index;
	*ret_name = nodes[index].name;
	return 0;
}
