// SPDX-License-Identifier: GPL-2.0-only
/*
 * On which nodes a job goes on that has lost some; see recover_nodes.h.
 *
 * Lists are short, so each name is looked for in the whole list. Nothing here asks whether a node
 * answers.
 */
#include "ckptctl/recover_nodes.h"

#include <string.h>

static bool recover_nodes_has(const json_t *list, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		if (!strcmp(json_string_value(one), name))
			return true;
	}
	return false;
}

static bool recover_nodes_is_usable(const json_t *usable, const json_t *name)
{
	return json_object_get(usable, json_string_value(name));
}

/* The first of @from that is usable and in neither list; NULL: none. */
static json_t *recover_nodes_next(const json_t *from, const json_t *usable, const json_t *last,
				  const json_t *chosen)
{
	json_t *name;
	size_t i;

	json_array_foreach(from, i, name) {
		if (recover_nodes_is_usable(usable, name) &&
		    !recover_nodes_has(last, json_string_value(name)) &&
		    !recover_nodes_has(chosen, json_string_value(name)))
			return name;
	}
	return NULL;
}

static json_t *recover_nodes_spare(const struct recover_nodes *rules, const json_t *usable,
				   const json_t *last, const json_t *chosen)
{
	return recover_nodes_next(rules->spares, usable, last, chosen) ?:
	       recover_nodes_next(rules->first, usable, last, chosen);
}

json_t *recover_nodes_choose(const struct recover_nodes *rules, const json_t *last,
			     const json_t *usable, const char **ret_missing)
{
	size_t want = json_array_size(rules->first), i;
	json_t *chosen = json_array(), *name, *spare;
	const char *missing = NULL;

	json_array_foreach(last, i, name) {
		spare = recover_nodes_is_usable(usable, name) ? name :
			recover_nodes_spare(rules, usable, last, chosen);
		if (spare)
			json_array_append(chosen, spare);
		else if (!missing)
			missing = json_string_value(name);
	}
	/* a run on fewer nodes has lost some before */
	while (json_array_size(chosen) < want && !missing &&
	       (spare = recover_nodes_spare(rules, usable, last, chosen)))
		json_array_append(chosen, spare);
	if (!missing || (rules->fewer && json_array_size(chosen)))
		return chosen;
	*ret_missing = missing;
	json_decref(chosen);
	return NULL;
}
