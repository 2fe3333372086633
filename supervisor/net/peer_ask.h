/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Questions from ckptd to ckptd, each with an answer: requests of one node daemon to
 * another, for ckptrun and for restarts over nodes. Bodies are those of the control socket
 * (wire.h):
 *
 *	PEER_ASK     number: cookie   data: {"verb": "...", "args": {...}}
 *	PEER_ANSWER  number: cookie   data: {"ok": true, "result": {...}} or
 *					    {"ok": false, "error": {...}}
 *
 * A question or its answer may be lost: then the outcome is -ETIMEDOUT, and nobody knows
 * whether the request was carried out. So every verb must be repeatable: if the wanted
 * state is there already, the answer is ok. The asking node has checked the job's owner;
 * the node that is asked trusts it in that (all ckptds of a hosts file are root's).
 *
 * Verbs between nodes are registered by the code that works on jobs. Numbers are JSON
 * integers, "node" is the number of the node asked in the rank map, "record" is the job's
 * record (jobs.h) as the asking node has it:
 *
 *	start	{"job": J, "run": R, "node": k, "nodes": ["n1", ...], "record": {...},
 *		"restore": {...}}
 *		Make the shim and start the ranks of node k, or restore them. {"init": pid}, or
 *		an error with "again": something of an earlier run has to end first
 *		With "hold" in "restore": answered when the part is ready; asked once more with
 *		"go": true, it lets the part run, and answers when the ranks do
 *	end	{"job": J, "run": R, "signal": N, "grace_ms": T}
 *		Send the signal to this node's ranks; SIGKILL after T, at once if T is 0.
 *		Answered when no rank is left. {"status": S}, or {} if there was none
 * The other verbs are described where they are registered (peer_verb()), most in parts.h.
 */
#ifndef STILLPOINT_PEER_ASK_H
#define STILLPOINT_PEER_ASK_H

#include <jansson.h>

#include "supervisor/net/peer.h"
#include "base/reactor.h"

#define PEER_ASK_MAX	256		/* open questions to one node, and from one node */
#define PEER_ASK_KEPT	64		/* of them, for reports of parts alone */
#define PEER_BODY_MAX	(16u << 20)	/* of JSON */

struct peer_asks;
struct peer_question;

/* One per peer; receives PEER_ASK and PEER_ANSWER. Close it before the peer. */
int peer_asks_open(struct peer *peer, struct reactor *reactor, struct peer_asks **ret_asks);
/* Drops our open questions without a call: whoever asked may be gone already. NULL is fine. */
void peer_asks_close(struct peer_asks *asks);

/*
 * peer_ask() - ask @node (index in the hosts file)
 * @args: taken over
 * @fn: called once, later, unless peer_ask() failed, or peer_ask_forget() or
 *	peer_asks_close() came first; borrows the outcome during the call
 *
 * 0, or errors as peer_send(), or -EMFILE: too many questions are open to that node. Reports of
 * parts have places of their own, so that no user's requests keep them back.
 */
typedef void (*peer_answer_fn)(const json_t *outcome, void *arg);
int peer_ask(struct peer_asks *asks, unsigned int node, const char *verb, json_t *args,
	     unsigned int timeout_ms, peer_answer_fn fn, void *arg, uint64_t *ret_cookie);
/* Restart the question's timeout; an unknown cookie is fine. */
void peer_ask_extend(struct peer_asks *asks, uint64_t cookie, unsigned int timeout_ms);
void peer_ask_forget(struct peer_asks *asks, uint64_t cookie);	/* unknown is fine */

/* Handles a verb; must answer @question, now or later. Its args are valid until then. */
typedef void (*peer_verb_fn)(struct peer_question *question, void *arg);
/* -EEXIST, -E2BIG. @verb must outlive @asks. */
int peer_verb(struct peer_asks *asks, const char *verb, peer_verb_fn fn, void *arg);

/* index in the hosts file */
unsigned int peer_question_from(const struct peer_question *question);
json_t *peer_question_args(const struct peer_question *question);
/* Answer once; takes over @outcome (outcome.h). Also fine after peer_asks_close(). */
void peer_question_answer(struct peer_question *question, json_t *outcome);

#endif /* STILLPOINT_PEER_ASK_H */
