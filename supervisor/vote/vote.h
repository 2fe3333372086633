/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The vote over generations of replicas, and new members of a group.
 *
 * Whoever asks for a vote brings the members to a common point and takes their checkpoints; here
 * the images are compared and the trust in the generations is written down. ckptd restarts no
 * member: who asked does, as a restart puts a job where its caller stands.
 */
#ifndef STILLPOINT_VOTE_H
#define STILLPOINT_VOTE_H

#include "supervisor/control/request.h"
#include "supervisor/job/jobs.h"
#include "supervisor/vote/tally.h"

struct vote_member {
	int64_t job, generation;
	char label[64];		/* job_label() */
};

/*
 * vote_start() - compare the generations, mark them, and answer @request
 * @nr: 2 or 3
 *
 * Result: {"outcome": tally_name(), "minority": job (if repaired), "choices": [MPI call, ...] (if
 * ranks made some), "pages", "differ", "wrong":
 * [{"job" (0: no two are equal), "rank" (of MPI jobs), "pid", "address", "byte", "start", "end",
 * "mapping"}, ...], "digests": [text, ...]}
 */
void vote_start(struct request *request, const struct vote_member *members, unsigned int nr);

/**
 * struct replica_wish - a generation that is copied from one job to another
 * @from: the job, and its generation
 * @number: of the replica in its group
 * @paths: [[OLD, NEW], ...]: where the replica has files of the leader; or NULL
 */
struct replica_wish {
	struct vote_member from;
	int number;
	json_t *paths;
};

/* Make a new job of a copy of the generation. Result: {"job", "generation"}; answers @request. */
void replica_create(struct request *request, const struct job *leader,
		    const struct replica_wish *wish);
/* Copy the generation of another member to @job, as its newest, and mark it as repaired. */
void replica_repair(struct request *request, struct job *job, const struct replica_wish *wish);

#endif /* STILLPOINT_VOTE_H */
