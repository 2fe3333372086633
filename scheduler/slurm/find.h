/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The name of a launch: of the job of an earlier run that it goes on with, or a new one.
 */
#ifndef STILLPOINT_SLURM_FIND_H
#define STILLPOINT_SLURM_FIND_H

#include "scheduler/slurm/step.h"

/* A hold's words for -ENOTUNIQ. */
#define FIND_DOUBT	"saved jobs of the same command wait, and none had these files as " \
			"standard streams: name the launches (ckpt-slurm-run --step), or restart " \
			"the jobs by hand (ckptctl ps)"

/**
 * enum find - which jobs of ckptd count
 * @FIND_NONE: no launch of the batch job was before this run
 * @FIND_ALL: the launch may be one of an earlier run
 * @FIND_NEW: the launch is none of an earlier run, and needs a name that no job has
 */
enum find { FIND_NONE, FIND_ALL, FIND_NEW };

/*
 * find_name() - name the launch @key
 * @prefix: of the names of this batch job's jobs
 * @claims: what this run has had of the same command
 * @patient: wait half a minute for a ckptd that does not answer
 *
 * Return: 0, or a negative errno: -EHOSTDOWN if ckptd does not say which jobs there are,
 * -ENOTUNIQ if the launch may be one of several.
 */
int find_name(const char *prefix, const struct step_key *key, const struct step_claims *claims,
	      enum find how, bool patient, char ret_name[STEP_NAME_MAX], uint32_t *ret_number);

#endif /* STILLPOINT_SLURM_FIND_H */
