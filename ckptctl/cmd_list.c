// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl list: generations, of one job or of all.
 *
 * What is shown is what the images' manifests say; one that cannot be read is
 * listed with the reason.
 */
#include "ckptctl/cli_job.h"

#include <stdio.h>
#include <string.h>

#include "ckptctl/cli_table.h"

static const struct option longs[] = {
	{ "rebuild", no_argument, NULL, 'r' },
	{ NULL }
};

static const struct cli_column columns[] = {
	{ .name = "JOB", .right = true }, { .name = "NAME" }, { .name = "STATE" },
	{ .name = "GENERATION", .right = true }, { .name = "TAKEN" }, { .name = "PAUSE", .right = true },
	{ .name = "STORED", .right = true }, { .name = "PROCESSES", .right = true },
	{ .name = "THREADS", .right = true }, { .name = "NODES" }, { .name = "REMARK", .cut = true },
	{ .name = NULL }
};

/* Names as far as there is room, and how many more there are; "-": of one image. */
static const char *node_names(const json_t *nodes, char *text, size_t size)
{
	size_t i, nr = json_array_size(nodes), len = 0;

	snprintf(text, size, "-");
	for (i = 0; i < nr; i++) {
		const char *name = json_string_value(json_array_get(nodes, i));
		bool last = i + 1 == nr;

		/* room for the number of those that are left out */
		if (len + strlen(name) + (last ? 2 : 12) > size) {
			snprintf(text + len, size - len, "%s+%zu", len ? "," : "", nr - i);
			break;
		}
		len += (size_t)snprintf(text + len, size - len, "%s%s", len ? "," : "", name);
	}
	return text;
}

static void number_cell(struct cli_table *table, const json_t *row, const char *name)
{
	if (json_object_get(row, name))
		cli_table_cell(table, "%lld", (long long)cli_int(row, name));
	else
		cli_table_cell(table, "-");
}

static void print_generation(struct cli_table *table, const json_t *job,
			     const json_t *row)
{
	char when[32], pause[32], stored[32], nodes[48];
	bool bad = json_object_get(row, "error");
	bool pinned = json_is_true(json_object_get(row, "pinned"));
	bool killed = json_is_true(json_object_get(json_object_get(row, "note"), "killed"));

	cli_table_row(table);
	cli_table_cell(table, "%lld", (long long)cli_int(job, "job"));
	cli_table_cell(table, "%s", cli_str(job, "name"));
	cli_table_cell(table, "%s", cli_str(job, "state"));
	cli_table_cell(table, "%lld", (long long)cli_int(row, "generation"));
	cli_table_cell(table, "%s", cli_time(cli_int(row, "created"), when));
	cli_table_cell(table, "%s", killed || bad ? "-" :
		       cli_ns((uint64_t)cli_int(row, "pause_ns"), pause));
	cli_table_cell(table, "%s", bad ? "-" :
		       cli_bytes((uint64_t)cli_int(row, "bytes_stored"), stored));
	number_cell(table, row, "processes");
	number_cell(table, row, "threads");
	cli_table_cell(table, "%s", node_names(json_object_get(row, "nodes"), nodes,
					       sizeof(nodes)));
	cli_table_cell(table, "%s%s%s", pinned ? "pinned" : "", pinned && (killed || bad) ? ", " : "",
		       killed ? "job ended by it" : cli_str(row, "error"));
}

static void print(struct cli *cli, json_t *result)
{
	struct cli_table *table = cli_table_new(columns);
	json_t *jobs = json_object_get(result, "jobs");
	size_t i, j;

	for (i = 0; i < json_array_size(jobs); i++) {
		json_t *job = json_array_get(jobs, i);
		json_t *generations = json_object_get(job, "generations");

		for (j = 0; j < json_array_size(generations); j++)
			print_generation(table, job, json_array_get(generations, j));
	}
	cli_table_end(table);
}

static int run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "", longs)) != -1) {
		if (c != 'r')
			status = cli_usage(cli, "wrong option");
		else
			json_object_set_new(args, "rebuild", json_true());
	}
	if (!status && optind < argc)
		status = cli_job_operand(cli, argc, argv, args);
	if (status) {
		json_decref(args);
		return status;
	}
	return cli_finish(cli, cli_call(cli, "list", args), print);
}

const struct cli_verb cmd_list = {
	.name = "list",
	.run = run,
	.args = "[--rebuild] [JOB]",
	.help = "list what jobs can be restarted from",
	.options =
	"      --rebuild       from the manifests alone; makes the index anew\n",
};
