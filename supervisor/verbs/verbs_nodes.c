// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request nodes: list the other nodes, and whether they answer.
 *
 * Anybody may ask: the nodes' names, addresses and whether they answer are no
 * secrets.  The answer comes when all nodes have been heard, or after a few seconds.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <string.h>

#include "supervisor/storage/common.h"
#include "supervisor/net/nodes.h"
#include "base/outcome.h"

static void on_probed(void *arg)
{
	struct request *request = arg;

	request_answer(request, outcome_ok(nodes_describe(request->common->nodes)));
}

void verb_nodes(struct request *request)
{
	struct nodes *nodes = request->common->nodes;
	const struct config *config = &request->common->config;
	int err;

	if (json_object_size(request->args)) {
		request_answer(request, outcome_usage("nodes: bad arguments"));
	} else if (nodes_problem(nodes)) {
		request_answer(request, outcome_error(-ENOTCONN, "%s; then restart ckptd",
						      nodes_problem(nodes)));
	} else if (!nodes_peer(nodes)) {
		request_answer(request, outcome_error(-ENOENT,
						      "this node is on its own: there is no %s. "
						      "ckptctl keygen on every node prints its "
						      "line for that file; copy the file to all "
						      "nodes and restart ckptd",
						      config->hosts));
	} else {
		err = nodes_probe(nodes, on_probed, request);
		if (err)
			request_answer(request, outcome_error(err, "%s", strerror(-err)));
	}
}
