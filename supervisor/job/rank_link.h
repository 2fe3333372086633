/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The line from ckptd to the status pages of a job's ranks on this node, through their
 * shim (shim/pages.h): orders and targets go out, reports come in.
 *
 * Reports of an order that is not the latest any more are dropped here, so
 * whoever is called may take each for the answer to what it said last. Numbers of ranks
 * are checked; what ranks say beyond that is theirs.
 */
#ifndef STILLPOINT_RANK_LINK_H
#define STILLPOINT_RANK_LINK_H

#include <stdbool.h>

#include "shim/proto.h"
#include "base/reactor.h"

struct rank_link;

struct rank_link_ops {
	/* Collectives that ranks here have begun on communicators with members elsewhere. */
	void (*begun)(const struct shim_seq *seqs, size_t nr, void *arg);
	void (*counts)(bool received, const struct shim_count *counts, size_t nr, void *arg);
	void (*reached)(uint32_t state, void *arg);	/* enum status_state, by all ranks here */
	void (*caught_up)(void *arg);			/* with the latest targets */
	void (*stuck)(const struct shim_wait *wait, void *arg);
	void (*failed)(uint32_t state, const struct shim_failure *failure, void *arg);
	/*
	 * The link is to be closed. -EOPNOTSUPP: the ranks have no pages; -EBUSY: somebody
	 * watches them already; else the shim is gone.
	 */
	void (*lost)(int err, void *arg);
};

/*
 * rank_link_open() - connect and say WATCH
 * @nr_ranks: of the job
 *
 * Never waits: a shim that was stopped answers when it goes on. That it does not want to be
 * watched comes as lost().
 */
int rank_link_open(struct reactor *reactor, const char *path, unsigned int nr_ranks,
		   const struct rank_link_ops *ops, void *arg, struct rank_link **ret_link);
/* The ranks run on; NULL is fine. */
void rank_link_close(struct rank_link *link);

/* @intent: enum status_intent. Negative errno: the shim is gone, or does not read. */
int rank_link_order(struct rank_link *link, uint32_t intent);
/* Raise targets, or with none: ask for caught_up(). */
int rank_link_targets(struct rank_link *link, const struct shim_seq *targets, size_t nr);

#endif /* STILLPOINT_RANK_LINK_H */
