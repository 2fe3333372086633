/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a worker has to know of a job before it touches it: the ends of its
 * standard streams, which its shim holds, its main process, its /dev/shm.
 */
#ifndef STILLPOINT_JOB_EXTERNALS_H
#define STILLPOINT_JOB_EXTERNALS_H

#include "shim/proto.h"
#include "shim/ranks.h"
#include "supervisor/job/jobs.h"
#include "engine/op/op.h"

/* Terminal, standard streams, and two pipes of each rank with labels. */
#define JOB_EXTERNALS_MAX	(4 + 2 * RANKS_NODE_MAX)

struct externals {
	int shim;		/* connection; negative: it has no shim any more */
	struct shim_status status;
	struct engine_external externals[JOB_EXTERNALS_MAX];
	unsigned int nr_externals;
	char shm[64];
	unsigned int nr_ranks;	/* 0: a job without */
	pid_t pids[RANKS_NODE_MAX];	/* of ranks, in the job's PID namespace; 0: has ended */
	int failed_status;	/* of ranks[status.failed] */
};

/*
 * job_externals_open() - ask the job's shim; in a worker, waits for it
 * @ret_env: gets what a dump of the job needs, pointing into @ret_ends
 *
 * NULL, or the outcome that says why not.
 */
json_t *job_externals_open(const struct job *job, struct externals *ret_ends,
			   struct op_env *ret_env);

/*
 * job_externals_drain() - the job stands still: have the shim log what it has written
 * @ends: gets what has ended since job_externals_open()
 * @ret_logs: how long the logs are then; zero without a shim
 */
int job_externals_drain(struct externals *externals, struct shim_logs *ret_logs);

#endif /* STILLPOINT_JOB_EXTERNALS_H */
