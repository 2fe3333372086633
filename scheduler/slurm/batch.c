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
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void batch_read(const slurm_job_info_t *info, struct batch_plan *plan)
{
	static const char move[] = BATCH_COMMENT BATCH_MOVE;

	plan->preempted = info->preempt_time != 0;
	plan->requeue = info->requeue && info->batch_flag;
	plan->limit = info->time_limit == INFINITE || info->time_limit == NO_VAL ?
		      0 : (int64_t)info->time_limit * 60;
	plan->end = plan->limit ? info->end_time : 0;
	plan->restarts = info->restart_cnt;
	plan->ours = !info->comment || !*info->comment ||
		     !strncmp(info->comment, BATCH_COMMENT, strlen(BATCH_COMMENT));
	*plan->move = '\0';
	if (info->comment && !strncmp(info->comment, move, strlen(move)))
		snprintf(plan->move, sizeof(plan->move), "%s", info->comment + strlen(move));
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

		if (info->job_id != id || (info->job_state & JOB_STATE_BASE) != JOB_RUNNING)
			continue;
		batch_read(info, ret_plan);
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
