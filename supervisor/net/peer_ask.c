// SPDX-License-Identifier: GPL-2.0-only
/*
 * Questions between ckptds; see peer_ask.h.
 *
 * Cookies start at the clock's time, so that an answer to a question from before a restart
 * of this daemon is not taken for an answer to a new one. An answer counts only if it comes
 * from the node that was asked. Everything is bounded: questions beyond the limit are
 * answered with -EBUSY, not kept.
 */
#include "supervisor/net/peer_ask.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/outcome.h"

#define VERBS_MAX 24
#define BUCKETS 1024		/* cookies are consecutive */

struct ask {			/* a question of this node */
	struct peer_asks *asks;
	struct ask *next;
	uint64_t cookie;
	unsigned int node;
	peer_answer_fn fn;
	void *arg;
	struct reactor_source *timer;
};

struct peer_question {		/* a question of another node */
	struct peer_asks *asks;	/* NULL: closed */
	struct peer_question *next;
	uint64_t cookie;
	unsigned int node;
	json_t *args;
};

struct verb {
	const char *name;
	peer_verb_fn fn;
	void *arg;
};

struct peer_asks {
	struct peer *peer;
	struct reactor *reactor;
	uint64_t cookie;
	struct ask *open[BUCKETS];	/* by cookie */
	struct peer_question *questions;
	unsigned int nr_nodes;
	unsigned int *nr_open;		/* questions of this node, by the node asked */
	unsigned int *nr_questions;	/* questions of others, by the node that asks */
	struct verb verbs[VERBS_MAX];
	unsigned int nr_verbs;
};

/* The verbs of reports and failures of jobs: they are answered at once, and leases hang on them. */
static bool peer_ask_is_report(const char *verb)
{
	return !strcmp(verb, "part") || !strcmp(verb, "over") || !strcmp(verb, "failure");
}

/* Is there a place for one more question with the verb beside @nr open ones of the same node? */
static bool peer_ask_has_place(const char *verb, unsigned int nr)
{
	return nr < PEER_ASK_MAX - (peer_ask_is_report(verb) ? 0 : PEER_ASK_KEPT);
}

static int peer_ask_send_json(struct peer *peer, unsigned int node, enum peer_type type,
			      uint64_t cookie, const json_t *json)
{
	_cleanup_free_ char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	struct peer_msg msg = {
		.node = node, .type = type, .number = cookie, .data = text,
	};

	if (!text)
		return -ENOMEM;
	msg.len = strlen(text);
	return msg.len > PEER_BODY_MAX ? -EMSGSIZE : peer_send(peer, &msg);
}

/* ------------------------------------------------------------------ ours */

static struct ask **ask_find(struct peer_asks *asks, uint64_t cookie)
{
	struct ask **a = &asks->open[cookie % BUCKETS];

	while (*a && (*a)->cookie != cookie)
		a = &(*a)->next;
	return a;
}

static void ask_drop(struct ask **at)
{
	struct ask *a = *at;

	*at = a->next;
	a->asks->nr_open[a->node]--;
	reactor_remove(a->timer);
	free(a);
}

/* Takes over @outcome. */
static void ask_end(struct ask **at, json_t *outcome)
{
	peer_answer_fn fn = (*at)->fn;
	void *arg = (*at)->arg;

	ask_drop(at);
	fn(outcome, arg);
	json_decref(outcome);
}

static void on_timeout(void *arg)
{
	struct ask *a = arg;

	a->timer = NULL;
	ask_end(ask_find(a->asks, a->cookie),
		outcome_error(-ETIMEDOUT, "has not answered: see ckptctl nodes"));
}

int peer_ask(struct peer_asks *asks, unsigned int node, const char *verb, json_t *args,
	     unsigned int timeout_ms, peer_answer_fn fn, void *arg, uint64_t *ret_cookie)
{
	json_t *json = json_pack("{s:s, s:o}", "verb", verb, "args", args);
	struct ask *a = NULL;
	int err = -ENOMEM;

	if (node >= asks->nr_nodes)
		err = -ENOENT;
	else if (!peer_ask_has_place(verb, asks->nr_open[node]))
		err = -EMFILE;
	else
		a = calloc(1, sizeof(*a));
	if (!a) {
		json_decref(json);
		return err;
	}
	*a = (struct ask) {
		.asks = asks, .cookie = ++asks->cookie, .node = node, .fn = fn, .arg = arg,
	};
	err = reactor_timer(asks->reactor, timeout_ms, on_timeout, a, &a->timer);
	if (!err)
		err = peer_ask_send_json(asks->peer, node, PEER_ASK, a->cookie, json);
	json_decref(json);
	if (err) {
		reactor_remove(a->timer);
		free(a);
		return err;
	}
	a->next = asks->open[a->cookie % BUCKETS];
	asks->open[a->cookie % BUCKETS] = a;
	asks->nr_open[node]++;
	if (ret_cookie)
		*ret_cookie = a->cookie;
	return 0;
}

void peer_ask_extend(struct peer_asks *asks, uint64_t cookie, unsigned int timeout_ms)
{
	struct ask *a = *ask_find(asks, cookie);
	struct reactor_source *timer;

	if (!a || reactor_timer(asks->reactor, timeout_ms, on_timeout, a, &timer))
		return;
	reactor_remove(a->timer);
	a->timer = timer;
}

void peer_ask_forget(struct peer_asks *asks, uint64_t cookie)
{
	struct ask **at = ask_find(asks, cookie);

	if (*at)
		ask_drop(at);
}

