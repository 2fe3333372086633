// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks in a job's record; see rank_record.h.
 *
 * A request is checked, and the glue is looked for, before the job is created: a library that is
 * not installed is reported at once, not by a rank.
 */
#include "supervisor/job/rank_record.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/ranks.h"
#include "hosts/hosts.h"
#include "base/outcome.h"

/* The path of the @i-th file of the glue: the library, then its aliases; false: no more. */
static bool glue_path(const struct config *config, enum ranks_mpi mpi, unsigned int i, char *buf,
		      size_t size)
{
	const char *name = ranks_mpi_soname(mpi, i);

	if (name)
		snprintf(buf, size, "%s/%s/%s", config->mpi_dir, ranks_mpi_name(mpi), name);
	return name;
}

/* All of these, as LD_PRELOAD has them; a new reference. */
static json_t *glue_preload(const struct config *config, enum ranks_mpi mpi)
{
	char path[PATH_MAX], list[2 * PATH_MAX] = "";
	unsigned int i;

	for (i = 0; glue_path(config, mpi, i, path, sizeof(path)); i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ":" : "",
			 path);
	return json_string(list);
}

static json_t *check_glue(const struct config *config, enum ranks_mpi mpi)
{
	char path[PATH_MAX];
	unsigned int i;

	for (i = 0; glue_path(config, mpi, i, path, sizeof(path)); i++) {
		if (access(path, R_OK))
			return outcome_error(-errno, "%s: %s; is Stillpoint's library for %s "
					     "installed?", path, strerror(errno),
					     ranks_mpi_name(mpi));
	}
	if (access(config->lower, X_OK))
		return outcome_error(-errno, "%s: %s", config->lower, strerror(errno));
	return NULL;
}

/* True if the ranks run with Stillpoint's MPI library (the glue). */
static bool has_glue(const json_t *record, enum ranks_mpi *ret_mpi)
{
	const char *name = json_string_value(json_object_get(record, "mpi"));

	return name && ranks_mpi_parse(name, ret_mpi) && *ret_mpi != RANKS_NONE &&
	       !json_is_true(json_object_get(record, "direct"));
}

json_t *rank_record_check_auto(const json_t *record)
{
	enum ranks_mpi mpi = RANKS_NONE;

	if (has_glue(record, &mpi) || mpi == RANKS_NONE)
		return NULL;
	return outcome_because(outcome_error(-EOPNOTSUPP, "a job that runs without our MPI library "
							  "(--direct) cannot be checkpointed, and "
							  "none are taken by themselves"),
			       CKPT_R_MPI);
}

json_t *rank_record_check_env(const json_t *record, const json_t *env)
{
	struct ckpt_error error;
	enum ranks_mpi mpi;

	if (!env)
		return NULL;
	if (ranks_env_check(env, &error))
		return outcome_usage("restart: env: %s", error.text);
	if (has_glue(record, &mpi))
		return NULL;
	return outcome_usage("the environment of a restart is for the MPI library, and this job "
			     "has none of which a restart makes a new one; that of its program is "
			     "in the image");
}

/*
 * The last name of the library that @path leads to; NULL with errno: it cannot be found out. The
 * path may be a user's choice: names of files that are no such library are not revealed.
 */
static const char *real_name(const char *path, enum ranks_mpi mpi, char *buf)
{
	const char *slash;

	if (!realpath(path, buf))
		return NULL;
	slash = strrchr(buf, '/');
	if (slash && ranks_mpi_is_named(mpi, slash + 1))
		return slash + 1;
	errno = ELIBACC;
	return NULL;
}

/* The user's own choice in the job's environment; NULL: none. */
static const char *chosen_library(const json_t *env)
{
	static const char variable[] = "CKPT_MPI_LIBRARY=";
	const char *chosen = NULL;
	const json_t *item;
	size_t i;

	json_array_foreach(env, i, item) {
		const char *text = json_string_value(item);

		if (text && !strncmp(text, variable, strlen(variable)))
			chosen = text + strlen(variable);
	}
	return chosen;
}

