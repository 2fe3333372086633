// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tombstones; see tombstone.h.
 *
 * The list belongs to the job's record, which jobs.h owns and saves. Nothing is kept or
 * changed here: adding makes a new list, so that a worker, or a caller who may have to undo
 * the change, still has the old one.
 */
#include "supervisor/storage/tombstone.h"

#include <string.h>

bool tombstone_has(const json_t *tombstones, const char *level, int64_t generation)
{
	const json_t *entry, *to;
	size_t i;

	json_array_foreach(json_object_get(tombstones, level), i, entry) {
		to = json_object_get(entry, "to");
		if (to ? generation <= json_integer_value(to) :
			 generation == json_integer_value(entry))
			return true;
	}
	return false;
}

static void add_one(json_t *list, json_t *entry)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (json_equal(json_array_get(list, i), entry))
			return;
	}
	json_array_append(list, entry);
}

json_t *tombstone_add(const json_t *tombstones, const struct level_configs *levels,
		      const char *level, const json_t *generations, int64_t to)
{
	json_t *all = tombstones ? json_deep_copy(tombstones) : json_object();
	json_t *more = generations ? json_incref((json_t *)generations) :
				     json_pack("[{s:I}]", "to", (json_int_t)to);
	unsigned int t;
	size_t i;

	for (t = 0; t < levels->nr; t++) {
		const char *name = levels->conf[t].name;

		if (level && strcmp(level, name))
			continue;
		if (!json_object_get(all, name))
			json_object_set_new(all, name, json_array());
		for (i = 0; i < json_array_size(more); i++)
			add_one(json_object_get(all, name), json_array_get(more, i));
	}
	json_decref(more);
	return all;
}
