// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading a Slurm allocation; see slurm.h.
 *
 * Everything comes from Slurm's environment variables; the controller is never asked. Slurm's own
 * scontrol expands lists of nodes ("c[01-16],d2"); this file reads the short form of numbers,
 * "2(x3),1". ckptd decides whether it knows the nodes by these names.
 */
#include "ckptctl/slurm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/ranks.h"

#define INSTEAD	"; say which nodes with --hosts, or --no-slurm for this one"

static const char *slurm_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

bool slurm_is_here(void)
{
	return slurm_variable("SLURM_JOB_NODELIST");
}

/* ----------------------------------------------------------------- nodes */

/* Read names, one in a line; NULL: out of memory, or a name is not UTF-8. */
static json_t *read_names(int fd)
{
	FILE *f = fdopen(fd, "r");
	json_t *names = json_array();
	char *line = NULL;
	size_t size = 0;
	int err = f ? 0 : -errno;

	while (!err && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		err = json_array_append_new(names, json_string(line));
	}
	free(line);
	if (f)
		fclose(f);
	else
		close(fd);
	if (!err)
		return names;
	json_decref(names);
	return NULL;
}

/* Have scontrol expand @list; complaints of scontrol go to our standard error. */
static json_t *slurm_expand(struct cli *cli, const char *list)
{
	json_t *names = NULL;
	int ends[2], status = -1;
	pid_t pid = -1;

	if (!pipe2(ends, O_CLOEXEC)) {
		pid = fork();
		if (!pid) {
			dup2(ends[1], STDOUT_FILENO);
			execlp("scontrol", "scontrol", "show", "hostnames", list, NULL);
			_exit(errno == ENOENT ? 127 : 126);
		}
		close(ends[1]);
		names = read_names(ends[0]);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!status && json_array_size(names))
		return names;
	json_decref(names);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		cli_wrong(cli, -ENOENT,
			  "this is a Slurm allocation, and scontrol, which says which nodes %s "
			  "are, is not in PATH" INSTEAD,
			  list);
	else
		cli_wrong(cli, -EIO,
			  "scontrol show hostnames %s does not say which nodes these are" INSTEAD,
			  list);
	return NULL;
}

int slurm_nodes(struct cli *cli, json_t *args)
{
	json_t *nodes = slurm_expand(cli, slurm_variable("SLURM_JOB_NODELIST"));

	if (!nodes)
		return CLI_FAILED;
	json_object_set_new(args, "nodes", nodes);
	return 0;
}

/* ------------------------------------------------------------------ ranks */

/*
 * Turn "2(x3),1", the number of ranks on each of @nr nodes, into a map; NULL: the text has
 * another form, or another number of nodes or ranks than @nr and @n.
 */
static json_t *map_of_tasks(const char *tasks, size_t nr, long long n)
{
	json_t *map = json_array();
	long long first = 0;
	bool good = true;

	while (good && *tasks) {
		long count, times = 1;
		int len = 0;

		good = sscanf(tasks, "%ld%n(x%ld)%n", &count, &len, &times, &len) >= 1 &&
		       count >= 1 && count <= RANKS_NODE_MAX && times >= 1;
		for (; good && times--; first += count) {
			good = json_array_size(map) < nr;
			json_array_append_new(map,
					      json_sprintf("%lld-%lld", first, first + count - 1));
		}
		tasks += len;
		tasks += *tasks == ',';
	}
	if (good && json_array_size(map) == nr && first == n)
		return map;
	json_decref(map);
	return NULL;
}

/* True if srun started several tasks: ckptrun runs in each, and each would start a whole job. */
static bool is_many(void)
{
	const char *tasks = slurm_variable("SLURM_STEP_NUM_TASKS");

	return tasks && strtol(tasks, NULL, 10) > 1;
}

int slurm_place(struct cli *cli, json_t *ranks)
{
	const char *tasks = slurm_variable("SLURM_NTASKS"),
		   *each = slurm_variable("SLURM_TASKS_PER_NODE");
	json_t *nodes, *map;
	long long n;

	if (is_many())
		return cli_usage(cli, "srun starts ckptrun as several tasks, and each would start "
				      "the whole job: start it once, from the batch script or with "
				      "srun -n 1 ckptrun -n RANKS, or say --hosts or --no-slurm");
	if (!json_object_get(ranks, "n") && slurm_variable("SLURM_STEP_NUM_TASKS"))
		return cli_usage(cli, "in a step of srun Slurm says how many tasks the step has, "
				      "and not the allocation: say how many ranks with -n");
	if (!json_object_get(ranks, "n") && tasks) {
		if (!cli_number(cli, tasks, "SLURM_NTASKS", 1, RANKS_MAX, &n))
			return CLI_USAGE;
		json_object_set_new(ranks, "n", json_integer(n));
	}
	n = json_integer_value(json_object_get(ranks, "n"));
	if (!n)
		return cli_usage(cli, "how many ranks? The Slurm allocation does not say "
				      "(SLURM_NTASKS): say -n");
	if (slurm_nodes(cli, ranks))
		return CLI_FAILED;
	nodes = json_object_get(ranks, "nodes");
	if ((size_t)n < json_array_size(nodes))
		return cli_usage(cli,
				 "%lld ranks are fewer than the %zu nodes of the Slurm allocation "
				 "have to get, one each" INSTEAD,
				 n, json_array_size(nodes));
	map = each ? map_of_tasks(each, json_array_size(nodes), n) : NULL;
	if (map)
		json_object_set_new(ranks, "map", map);
	return 0;
}