json_t *rank_record_library(json_t *record, const char *found, const json_t *env)
{
	const char *chosen = chosen_library(env), *path = chosen ? chosen : found, *name;
	char real[PATH_MAX];
	enum ranks_mpi mpi;

	if (found && found[0] != '/')
		return outcome_usage("run: ranks: the library is an absolute path, not %s", found);
	if (!path || !has_glue(record, &mpi))
		return NULL;
	/* A library of the user's may be where only the user can see it. */
	name = path[0] == '/' ? real_name(path, mpi, real) : NULL;
	if (name)
		json_object_set_new(record, "library", json_pack("[s, s]", path, name));
	else if (!chosen)
		json_object_set_new(record, "library", json_pack("[s]", path));
	return NULL;
}

static json_t *check_library(const json_t *library, enum ranks_mpi mpi)
{
	const char *path = json_string_value(json_array_get(library, 0));
	const char *was = json_string_value(json_array_get(library, 1)), *is;
	char real[PATH_MAX];

	if (!path || !was)
		return NULL;
	is = real_name(path, mpi, real);
	if (!is)
		return outcome_error(-errno,
				     "%s: %s; is the MPI library of the job (%s) installed?", path,
				     strerror(errno), was);
	if (strcmp(is, was))
		return outcome_error(-ENOEXEC, "%s is %s here, and the job has another version: %s",
				     path, is, was);
	return NULL;
}

/* Set "apart" by this node's setting image_dir_shared. */
static void place_images(json_t *record, const struct config *config)
{
	if (json_object_get(record, "nodes") && !config->image_dir_shared)
		json_object_set_new(record, "apart", json_true());
	else
		json_object_del(record, "apart");
}

bool rank_record_is_apart(const json_t *record)
{
	return json_is_true(json_object_get(record, "apart"));
}

static json_t *rank_record_check_place(const json_t *record, const struct config *config)
{
	if (!json_object_get(record, "nodes") ||
	    rank_record_is_apart(record) == !config->image_dir_shared)
		return NULL;
	return outcome_error(-EINVAL,
			     "image_dir_shared is \"%s\" here and \"%s\" on the job's first node: "
			     "it has to be the same on all of them",
			     config->image_dir_shared ? "yes" : "no",
			     config->image_dir_shared ? "no" : "yes");
}

json_t *rank_record_needs(const json_t *record)
{
	return json_pack("{s:b, s:b, s:b, s:O?, s:O?}", "nodes", !!json_object_get(record, "nodes"),
			 "apart", rank_record_is_apart(record), "direct",
			 json_is_true(json_object_get(record, "direct")), "mpi",
			 json_object_get(record, "mpi"), "library",
			 json_object_get(record, "library"));
}

json_t *rank_record_check(const json_t *record, const struct config *config)
{
	const char *name = json_string_value(json_object_get(record, "mpi"));
	json_t *outcome = rank_record_check_place(record, config);
	enum ranks_mpi mpi;

	if (outcome)
		return outcome;
	if (!name || !ranks_mpi_parse(name, &mpi))
		return outcome_usage("%s is no MPI library known here: mpich, ompi or none",
				     name ? name : "?");
	if (!has_glue(record, &mpi))
		return NULL;
	outcome = check_glue(config, mpi);
	return outcome ? outcome : check_library(json_object_get(record, "library"), mpi);
}

/* Check that @nodes are valid names, each once, and that this node is the first. */
static json_t *rank_record_check_nodes(const json_t *nodes, const struct config *config)
{
	size_t i, k, nr = json_array_size(nodes);
	const char *name;

	if (nr > HOSTS_MAX)
		return outcome_usage("%zu nodes are more than there may be (%d)", nr, HOSTS_MAX);
	for (i = 0; i < nr; i++) {
		name = json_string_value(json_array_get(nodes, i));
		if (!name || host_name_check(name))
			return outcome_usage("%s is no name of a node",
					     name ? name : "what is given");
		for (k = 0; k < i; k++) {
			if (json_equal(json_array_get(nodes, i), json_array_get(nodes, k)))
				return outcome_usage("node %s is there twice", name);
		}
	}
	name = json_string_value(json_array_get(nodes, 0));
	if (nr && strcmp(name, config->node))
		return outcome_usage("a job is started on the first of its nodes: this one is %s, "
				     "not %s",
				     config->node, name);
	return NULL;
}

