/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The coordinator's driver performs the coordinator's actions on this node.  Each MPI job that
 * is checkpointed has one, between the sans-IO state machine (coord.h) and the ranks
 * (rank_link.h), the dump (job_dump.h), the disk, and the clock.
 *
 * The driver is made at the first checkpoint of a job that runs here, and freed with the job. A
 * restarted ckptd that finds a job over nodes with a record makes the driver at once: other
 * nodes may be held, or in doubt, until this node speaks. The record is in STATE_DIR/ID/coord.
 */
#ifndef STILLPOINT_COORD_DRIVER_H
#define STILLPOINT_COORD_DRIVER_H

#include "supervisor/job/jobs.h"

struct coord_driver;

struct coord_checkpoint {
	/* As for op_dump(), without generation and directory, which the coordinator chooses. */
	json_t *args;
	unsigned int quiesce_ms;	/* until all ranks are drained; 0: as configured */
	void (*progress)(json_t *progress, void *arg);
	/* Called once; @outcome is a new reference; result.generation: the new generation. */
	void (*done)(json_t *outcome, void *arg);
	void *arg;
};

/* True if @job has MPI ranks that must be quiesced before a dump. */
bool coord_driver_wanted(const struct job *job);

/* True if a checkpoint of @job goes through its coordinator: also one without MPI over nodes. */
bool coord_driver_leads(const struct job *job);

/* ckptd found a job over nodes running: resume its coordinator, if the job had one. */
void coord_driver_resume(struct job *job);

/* Return: 0: checkpoint->done() will be called; negative errno: it will not. */
int coord_driver_checkpoint(struct job *job, const struct coord_checkpoint *checkpoint);

/*
 * The job's home is silent, perhaps for long: give up an undecided checkpoint that holds ranks
 * here, and let the ranks run on. A checkpoint that the home may have decided waits for the
 * home, as does a dump whose ranks run.
 */
void coord_driver_alone(struct job *job);

/* The job has ended, or ckptd ends: answer an open request and free @driver. NULL is fine. */
void coord_driver_close(struct coord_driver *driver);

#endif /* STILLPOINT_COORD_DRIVER_H */
