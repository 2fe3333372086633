/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stale runs: jobs that still run on this node though they were restarted elsewhere.  A restart
 * with --node-lost claimed that this node was off, but the node was only unreachable.  The
 * processes here are killed, as a job must never run twice.
 *
 * Every restart raises the "run" in the job's record (restart.c).  A node that runs a job notes
 * the run in STATE_DIR/ID.  The job's home reads the record again and again; parts read it when
 * their home is silent (parts_away.c).  Where image directories are not shared, the record here
 * is as old as the run here, so ckptd asks other nodes: in each look one node and those that
 * have just come back, and several while a node of the job is silent.
 */
#ifndef STILLPOINT_STALE_RUN_H
#define STILLPOINT_STALE_RUN_H

struct job;
struct jobs;
struct stale_run;

/* 0 or negative errno. NULL is fine for stale_run_close(). */
int stale_run_open(struct jobs *jobs, struct stale_run **ret_stale_run);
void stale_run_close(struct stale_run *stale_run);

/*
 * Note in the state directory that the run of @job's record is about to start here.
 * Return: 0 or negative errno.
 */
int stale_run_note_run(const struct job *job);
/*
 * stale_run_end_older() - kill a job that a new ckptd finds running, if its run is older than
 *	the record's, or if the record says how the job ended
 *
 * ckptd then notices the end as for any job.  Without a note, or with another job's note, the
 * job keeps running.
 */
void stale_run_end_older(const struct job *job);
/*
 * stale_run_ask() - where image directories are not shared: ask some other nodes for the job's
 *	run, and end the processes here if a node knows a later one
 * @look: number of the look, counted by the caller; the next look asks other nodes
 */
void stale_run_ask(const struct job *job, unsigned int look);
/* Kill @job's processes here and log why. The record belongs to another node's run now. */
void stale_run_end(struct job *job);

#endif /* STILLPOINT_STALE_RUN_H */
