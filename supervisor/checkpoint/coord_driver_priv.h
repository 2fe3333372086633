/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside of the coordinator's driver; not for its users.
 *
 *	coord_driver.c		events to the machine, its actions, life
 *	coord_request.c		who asked: what is asked beforehand, watched and answered
 *	coord_local.c		what this node's ranks, and its dump, have to say
 *	coord_commit.c		what of it counts
 *	coord_figures.c		what a checkpoint over nodes has cost all of them
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
	struct daemon *daemon;
	struct coord *coord;
	void *memory;
	struct ranks ranks;
	struct coord_event *queue;	/* in order; from head to nr_queue, of [room_queue] */
	size_t head, nr_queue, room_queue;
	bool feeding;
	bool lost;		/* an event of ours, for want of memory */
	struct reactor_source *timer;
	struct rank_link *link;		/* NULL: nobody is held */
	/* the local action under way */
	enum coord_action_kind kind;	/* COORD_ACT_NONE: none */
	uint32_t cookie;
	struct coord_id id;
	struct shim_count *sent;	/* of a drain, until all are told */
	size_t nr_sent, room_sent;
	struct shim_seq *targets;	/* raised, and not yet told to the ranks here */
	size_t nr_targets, room_targets;
	/* the dump */
	struct job_dump *dump;
	bool captured, stored;
	json_t *dumped;			/* its outcome */
	json_t *args; /* of op_dump(), as this or the home's checkpoint has them */
	/* the request */
	bool asked;
	struct coord_checkpoint checkpoint;
	uint64_t ticket;
	bool committed;
	bool decided;			/* here, and in the catalog */
	struct coord_id counts; /* what our record has as committed, and the catalog with it */
	struct reactor_source *watch;	/* of other nodes, while somebody waits */
	unsigned int silent_looks;
	bool closing;			/* to be freed when the dump has ended */
	unsigned int preparing;		/* nodes that are asked */
	void (*prepared)(struct coord_driver *d, json_t *failure);
	json_t *prepare_failure;
	json_t *refusal;			/* without what another node is asked for */
	void (*why)(struct coord_driver *d, json_t *failure);
	uint32_t why_node;
	json_t *failure;		/* better than what the machine says */
	struct shim_wait stuck;
	uint64_t asked_at, cut_at, silent_at;	/* request; order to be silent; all are */
	/* Order to run on; all nodes have given it, as far as the home has heard. 0: not yet. */
	uint64_t thaw_at, thawed_at;
	struct worker *reading;		/* the other nodes' figures */
};

/* coord_driver.c */
int driver_open(struct job *job);	/* job->coord, if it has none */
bool driver_is_kill(const struct coord_driver *d);
bool driver_is_dry_run(const struct coord_driver *d);
/* An event without anybody to wait for. */
struct coord_event driver_event(enum coord_event_kind kind);
/* Queue it; step through what is queued; both. */
void driver_queue(struct coord_driver *d, const struct coord_event *event);
void driver_step(struct coord_driver *d);
void driver_feed(struct coord_driver *d, const struct coord_event *event);
/* The local action of @kind is over, if it is still the one under way. */
void driver_done(struct coord_driver *d, enum coord_action_kind kind, int error,
		 enum coord_reason reason);

/* coord_request.c */
/* The request is over: takes over @outcome. */
void driver_answer(struct coord_driver *d, json_t *outcome);
/* So it is when its outcome is what the machine says: committed, or not. */
void driver_outcome(struct coord_driver *d, const struct coord_action *act);
/* And if that did not even begin; another node's reason is fetched first. */
void driver_refuse(struct coord_driver *d, const struct coord_action *act);

/* coord_local.c */
/* To the ranks here; STATUS_RUN without a link is nothing to do, and never fails. */
int driver_order(struct coord_driver *d, uint32_t intent);
/*
 * Ranks here may go on to @target, when they are told: all at once, as the shim's socket takes few
 * messages. That they shall say when they are there comes behind.
 */
void driver_target(struct coord_driver *d, const struct coord_target *target);
void driver_tell_targets(struct coord_driver *d);
void driver_catch_up(struct coord_driver *d);
/* The machine is told that it cannot go on. @rank: COORD_NONE: the node itself. */
void driver_give_up(struct coord_driver *d, enum coord_reason reason, int error, uint32_t rank);
/* Answer a request whose commit and dump are both over. */
void driver_maybe_answer(struct coord_driver *d);

/* coord_commit.c */
/* Make the machine's record durable; with it the generation that it commits. */
void driver_persist(struct coord_driver *d, const struct coord_action *act);
/* False: @msg says that something counts which is not yet so at home. */
bool driver_may_send(const struct coord_driver *d, const struct coord_msg *msg);
/* What a ckptd before us left half decided: @record as it is to be taken for. */
void driver_settle(const struct coord_driver *d, struct coord_record *record);

/* coord_figures.c */
/*
 * From the home's order to run on until all nodes have given it, and what the module took then,
 * which
 * @engine has: into @result.
 */
void driver_add_thaw(const struct coord_driver *d, json_t *result, const json_t *engine);
/* Put them into the outcome of the dump, and answer. 0 or negative errno: nothing happens. */
int driver_read_figures(struct coord_driver *d);

#endif /* STILLPOINT_COORD_DRIVER_PRIV_H */
