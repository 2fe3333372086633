// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes and processors of ranks, in the words of MPI launchers; see placement.h.
 *
 * Where the launchers differ, the library of the program decides: Open MPI's binds to what ranks
 * are mapped by, and refuses several ranks on one core; MPICH's binds to nothing unless told to,
 * and begins anew when all are taken.
 */
#include "ckptctl/placement.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/binding.h"
#include "base/cleanup.h"
#include "ckptctl/cli_job.h"
#include "shim/ranks.h"

#define SLOTS_FREE	RANKS_MAX	/* a node that takes any number */

static const struct {
	const char *name;
	enum binding_level level;
} objects[] = {
	{ "hwthread", BINDING_HWTHREAD }, { "hwt", BINDING_HWTHREAD }, { "core", BINDING_CORE },
	{ "l1cache", BINDING_L1 }, { "l2cache", BINDING_L2 }, { "l3cache", BINDING_L3 },
	{ "l1", BINDING_L1 }, { "l2", BINDING_L2 }, { "l3", BINDING_L3 },
	{ "numa", BINDING_NUMA }, { "socket", BINDING_SOCKET }, { "package", BINDING_SOCKET },
	{ "board", BINDING_NODE }, { "machine", BINDING_NODE },
};

static bool placement_object(const char *name, enum binding_level *ret_level)
{
	size_t i;

	for (i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		if (strcasecmp(name, objects[i].name))
			continue;
		*ret_level = objects[i].level;
		return true;
	}
	return false;
}

static json_t *placement_bound(struct placement *place)
{
	if (!place->bind)
		place->bind = json_object();
	return place->bind;
}

static void placement_set(struct placement *place, const char *key, enum binding_level level)
{
	json_object_set_new(placement_bound(place), key, json_string(binding_level_name(level)));
}

/* A number of 1 or more, without anything behind it. */
static bool placement_number(const char *text, long long *ret_number)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*ret_number = strtoll(text, &end, 10);
	return !errno && !*end && *ret_number >= 1 && *ret_number < RANKS_MAX;
}

static int placement_each(struct placement *place, const char *text)
{
	long long each;

	if (!placement_number(text, &each))
		return CLI_USAGE;
	json_object_set_new(placement_bound(place), "each", json_integer(each));
	return 0;
}

int placement_bind_to(struct cli *cli, struct placement *place, const char *value)
{
	_cleanup_free_ char *copy = strdup(value);
	char *rest = copy, *name = copy ? strsep(&rest, ":") : NULL, *more;
	enum binding_level level;
	int status = name ? 0 : CLI_FAILED;

	place->none = name && !strcasecmp(name, "none");
	if (!status && !place->none) {
		status = placement_object(name, &level) ? 0 : CLI_USAGE;
		if (!status)
			placement_set(place, "to", level);
	}
	while (!status && (more = strsep(&rest, ":,"))) {
		if (!strcasecmp(more, "overload-allowed"))
			json_object_set_new(placement_bound(place), "overload", json_true());
		else if (strcasecmp(more, "if-supported"))
			status = placement_each(place, more);
	}
	if (status == CLI_USAGE)
		cli_usage(cli, "--bind-to is none, hwthread, core, l1cache, l2cache, l3cache, numa "
			       "or socket, with :N for N of them or :overload-allowed, not %s; for "
			       "processors by number start ckptrun by taskset -c LIST", value);
	return status;
}

/* One word behind the object of --map-by. */
static int placement_modifier(struct placement *place, const char *word)
{
	if (!strncasecmp(word, "pe=", 3)) {
		if (!json_object_get(placement_bound(place), "to"))
			placement_set(place, "to", BINDING_CORE);
		return placement_each(place, word + 3);
	}
	return strcasecmp(word, "oversubscribe") ? CLI_USAGE : 0;
}

/* "N:node", behind "ppr:"; what else may be behind that. */
static int placement_per(char **rest, long long *ret_per_node)
{
	const char *number = strsep(rest, ":"), *object = *rest ? strsep(rest, ":,") : NULL;

	return object && placement_number(number, ret_per_node) && !strcasecmp(object, "node") ?
	       0 : CLI_USAGE;
}

