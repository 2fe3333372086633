/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What performs a coordinator's actions on this node: one for each MPI job that is
 * checkpointed, between the sans-IO state machine (coord.h) and the ranks (rank_link.h),
 * the dump (job_dump.h), the disk, and the clock.
 *
 * It is made at the first checkpoint of a job that runs here, and goes when the job does. A
 * ckptd that finds such a job makes it at once: other nodes may be held, or in doubt, until
 * ours speaks. Its record is in STATE_DIR/ID/coord.
 */
#ifndef STILLPOINT_COORD_DRIVER_H
#define STILLPOINT_COORD_DRIVER_H

#include "supervisor/job/jobs.h"

struct coord_driver;

struct coord_checkpoint {
	/* Of op_dump(), but for generation and directory, which are the coordinator's choice. */
	json_t *args;
	unsigned int quiesce_ms;	/* until all ranks are drained; 0: as configured */
	void (*progress)(json_t *progress, void *arg);
	/* Once; @outcome is a new reference. result.generation: which it became. */
	void (*done)(json_t *outcome, void *arg);
	void *arg;
};

/* Has @job ranks that must be quiesced before a dump? */
bool coord_driver_wanted(const struct job *job);

/* A job over nodes is found running: its coordinator goes on, if it had one. */
void coord_driver_resume(struct job *job);

/* 0: done() will be called; negative errno: it will not. */
int coord_driver_checkpoint(struct job *job, const struct coord_checkpoint *checkpoint);

/*
 * Nothing is heard of the job's home, which may be a while: what is not decided and holds ranks
 * is given up here, and they run on. What may have been decided there waits for it, as does a
 * dump whose ranks run.
 */
void coord_driver_alone(struct job *job);

/* The job has ended, or ckptd does; what is under way is answered. NULL is fine. */
void coord_driver_close(struct coord_driver *driver);

#endif /* STILLPOINT_COORD_DRIVER_H */
