// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rank map and the environment of a rank; see ranks.h.
 *
 * A map names every rank from 0 to size - 1 exactly once, or is refused: a rank with
 * two processes, or with none, would only be noticed by a hang.
 * ckptd and ckptctl use the map as well, so nothing here belongs to the shim alone.
 */
#include "shim/ranks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSET	(~0u)

static const struct {
	const char *name;
	const char *soname[3];	/* as mpi-glue/upper.mk */
} kinds[] = {
	[RANKS_NONE] = { "none", { NULL } },
	/* Debian's, and the one of MPICH's own makefile and of vendors */
	[RANKS_MPICH] = { "mpich", { "libmpich.so.12", "libmpi.so.12" } },
	[RANKS_OMPI] = { "ompi", { "libmpi.so.40" } },
};

bool ranks_mpi_parse(const char *name, enum ranks_mpi *ret_mpi)
{
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(name, kinds[i].name)) {
			*ret_mpi = (enum ranks_mpi)i;
			return true;
		}
	}
	return false;
}

const char *ranks_mpi_name(enum ranks_mpi mpi)
{
	return kinds[mpi].name;
}

const char *ranks_mpi_soname(enum ranks_mpi mpi, unsigned int i)
{
	return kinds[mpi].soname[i];
}

bool ranks_mpi_is_named(enum ranks_mpi mpi, const char *name)
{
	unsigned int i;

	for (i = 0; kinds[mpi].soname[i]; i++) {
		size_t len = strlen(kinds[mpi].soname[i]);

		if (!strncmp(name, kinds[mpi].soname[i], len) && (!name[len] || name[len] == '.'))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------- map */

/* Take a number of digits only; false if there is none, or it is RANKS_MAX or more. */
static bool take_number(const char **at, unsigned int *ret_number)
{
	unsigned int number = 0;
	const char *start = *at;

	while (**at >= '0' && **at <= '9' && number <= RANKS_MAX)
		number = number * 10 + (unsigned int)(*(*at)++ - '0');
	*ret_number = number;
	return *at > start && number < RANKS_MAX;
}

/*
 * Enter one node's ranks, such as "0-3,8", into @node_of, which has places for @size ranks; NULL:
 * count only.  Return: their number, or -EINVAL.
 */
static int take_ranges(const char *text, unsigned int node, unsigned int *node_of,
		       unsigned int size)
{
	unsigned int first, last, n = 0;

	while (*text) {
		if (!take_number(&text, &first))
			return -EINVAL;
		last = first;
		if (*text == '-') {
			text++;
			if (!take_number(&text, &last) || last < first)
				return -EINVAL;
		}
		n += last - first + 1;
		for (; node_of && first <= last; first++) {
			if (first >= size || node_of[first] != UNSET)
				return -EINVAL;
			node_of[first] = node;
		}
		if (*text == ',' && text[1])
			text++;
		else if (*text)
			return -EINVAL;
	}
	return (int)n;
}

static int take_map(struct ranks *ranks, const json_t *map)
{
	unsigned int i, size = 0;
	const char *text;
	int n;

	ranks->nr_nodes = (unsigned int)json_array_size(map);
	if (!ranks->nr_nodes || ranks->nr_nodes > RANKS_MAX || ranks->node >= ranks->nr_nodes)
		return -EINVAL;
	for (i = 0; i < ranks->nr_nodes; i++) {
		text = json_string_value(json_array_get(map, i));
		n = text ? take_ranges(text, i, NULL, 0) : -EINVAL;
		if (n < 0 || n > RANKS_NODE_MAX)
			return -EINVAL;
		size += (unsigned int)n;
	}
	if (!size || size > RANKS_MAX)
		return -EINVAL;
	ranks->node_of = malloc(size * sizeof(*ranks->node_of));
	if (!ranks->node_of)
		return -ENOMEM;
	memset(ranks->node_of, 0xff, size * sizeof(*ranks->node_of));
	/* As many places as ranks, and none taken twice: each rank has a node. */
	for (i = 0; i < ranks->nr_nodes; i++) {
		text = json_string_value(json_array_get(map, i));
		if (take_ranges(text, i, ranks->node_of, size) < 0)
			return -EINVAL;
	}
	ranks->size = size;
	return 0;
}

static int list_here(struct ranks *ranks)
{
	unsigned int i;

	ranks->rank = calloc(RANKS_NODE_MAX, sizeof(*ranks->rank));
	if (!ranks->rank)
		return -ENOMEM;
	for (i = 0; i < ranks->size; i++) {
		if (ranks->node_of[i] == ranks->node)
			ranks->rank[ranks->nr++] = i;
	}
	return ranks->nr ? 0 : -EINVAL;
}

static int take_pids(struct ranks *ranks, const json_t *pids, struct ckpt_error *error)
{
	unsigned int i, alive = 0;

	if (ranks->failed < -1 || ranks->failed >= (int)ranks->nr)
		return error_set(error, -EINVAL, "bad index of the rank that failed: %d of %u",
				 ranks->failed, ranks->nr);
	if (!pids)
		return 0;
	if (json_array_size(pids) != ranks->nr)
		return error_set(error, -EINVAL, "bad pids of ranks: %zu of %u",
				 json_array_size(pids), ranks->nr);
	ranks->pids = calloc(ranks->nr, sizeof(*ranks->pids));
	if (!ranks->pids)
		return error_set(error, -ENOMEM, "out of memory");
	for (i = 0; i < ranks->nr; i++) {
		ranks->pids[i] = (pid_t)json_integer_value(json_array_get(pids, i));
		if (ranks->pids[i] < 0)
			return error_set(error, -EINVAL, "bad pids of ranks: %d",
					 (int)ranks->pids[i]);
		alive += ranks->pids[i] > 0;
	}
	return alive ? 0 : error_set(error, -EINVAL, "bad pids of ranks: none of them runs");
}

int ranks_programs_check(const json_t *programs, unsigned int size, struct ckpt_error *error)
{
	json_int_t n, sum = 0;
	json_t *program, *argv, *word;
	size_t i, k;

	json_array_foreach(programs, i, program) {
		if (json_unpack(program, "{s:I, s:o !}", "n", &n, "argv", &argv) || n < 1 ||
		    n > RANKS_MAX || !json_array_size(argv))
			return error_set(error, -EINVAL, "program %zu has no ranks, or no command",
					 i);
		json_array_foreach(argv, k, word) {
			if (!json_is_string(word))
				return error_set(error, -EINVAL, "the command of program %zu is "
						 "no list of strings", i);
		}
		sum += n;
	}
	return sum == size ? 0 : error_set(error, -EINVAL,
					   "the programs have %lld ranks and the job %u",
					   (long long)sum, size);
}

static int take_programs(struct ranks *ranks, struct ckpt_error *error)
{
	unsigned int rank = 0;
	json_t *program;
	size_t at;

	if (!ranks->programs)
		return 0;
	if (ranks_programs_check(ranks->programs, ranks->size, error))
		return -EINVAL;
	ranks->app_of = calloc(ranks->size, sizeof(*ranks->app_of));
	if (!ranks->app_of)
		return error_set(error, -ENOMEM, "out of memory");
	json_array_foreach(ranks->programs, at, program) {
		json_int_t n = json_integer_value(json_object_get(program, "n"));

		while (n--)
			ranks->app_of[rank++] = (unsigned int)at;
	}
	return 0;
}

char **ranks_argv(const struct ranks *ranks, unsigned int index)
{
	const json_t *program, *words;
	char **argv;
	size_t i, nr;

	if (!ranks->app_of)
		return NULL;
	program = json_array_get(ranks->programs, ranks->app_of[ranks->rank[index]]);
	words = json_object_get(program, "argv");
	nr = json_array_size(words);
	argv = calloc(nr + 1, sizeof(*argv));
	for (i = 0; argv && i < nr; i++)
		argv[i] = (char *)json_string_value(json_array_get(words, i));
	return argv;
}

int ranks_parse(const json_t *json, struct ranks *ret_ranks, struct ckpt_error *error)
{
	const json_t *map = NULL, *pids = NULL, *bind = NULL;
	struct ranks ranks = { .failed = -1 };
	int node = 0, keep_going = 0, label = 0, interruptible = 0, err;
	const char *mpi = "none";
	json_error_t wrong;

	if (json_unpack_ex((json_t *)json, &wrong, 0,
			   "{s:o, s?i, s?s, s?s, s?s, s?s, s?s, s?b, s?b, s?b, s?o, s?[ii], s?o, "
			   "s?o, s?o, s?o !}",
			   "map", &map, "node", &node, "mpi", &mpi, "glue", &ranks.glue,
			   "library", &ranks.library,
			   "lower", &ranks.lower, "pmix", &ranks.pmix, "keep_going", &keep_going,
			   "label", &label, "interruptible", &interruptible,
			   "pids", &pids, "failed", &ranks.failed, &ranks.failed_status,
			   "nodes", &ranks.nodes, "env", &ranks.env,
			   "programs", &ranks.programs, "bind", &bind))
		return error_set(error, -EINVAL, "bad ranks: %s", wrong.text);
	ranks.node = (unsigned int)node;
	ranks.keep_going = keep_going;
	ranks.label = label;
	ranks.interruptible = interruptible;
	err = take_map(&ranks, map);
	if (!err)
		err = list_here(&ranks);
	if (err)
		error_set(error, err, "bad rank map");
	if (!err)
		err = take_pids(&ranks, pids, error);
	if (!err)
		err = take_programs(&ranks, error);
	if (!err && ranks.env)
		err = ranks_env_check(ranks.env, error);
	if (!err && bind) {
		ranks.binds = true;
		err = binding_parse(bind, &ranks.binding);
		if (err)
			error_set(error, err, "bad binding of ranks");
	}
	if (!err && !ranks_mpi_parse(mpi, &ranks.mpi))
		err = error_set(error, -EINVAL, "bad MPI implementation %.40s", mpi);
	if (err) {
		ranks_done(&ranks);
		return err;
	}
	*ret_ranks = ranks;
	return 0;
}

void ranks_done(struct ranks *ranks)
{
	free(ranks->node_of);
	free(ranks->app_of);
	free(ranks->rank);
	free(ranks->pids);
	memset(ranks, 0, sizeof(*ranks));
}

json_t *ranks_map_even(unsigned int size, unsigned int nr_nodes)
{
	json_t *map = json_array();
	unsigned int i, first = 0;

	for (i = 0; i < nr_nodes; i++) {
		unsigned int n = size / nr_nodes + (i < size % nr_nodes);
		char text[32] = "";

		if (n == 1)
			snprintf(text, sizeof(text), "%u", first);
		else if (n)
			snprintf(text, sizeof(text), "%u-%u", first, first + n - 1);
		json_array_append_new(map, json_string(text));
		first += n;
	}
	return map;
}

/* ----------------------------------------------------------- environment */

/* Length of the variable's name that the string begins with; 0: no valid name. */
static size_t name_length(const char *string)
{
	size_t len = strspn(string,
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

	if ((*string >= '0' && *string <= '9') || (string[len] && string[len] != '='))
		return 0;
	return len;
}

/* Index in @env of the string with the same name as @string; the array's size: none. */
static size_t find_name(const json_t *env, const char *string)
{
	size_t len = name_length(string), i;

	for (i = 0; i < json_array_size(env); i++) {
		const char *other = json_string_value(json_array_get(env, i));

		if (!strncmp(other, string, len) && (!other[len] || other[len] == '='))
			break;
	}
	return i;
}

int ranks_env_check(const json_t *env, struct ckpt_error *error)
{
	size_t i, bytes = 0;

	if (!json_is_array(env))
		return error_set(error, -EINVAL, "that is no list of variables");
	for (i = 0; i < json_array_size(env); i++) {
		const char *string = json_string_value(json_array_get(env, i));
		size_t len = string ? name_length(string) : 0;

		if (!len)
			return error_set(error, -EINVAL,
					 "a variable is NAME=VALUE, or NAME alone, of letters, "
					 "digits and _, and begins with no digit");
		if (!strncmp(string, "CKPT_", 5))
			return error_set(error, -EINVAL, "%.*s is Stillpoint's own",
					 len > 64 ? 64 : (int)len, string);
		if (find_name(env, string) != i)
			return error_set(error, -EINVAL, "%.*s is there twice",
					 len > 64 ? 64 : (int)len, string);
		bytes += strlen(string) + 1;
		if (bytes > RANKS_ENV_MAX)
			return error_set(error, -EINVAL,
					 "variables may have %d bytes in all, each with one more "
					 "than its length",
					 RANKS_ENV_MAX);
	}
	return 0;
}

void ranks_env_put(json_t *to, const json_t *env)
{
	json_t *string;
	size_t i, at;

	json_array_foreach(env, i, string) {
		at = find_name(to, json_string_value(string));
		if (at < json_array_size(to))
			json_array_set(to, at, string);
		else
			json_array_append(to, string);
	}
}

static int set_number(const char *name, unsigned int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	return setenv(name, text, 1) ? -errno : 0;
}

/*
 * Preload the glue after the user's libraries: a profiling tool among them defines MPI_Send() and
 * calls PMPI_Send(), which must be the glue's.
 */
static int set_preload(const char *glue)
{
	const char *users = getenv("LD_PRELOAD");
	char *both;
	int err;

	if (!users || !*users)
		return setenv("LD_PRELOAD", glue, 1) ? -errno : 0;
	if (asprintf(&both, "%s:%s", users, glue) < 0)
		return -ENOMEM;
	err = setenv("LD_PRELOAD", both, 1) ? -errno : 0;
	free(both);
	return err;
}

int ranks_setenv(const struct ranks *ranks, unsigned int index)
{
	int err;

	err = set_number("STILLPOINT_RANK", ranks->rank[index]);
	if (!err)
		err = set_number("STILLPOINT_RANKS", ranks->size);
	if (!err && ranks->lower)
		err = setenv("CKPT_LOWER", ranks->lower, 1) ? -errno : 0;
	if (!err && ranks->library)
		err = setenv("CKPT_MPI_LIBRARY", ranks->library, 1) ? -errno : 0;
	if (!err && ranks->glue)
		err = set_preload(ranks->glue);
	/* Set or unset it alike in all ranks, whatever the environment of the job has. */
	if (!err && ranks->interruptible)
		err = setenv("CKPT_COLLECTIVES", "interruptible", 1) ? -errno : 0;
	else if (!err)
		unsetenv("CKPT_COLLECTIVES");
	return err;
}

const char *ranks_log_name(unsigned int node, int i, char *buf, size_t size)
{
	const char *name = i ? "stderr" : "stdout";

	if (node)
		snprintf(buf, size, "%s.%u", name, node);
	else
		snprintf(buf, size, "%s", name);
	return buf;
}
