// SPDX-License-Identifier: GPL-2.0-only
/*
 * The choice of images and ranks by maps; see rank_sources.h.
 *
 * Works on maps and numbers only: reads no image, and knows nothing of how ranks become
 * processes. The place of a rank is its index among the ranks of its node, there and here, as in
 * the lists of notes and shims.
 */
#include "supervisor/job/rank_sources.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/ranks.h"

static int rank_sources_parse(const json_t *map, unsigned int node, struct ranks *ret_ranks)
{
	json_t *spec = json_pack("{s:O, s:i}", "map", map, "node", (int)node);
	int err = spec ? ranks_parse(spec, ret_ranks, NULL) : -EINVAL;

	json_decref(spec);
	return err;
}

/* The entry for the image of @there, by the ranks that @here takes from it; NULL: it takes none. */
static json_t *rank_sources_source(const struct ranks *there, const struct ranks *here)
{
	json_t *take = json_array(), *leave = json_array();
	unsigned int i, k = 0;

	for (i = 0; i < there->nr; i++) {
		while (k < here->nr && here->rank[k] < there->rank[i])
			k++;
		if (k < here->nr && here->rank[k] == there->rank[i])
			json_array_append_new(take, json_pack("[i, i]", (int)i, (int)k));
		else
			json_array_append_new(leave, json_integer(i));
	}
	if (json_array_size(take))
		return json_pack("{s:i, s:o, s:o}", "part", (int)there->node, "take", take,
				 "leave", leave);
	json_decref(take);
	json_decref(leave);
	return NULL;
}

json_t *rank_sources(const json_t *was, const json_t *is, unsigned int node)
{
	struct ranks here = { 0 }, there;
	json_t *sources = NULL, *all = NULL;
	unsigned int i, nr = was ? (unsigned int)json_array_size(was) : 1;

	if (rank_sources_parse(is, node, &here))
		return NULL;
	if (!was)
		was = all = ranks_map_even(here.size, 1);
	sources = json_array();
	for (i = 0; i < nr && sources; i++) {
		if (!rank_sources_parse(was, i, &there)) {
			if (there.size == here.size) {
				/* Appending NULL fails, on purpose: no entry. */
				json_array_append_new(sources, rank_sources_source(&there, &here));
				ranks_done(&there);
				continue;
			}
			ranks_done(&there);
		}
		json_decref(sources);
		sources = NULL;
	}
	ranks_done(&here);
	json_decref(all);
	return sources;
}

int rank_sources_pids(const json_t *from, const json_t *pids, json_t *here, json_t **ret_roots,
		      json_t **ret_others)
{
	const json_t *take = json_object_get(from, "take"), *leave = json_object_get(from, "leave");
	size_t i, nr = json_array_size(take), nr_leave = json_array_size(leave);
	json_t *roots, *others;
	int alive = 0;

	*ret_roots = *ret_others = NULL;
	if (json_array_size(pids) != nr + nr_leave)
		return -EBADMSG;
	roots = json_array();
	others = json_array();
	for (i = 0; i < nr; i++) {
		const json_t *pair = json_array_get(take, i);
		json_t *pid =
			json_array_get(pids, (size_t)json_integer_value(json_array_get(pair, 0)));

		json_array_set(here, (size_t)json_integer_value(json_array_get(pair, 1)), pid);
		if (json_integer_value(pid) <= 0)
			continue;
		json_array_append(roots, pid);
		alive++;
	}
	for (i = 0; i < nr_leave; i++) {
		json_t *pid =
			json_array_get(pids, (size_t)json_integer_value(json_array_get(leave, i)));

		if (json_integer_value(pid) > 0)
			json_array_append(others, pid);
	}
	if (json_array_size(others)) {
		*ret_roots = roots;
		*ret_others = others;
	} else {
		json_decref(roots);
		json_decref(others);
	}
	return alive;
}

int rank_sources_clash(const json_t *pids)
{
	size_t i, k, nr = json_array_size(pids);

	for (i = 0; i < nr; i++) {
		json_int_t pid = json_integer_value(json_array_get(pids, i));

		for (k = 0; pid > 0 && k < i; k++) {
			if (json_integer_value(json_array_get(pids, k)) == pid)
				return (int)pid;
		}
	}
	return 0;
}