int placement_map_by(struct cli *cli, struct placement *place, const char *value,
		     long long *ret_per_node)
{
	_cleanup_free_ char *copy = strdup(value);
	char *rest = copy, *name = copy ? strsep(&rest, ":") : NULL, *more;
	enum binding_level level;
	int status = name ? 0 : CLI_FAILED;

	if (!status && !strcasecmp(name, "ppr"))
		status = rest ? placement_per(&rest, ret_per_node) : CLI_USAGE;
	else if (!status && !strcasecmp(name, "node"))
		place->by_node = true;
	else if (!status && placement_object(name, &level))
		placement_set(place, "by", level);
	else if (!status && strcasecmp(name, "slot"))
		status = CLI_USAGE;
	while (!status && (more = strsep(&rest, ":,")))
		status = placement_modifier(place, more);
	if (status == CLI_USAGE)
		cli_usage(cli, "--map-by is slot, node, hwthread, core, l1cache, l2cache, l3cache, "
			       "numa, socket or ppr:N:node, with :PE=N for N cores of each rank, "
			       "not %s; --map 0-1:n1,2-3:n2 says which ranks are on which node",
			  value);
	return status;
}

void placement_bind(const struct placement *place, json_t *ranks)
{
	const char *mpi = json_string_value(json_object_get(ranks, "mpi"));
	bool hydra = mpi && !strcmp(mpi, "mpich");
	json_t *bind, *to;

	if (!place->bind || place->none)
		return;
	to = json_object_get(place->bind, "to");
	if (!to && !hydra)
		to = json_object_get(place->bind, "by");
	if (!to || !strcmp(json_string_value(to), binding_level_name(BINDING_NODE)))
		return;
	bind = json_copy(place->bind);
	json_object_set(bind, "to", to);
	if (hydra)
		json_object_set_new(bind, "overload", json_true());
	json_object_set_new(ranks, "bind", bind);
}

/* ------------------------------------------------------------- host files */

/* "n1 slots=4 max-slots=8", "n1:4" or "n1"; *@ret_slots is 0 if it does not say how many. */
static bool placement_host(char *line, char **ret_name, long long *ret_slots)
{
	char *save = NULL, *word = strtok_r(line, " \t", &save), *colon;

	*ret_name = word;
	*ret_slots = 0;
	colon = strchr(word, ':');
	if (colon) {
		*colon = '\0';
		if (!placement_number(colon + 1, ret_slots))
			return false;
	}
	while ((word = strtok_r(NULL, " \t", &save))) {
		long long most;

		if (!strncmp(word, "slots=", 6)) {
			if (!placement_number(word + 6, ret_slots))
				return false;
		} else if (strncmp(word, "max-slots=", 10) && strncmp(word, "max_slots=", 10)) {
			return false;
		} else if (!placement_number(word + 10, &most)) {
			return false;
		}
	}
	return **ret_name;
}

static void placement_add_host(json_t *nodes, json_t *slots, const char *name, long long nr)
{
	json_t *value = json_integer(nr ? nr : SLOTS_FREE);

	json_array_append_new(nodes, json_string(name));
	json_array_append_new(slots, value);
}

/* Nodes and slots of an open file; *@ret_line: the line that is not understood. */
static int placement_read(FILE *file, json_t *nodes, json_t *slots, int *ret_line)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	long long nr;
	char *name;

	for (*ret_line = 1; getline(&line, &size, file) > 0; ++*ret_line) {
		line[strcspn(line, "#\n")] = '\0';
		if (!line[strspn(line, " \t")])
			continue;
		if (!placement_host(line, &name, &nr))
			return CLI_USAGE;
		placement_add_host(nodes, slots, name, nr);
	}
	return 0;
}

/* Do some nodes say how many slots they have, and others not? */
static bool placement_is_mixed(const json_t *slots)
{
	size_t i, said = 0;

	for (i = 0; i < json_array_size(slots); i++)
		said += json_integer_value(json_array_get(slots, i)) < SLOTS_FREE;
	return said && said < json_array_size(slots);
}

