/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A batch job that a user wants on other nodes. The wish stands in the comment of the batch job, so
 * slurmctld decides who may wish; the launcher in the batch step (ckpt-slurm-run) sees the wish,
 * saves the job and requeues it. While the job waits, the nodes are asked of Slurm.
 */
#ifndef STILLPOINT_SLURM_MOVE_H
#define STILLPOINT_SLURM_MOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOVE_WHY	512

/**
 * enum move_state - how far a move is
 * @MOVE_BEGUN: the job runs, and is to be saved
 * @MOVE_WAITS: the job was requeued, and waits for its nodes
 * @MOVE_DONE: the job runs again
 * @MOVE_FAILED: the job was not saved and runs on, or is over
 */
enum move_state { MOVE_BEGUN, MOVE_WAITS, MOVE_DONE, MOVE_FAILED };

/**
 * struct move - a move of one batch job
 * @id: of the batch job
 * @nodes: where to, as Slurm lists nodes; has to live as long
 * @restarts: how often Slurm had requeued the job before
 * @asked: Slurm knows which nodes the job is to have
 */
struct move {
	uint32_t id;
	const char *nodes;
	uint32_t restarts;
	bool asked;
};

/*
 * move_begin() - wish for @move->nodes
 * @why: why not, MOVE_WHY bytes
 *
 * Return: 0, or a negative errno with @why: nothing was changed.
 */
int move_begin(struct move *move, char why[MOVE_WHY]);

/*
 * move_look() - look how far the move is, and ask for the nodes once the job waits
 * @text: MOVE_WHY bytes: the nodes of MOVE_DONE, the reason of MOVE_FAILED, what MOVE_WAITS waits
 *	for, why the nodes were refused
 *
 * A slurmctld that does not answer changes nothing: look again.
 */
enum move_state move_look(struct move *move, char text[MOVE_WHY]);

#endif /* STILLPOINT_SLURM_MOVE_H */
