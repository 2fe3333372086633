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
 * A job's own --signal stays. The plugin refuses no job, and changes nothing else. A user who wants
 * checkpoints (--ckpt) reads at submission, as a message of sbatch, what the job's own options tell
 * against them.
 */
#include <signal.h>
#include <stdbool.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>
#include <stdint.h>
#include <string.h>

#define WANTED	"SPANK_OPTION_stillpoint_ckpt="	/* as Slurm hands options of spank_ckpt.c on */
#define WARN_S	1	/* before the time limit; slurmctld looks every minute or so */

/* Slurm looks these up by name, and has no header for them. */
#pragma GCC visibility push(default)
extern const char plugin_name[], plugin_type[];
extern const uint32_t plugin_version;
int job_submit(job_desc_msg_t *job, uint32_t uid, char **error);
int job_modify(job_desc_msg_t *job, void *record, uint32_t uid);
#pragma GCC visibility pop

/* Slurm frees the message, so the message is of Slurm's own memory. */
extern char *slurm_xstrdup(const char *text);

/* The word of --ckpt; NULL: none. */
static const char *job_mode(const job_desc_msg_t *job)
{
	uint32_t i;

	for (i = 0; i < job->env_size; i++) {
		const char *mode = strstr(job->environment[i], WANTED);

		if (mode)
			return mode + strlen(WANTED);
	}
	return NULL;
}

static bool job_wants_checkpoints(const job_desc_msg_t *job)
{
	const char *mode = job_mode(job);

	return mode && strcmp(mode, "no");
}

/* A job that asks for checkpoints comes back: its output goes on, and Slurm may requeue it. */
static void job_comes_back(job_desc_msg_t *job)
{
	const char *mode = job_mode(job);

	if (!mode || (strcmp(mode, "yes") && strcmp(mode, "script")))
		return;
	if (!job->open_mode)
		job->open_mode = OPEN_MODE_APPEND;
	if (job->requeue == NO_VAL16)
		job->requeue = 1;
}

/* Say what tells against checkpoints of a job that wants them; NULL: nothing. */
static const char *job_doubt(const job_desc_msg_t *job)
{
	if (!job_wants_checkpoints(job))
		return NULL;
	if (!job->requeue)
		return "--ckpt: Slurm must not requeue this job: when it has to leave it is saved, "
		       "and goes on by hand only (ckptctl restart)";
	if (job->het_job_offset != NO_VAL)
		return "--ckpt: of a heterogeneous job the nodes of the first component alone are "
		       "used, and it was not tried whether it can be saved";
	return NULL;
}

#pragma GCC visibility push(default)
const char plugin_name[] = "Stillpoint: a harmless signal before a job has to leave";
const char plugin_type[] = "job_submit/stillpoint";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

int job_submit(job_desc_msg_t *job, uint32_t uid, char **error)
{
	const char *doubt = job_doubt(job);

	job_comes_back(job);
	if (doubt && !*error)
		*error = slurm_xstrdup(doubt);
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
