/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Simulator of a job's coordinators: the shipping code of supervisor/coord*.c under a
 * virtual clock, with a network, disks and nodes that fail as one number says.
 *
 *	sim.c		options, one run or many
 *	world.c		queue of events, network, daemons that end and start
 *	local.c		what a daemon does for its coordinator: freeze, dump, persist...
 *	ranks.c		programs: collectives, messages; catching up and draining
 *	faults.c	what goes wrong, and when
 *	check.c		what must hold
 */
#ifndef STILLPOINT_SIM_H
#define STILLPOINT_SIM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "coord/coord.h"

#define MS COORD_MS
#define SEC (1000 * MS)

#define MAX_COMMS 5
#define MAX_RANKS 24		/* with programs */
#define MAX_PER_NODE 4
#define PROGRAM 64
#define IMAGES 4
#define OUTCOMES 256

enum rank_state {
	RANK_COMPUTES,
	RANK_READY,		/* at the next call, perhaps held there */
	RANK_COLLECTIVE,
	RANK_RECV,
};

struct rank {
	enum rank_state state;
	uint32_t pos;		/* of the program */
	uint32_t timer;		/* voids older events */
	bool leaving;
	uint64_t stuck_until;
	uint64_t seq[MAX_COMMS];
	uint64_t sent[MAX_RANKS];
	uint64_t arrived[MAX_RANKS];
	uint64_t taken[MAX_RANKS];
};

struct op {
	bool collective;
	uint32_t comm;
	uint32_t source, dest;
};

struct image {
	struct coord_id id;
	struct rank ranks[MAX_PER_NODE];
	bool inside;		/* a rank was in a collective */
};

struct node {
	/* daemon */
	bool up;
	uint32_t life;
	uint64_t incarnation;
	void *memory;
	struct coord *coord;
	uint32_t wake;
	uint32_t local;		/* cookie of the action under way */
	bool catching;
	uint32_t drain;		/* which one is under way; another: none */
	/* machine */
	bool power;
	bool off_for_good;
	bool declared;		/* dead */
	bool intent, closed, frozen;
	bool bad_disk;
	uint32_t slow;		/* factor */
	uint64_t frozen_at;
	struct coord_id run;	/* its ranks exist and run (or are frozen) */
	struct coord_id ran;		/* the last that went here, though they be lost */
	struct coord_id created;	/* exist, and have never run */
	struct image snapshot;
	struct image images[IMAGES];
	struct coord_record disk;
	bool persisting;
	struct coord_record persist;
};

struct outcome {
	struct coord_id id;
	enum coord_level level;
	uint64_t last_freeze, first_snapshot, last_snapshot, first_resume;
};

struct options {
	uint64_t seed;
	uint32_t nodes;		/* 0: by seed */
	uint32_t ranks;		/* per node */
	uint32_t arity;
	bool trace;
	bool faults;
	bool big;		/* no programs, one checkpoint */
	unsigned int tries;	/* of the checkpoint after all faults */
	bool first;		/* of many: stop when one fails */
	uint32_t die_node;	/* at its first action or order of that name */
	const char *die_at;
	const struct coord_table *table;
};

enum sim_event {
	SIM_MSG,
	SIM_TIME,
	SIM_DONE,
	SIM_RANK,
	SIM_LEAVE,
	SIM_ARRIVE,
	SIM_LIGHT,		/* big: ranks have caught up */
	SIM_CLOSE,		/* of a drain: all ranks of the node are held */
	SIM_RECEIVED,		/* of a drain: what one has received is told */
	SIM_START,		/* of a daemon */
	SIM_CRASH,
	SIM_FAULT,
	SIM_HEAL,
	SIM_DEAD,
	SIM_REQUEST,
};

struct item {
	uint64_t at, serial;
	enum sim_event event;
	uint32_t node, life;
	uint32_t a, b;
	int32_t error;
	struct coord_id id;
	struct coord_msg *msg;
};

