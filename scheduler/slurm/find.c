// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finding the job that a launch is; see find.h. step.c decides, saver.c asks ckptd.
 */
#include "scheduler/slurm/find.h"

#include <errno.h>
#include <stdlib.h>

#include "scheduler/slurm/saver.h"

int find_name(const char *prefix, const struct step_key *key, const struct step_claims *claims,
	      enum find how, bool patient, char ret_name[STEP_NAME_MAX], uint32_t *ret_number)
{
	struct step_key found = *key;
	struct step_job *jobs = NULL;
	size_t nr = 0, i;
	int chosen;

	if (how != FIND_NONE && saver_steps(prefix, key->command, patient, &jobs, &nr))
		return -EHOSTDOWN;
	/* Nobody may go on with these, but their numbers are taken. */
	for (i = 0; how == FIND_NEW && i < nr; i++) {
		jobs[i].waits = false;
		jobs[i].key.line = (uint16_t)~key->line;
	}
	chosen = step_choose(key, jobs, nr, claims, ret_number);
	if (chosen >= 0) {
		*ret_number = jobs[chosen].number;
		found = jobs[chosen].key;
	}
	if (chosen != -ENOTUNIQ)
		step_print(ret_name, &found, *ret_number);
	free(jobs);
	return chosen == -ENOTUNIQ ? chosen : 0;
}
