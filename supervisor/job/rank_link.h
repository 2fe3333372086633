/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connection from ckptd to the status pages of a job's ranks on this node, through their
 * shim (shim/pages.h): orders and targets go out, reports come in.
 *
 * Reports on an order that is not the latest are dropped, so callbacks may take each report for
 * an answer to the latest order. Rank numbers are checked; other values come from the ranks as
 * they are and must not be trusted.
 */
#ifndef STILLPOINT_RANK_LINK_H
#define STILLPOINT_RANK_LINK_H

#include <stdbool.h>

#include "shim/proto.h"
#include "base/reactor.h"

struct rank_link;

struct rank_link_ops {
	/* ranks here have begun these collectives, on communicators with members elsewhere */
	void (*begun)(const struct shim_seq *seqs, size_t nr, void *arg);
	/* numbers of messages that ranks here have received (@received) or sent */
	void (*counts)(bool received, const struct shim_count *counts, size_t nr, void *arg);
	void (*reached)(uint32_t state, void *arg);	/* enum status_state, by all ranks here */
	void (*caught_up)(void *arg);			/* all ranks here, latest targets */
	/* @wait: the first rank that has not reached the order's state */
	void (*stuck)(const struct shim_wait *wait, void *arg);
	void (*failed)(uint32_t state, const struct shim_failure *failure, void *arg);
	/*
	 * The link has failed: close it. -EOPNOTSUPP: the ranks have no status pages; -EBUSY:
	 * another connection watches them already; else the shim is gone.
	 */
	void (*lost)(int err, void *arg);
};

/*
 * rank_link_open() - connect to the shim and send it SHIM_WATCH
 * @nr_ranks: number of ranks of the whole job
 *
 * Never waits: a shim that was stopped answers when it goes on. If the shim refuses to be
 * watched, ops->lost() is called.
 */
int rank_link_open(struct reactor *reactor, const char *path, unsigned int nr_ranks,
		   const struct rank_link_ops *ops, void *arg, struct rank_link **ret_link);
/* Close the connection; the ranks run on. NULL is fine. */
void rank_link_close(struct rank_link *link);

/*
 * Give the ranks a new order. @intent: enum status_intent. Negative errno: the shim is gone, or
 * does not read its socket.
 */
int rank_link_order(struct rank_link *link, uint32_t intent);
/* Raise the ranks' targets; with none (@nr 0), only ask for caught_up(). Errors as above. */
int rank_link_targets(struct rank_link *link, const struct shim_seq *targets, size_t nr);

#endif /* STILLPOINT_RANK_LINK_H */
