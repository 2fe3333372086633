/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The facts that a worker needs before it dumps a job: the externals of its standard streams
 * (held by the job's shim), its main process, its ranks, its /dev/shm.
 *
 * Call in a worker only: both functions wait for the shim.
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
	int shim;		/* connection; negative: the job has no shim any more */
	struct shim_status status;
	struct engine_external externals[JOB_EXTERNALS_MAX];
	unsigned int nr_externals;
	char shm[64];		/* path of the job's /dev/shm; "": the host's */
	unsigned int nr_ranks;	/* on this node; 0: a job without ranks */
	pid_t pids[RANKS_NODE_MAX];	/* of ranks, in the job's PID namespace; 0: has ended */
	int failed_status;	/* exit status of rank number status.failed of this node */
};

/*
 * job_externals_open() - connect to the job's shim and ask for all of @ret_ends
 * @ret_env: gets the externals and the /dev/shm for a dump, pointing into @ret_ends
 *
 * A job whose shim has died gets no externals. Return: NULL, or an outcome: the job has ended, or
 * its shim does not answer.
 */
json_t *job_externals_open(const struct job *job, struct externals *ret_ends,
			   struct op_env *ret_env);

/*
 * job_externals_drain() - have the shim log all output of the job, which stands still
 * @externals: ranks that have ended since job_externals_open() are noted here
 * @ret_logs: lengths of the logs afterwards; zero without a shim
 */
int job_externals_drain(struct externals *externals, struct shim_logs *ret_logs);

#endif /* STILLPOINT_JOB_EXTERNALS_H */
