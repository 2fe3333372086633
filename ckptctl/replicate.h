/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Making replicas of a job that runs, and the point at which all members of a group meet; for
 * ckptctl replicate, ckptctl vote and ckptrun --replicas.
 */
#ifndef STILLPOINT_REPLICATE_H
#define STILLPOINT_REPLICATE_H

#include "ckptctl/replica_call.h"

#define REPLICATE_MEET_S	600	/* how long members are waited for, by default */

/* Bring all members to the end of the same section. 0 or an exit status. */
int replicate_meet(struct cli *cli, const struct replica_group *group, long long seconds);
/* Let all members go on. 0 or an exit status. */
int replicate_go_on(struct cli *cli, const struct replica_group *group);
/*
 * replicate_job() - make replicas until the job has @nr members
 * @files: paths of the files of which each replica gets one of its own, as they were given
 * @seconds: not 0: first wait up to so long until the job is at the end of a section, and let all
 *	members go on from there
 * @ret_result: {"leader", "jobs"}
 *
 * 0 or an exit status; the error has been printed.
 */
int replicate_job(struct cli *cli, int64_t job, unsigned int nr, const json_t *files,
		  long long seconds, json_t **ret_result);

#endif /* STILLPOINT_REPLICATE_H */
