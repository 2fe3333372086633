/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The batch job of Slurm that this process belongs to: what Slurm plans for it, and its requeue.
 */
#ifndef STILLPOINT_SLURM_BATCH_H
#define STILLPOINT_SLURM_BATCH_H

#include <stdbool.h>
#include <stdint.h>

/* How the comments of batch jobs begin that are ours, and two of them (move.h). */
#define BATCH_COMMENT	"stillpoint: "
#define BATCH_MOVE	"move to "
#define BATCH_NOT_MOVED	"not moved: "

/**
 * struct batch_plan - what slurmctld says about a running job
 * @preempted: the job has been chosen for preemption, and its grace time runs
 * @requeue: Slurm requeues the job if it is asked to
 * @batch: it is a batch job, which has a script
 * @left: seconds until the time limit is reached, by slurmctld's clock; of no use without @limit
 * @limit: the time limit in seconds; 0: none
 * @restarts: how often Slurm has requeued the job
 * @ours: the job's comment is empty or was written by batch_comment()
 * @saved: the job of ckptd that the comment names, if that has a generation; 0: none
 * @move: the nodes that the user wants it on, cut off where the list is long; empty: it may stay
 */
struct batch_plan {
	bool preempted;
	bool requeue;
	bool batch;
	int64_t left;
	int64_t limit;
	uint32_t restarts;
	bool ours;
	int64_t saved;
	char move[64];
};

/*
 * batch_ask() - ask slurmctld about the job @id
 *
 * Return: 0, or a negative errno: -EAGAIN while slurmctld does not answer, -ESRCH if it does not
 * know the job or the job does not run. A job that has reached its time limit runs until its end.
 */
int batch_ask(uint32_t id, struct batch_plan *ret_plan);

/*
 * batch_lost_nodes() - the nodes that Slurm has given up, "n2,n5"
 *
 * Slurm has ended their jobs, as far as it is concerned: they are down, or powered down.
 *
 * Return: to be freed; NULL: there are none, or slurmctld does not answer.
 */
char *batch_lost_nodes(void);

/*
 * batch_requeue() - put the job @id back into Slurm's queue, which ends all of its processes
 * @hold: Slurm must not start it before the user says so (scontrol release)
 * @ret_why: Slurm's words for a failure; lives as long as the process
 *
 * Return: 0, also if the job waits already; -EPERM if Slurm refuses; -EAGAIN if slurmctld did not
 * answer. *@ret_why after a failure.
 */
int batch_requeue(uint32_t id, bool hold, const char **ret_why);

/*
 * batch_end() - have Slurm end the job @id, of an array that one alone; 0, or a negative errno
 */
int batch_end(uint32_t id);

/*
 * batch_comment() - tell the state in the comment of job @id (squeue -o %k)
 *
 * A comment that the user wrote stays. A failure changes nothing but the comment.
 */
void batch_comment(uint32_t id, const char *text);

/*
 * batch_nodes() - the nodes of this allocation, "n1,n2"
 *
 * Return: to be freed; NULL: Slurm has not told them.
 */
char *batch_nodes(void);

#endif /* STILLPOINT_SLURM_BATCH_H */
