// SPDX-License-Identifier: GPL-2.0-only
/*
 * Acts for a round of votes; see reach_round.h. Owns its workers and questions. All attempts are
 * made in workers with a deadline: the name of a node may take long to be resolved. A round always
 * ends, as all that it waits for has a deadline; it changes nothing.
 */
#include "supervisor/diagnose/reach_round.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/diagnose/reach.h"
#include "supervisor/net/nodes.h"
#include "supervisor/net/peer_ask.h"

#define REACH_TRY_MS	2500	/* the first packet may be lost; the next one comes after 1 s */
#define REACH_WORK_MS	4000	/* with a name to be resolved */
#define REACH_PEER_MS	5000

struct reach_desk {
	struct common *common;
	unsigned int answers;	/* under way */
};

/* Attempts of this node, for itself (@round) or for another one (@question). */
struct reach_work {
	struct common *common;
	struct reach_round *round;
	struct peer_question *question;
	struct reach_desk *desk;
	json_t *nodes;		/* names */
};

struct reach_round {
	struct common *common;
	json_t *votes, *nodes;
	reach_round_fn fn;
	void *arg;
	unsigned int waits;
};

struct reach_voter {
	struct reach_round *round;
	json_t *name;
};

/* -------------------------------------------------------------- the worker */

static json_t *reach_run(struct channel_reporter *reporter, void *arg)
{
	const struct reach_work *w = arg;
	const struct peer *peer = nodes_peer(w->common->nodes);
	struct reach_target target[REACH_NODES] = { 0 };
	json_t *found = json_object();
	const json_t *name;
	size_t i, nr = 0;

	json_array_foreach(w->nodes, i, name) {
		int index = peer_find(peer, json_string_value(name));
		struct peer_node node;

		if (index < 0 || nr == REACH_NODES)
			continue;
		peer_node(peer, (unsigned int)index, &node);
		target[nr++] = (struct reach_target){ .address = node.address, .port = node.port };
	}
	reach_try(target, (unsigned int)nr, REACH_TRY_MS);
	nr = 0;
	json_array_foreach(w->nodes, i, name) {
		if (peer_find(peer, json_string_value(name)) >= 0 && nr < REACH_NODES)
			json_object_set_new(found, json_string_value(name),
					    json_string(reach_name(target[nr++].found)));
	}
	return outcome_ok(json_pack("{s:o}", "reach", found));
}

static const struct worker_kind reach_kind = {
	.name = "ckptd-reach", .run = reach_run, .deadline_ms = REACH_WORK_MS,
};

static void reach_on_progress(json_t *progress, void *arg)
{
}

static void reach_work_free(struct reach_work *w)
{
	json_decref(w->nodes);
	free(w);
}

/* ---------------------------------------------------------------- the round */

static void reach_round_free(struct reach_round *r)
{
	json_decref(r->votes);
	json_decref(r->nodes);
	free(r);
}

static void reach_round_settle(struct reach_round *r)
{
	const json_t *name;
	json_t *found;
	size_t i;

	if (--r->waits)
		return;
	found = json_array();
	json_array_foreach(r->nodes, i, name)
		json_array_append_new(found, reach_tally(json_string_value(name), r->votes));
	r->fn(found, r->arg);
	reach_round_free(r);
}

/* Take over the votes of node @by. Only those that it was asked for count. */
static void reach_round_take(struct reach_round *r, const json_t *outcome, const char *by)
{
	const json_t *reach = json_object_get(json_object_get(outcome, "result"), "reach"), *name;
	size_t i;

	json_array_foreach(r->nodes, i, name) {
		json_t *vote = json_object_get(reach, json_string_value(name));

		if (json_is_string(vote))
			json_array_append_new(r->votes,
					      json_pack("{s:O, s:s, s:O}", "node", name, "by", by,
							"found", vote));
	}
}

static void reach_on_own(json_t *outcome, void *arg)
{
	struct reach_work *w = arg;
	struct reach_round *r = w->round;

	reach_round_take(r, outcome, r->common->config.node);
	json_decref(outcome);
	reach_work_free(w);
	reach_round_settle(r);
}

static void reach_on_voter(const json_t *outcome, void *arg)
{
	struct reach_voter *voter = arg;
	struct reach_round *r = voter->round;

	reach_round_take(r, outcome, json_string_value(voter->name));
	json_decref(voter->name);
	free(voter);
	reach_round_settle(r);
}