int placement_hostfile(struct cli *cli, struct placement *place, const char *path, json_t *ranks)
{
	FILE *file = fopen(path, "re");
	json_t *nodes = json_array();
	int status, line;

	if (!file) {
		cli_wrong(cli, -errno, "%s: %s", path, strerror(errno));
		json_decref(nodes);
		return CLI_FAILED;
	}
	json_decref(place->slots);
	place->slots = json_array();
	status = placement_read(file, nodes, place->slots, &line);
	fclose(file);
	if (status)
		cli_usage(cli, "%s:%d: a line is NODE, NODE slots=N or NODE:N, with the name that "
			       "stillpoint-hosts(5) has", path, line);
	else if (placement_is_mixed(place->slots))
		status = cli_usage(cli, "%s: say the slots of each node, or of none", path);
	else if (!json_array_size(nodes))
		status = cli_usage(cli, "%s: there is no node in it", path);
	else if (json_object_get(ranks, "map") || json_object_get(ranks, "nodes"))
		status = cli_usage(cli, "--hostfile says which nodes, --hosts or --map says it "
					"again");
	if (!status)
		json_object_set(ranks, "nodes", nodes);
	json_decref(nodes);
	return status;
}

/* ------------------------------------------------------------------- map */

static long long placement_slots(const struct placement *place, size_t node)
{
	const json_t *slots = json_array_get(place->slots, node);

	return slots ? json_integer_value(slots) : SLOTS_FREE;
}

/* The node of each rank, into @node_of; false: there are more ranks than slots. */
static bool placement_assign(const struct placement *place, size_t nodes, unsigned int n,
			     unsigned int *node_of)
{
	_cleanup_free_ long long *taken = calloc(nodes, sizeof(*taken));
	size_t node = 0, full = 0;

	for (unsigned int rank = 0; taken && rank < n; full = 0) {
		while (full < nodes && taken[node] >= placement_slots(place, node)) {
			node = (node + 1) % nodes;
			full++;
		}
		if (full == nodes)
			return false;
		taken[node]++;
		node_of[rank++] = (unsigned int)node;
		if (place->by_node)
			node = (node + 1) % nodes;
	}
	return taken;
}

/* The ranks of @node as "0-3,8"; the caller frees it. */
static char *placement_ranges(const unsigned int *node_of, unsigned int n, unsigned int node)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *comma = "";

	for (unsigned int rank = 0; out && rank < n; rank++) {
		unsigned int first = rank;

		if (node_of[rank] != node)
			continue;
		while (rank + 1 < n && node_of[rank + 1] == node)
			rank++;
		fprintf(out, first == rank ? "%s%u" : "%s%u-%u", comma, first, rank);
		comma = ",";
	}
	if (!out || fclose(out))
		return NULL;
	return text;
}

/* Nodes without ranks are left out. */
static void placement_set_map(json_t *ranks, const unsigned int *node_of, unsigned int n)
{
	json_t *nodes = json_object_get(ranks, "nodes"), *with = json_array(), *map = json_array();
	json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node) {
		_cleanup_free_ char *text = placement_ranges(node_of, n, (unsigned int)i);

		if (!text || !*text)
			continue;
		json_array_append(with, node);
		json_array_append_new(map, json_string(text));
	}
	json_object_set_new(ranks, "nodes", with);
	json_object_set_new(ranks, "map", map);
}

int placement_map(struct cli *cli, const struct placement *place, json_t *ranks)
{
	size_t nodes = json_array_size(json_object_get(ranks, "nodes")), i, said = 0;
	_cleanup_free_ unsigned int *node_of = NULL;
	long long n, sum = 0;

	for (i = 0; i < json_array_size(place->slots); i++) {
		said += placement_slots(place, i) < SLOTS_FREE;
		sum += placement_slots(place, i);
	}
	if (nodes && said == nodes && !json_object_get(ranks, "n"))
		json_object_set_new(ranks, "n", json_integer(sum));
	n = json_integer_value(json_object_get(ranks, "n"));
	if (n < 1 || n >= RANKS_MAX || nodes < 2 || (!said && !place->by_node))
		return 0;
	node_of = calloc((size_t)n, sizeof(*node_of));
	if (!node_of)
		return CLI_FAILED;
	if (!placement_assign(place, nodes, (unsigned int)n, node_of))
		return cli_usage(cli, "%lld ranks are more than the %lld slots of the host file: "
				      "give its nodes more, or leave slots out", n, sum);
	placement_set_map(ranks, node_of, (unsigned int)n);
	return 0;
}

void placement_done(struct placement *place)
{
	json_decref(place->bind);
	json_decref(place->slots);
	place->bind = NULL;
	place->slots = NULL;
}
