// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request ticket (ticket.h): a worker of ckptd wants access to images on another node.
 *
 * Decides which node keeps the images, and asks it for a ticket; that node decides whether to
 * give one.  For root only: a ticket gives access to the images.  Tickets are not stored here,
 * and nothing of a ticket may come into a log.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/storage/common.h"
#include "base/outcome.h"
#include "supervisor/storage/partner_server.h"
#include "supervisor/storage/ticket.h"

static void verb_ticket_on_ticket(const struct partner_ticket *t, json_t *outcome, void *arg)
{
	char id[2 * sizeof(t->id) + 1], token[2 * sizeof(t->token) + 1];
	struct request *request = arg;

	if (!t) {
		request_answer(request, outcome);
		return;
	}
	sodium_bin2hex(id, sizeof(id), t->id, sizeof(t->id));
	sodium_bin2hex(token, sizeof(token), t->token, sizeof(t->token));
	request_answer(request,
		       outcome_ok(json_pack("{s:s, s:s, s:i, s:s, s:b, s:b, s:s, s:s}", "node",
					    t->node, "address", t->address, "port", (int)t->port,
					    "owner", t->owner, "read_only", (int)t->read_only,
					    "plain", (int)t->plain, "id", id, "token", token)));
	sodium_memzero(token, sizeof(token));
}

/* This node itself is @owner's partner: answer with the directory of the images. */
static json_t *our_own(const struct config *config, const char *owner)
{
	if (!config->store)
		return outcome_error(-EOPNOTSUPP,
				     "this node would be the one that keeps images of node %s, but "
				     "has no store",
				     owner);
	return outcome_ok(json_pack("{s:s}", "dir", config->store));
}

static json_t *verb_ticket_ask(struct request *request)
{
	struct common *common = request->common;
	const char *node = NULL, *owner;
	json_error_t why;
	int read_only, err = 0;

	if (request->uid)
		return outcome_error(-EPERM, "tickets are for ckptd's own workers");
	if (json_unpack_ex(request->args, &why, 0, "{s?s, s:s, s:b !}", "node", &node, "owner",
			   &owner, "read_only", &read_only))
		return outcome_usage("ticket: bad arguments: %s", why.text);
	if (!node)
		err = partner_of_owner(common, owner, &node);
	if (err)
		return outcome_error(err,
				     err == -ERANGE ? "there is no other node to keep images of "
						      "node %s: see ckptctl nodes"
						    : "which node keeps images of node %s cannot "
						      "be told: see ckptctl nodes",
				     owner);
	if (!strcmp(node, common->config.node))
		return read_only && strcmp(owner, node) ? our_own(&common->config, owner) :
		       outcome_error(-EINVAL, "node %s cannot be its own partner", node);
	err = partner_ticket_ask(common, node, owner, read_only, verb_ticket_on_ticket, request);
	return err ? outcome_error(err, "node %s cannot be asked: %s", node, strerror(-err)) : NULL;
}

void verb_ticket(struct request *request)
{
	json_t *outcome = verb_ticket_ask(request);

	if (outcome)
		request_answer(request, outcome);
}