/* Check that @map places each of @n ranks once, some on each node, and rank 0 on the first. */
static json_t *check_map(json_t *map, size_t nr_nodes, unsigned int n)
{
	json_t *spec = json_pack("{s:O, s:i}", "map", map, "node", 0);
	bool *has = calloc(nr_nodes, sizeof(*has));
	struct ranks ranks = { 0 };
	size_t i, filled = 0;
	bool good;

	good = has && json_array_size(map) == nr_nodes &&
	       !ranks_parse(spec, &ranks, NULL) && ranks.size == n && !ranks.rank[0];
	for (i = 0; good && i < n; i++) {
		filled += !has[ranks.node_of[i]];
		has[ranks.node_of[i]] = true;
	}
	ranks_done(&ranks);
	json_decref(spec);
	free(has);
	if (good && filled == nr_nodes)
		return NULL;
	return outcome_usage("the map does not give each of %u ranks one place, each node some (%d "
			     "at most), and rank 0 to the first",
			     n, RANKS_NODE_MAX);
}

static json_t *check_size(json_int_t n, size_t nr_nodes)
{
	if (n >= 1 && n <= RANKS_MAX && (size_t)n <= nr_nodes * RANKS_NODE_MAX &&
	    (size_t)n >= nr_nodes)
		return NULL;
	return outcome_usage("a node has 1 to %d ranks: %lld of them on %zu nodes is impossible",
			     RANKS_NODE_MAX, (long long)n, nr_nodes);
}

json_t *rank_record_make(const json_t *request, const struct config *config,
			 json_t **ret_outcome)
{
	int keep_going = 0, direct = 0, label = 0, interruptible = 0;
	json_t *nodes = NULL, *map = NULL, *programs = NULL, *bind = NULL, *record;
	const char *name = "none", *library = NULL;	/* rank_record_library() */
	struct binding binding;
	struct ckpt_error error;
	json_error_t why;
	size_t nr_nodes;
	json_int_t n;

	if (json_unpack_ex((json_t *)request, &why, 0,
			   "{s:I, s?s, s?s, s?b, s?b, s?b, s?b, s?o, s?o, s?o, s?o !}",
			   "n", &n, "mpi", &name, "library", &library, "label", &label,
			   "keep_going", &keep_going, "direct", &direct,
			   "interruptible", &interruptible, "nodes", &nodes, "map", &map,
			   "programs", &programs, "bind", &bind)) {
		*ret_outcome = outcome_usage("run: ranks: %s", why.text);
		return NULL;
	}
	nr_nodes = json_array_size(nodes) ? json_array_size(nodes) : 1;
	*ret_outcome = rank_record_check_nodes(nodes, config);
	if (!*ret_outcome && interruptible && (direct || !strcmp(name, "none")))
		*ret_outcome = outcome_usage("interruptible collectives are done by our MPI "
					     "library, and this job is to run without it");
	if (!*ret_outcome)
		*ret_outcome = check_size(n, nr_nodes);
	if (!*ret_outcome && programs &&
	    ranks_programs_check(programs, (unsigned int)n, &error))
		*ret_outcome = outcome_usage("run: ranks: %s", error.text);
	if (!*ret_outcome && bind && binding_parse(bind, &binding))
		*ret_outcome = outcome_usage("run: ranks: this is no binding to processors");
	if (*ret_outcome)
		return NULL;
	map = map ? json_incref(map) : ranks_map_even((unsigned int)n, (unsigned int)nr_nodes);
	record = json_pack("{s:o, s:s, s:b, s:b, s:b, s:b}", "map", map, "mpi", name, "label",
			   label, "keep_going", keep_going, "direct", direct, "interruptible",
			   interruptible);
	if (nr_nodes > 1)
		json_object_set(record, "nodes", nodes);
	json_object_set(record, "programs", programs);
	json_object_set(record, "bind", bind);
	place_images(record, config);
	*ret_outcome = check_map(map, nr_nodes, (unsigned int)n);
	if (!*ret_outcome)
		*ret_outcome = rank_record_check(record, config);
	if (!*ret_outcome)
		return record;
	json_decref(record);
	return NULL;
}

json_t *rank_record_gathered(const json_t *record)
{
	json_t *gathered = json_copy((json_t *)record);

	json_object_del(gathered, "nodes");
	json_object_del(gathered, "apart");
	json_object_set_new(gathered, "map", ranks_map_even(rank_record_size(record), 1));
	return gathered;
}

