// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asking slurmctld about one job; see batch.h.
 *
 * By libslurm, which authenticates this user with munge: slurmctld decides whether the user may
 * ask and requeue. Nothing is kept between two questions. This is the only file that calls
 * libslurm, whose interface may change with each version of Slurm.
 */
#include "scheduler/slurm/batch.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

static void batch_read(const slurm_job_info_t *info, struct batch_plan *plan)
{
	plan->preempted = info->preempt_time != 0;
	plan->requeue = info->requeue && info->batch_flag;
	plan->limit = info->time_limit == INFINITE || info->time_limit == NO_VAL ?
		      0 : (int64_t)info->time_limit * 60;
	plan->end = plan->limit ? info->end_time : 0;
}

int batch_ask(uint32_t id, struct batch_plan *ret_plan)
{
	job_info_msg_t *answer = NULL;
	int ret = -ESRCH;
	uint32_t i;

	if (slurm_load_job(&answer, id, 0))
		return slurm_get_errno() == ESLURM_INVALID_JOB_ID ? -ESRCH : -EAGAIN;
	/* Asked for a job array's leader, slurmctld names all of its jobs. */
	for (i = 0; i < answer->record_count; i++) {
		const slurm_job_info_t *info = &answer->job_array[i];

		if (info->job_id != id || (info->job_state & JOB_STATE_BASE) != JOB_RUNNING)
			continue;
		batch_read(info, ret_plan);
		ret = 0;
	}
	slurm_free_job_info_msg(answer);
	return ret;
}

int batch_requeue(uint32_t id, const char **ret_why)
{
	if (!slurm_requeue(id, 0))
		return 0;
	*ret_why = slurm_strerror(slurm_get_errno());
	return -EPERM;
}
