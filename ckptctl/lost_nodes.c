// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs of nodes that are off; see lost_nodes.h.
 *
 * The word that a node is off is believed only about nodes that ckptd does not hear, either: a job
 * that runs must not be restarted beside itself.
 */
#include "ckptctl/lost_nodes.h"

#include <string.h>

static bool names_have(const json_t *names, const json_t *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach(names, i, one) {
		if (name && json_equal(one, name))
			return true;
	}
	return false;
}

bool lost_nodes_is_over(const json_t *job)
{
	const char *state = json_string_value(json_object_get(job, "state"));

	return state && (!strcmp(state, "ended") || !strcmp(state, "saved") ||
			 !strcmp(state, "lost"));
}

bool lost_nodes_hold(const json_t *job, const json_t *lost)
{
	const json_t *silent = json_object_get(job, "silent_nodes"), *one;
	size_t i;

	if (lost_nodes_is_over(job))
		return false;
	if (names_have(lost, json_object_get(job, "node")))
		return true;
	json_array_foreach(silent, i, one) {
		if (!names_have(lost, one))
			return false;
	}
	return json_array_size(silent) > 0;
}