/* Ask the node @name for its votes. False: it is not asked. */
static bool reach_round_ask(struct reach_round *r, json_t *name)
{
	struct peer *peer = nodes_peer(r->common->nodes);
	int index = json_is_string(name) ? peer_find(peer, json_string_value(name)) : -ENOENT;
	struct reach_voter *voter;

	if (index < 0 || (unsigned int)index == peer_self(peer))
		return false;
	voter = calloc(1, sizeof(*voter));
	if (!voter)
		return false;
	voter->round = r;
	voter->name = json_incref(name);
	if (peer_ask(nodes_asks(r->common->nodes), (unsigned int)index, "reach",
		     json_pack("{s:O}", "nodes", r->nodes), REACH_PEER_MS, reach_on_voter, voter,
		     NULL)) {
		json_decref(voter->name);
		free(voter);
		return false;
	}
	r->waits++;
	return true;
}

/* This node's own attempts. */
static int reach_work_start(struct reach_work *w, const struct channel_ops *ops)
{
	const struct worker_spec spec = { .kind = &reach_kind, .arg = w };
	struct worker *worker;

	return worker_start(&w->common->workers, &spec, ops, w, &worker);
}

static struct reach_round *reach_round_new(struct common *common, const json_t *silent)
{
	struct reach_round *r = calloc(1, sizeof(*r));
	json_t *name;
	size_t i;

	if (!r)
		return NULL;
	r->common = common;
	r->votes = json_array();
	r->nodes = json_array();
	json_array_foreach(silent, i, name) {
		if (i < REACH_NODES && strcmp(json_string_value(name), common->config.node))
			json_array_append(r->nodes, name);
	}
	return r;
}

int reach_round_start(struct common *common, const json_t *silent, const json_t *voters,
		      reach_round_fn fn, void *arg)
{
	static const struct channel_ops ops = { reach_on_progress, reach_on_own };
	struct reach_round *r = nodes_peer(common->nodes) ? reach_round_new(common, silent) : NULL;
	struct reach_work *w = r ? calloc(1, sizeof(*w)) : NULL;
	unsigned int asked = 0;
	json_t *name;
	size_t i;
	int err = -ENOMEM;

	if (w) {
		w->common = common;
		w->round = r;
		w->nodes = json_incref(r->nodes);
		err = json_array_size(r->nodes) ? reach_work_start(w, &ops) : -ENOENT;
	}
	if (err) {
		if (w)
			reach_work_free(w);
		if (r)
			reach_round_free(r);
		return err;
	}
	r->fn = fn;
	r->arg = arg;
	r->waits = 1;
	json_array_foreach(voters, i, name)
		asked += asked < REACH_VOTERS && reach_round_ask(r, name);
	return 0;
}

/* ------------------------------------------------------- others' questions */

static void reach_on_answer(json_t *outcome, void *arg)
{
	struct reach_work *w = arg;

	w->desk->answers--;
	peer_question_answer(w->question, outcome);
	reach_work_free(w);
}

static bool reach_is_fine(const json_t *nodes)
{
	const json_t *name;
	size_t i;

	json_array_foreach(nodes, i, name) {
		if (!json_is_string(name))
			return false;
	}
	return json_is_array(nodes) && json_array_size(nodes) <= REACH_NODES;
}

static void reach_on_question(struct peer_question *question, void *arg)
{
	static const struct channel_ops ops = { reach_on_progress, reach_on_answer };
	json_t *nodes = json_object_get(peer_question_args(question), "nodes");
	struct reach_desk *desk = arg;
	struct reach_work *w = NULL;
	int err = -EBUSY;

	if (!reach_is_fine(nodes))
		err = -EINVAL;
	else if (desk->answers < REACH_ANSWERS)
		w = calloc(1, sizeof(*w));
	if (w) {
		w->common = desk->common;
		w->question = question;
		w->desk = desk;
		w->nodes = json_incref(nodes);
		err = reach_work_start(w, &ops);
	}
	if (!err) {
		desk->answers++;
		return;
	}
	if (w)
		reach_work_free(w);
	peer_question_answer(question, outcome_error(err, "no attempts for another node: %s",
						     strerror(-err)));
}

int reach_desk_open(struct common *common, struct reach_desk **ret_desk)
{
	struct peer_asks *asks = nodes_asks(common->nodes);
	struct reach_desk *desk;
	int err;

	*ret_desk = NULL;
	if (!asks)
		return 0;
	desk = calloc(1, sizeof(*desk));
	if (!desk)
		return -ENOMEM;
	desk->common = common;
	err = peer_verb(asks, "reach", reach_on_question, desk);
	if (err)
		free(desk);
	else
		*ret_desk = desk;
	return err;
}

void reach_desk_close(struct reach_desk *desk)
{
	free(desk);
}
