// SPDX-License-Identifier: GPL-2.0-only
/*
 * The place of a restart; see restart_place.h.
 *
 * lost_nodes.h decides whether a node that is off matters. Nothing of Slurm is asked here but the
 * environment (slurm.h), so that a restart outside of an allocation costs no question more.
 */
#include "ckptctl/restart_place.h"

#include "base/outcome.h"
#include "ckptctl/cli_call.h"
#include "ckptctl/cli_job.h"
#include "ckptctl/lost_nodes.h"
#include "ckptctl/slurm.h"

int restart_place_nodes(struct cli *cli, json_t *args)
{
	return json_object_get(args, "nodes") || !slurm_is_here() ? 0 : slurm_nodes(cli, args);
}

int restart_place_lost_nodes(struct cli *cli, json_t *args, char *list)
{
	json_t *lost = json_object();
	int status = cli_job_nodes(cli, "--lost-nodes", list, lost);

	json_object_set(args, "lost_nodes", json_object_get(lost, "nodes"));
	json_decref(lost);
	return status;
}

/* Get job @id as ckptd lists it, a new reference, NULL: ckptd does not know it. */
static int restart_place_find(struct cli *cli, int64_t id, json_t **ret_job)
{
	json_t *outcome = cli_call(cli, "ps", json_pack("{s:b}", "all", true)), *job;
	size_t i;

	if (!outcome_is_ok(outcome))
		return cli_finish(cli, outcome, NULL);
	json_array_foreach(json_object_get(json_object_get(outcome, "result"), "jobs"), i, job) {
		if (cli_int(job, "job") == id)
			*ret_job = json_incref(job);
	}
	json_decref(outcome);
	return 0;
}

int restart_place(struct cli *cli, int64_t id, json_t *args)
{
	json_t *lost = json_incref(json_object_get(args, "lost_nodes")), *job = NULL;
	int status = 0;

	json_object_del(args, "lost_nodes");
	if (lost || (slurm_is_here() && !json_object_get(args, "nodes")))
		status = restart_place_find(cli, id, &job);
	if (!status && job && lost_nodes_hold(job, lost))
		json_object_set_new(args, "node_lost", json_true());
	if (!status && json_object_get(json_object_get(job, "ranks"), "nodes"))
		status = restart_place_nodes(cli, args);
	json_decref(lost);
	json_decref(job);
	return status;
}