static void peer_ask_on_answer(const struct peer_msg *msg, void *arg)
{
	struct peer_asks *asks = arg;
	struct ask **at = ask_find(asks, msg->number);
	struct peer_node node;
	json_t *outcome;

	if (!*at || (*at)->node != msg->node)
		return;		/* too late, or from another node */
	outcome = msg->len <= PEER_BODY_MAX ?
		  json_loadb(msg->data, msg->len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (!json_is_boolean(json_object_get(outcome, "ok"))) {
		json_decref(outcome);
		peer_node(asks->peer, msg->node, &node);
		outcome = outcome_error(-EPROTO, "what node %s answered is no outcome",
					node.name);
	}
	ask_end(at, outcome);
}

/* ---------------------------------------------------------------- others */

int peer_verb(struct peer_asks *asks, const char *verb, peer_verb_fn fn, void *arg)
{
	unsigned int i;

	for (i = 0; i < asks->nr_verbs; i++) {
		if (!strcmp(asks->verbs[i].name, verb))
			return -EEXIST;
	}
	if (asks->nr_verbs == VERBS_MAX)
		return -E2BIG;
	asks->verbs[asks->nr_verbs++] = (struct verb) { verb, fn, arg };
	return 0;
}

unsigned int peer_question_from(const struct peer_question *question)
{
	return question->node;
}

json_t *peer_question_args(const struct peer_question *question)
{
	return question->args;
}

void peer_question_answer(struct peer_question *question, json_t *outcome)
{
	struct peer_asks *asks = question->asks;
	struct peer_question **at;

	if (asks) {
		/* An answer that cannot be sent is lost; the other node will ask again. */
		peer_ask_send_json(asks->peer, question->node, PEER_ANSWER, question->cookie,
				   outcome);
		for (at = &asks->questions; *at != question;)
			at = &(*at)->next;
		*at = question->next;
		asks->nr_questions[question->node]--;
	}
	json_decref(outcome);
	json_decref(question->args);
	free(question);
}

static const struct verb *verb_of(const struct peer_asks *asks, const char *name)
{
	unsigned int i;

	for (i = 0; i < asks->nr_verbs; i++) {
		if (!strcmp(asks->verbs[i].name, name))
			return &asks->verbs[i];
	}
	return NULL;
}

static void peer_ask_refuse(struct peer_asks *asks, const struct peer_msg *msg, json_t *outcome)
{
	peer_ask_send_json(asks->peer, msg->node, PEER_ANSWER, msg->number, outcome);
	json_decref(outcome);
}

static void on_ask(const struct peer_msg *msg, void *arg)
{
	struct peer_asks *asks = arg;
	json_t *json = msg->len <= PEER_BODY_MAX ?
		       json_loadb(msg->data, msg->len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *name = json_string_value(json_object_get(json, "verb"));
	json_t *args = json_object_get(json, "args");
	const struct verb *verb = name ? verb_of(asks, name) : NULL;
	struct peer_question *q = NULL;

	if (!name || !json_is_object(args) || json_object_size(json) != 2)
		peer_ask_refuse(asks, msg, outcome_error(-EPROTO, "this is no question"));
	else if (!verb)
		peer_ask_refuse(asks, msg,
				outcome_error(-ENOSYS,
					      "ckptd there does not know the request %.40s: is it "
					      "older?",
					      name));
	else if (msg->node >= asks->nr_nodes ||
		 !peer_ask_has_place(name, asks->nr_questions[msg->node]))
		peer_ask_refuse(asks, msg,
				outcome_error(-EBUSY, "too many questions are open there"));
	else
		q = calloc(1, sizeof(*q));
	if (q) {
		q->asks = asks;
		q->cookie = msg->number;
		q->node = msg->node;
		q->args = json_incref(args);
		q->next = asks->questions;
		asks->questions = q;
		asks->nr_questions[q->node]++;
		verb->fn(q, verb->arg);
	}
	json_decref(json);
}

/* ----------------------------------------------------------------- whole */

static void asks_free(struct peer_asks *asks)
{
	free(asks->nr_open);
	free(asks->nr_questions);
	free(asks);
}

int peer_asks_open(struct peer *peer, struct reactor *reactor, struct peer_asks **ret_asks)
{
	struct peer_asks *asks = calloc(1, sizeof(*asks));

	if (!asks)
		return -ENOMEM;
	asks->nr_nodes = peer_nr_nodes(peer);
	asks->nr_open = calloc(asks->nr_nodes + 1, sizeof(*asks->nr_open));
	asks->nr_questions = calloc(asks->nr_nodes + 1, sizeof(*asks->nr_questions));
	if (!asks->nr_open || !asks->nr_questions) {
		asks_free(asks);
		return -ENOMEM;
	}
	asks->peer = peer;
	asks->reactor = reactor;
	asks->cookie = clock_realtime_ns();
	peer_receive(peer, PEER_ASK, on_ask, asks);
	peer_receive(peer, PEER_ANSWER, peer_ask_on_answer, asks);
	*ret_asks = asks;
	return 0;
}

void peer_asks_close(struct peer_asks *asks)
{
	struct peer_question *q;
	unsigned int i;

	if (!asks)
		return;
	peer_receive(asks->peer, PEER_ASK, NULL, NULL);
	peer_receive(asks->peer, PEER_ANSWER, NULL, NULL);
	for (i = 0; i < BUCKETS; i++) {
		while (asks->open[i])
			ask_drop(&asks->open[i]);
	}
	for (q = asks->questions; q; q = q->next)
		q->asks = NULL;
	asks_free(asks);
}
