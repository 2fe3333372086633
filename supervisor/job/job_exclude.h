/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What no image of an MPI rank has, as a capture is told: the range of addresses of
 * its lower half, and the descriptors and threads that the rank says belong there
 * (mpi-glue/lower/lower.h, mpi-glue/status_page.h).
 */
#ifndef STILLPOINT_JOB_EXCLUDE_H
#define STILLPOINT_JOB_EXCLUDE_H

#include <sys/types.h>

#include <linux/ckpt.h>

struct job_exclude {
	struct ckpt_exclude *exclude;	/* pids and tids as we see them */
	unsigned int nr, room;
};

/*
 * job_exclude_find() - ask the job's shim, and find out who its pids are here
 * @init: parent of the job's processes; its PID namespace is theirs
 * @shim: connection; negative: none, and nothing is left out
 *
 * A rank that says what is not true only spoils its own image.  Return: 0, -ESRCH: a process
 * has gone meanwhile; other negative errno.
 */
int job_exclude_find(struct job_exclude *out, pid_t init, int shim);

#endif /* STILLPOINT_JOB_EXCLUDE_H */
