// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drained nodes, as slurmctld knows them; see drain.h.
 *
 * By libslurm, as the user who calls: slurmctld decides who may drain a node, and anybody may ask.
 * Nothing is kept between two calls. A list of hosts is a pointer to a structure, as in each
 * version of Slurm; hostlist_t is that pointer until 23.02, and the structure since.
 */
#include "scheduler/slurm/drain.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SINGLE_MAX	8	/* nodes that are asked for one by one */

static bool drain_is_drained(const node_info_t *node)
{
	return node->node_state & NODE_STATE_DRAIN;
}

static bool drain_is_ours(const node_info_t *node)
{
	return drain_is_drained(node) && node->reason &&
	       !strncmp(node->reason, DRAIN_REASON, strlen(DRAIN_REASON));
}

/* The first of @nodes that is ours and in @list; false: none. */
static bool drain_look(const node_info_msg_t *nodes, struct hostlist *list,
		       char ret_node[DRAIN_NAME])
{
	uint32_t i;

	for (i = 0; i < nodes->record_count; i++) {
		const node_info_t *node = &nodes->node_array[i];

		if (!node->name || !drain_is_ours(node) ||
		    slurm_hostlist_find(list, node->name) < 0)
			continue;
		snprintf(ret_node, DRAIN_NAME, "%s", node->name);
		return true;
	}
	return false;
}

static bool drain_look_all(struct hostlist *list, char ret_node[DRAIN_NAME])
{
	node_info_msg_t *nodes = NULL;
	bool found;

	if (slurm_load_node(0, &nodes, SHOW_ALL))
		return false;
	found = drain_look(nodes, list, ret_node);
	slurm_free_node_info_msg(nodes);
	return found;
}

/* The same for few nodes; @text lists them, as @list does. */
static bool drain_look_single(const char *text, struct hostlist *list, char ret_node[DRAIN_NAME])
{
	struct hostlist *rest = slurm_hostlist_create(text);
	node_info_msg_t *nodes;
	bool found = false;
	char *name;

	while (!found && rest && (name = slurm_hostlist_shift(rest))) {
		nodes = NULL;
		if (!slurm_load_node_single(&nodes, name, SHOW_ALL)) {
			found = drain_look(nodes, list, ret_node);
			slurm_free_node_info_msg(nodes);
		}
		free(name);
	}
	if (rest)
		slurm_hostlist_destroy(rest);
	return found;
}

/* The nodes of batch job @id, as Slurm lists them; to be freed; NULL: not known. */
static char *drain_nodes_of(uint32_t id)
{
	job_info_msg_t *answer = NULL;
	char *list = NULL;
	uint32_t i;

	if (slurm_load_job(&answer, id, 0))
		return NULL;
	for (i = 0; i < answer->record_count && !list; i++) {
		const slurm_job_info_t *info = &answer->job_array[i];

		if (info->job_id == id && info->nodes)
			list = strdup(info->nodes);
	}
	slurm_free_job_info_msg(answer);
	return list;
}

bool drain_is_wanted(uint32_t id, char ret_node[DRAIN_NAME])
{
	char *text = drain_nodes_of(id);
	struct hostlist *list = text ? slurm_hostlist_create(text) : NULL;
	bool wanted = false;

	if (list) {
		wanted = slurm_hostlist_count(list) > SINGLE_MAX ?
			 drain_look_all(list, ret_node) : drain_look_single(text, list, ret_node);
		slurm_hostlist_destroy(list);
	}
	free(text);
	return wanted;
}

/* ------------------------------------------------------------- change */

/* May the drain of @node begin, or, with @end, end? */
static int drain_check_one(const node_info_t *node, bool end, char why[DRAIN_WHY])
{
	if (end && !drain_is_ours(node))
		snprintf(why, DRAIN_WHY, "node %s is not drained with a reason that begins with "
			 "%s; its reason: %s", node->name, DRAIN_REASON, node->reason ?: "none");
	else if (!end && drain_is_drained(node) && !drain_is_ours(node))
		snprintf(why, DRAIN_WHY, "node %s is drained already, for another reason, which "
			 "stays: %s", node->name, node->reason ?: "none");
	else
		return 0;
	return -EBUSY;
}

static int drain_check(const char *names, bool end, char why[DRAIN_WHY])
{
	struct hostlist *list = slurm_hostlist_create(names);
	node_info_msg_t *nodes = NULL;
	int count = list ? slurm_hostlist_count(list) : 0, seen = 0, err = 0;
	uint32_t i;

	if (!count) {
		snprintf(why, DRAIN_WHY, "%s is no list of nodes, n1,n[3-5]", names);
		err = -EINVAL;
	} else if (slurm_load_node(0, &nodes, SHOW_ALL)) {
		snprintf(why, DRAIN_WHY, "%s", slurm_strerror(errno));
		err = -EAGAIN;
	}
	for (i = 0; !err && i < nodes->record_count; i++) {
		const node_info_t *node = &nodes->node_array[i];

		if (!node->name || slurm_hostlist_find(list, node->name) < 0)
			continue;
		seen++;
		err = drain_check_one(node, end, why);
	}
	if (!err && seen < count) {
		snprintf(why, DRAIN_WHY, "of the %d nodes %s Slurm knows %d", count, names, seen);
		err = -ENOENT;
	}
	if (nodes)
		slurm_free_node_info_msg(nodes);
	if (list)
		slurm_hostlist_destroy(list);
	return err;
}

static int drain_update(const char *nodes, uint32_t state, const char *reason,
			char why[DRAIN_WHY])
{
	update_node_msg_t update;

	slurm_init_update_node_msg(&update);
	update.node_names = (char *)nodes;
	update.node_state = state;
	update.reason = (char *)reason;
	update.reason_uid = getuid();
	if (!slurm_update_node(&update))
		return 0;
	snprintf(why, DRAIN_WHY, "%s", slurm_strerror(errno));
	return -EPERM;
}

int drain_begin(const char *nodes, const char *reason, char why[DRAIN_WHY])
{
	char text[DRAIN_WHY];
	int err = drain_check(nodes, false, why);

	snprintf(text, sizeof(text), "%s %s", DRAIN_REASON, reason);
	return err ?: drain_update(nodes, NODE_STATE_DRAIN, text, why);
}

int drain_end(const char *nodes, char why[DRAIN_WHY])
{
	return drain_check(nodes, true, why) ?: drain_update(nodes, NODE_RESUME, NULL, why);
}
