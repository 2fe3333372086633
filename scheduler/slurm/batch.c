// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asking slurmctld about one job and the nodes; see batch.h.
 *
 * By libslurm, which authenticates this user with munge: slurmctld decides whether the user may
 * ask and requeue. Nothing is kept between two questions. Only this file and drain.c call libslurm,
 * whose interface may change with each version of Slurm.
 */
#include "scheduler/slurm/batch.h"

#include <errno.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The job that a comment of ours says is on disk: "job 7 saved, ...", "job 7 lost with a node,
 * generation 3", "job 7 runs, generation 3", "restart 2 of job 7, generation 3", "held: job 7 ...".
 * A job that has taken no checkpoint may begin anew.
 */
static int64_t batch_saved_job(const char *comment)
{
	static const char *const forms[] = {
		"held: job %18lld%n", "job %18lld saved%n",
		"job %18lld lost with a node, generation %*[1-9]%n",
		"job %18lld runs, generation %*d%n", "restart %*u of job %18lld, generation %*d%n",
	};
	long long job;
	size_t i;

	if (!comment || strncmp(comment, BATCH_COMMENT, strlen(BATCH_COMMENT)))
		return 0;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		int len = 0;

		sscanf(comment + strlen(BATCH_COMMENT), forms[i], &job, &len);
		if (len)
			return job;
	}
	return 0;
}

/* @now: of slurmctld's clock */
static void batch_read(const slurm_job_info_t *info, time_t now, struct batch_plan *plan)
{
	static const char move[] = BATCH_COMMENT BATCH_MOVE;

	plan->preempted = info->preempt_time != 0;
	plan->batch = info->batch_flag;
	plan->requeue = info->requeue && info->batch_flag;
	plan->limit = info->time_limit == INFINITE || info->time_limit == NO_VAL ?
		      0 : (int64_t)info->time_limit * 60;
	plan->left = info->end_time - now;
	plan->saved = batch_saved_job(info->comment);
	plan->restarts = info->restart_cnt;
	plan->ours = !info->comment || !*info->comment ||
		     !strncmp(info->comment, BATCH_COMMENT, strlen(BATCH_COMMENT));
	*plan->move = '\0';
	if (info->comment && !strncmp(info->comment, move, strlen(move)))
		snprintf(plan->move, sizeof(plan->move), "%s", info->comment + strlen(move));
}

/* Does it run, or is Slurm about to end it for its time limit? */
static bool batch_is_here(const slurm_job_info_t *info)
{
	uint32_t state = info->job_state & JOB_STATE_BASE;

	return state == JOB_RUNNING ||
	       (state == JOB_TIMEOUT && info->job_state & JOB_COMPLETING);
}

int batch_ask(uint32_t id, struct batch_plan *ret_plan)
{
	job_info_msg_t *answer = NULL;
	int ret = -ESRCH;
	uint32_t i;

	if (slurm_load_job(&answer, id, 0))
		return errno == ESLURM_INVALID_JOB_ID ? -ESRCH : -EAGAIN;
	/* Asked for a job array's leader, slurmctld names all of its jobs. */
	for (i = 0; i < answer->record_count; i++) {
		const slurm_job_info_t *info = &answer->job_array[i];

		if (info->job_id != id || !batch_is_here(info))
			continue;
		batch_read(info, answer->last_update, ret_plan);
		ret = 0;
	}
	slurm_free_job_info_msg(answer);
	return ret;
}

static bool batch_is_lost(const node_info_t *node)
{
	return node->name && ((node->node_state & NODE_STATE_BASE) == NODE_STATE_DOWN ||
			      node->node_state & NODE_STATE_POWERED_DOWN);
}

char *batch_lost_nodes(void)
{
	node_info_msg_t *answer = NULL;
	char *list = NULL;
	size_t size;
	uint32_t i;
	FILE *f;

	if (slurm_load_node(0, &answer, SHOW_ALL))
		return NULL;
	f = open_memstream(&list, &size);
	for (i = 0; f && i < answer->record_count; i++) {
		if (batch_is_lost(&answer->node_array[i]))
			fprintf(f, "%s%s", ftell(f) ? "," : "", answer->node_array[i].name);
	}
	slurm_free_node_info_msg(answer);
	if (!f || fclose(f) || !*list) {
		free(list);
		return NULL;
	}
	return list;
}

int batch_requeue(uint32_t id, bool hold, const char **ret_why)
{
	int err;

	if (!slurm_requeue(id, hold ? JOB_REQUEUE_HOLD : 0))
		return 0;
	err = errno;
	*ret_why = slurm_strerror(err);
	switch (err) {
	case ESLURM_JOB_PENDING:
		return 0;
	case ESLURM_TRANSITION_STATE_NO_UPDATE:
	case ESLURM_IN_STANDBY_MODE:
		return -EAGAIN;
	default:
		/* Slurm's own words begin there; before it are those of the connection. */
		return err < ESLURM_INVALID_PARTITION_NAME ||
		       err >= ESLURM_AUTH_CRED_INVALID ? -EAGAIN : -EPERM;
	}
}

/* The number of the job as slurm_kill_job2() wants it: one of an array is ARRAY_TASK. */
static int batch_number(uint32_t id, char number[32])
{
	job_info_msg_t *answer = NULL;
	int ret = -ESRCH;
	uint32_t i;

	if (slurm_load_job(&answer, id, 0))
		return -EAGAIN;
	for (i = 0; i < answer->record_count; i++) {
		const slurm_job_info_t *info = &answer->job_array[i];

		if (info->job_id != id)
			continue;
		if (info->array_job_id && info->array_task_id != NO_VAL)
			snprintf(number, 32, "%u_%u", info->array_job_id, info->array_task_id);
		else
			snprintf(number, 32, "%u", id);
		ret = 0;
	}
	slurm_free_job_info_msg(answer);
	return ret;
}

int batch_end(uint32_t id)
{
	char number[32];
	int err = batch_number(id, number);

	if (err)
		return err;
	return slurm_kill_job2(number, SIGKILL, 0, NULL) ? -EAGAIN : 0;
}

void batch_comment(uint32_t id, const char *text)
{
	char comment[512];
	job_desc_msg_t job;
	struct batch_plan plan;

	if (batch_ask(id, &plan) || !plan.ours)
		return;
	snprintf(comment, sizeof(comment), BATCH_COMMENT "%s", text);
	slurm_init_job_desc_msg(&job);
	job.job_id = id;
	job.comment = comment;
	slurm_update_job(&job);
}

char *batch_nodes(void)
{
	const char *nodes = getenv("SLURM_JOB_NODELIST");
	struct hostlist *hosts = nodes ? slurm_hostlist_create(nodes) : NULL;
	char *list = NULL, *host;
	size_t size;
	FILE *f = hosts ? open_memstream(&list, &size) : NULL;

	while (f && (host = slurm_hostlist_shift(hosts))) {
		fprintf(f, "%s%s", ftell(f) ? "," : "", host);
		free(host);
	}
	if (hosts)
		slurm_hostlist_destroy(hosts);
	if (f && !fclose(f) && *list)
		return list;
	free(list);
	return NULL;
}
