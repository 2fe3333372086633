/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state machine of a checkpoint and of a restart, as tables.
 *
 * A node goes from level to level by rows of @steps, as far as the order it has allows.
 * The root goes from order to order by rows of @barriers, when every living node has
 * reached the level.  tests/model/coord.pml states the same edges.
 */
#ifndef STILLPOINT_COORD_TABLE_H
#define STILLPOINT_COORD_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define COORD_STEPS 15
#define COORD_BARRIERS 15

struct coord_step {
	uint8_t from;		/* enum coord_level */
	uint8_t order;		/* the order that allows this step */
	uint8_t to;
	uint8_t action;		/* enum coord_action_kind */
};

struct coord_barrier {
	uint8_t order;
	uint8_t level;		/* that all living nodes must have reached */
	uint8_t next;		/* order that follows; NONE: the operation is done */
	bool may_abort;		/* while this order is the latest */
};

struct coord_table {
	struct coord_step steps[COORD_STEPS];
	struct coord_barrier barriers[COORD_BARRIERS];
	bool persist_first;	/* a record counts when it is on disk, not before */
	bool guard_pause;	/* a node thaws by itself when the pause is over */
	bool equal_sums;	/* the job is caught up or drained only if the sums are equal */
	bool any_commits;	/* recovery: a record of any living node decides */
};

extern const struct coord_table coord_table;

const struct coord_step *coord_step_from(const struct coord_table *table, unsigned int level,
					 unsigned int order);
const struct coord_barrier *coord_barrier(const struct coord_table *table, unsigned int order);
/* The level that a node must have to be given @order. */
unsigned int coord_level_before(const struct coord_table *table, unsigned int order);

const char *coord_order_name(unsigned int order);
const char *coord_level_name(unsigned int level);
const char *coord_action_name(unsigned int action);

#endif /* STILLPOINT_COORD_TABLE_H */