struct world {
	struct options options;
	uint64_t now;
	uint64_t random;
	uint64_t serial;
	struct item *heap;
	size_t nr_heap, size_heap;
	uint32_t nr_nodes, per_node, nr_ranks;
	struct node *nodes;
	uint32_t *node_of;
	uint32_t reach_depth;
	/* network */
	uint32_t drop, twice, late;	/* per 1,000 */
	uint64_t side;			/* partition: bit of each node */
	bool parted;
	/* programs */
	bool programs;
	struct rank ranks[MAX_RANKS];
	struct op program[PROGRAM];
	uint32_t nr_comms;
	uint32_t members[MAX_COMMS];	/* bits of ranks */
	/* faults */
	bool calm;			/* the time of faults is over */
	uint32_t crash_rate;		/* per 10,000 actions */
	uint32_t aim_action, aim_order;	/* where daemons like to die */
	bool aim_abort;			/* and users to abort */
	bool died;			/* as options.die_at says */
	bool restart;			/* the job is to be restarted */
	/* what happened */
	struct outcome outcomes[OUTCOMES];
	unsigned int nr_outcomes;
	uint64_t started;		/* checkpoints and restarts */
	unsigned int committed, aborted, running, replies;
	uint64_t messages[COORD_MSGS], bytes;
	uint64_t request_at, resumed_at;
	bool failed;
	char why[200];
	uint32_t current;
};

/* world.c */
int world_init(struct world *w, const struct options *options);
void world_free(struct world *w);
uint64_t world_random(struct world *w, uint64_t below);
bool world_chance(struct world *w, uint32_t per_1000);
void world_plan(struct world *w, uint64_t delay, struct item item);
void world_in(struct world *w, uint64_t delay, enum sim_event event, uint32_t node);
void world_run(struct world *w, uint64_t until);
void world_feed(struct world *w, uint32_t node, struct coord_event *event);
void world_start(struct world *w, uint32_t node);
void world_crash(struct world *w, uint32_t node);
uint32_t world_root(const struct world *w);
void world_trace(struct world *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* local.c */
void local_act(struct world *w, uint32_t node, const struct coord_action *act);
void local_done(struct world *w, const struct item *item);
void local_resume(struct world *w, uint32_t node);
struct image *local_image(struct node *node, struct coord_id id);

/* ranks.c */
void ranks_init(struct world *w);
void ranks_step(struct world *w, const struct item *item);
void ranks_leave(struct world *w, const struct item *item);
void ranks_arrive(struct world *w, const struct item *item);
void ranks_quiesced(struct world *w, uint32_t node);
void ranks_check(struct world *w, uint32_t node);	/* has it caught up? */
void ranks_drain(struct world *w, uint32_t node);
void ranks_wake(struct world *w, uint32_t node);
void ranks_light(struct world *w, const struct item *item);
void ranks_close(struct world *w, const struct item *item);
void ranks_received(struct world *w, const struct item *item);
/* Nothing is asked of them any more. */
void ranks_run_on(struct world *w, uint32_t node);

/* faults.c */
void faults_plan(struct world *w);
void faults_happen(struct world *w, const struct item *item);
void faults_heal(struct world *w);
void faults_declare(struct world *w, uint32_t node);
void faults_provoke(struct world *w, const struct coord_action *act);
void faults_remind(struct world *w, uint32_t node);
bool faults_crash_here(struct world *w, uint32_t node, const struct coord_action *act);

/* check.c */
void check_fail(struct world *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void check_always(struct world *w);
void check_go(struct world *w, uint32_t node, struct coord_id id);
void check_outcome(struct world *w, const struct coord_action *act);
struct outcome *check_of(struct world *w, struct coord_id id);
bool check_is_quiet(const struct world *w);
void check_end(struct world *w);

#endif /* STILLPOINT_SIM_H */
