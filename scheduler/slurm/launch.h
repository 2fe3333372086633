/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The launches of one run of a batch script: which have been, and whether all are saved.
 *
 * A script may launch several jobs, one after the other and side by side. Launches of one run of
 * the script share a file, JOBID.RESTARTS, on the node of the script. A line in it is a launch; a
 * byte of it is locked by each launch whose job is not saved. The file is in a directory that root
 * has made for the user, LAUNCH_GIVEN/UID: in one that everybody may write to, another user could
 * take the name. Where Slurm does not load our plugin that is $TMPDIR/stillpoint-slurm-UID.
 */
#ifndef STILLPOINT_SLURM_LAUNCH_H
#define STILLPOINT_SLURM_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/slurm/step.h"

#define LAUNCH_GIVEN	"/var/spool/stillpoint-slurm"	/* also in the front srun */

struct launch {
	int fd;			/* of the shared file; -1: not open */
	char path[4096];	/* of the shared file, for messages */
};

/*
 * launch_directory() - take the user's directory, or make it where root has made none
 * @path: PATH_MAX bytes; where the directory is, also after a failure
 *
 * Return: 0, or a negative errno: -EPERM if the directory is not this user's alone.
 */
int launch_directory(char *path, size_t size);

/* LAUNCH_GIVEN. A test gives another one: the machine's own may hold a directory of the user's. */
extern const char *launch_given;

/*
 * launch_open() - join the launches of batch job @id
 * @restarts: how often Slurm has requeued the job
 *
 * The launch counts as not saved from here on.
 *
 * Return: 0, or a negative errno: -EPERM if the directory is not this user's alone. launch_close()
 * also after a failure.
 */
int launch_open(struct launch *launch, uint32_t id, unsigned int restarts);
void launch_close(struct launch *launch);

/*
 * launch_lock_names() - have other launches of this run wait with their names, until
 *	launch_unlock_names()
 * @command: of a step_key
 * @ret: the numbers of this command that launches of this run have; to be freed
 *
 * Return: 0, or a negative errno: the lock is not held.
 */
int launch_lock_names(struct launch *launch, uint32_t command, struct step_claims *ret);
/* launch_claim() - take a number of @command; 0, or a negative errno */
int launch_claim(struct launch *launch, uint32_t command, uint32_t number);
void launch_unlock_names(struct launch *launch);

/* Have every launch of this run saved; 0, or a negative errno. */
int launch_demand(struct launch *launch);
/* True if some launch of this run has called launch_demand(). */
bool launch_is_demanded(struct launch *launch);

/* This launch is saved, and so holds up no other. */
void launch_saved(struct launch *launch);
/* True if no launch of this run is left that is not saved. */
bool launch_all_saved(struct launch *launch);

#endif /* STILLPOINT_SLURM_LAUNCH_H */
