// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slurm's controller: a signal for each batch job that asks for none, as a job_submit plugin.
 *
 * A preempted job's steps get SIGTERM at the begin of the grace time, of which a program dies that
 * knows nothing of it, and with it what could still be saved. With
 * SlurmctldParameters=preempt_send_user_signal a job that has asked for a signal
 * (sbatch --signal) gets that one instead. So each batch job gets --signal=B:URG@1: the batch
 * script alone is signalled, by a signal that is ignored unless the script wants it. slurmctld
 * calls the plugin, so no user has to think of it, and none gets around it.
 *
 * A job's own --signal stays. The plugin refuses no job, and changes nothing else.
 */
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>
#include <stdint.h>

#define WARN_S	1	/* before the time limit; slurmctld looks every minute or so */

/* Slurm looks these up by name, and has no header for them. */
#pragma GCC visibility push(default)
extern const char plugin_name[], plugin_type[];
extern const uint32_t plugin_version;
int job_submit(job_desc_msg_t *job, uint32_t uid, char **error);
int job_modify(job_desc_msg_t *job, void *record, uint32_t uid);

const char plugin_name[] = "Stillpoint: a harmless signal before a job has to leave";
const char plugin_type[] = "job_submit/stillpoint";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

int job_submit(job_desc_msg_t *job, uint32_t uid, char **error)
{
	if (!job->script || (job->warn_signal && job->warn_signal != NO_VAL16))
		return SLURM_SUCCESS;
	job->warn_signal = SIGURG;
	job->warn_time = WARN_S;
	job->warn_flags |= KILL_JOB_BATCH;
	return SLURM_SUCCESS;
}

int job_modify(job_desc_msg_t *job, void *record, uint32_t uid)
{
	return SLURM_SUCCESS;
}
#pragma GCC visibility pop
