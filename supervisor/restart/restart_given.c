// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decision on files that one node's part of a restart wants: another part puts them back or
 * takes them away, or nobody does.
 *
 * Names and contents are known by hashes alone. Nothing here asks a node or looks at a file.
 */
#include "supervisor/restart/restart_given.h"

#include <stdio.h>

#include "engine/core/engine.h"

/* A hash as a key: Jansson's objects are hash tables. */
static const char *given_key(const json_t *file, size_t at, char key[24])
{
	snprintf(key, 24, "%lld", (long long)json_integer_value(json_array_get(file, at)));
	return key;
}

/* When names were made first: {hash of the name: time}. */
static json_t *given_made(const json_t *files)
{
	json_t *made = json_object(), *file, *time, *known;
	char key[24];
	size_t i;

	json_array_foreach(files, i, file) {
		time = json_array_get(file, 2);
		known = json_object_get(made, given_key(file, 1, key));
		if (!known || json_integer_value(time) < json_integer_value(known))
			json_object_set(made, key, time);
	}
	return made;
}

static json_t *given_kept(const json_t *files)
{
	json_t *kept = json_object(), *file;
	char key[24];
	size_t i;

	json_array_foreach(files, i, file)
		json_object_set_new(kept, given_key(file, 0, key), json_true());
	return kept;
}

static void given_forget(json_t *tried)
{
	json_object_del(tried, "wants");
	json_object_del(tried, "keeps");
	json_object_del(tried, "made");
}

/* Each file once, as several nodes may want it; NULL: too many. */
static json_t *given_unite(const json_t *wants)
{
	json_t *seen = json_object(), *all = json_array(), *file;
	char key[24];
	size_t i;

	json_array_foreach(wants, i, file) {
		if (json_object_get(seen, given_key(file, 0, key)))
			continue;
		json_object_set_new(seen, key, json_true());
		json_array_append(all, file);
	}
	json_decref(seen);
	if (json_array_size(all) <= ENGINE_GIVEN_MAX)
		return all;
	json_decref(all);
	return NULL;
}

json_t *restart_given_wants(json_t *tried, json_t **ret_wanted)
{
	json_t *wants = json_incref(json_object_get(tried, "wants")), *all, *wanted, *file;
	size_t i;

	given_forget(tried);
	if (!json_array_size(wants)) {
		json_decref(wants);
		return NULL;
	}
	all = given_unite(wants);
	json_decref(wants);
	wanted = json_array();
	json_array_foreach(all, i, file) {
		json_array_append(wanted, json_array_get(file, 0));
		json_array_append(wanted, json_array_get(file, 1));
	}
	*ret_wanted = wanted;
	return all ? all : json_pack("[[i, i, i]]", -1, -1, -1);
}

bool restart_given(const json_t *wants, json_t *tried, json_t **ret_given)
{
	json_t *kept = given_kept(json_object_get(tried, "keeps"));
	json_t *made = given_made(json_object_get(tried, "made"));
	json_t *given = json_array(), *file, *since;
	json_int_t hash, time;
	bool missing = false;
	char key[24];
	size_t i;

	json_array_foreach((json_t *)wants, i, file) {
		hash = json_integer_value(json_array_get(file, 0));
		time = json_integer_value(json_array_get(file, 2));
		since = json_object_get(made, given_key(file, 1, key));
		if (json_object_get(kept, given_key(file, 0, key)))
			json_array_append_new(given, json_integer(hash));
		else if (since && json_integer_value(since) <= time)
			json_array_append_new(given, json_integer(hash ^ ENGINE_GIVEN_FREED));
		else
			missing = true;
	}
	json_decref(kept);
	json_decref(made);
	given_forget(tried);
	*ret_given = given;
	return missing;
}