/* Move the ranks to @nodes. Without @map, the record's map stays if the number of nodes does. */
static json_t *rank_record_move(json_t *record, json_t *nodes, json_t *map,
				const struct config *config)
{
	size_t nr = json_array_size(nodes);
	unsigned int size = rank_record_size(record);
	json_t *outcome;

	if (!nr)
		return outcome_usage("restart: no nodes are given");
	outcome = rank_record_check_nodes(nodes, config);
	if (!outcome)
		outcome = check_size((int)size, nr);
	if (outcome)
		return outcome;
	if (map)
		json_incref(map);
	else if (nr == json_array_size(json_object_get(record, "map")))
		map = json_incref(json_object_get(record, "map"));
	else
		map = ranks_map_even(size, (unsigned int)nr);
	outcome = check_map(map, nr, size);
	if (outcome) {
		json_decref(map);
		return outcome;
	}
	json_object_set_new(record, "map", map);
	if (nr > 1)
		json_object_set(record, "nodes", nodes);
	else
		json_object_del(record, "nodes");
	return NULL;
}

json_t *rank_record_place(json_t *record, json_t *nodes, json_t *map, const struct config *config)
{
	const char *home = json_string_value(json_array_get(json_object_get(record, "nodes"), 0));
	json_t *outcome = NULL;

	if (!nodes && map)
		return outcome_usage("restart: a map without nodes");
	if (!nodes && home && strcmp(home, config->node))
		return outcome_error(-EINVAL,
				     "the job was on %s and others: name the nodes with --nodes, "
				     "this one (%s) first, or ask there",
				     home, config->node);
	if (nodes)
		outcome = rank_record_move(record, nodes, map, config);
	place_images(record, config);
	return outcome ? outcome : rank_record_check(record, config);
}

json_t *rank_record_spec(const json_t *record, unsigned int node,
			 const struct config *config)
{
	const char *name = json_string_value(json_object_get(record, "mpi"));
	json_t *spec = json_pack("{s:O, s:i, s:s, s:b, s:b}", "map",
				 json_object_get(record, "map"), "node", (int)node,
				 "mpi", name ? name : "none", "label",
				 json_is_true(json_object_get(record, "label")), "keep_going",
				 json_is_true(json_object_get(record, "keep_going")));
	char path[PATH_MAX];
	enum ranks_mpi mpi;

	/* json_object_set() ignores NULL: a job on one node. */
	json_object_set(spec, "nodes", json_object_get(record, "nodes"));
	json_object_set(spec, "programs", json_object_get(record, "programs"));
	json_object_set(spec, "bind", json_object_get(record, "bind"));
	/* The file is beside the directory of the glue: in build/lib or /usr/lib/stillpoint. */
	snprintf(path, sizeof(path), "%s/../libckpt-pmix.so", config->mpi_dir);
	json_object_set_new(spec, "pmix", json_string(path));
	if (!has_glue(record, &mpi))
		return spec;
	json_object_set_new(spec, "glue", glue_preload(config, mpi));
	json_object_set_new(spec, "lower", json_string(config->lower));
	json_object_set(spec, "library",
			json_array_get(json_object_get(record, "library"), 0));
	json_object_set_new(spec, "interruptible",
			    json_boolean(json_is_true(json_object_get(record, "interruptible"))));
	return spec;
}

unsigned int rank_record_size(const json_t *record)
{
	const json_t *map = rank_record_map(record);
	struct ranks ranks = { 0 };
	json_t *spec;
	unsigned int size = 0;

	if (!map)
		return 0;
	spec = json_pack("{s:O}", "map", map);
	if (!ranks_parse(spec, &ranks, NULL))
		size = ranks.size;
	ranks_done(&ranks);
	json_decref(spec);
	return size;
}

int rank_record_node_index(const json_t *record, const char *name)
{
	const json_t *names = rank_record_nodes(record);
	size_t i;

	for (i = 0; i < json_array_size(names); i++) {
		const char *node = json_string_value(json_array_get(names, i));

		if (node && !strcmp(node, name))
			return (int)i;
	}
	return -1;
}

json_t *rank_record_nodes(const json_t *record)
{
	return json_object_get(record, "nodes");
}

json_t *rank_record_map(const json_t *record)
{
	return json_object_get(record, "map");
}

bool rank_record_keeps_going(const json_t *record)
{
	return json_is_true(json_object_get(record, "keep_going"));
}

bool rank_record_has_mpi(const json_t *record)
{
	const char *mpi = json_string_value(json_object_get(record, "mpi"));

	return mpi && strcmp(mpi, "none") != 0;
}
