/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inside of the coordinator's driver; for these files only:
 *
 *	coord_driver.c		feeds events to the machine, performs its actions, makes and frees
 *	coord_request.c		prepares, watches and answers the request for a checkpoint
 *	coord_local.c		events of this node's ranks, their shim, and the dump
 *	coord_commit.c		which generation counts: the record and the catalog
 *	coord_links.c		which connections lead to other nodes of the job
 *	coord_figures.c		costs of a checkpoint, added up over the nodes
 */
#ifndef STILLPOINT_COORD_DRIVER_PRIV_H
#define STILLPOINT_COORD_DRIVER_PRIV_H

#include "mpi-glue/status_page.h"
#include "shim/ranks.h"
#include "coord/coord.h"
#include "supervisor/checkpoint/coord_driver.h"
#include "supervisor/job/job_dump.h"
#include "base/outcome.h"
#include "supervisor/job/rank_link.h"

struct coord_driver {
	struct job *job;
	struct common *common;
	struct coord *coord;
	void *memory;
	struct ranks ranks;
	bool plain;		/* no MPI: nobody has to be told to be silent */
	struct coord_event *queue;	/* in order; from head to nr_queue, of [room_queue] */
	size_t head, nr_queue, room_queue;
	bool feeding;		/* driver_step() runs, or the driver is closed */
	bool lost;		/* an event of this node was lost, out of memory */
	struct reactor_source *timer;
	struct rank_link *link;		/* to the shim; NULL: no rank is held */
	/* the local action under way */
	enum coord_action_kind kind;	/* COORD_ACT_NONE: none */
	uint32_t cookie;
	struct coord_id id;
	struct shim_count *sent;	/* counts of a drain, until all are here */
	size_t nr_sent, room_sent;
	struct shim_seq *targets;	/* raised, ranks here not told yet */
	size_t nr_targets, room_targets;
	/* the dump */
	struct job_dump *dump;
	struct coord_links *links;	/* home: what nodes have told; NULL: nothing yet */
	uint64_t links_asked;		/* elsewhere: the open question to the home; 0: none */
	bool captured, stored;
	json_t *dumped;			/* outcome of the dump; NULL: none yet */
	json_t *args; /* of op_dump(), from the request here or from the home */
	/* the request */
	bool asked;
	struct coord_checkpoint checkpoint;
	uint64_t ticket;
	bool committed;
	bool decided;			/* the commit is in our record and in the catalog */
	struct coord_id counts; /* committed by our record and the catalog */
	struct reactor_source *watch;	/* timer: looks for silent nodes during a request */
	struct reactor_source *later;	/* timer: asks again while nodes get to know each other */
	unsigned int silent_looks;
	bool closing;			/* free when the dump and open questions have ended */
	unsigned int preparing;		/* open questions to other nodes */
	void (*prepared)(struct coord_driver *d, json_t *failure);
	json_t *prepare_failure;
	json_t *refusal;			/* used if the other node gives no reason */
	void (*why)(struct coord_driver *d, json_t *failure);
	uint32_t why_node;
	json_t *failure;		/* preferred to the machine's reason */
	struct shim_wait stuck;
	uint64_t asked_at, cut_at, silent_at;	/* request; order to be silent; ranks here are */
	/* The order to run on; when the home knew that all nodes had given it. 0: not yet. */
	uint64_t thaw_at, thawed_at;
	struct worker *reading;		/* reads the figures of all nodes; NULL: none */
};

/* coord_driver.c */
/* Make job->coord unless the job has one. Return: 0 or negative errno. */
int driver_open(struct job *job);
bool driver_is_kill(const struct coord_driver *d);
bool driver_is_dry_run(const struct coord_driver *d);
/* An event of @kind that names no node, rank or peer. */
struct coord_event driver_event(enum coord_event_kind kind);
/* Queue @event; step the machine through the queue; do both. */
void driver_queue(struct coord_driver *d, const struct coord_event *event);
void driver_step(struct coord_driver *d);
void driver_feed(struct coord_driver *d, const struct coord_event *event);
/* The local action of @kind is over, if it is still the one under way. */
void driver_done(struct coord_driver *d, enum coord_action_kind kind, int error,
		 enum coord_reason reason);

/* coord_request.c */
/* End the request with @outcome, which is taken over. */
void driver_answer(struct coord_driver *d, json_t *outcome);
/* The machine's outcome of the request: committed, or not. Answers, if it can already. */
void driver_outcome(struct coord_driver *d, const struct coord_action *act);
/* The machine's reply to the request: answers, or asks again while nodes are not known. */
void driver_reply(struct coord_driver *d, const struct coord_action *act);

/* coord_local.c */
/* Give the ranks here the order @intent. STATUS_RUN never fails; without a link it does nothing. */
int driver_order(struct coord_driver *d, uint32_t intent);
/*
 * Ranks here may go on to @target.  driver_target() collects targets, driver_tell_targets()
 * tells the ranks all at once, as the shim's socket takes few messages, and driver_catch_up()
 * then asks the ranks to say when they are there.
 */
void driver_target(struct coord_driver *d, const struct coord_target *target);
void driver_tell_targets(struct coord_driver *d);
void driver_catch_up(struct coord_driver *d);
/* Tell the machine that this node cannot go on. @rank: who failed; COORD_NONE: the node. */
void driver_give_up(struct coord_driver *d, enum coord_reason reason, int error, uint32_t rank);
/* Answer a request whose commit and dump are both over. */
void driver_maybe_answer(struct coord_driver *d);

/* coord_links.c */
/* The dump has told its connections to the outside: job_dump_links() follows. */
void driver_links(struct coord_driver *d, const struct sock_link *links, unsigned int nr);
/* The checkpoint is given up, or the driver goes: nobody waits any more. */
void driver_links_drop(struct coord_driver *d);
int driver_links_register(struct jobs *jobs);

/* coord_commit.c */
/* Make the machine's record durable, and with it the generation that the record commits. */
void driver_persist(struct coord_driver *d, const struct coord_action *act);
/* False: @msg orders a commit that the home's record does not have yet. */
bool driver_may_send(const struct coord_driver *d, const struct coord_msg *msg);
/* Complete @record if an earlier ckptd died between the catalog and the record. */
void driver_settle(const struct coord_driver *d, struct coord_record *record);

/* coord_figures.c */
/*
 * Set thaw_ns in @result: the time from the home's order to run on until all nodes had given
 * it, plus the module's thaw_ns in @engine.
 */
void driver_add_thaw(const struct coord_driver *d, json_t *result, const json_t *engine);
/*
 * Add all nodes' figures to the dump's outcome, later, and answer then.  Return: 0 or negative
 * errno: the caller answers.
 */
int driver_read_figures(struct coord_driver *d);

#endif /* STILLPOINT_COORD_DRIVER_PRIV_H */
