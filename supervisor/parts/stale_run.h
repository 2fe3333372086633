/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Jobs that run here though they were restarted elsewhere: --node-lost said that this node was
 * off, and it was only not to be heard. What is here ends, as there must never be two.
 *
 * Every restart raises the "run" in the job's record (restart.c). Who runs a job notes of which
 * run it is in STATE_DIR/ID, and looks into the record again and again: the home of a job, as
 * parts look when their home is silent (parts_away.c). Where image directories are not shared
 * the record is as old as what runs here; then it is the other nodes that are asked, one in
 * each look and those that have just come back, and several at a time while a node of the job
 * is silent.
 */
#ifndef STILLPOINT_STALE_RUN_H
#define STILLPOINT_STALE_RUN_H

#include "supervisor/daemon.h"

struct job;
struct stale_run;

/* 0 or negative errno. NULL is fine for stale_run_close(). */
int stale_run_open(struct daemon *daemon, struct stale_run **ret_stale_run);
void stale_run_close(struct stale_run *stale_run);

/* The run of @job's record is what is about to be started here. 0 or negative errno. */
int stale_run_note_run(const struct job *job);
/*
 * stale_run_end_older() - of a job that a ckptd finds when it begins: end what runs here if it
 * is of a run before that of the record, or the record says how all of it ended
 *
 * Whose end is then seen as ever. Without a note, or with one of another job, nothing is ended.
 */
void stale_run_end_older(const struct job *job);
/*
 * stale_run_ask() - where image directories are not shared: ask some other nodes, and if one of
 * them knows of a later run, what is here ends
 * @look: which of its looks this is; the next one asks others
 */
void stale_run_ask(const struct job *job, unsigned int look);
/* What is here of @job ends, and the log says why; its record is another's now. */
void stale_run_end(struct job *job);

#endif /* STILLPOINT_STALE_RUN_H */
