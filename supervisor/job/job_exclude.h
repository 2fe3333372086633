/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of MPI ranks that a capture excludes from images: the address range of a rank's
 * lower half, and the descriptors and threads that the rank declares as belonging to it
 * (mpi-glue/lower/lower.h, mpi-glue/status_page.h).
 *
 * Call in the worker of a dump only, just before the freeze. A rank that declares wrong things
 * spoils only its own image.
 */
#ifndef STILLPOINT_JOB_EXCLUDE_H
#define STILLPOINT_JOB_EXCLUDE_H

#include <sys/types.h>

#include <linux/ckpt.h>

struct job_exclude {
	struct ckpt_exclude *exclude;	/* pids and tids of ckptd's PID namespace; malloc() */
	unsigned int nr, room;
};

/*
 * job_exclude_find() - ask the job's shim, and translate its pids to ckptd's PID namespace
 * @init: parent of the job's processes, in the same PID namespace as they
 * @shim: connection; negative: there is no shim, and nothing is excluded
 *
 * Return: 0; -ESRCH: a process has gone meanwhile; other negative errno.
 */
int job_exclude_find(struct job_exclude *out, pid_t init, int shim);

#endif /* STILLPOINT_JOB_EXCLUDE_H */
