/* SPDX-License-Identifier: GPL-2.0-only */
/* One restart: restart.c begins it, restart_end.c ends it. For the files of this room. */
#ifndef SUPERVISOR_RESTART_RESTART_PRIV_H
#define SUPERVISOR_RESTART_RESTART_PRIV_H

#include "supervisor/restart/restart.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/job/jobs.h"

struct restart {
	struct request *request;
	const struct restart_ops *ops;
	void *arg;
	json_int_t run;		/* the highest run number known, not counting our record's */
	json_t *of_run;		/* the run of the images; NULL: not known */
	bool deep;		/* restart_options */
	struct job *job;	/* the job; in a dry run its draft */
	struct job *draft;	/* the draft to try first; NULL: restart without trying */
	enum job_state before;
	int kill_before;	/* "kill_signal" of the old record; 0: none */
	int64_t generation;
	bool attach;
	json_t *how;		/* job_restore.h */
	json_t *how_tried;	/* the same with dry_run */
	json_t *ranks_before;	/* "ranks" of the old record; NULL: none, or not changed */
	bool begun;		/* the record says that the job starts */
	bool nothing_left;	/* the parts' start failed: no process is left to wait for */
	bool held;		/* the processes here are, or were, held for the other nodes */
	bool looking;		/* other nodes were told to look at files that others put back */
	json_t *wants;		/* of restart_given_wants(); NULL: not asked yet, or nothing */
	bool together;		/* other parts are restored beside ours, as they connect to it */
	bool ready, others_ready;	/* together: our part is held; all others are */
	int client;		/* the client's end of the job's terminal; -1: none */
	json_t *outcome;	/* the restore's, kept until the ranks run or the job has ended */
	json_t *others;		/* figures of the other nodes' restores; NULL: none yet */
	json_t *failure;	/* the first failure; NULL: none */
	/* pending answers: from the other nodes, from the restore here, from the ranks here */
	unsigned int waits;
	struct restart_times *times;
	unsigned int looks;
};

/* Whether the job has ranks on other nodes as well. */
bool restart_is_of_nodes(const struct job *job);
bool restart_is_dry_run(const struct restart *r);
void restart_free(struct restart *r);

/* Answer who asked, with @outcome (taken over), and free @r. */
void restart_finish(struct restart *r, json_t *outcome);
/* Undo what was begun, and finish with @failure (taken over). */
void restart_give_up(struct restart *r, json_t *failure);

/* Answers of the restore of this node's processes (struct job_restore_ops). */
void restart_on_progress(json_t *progress, void *r);
void restart_on_held(void *r);
void restart_on_restored(json_t *outcome, void *r);

/* Have the other nodes restore their parts. */
void restart_begin_others(struct restart *r);

#endif
