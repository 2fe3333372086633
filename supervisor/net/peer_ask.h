/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Questions from ckptd to ckptd, with an answer each: what a node daemon asks of another
 * for ckptrun and for restarts over nodes.  Bodies are those of the control socket (wire.h):
 *
 *	PEER_ASK     number: cookie   data: {"verb": "...", "args": {...}}
 *	PEER_ANSWER  number: cookie   data: {"ok": true, "result": {...}} or
 *					    {"ok": false, "error": {...}}
 *
 * A question may be lost, or its answer: then the outcome is -ETIMEDOUT, and nobody knows
 * whether it was done.  So every verb must be fit to be asked again: what is as it
 * should be is answered with ok.  A node asks for jobs' owners and has checked them; the
 * one that is asked trusts it in that (all ckptds of a hosts file are root's).
 *
 * Verbs between nodes (who works on jobs registers them); numbers are JSON integers,
 * @node is the number of the node asked in the rank map, @record the job's record
 * (jobs.h) as the asking node has it:
 *
 *	start	{"job": J, "run": R, "node": k, "nodes": ["n1", ...], "record": {...}, "restore": {...}}
 *		Make the shim and start the ranks of node k, or restore them.  {"init": pid}, or
 *		an error with "again": something of an earlier run has to end first
 *	end	{"job": J, "run": R, "signal": N, "grace_ms": T}
 *		Signal to the ranks here; after T SIGKILL; 0: at once.  Answered when none is
 *		left.  {"status": S}, or {} where there was none
 * The others are where they are registered (peer_verb()): parts.h has most of them.
 */
#ifndef STILLPOINT_PEER_ASK_H
#define STILLPOINT_PEER_ASK_H

#include <jansson.h>

#include "supervisor/net/peer.h"
#include "base/reactor.h"

#define PEER_ASK_MAX	256		/* open questions to one node; and of one node's */
#define PEER_BODY_MAX	(16u << 20)	/* of JSON */

struct peer_asks;
struct peer_question;

/* One per peer; takes PEER_ASK and PEER_ANSWER.  Close it before the peer. */
int peer_asks_open(struct peer *peer, struct reactor *reactor, struct peer_asks **ret_asks);
/* Open questions of ours come to nothing: who asked may be gone already.  NULL is fine. */
void peer_asks_close(struct peer_asks *asks);

/*
 * peer_ask() - ask @node (index in the hosts file)
 * @args: taken over
 * @fn: called once, later, unless peer_ask() failed, or peer_ask_forget() or
 *	peer_asks_close() came first; the outcome is the caller's during the call
 *
 * 0 or as peer_send(), or -EMFILE: too many are open to that node.
 */
typedef void (*peer_answer_fn)(const json_t *outcome, void *arg);
int peer_ask(struct peer_asks *asks, unsigned int node, const char *verb, json_t *args,
	     unsigned int timeout_ms, peer_answer_fn fn, void *arg, uint64_t *ret_cookie);
/* Its time begins anew; unknown is fine. */
void peer_ask_extend(struct peer_asks *asks, uint64_t cookie, unsigned int timeout_ms);
void peer_ask_forget(struct peer_asks *asks, uint64_t cookie);	/* unknown is fine */

/* A verb; @question is to be answered, now or later.  @args is valid until then. */
typedef void (*peer_verb_fn)(struct peer_question *question, void *arg);
/* -EEXIST, -E2BIG. @verb must outlive @asks. */
int peer_verb(struct peer_asks *asks, const char *verb, peer_verb_fn fn, void *arg);

unsigned int peer_question_from(const struct peer_question *question);	/* hosts file */
json_t *peer_question_args(const struct peer_question *question);
/* Once; takes over @outcome (outcome.h). Fine after peer_asks_close(), too. */
void peer_question_answer(struct peer_question *question, json_t *outcome);

#endif /* STILLPOINT_PEER_ASK_H */
