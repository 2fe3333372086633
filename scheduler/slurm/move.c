// SPDX-License-Identifier: GPL-2.0-only
/*
 * A batch job that a user wants on other nodes; see move.h.
 *
 * By libslurm, as the user who calls: slurmctld decides who may change a job. The nodes of a job
 * can be asked for while the job waits only; a requeued job waits for some seconds (AuthInfo,
 * cred_expire) before Slurm looks for nodes.
 */
#include "scheduler/slurm/move.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/slurm/batch.h"

/* Get the record of the job @id, in *@ret, to be freed; -EAGAIN, -ESRCH with @why. */
static int move_load(uint32_t id, job_info_msg_t **ret, const slurm_job_info_t **ret_job,
		     char why[MOVE_WHY])
{
	uint32_t i;

	*ret = NULL;
	*ret_job = NULL;
	if (slurm_load_job(ret, id, 0)) {
		snprintf(why, MOVE_WHY, "%s", slurm_strerror(errno));
		return errno == ESLURM_INVALID_JOB_ID ? -ESRCH : -EAGAIN;
	}
	for (i = 0; i < (*ret)->record_count; i++) {
		if ((*ret)->job_array[i].job_id == id)
			*ret_job = &(*ret)->job_array[i];
	}
	if (*ret_job)
		return 0;
	slurm_free_job_info_msg(*ret);
	*ret = NULL;
	snprintf(why, MOVE_WHY, "Slurm does not know this job");
	return -ESRCH;
}

static bool move_state_is(const slurm_job_info_t *job, enum job_states state)
{
	return (job->job_state & JOB_STATE_BASE) == state;
}

/* A comment of the user's stays; without ours nothing in the job would see a wish. */
static int move_check_job(const slurm_job_info_t *job, char why[MOVE_WHY])
{
	if (!move_state_is(job, JOB_RUNNING))
		snprintf(why, MOVE_WHY, "the job does not run");
	else if (!job->requeue || !job->batch_flag)
		snprintf(why, MOVE_WHY, "Slurm must not requeue it (sbatch --requeue)");
	else if (!job->comment || strncmp(job->comment, BATCH_COMMENT, strlen(BATCH_COMMENT)))
		snprintf(why, MOVE_WHY, "its comment is not of ckpt-slurm-run, which has launched "
			 "nothing there or must leave a comment of the user's");
	else
		return 0;
	return -EINVAL;
}

static int move_check_nodes(const char *nodes, char why[MOVE_WHY])
{
	struct hostlist *list = slurm_hostlist_create(nodes);
	node_info_msg_t *known = NULL;
	int count = list ? slurm_hostlist_count(list) : 0, seen = 0, err = 0;
	uint32_t i;

	if (!count) {
		snprintf(why, MOVE_WHY, "%s is no list of nodes, n1,n[3-5]", nodes);
		err = -EINVAL;
	} else if (slurm_load_node(0, &known, SHOW_ALL)) {
		snprintf(why, MOVE_WHY, "%s", slurm_strerror(errno));
		err = -EAGAIN;
	}
	for (i = 0; !err && i < known->record_count; i++) {
		const char *name = known->node_array[i].name;

		seen += name && slurm_hostlist_find(list, name) >= 0;
	}
	if (!err && seen < count) {
		snprintf(why, MOVE_WHY, "of the %d nodes %s Slurm knows %d", count, nodes, seen);
		err = -ENOENT;
	}
	if (known)
		slurm_free_node_info_msg(known);
	if (list)
		slurm_hostlist_destroy(list);
	return err;
}

/* Change the comment or the nodes of a job; 0, or a negative errno with @why. */
static int move_update(uint32_t id, char *comment, const char *nodes, char why[MOVE_WHY])
{
	job_desc_msg_t job;

	slurm_init_job_desc_msg(&job);
	job.job_id = id;
	job.comment = comment;
	job.req_nodes = (char *)nodes;
	if (!slurm_update_job(&job))
		return 0;
	snprintf(why, MOVE_WHY, "%s", slurm_strerror(errno));
	return -EPERM;
}

int move_begin(struct move *move, char why[MOVE_WHY])
{
	const slurm_job_info_t *job;
	job_info_msg_t *answer;
	char comment[MOVE_WHY];
	int err = move_load(move->id, &answer, &job, why);

	if (!err)
		err = move_check_job(job, why);
	if (!err)
		move->restarts = job->restart_cnt;
	if (answer)
		slurm_free_job_info_msg(answer);
	if (!err)
		err = move_check_nodes(move->nodes, why);
	if (!err && (size_t)snprintf(comment, sizeof(comment), BATCH_COMMENT BATCH_MOVE "%s",
				     move->nodes) >= sizeof(comment)) {
		snprintf(why, MOVE_WHY, "too many nodes are named");
		err = -E2BIG;
	}
	return err ?: move_update(move->id, comment, NULL, why);
}

static enum move_state move_judge(struct move *move, const slurm_job_info_t *job,
				  char text[MOVE_WHY])
{
	static const char failed[] = BATCH_COMMENT BATCH_NOT_MOVED;

	if (move_state_is(job, JOB_PENDING)) {
		snprintf(text, MOVE_WHY, "it waits for its nodes");
		if (!move->asked && !move_update(move->id, NULL, move->nodes, text))
			move->asked = true;
		return MOVE_WAITS;
	}
	if (move_state_is(job, JOB_RUNNING)) {
		snprintf(text, MOVE_WHY, "%s", job->nodes ?: "");
		if (job->restart_cnt > move->restarts)
			return MOVE_DONE;
		if (!job->comment || strncmp(job->comment, failed, strlen(failed)))
			return MOVE_BEGUN;
		snprintf(text, MOVE_WHY, "%s", job->comment + strlen(failed));
		return MOVE_FAILED;
	}
	snprintf(text, MOVE_WHY, "the job has ended");
	return MOVE_FAILED;
}

enum move_state move_look(struct move *move, char text[MOVE_WHY])
{
	const slurm_job_info_t *job;
	job_info_msg_t *answer;
	enum move_state state;
	int err = move_load(move->id, &answer, &job, text);

	if (err)
		return err == -ESRCH ? MOVE_FAILED : MOVE_BEGUN;
	state = move_judge(move, job, text);
	slurm_free_job_info_msg(answer);
	return state;
}
