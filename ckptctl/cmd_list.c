// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl list: generations, of one job or of all.
 *
 * The list shows what the images' manifests say; an image whose manifest cannot be read is
 * listed with the reason.
 */
#include "ckptctl/cli_job.h"

#include <stdio.h>
#include <string.h>

#include "ckptctl/cli_table.h"

static const struct option longs[] = {
	{ "rebuild", no_argument, NULL, 'r' },
	{ "last", required_argument, NULL, CLI_OPT_LAST },
	{ "before", required_argument, NULL, CLI_OPT_BEFORE },
	{ NULL }
};

static const struct cli_column columns[] = {
	{ .name = "JOB", .right = true }, { .name = "NAME" }, { .name = "STATE" },
	{ .name = "GENERATION", .right = true }, { .name = "TAKEN" },
	{ .name = "PAUSE", .right = true },
	{ .name = "STORED", .right = true }, { .name = "PROCESSES", .right = true },
	{ .name = "THREADS", .right = true }, { .name = "NODES" },
	{ .name = "REMARK", .cut = true },
	{ .name = NULL }
};

/* Columns if ckptd has levels below L1. */
static const struct cli_column columns_levels[] = {
	{ .name = "JOB", .right = true }, { .name = "NAME" }, { .name = "STATE" },
	{ .name = "GENERATION", .right = true }, { .name = "TAKEN" },
	{ .name = "PAUSE", .right = true },
	{ .name = "STORED", .right = true }, { .name = "PROCESSES", .right = true },
	{ .name = "THREADS", .right = true }, { .name = "NODES" }, { .name = "LEVELS" },
	{ .name = "REMARK", .cut = true }, { .name = NULL }
};

/*
 * Levels that hold the generation: "L1" whole, "pfs(1/2)" for some nodes only, "tape!" damaged,
 * "tape?" could not be asked.
 */
static const char *level_names(const json_t *levels, char *text, size_t size)
{
	const json_t *level;
	size_t i, len = 0;

	snprintf(text, size, "-");
	json_array_foreach(levels, i, level) {
		const char *state = cli_str(level, "state");
		char mark[32] = "";

		if (!strcmp(state, "missing"))
			continue;
		if (!strcmp(state, "partial") && json_object_get(level, "of"))
			snprintf(mark, sizeof(mark), "(%lld/%lld)",
				 (long long)cli_int(level, "have"),
				 (long long)cli_int(level, "of"));
		else if (!strcmp(state, "partial"))
			snprintf(mark, sizeof(mark), "(%lld/?)", (long long)cli_int(level, "have"));
		else if (strcmp(state, "here"))
			snprintf(mark, sizeof(mark), !strcmp(state, "damaged") ? "!" : "?");
		if (len < size)
			len += (size_t)snprintf(text + len, size - len, "%s%s%s", len ? " " : "",
						cli_str(level, "level"), mark);
	}
	return text;
}

/* True if any generation has an entry about levels. */
static bool has_levels(const json_t *jobs)
{
	const json_t *job, *row;
	size_t i, k;

	json_array_foreach(jobs, i, job) {
		json_array_foreach(json_object_get(job, "generations"), k, row) {
			if (json_object_get(row, "levels"))
				return true;
		}
	}
	return false;
}

/* Names of nodes as far as there is room, then the number of the others; "-": one image only. */
static const char *node_names(const json_t *nodes, char *text, size_t size)
{
	size_t i, nr = json_array_size(nodes), len = 0;

	snprintf(text, size, "-");
	for (i = 0; i < nr; i++) {
		const char *name = json_string_value(json_array_get(nodes, i));
		bool last = i + 1 == nr;

		/* keep room for the number of the names that do not fit */
		if (len + strlen(name) + (last ? 2 : 12) > size) {
			snprintf(text + len, size - len, "%s+%zu", len ? "," : "", nr - i);
			break;
		}
		len += (size_t)snprintf(text + len, size - len, "%s%s", len ? "," : "", name);
	}
	return text;
}

static void cmd_list_number_cell(struct cli_table *table, const json_t *row, const char *name)
{
	if (json_object_get(row, name))
		cli_table_cell(table, "%lld", (long long)cli_int(row, name));
	else
		cli_table_cell(table, "-");
}

static void print_generation(struct cli_table *table, const json_t *job,
			     const json_t *row, bool with_levels)
{
	char when[32], pause[32], stored[32], nodes[48], levels[256];
	bool bad = json_object_get(row, "error");
	bool pinned = json_is_true(json_object_get(row, "pinned"));
	const char *trust = cli_str(row, "trust");
	bool marked = trust[0] && strcmp(trust, "unverified");
	bool killed = json_is_true(json_object_get(json_object_get(row, "note"), "killed"));

	cli_table_row(table);
	cli_table_cell(table, "%lld", (long long)cli_int(job, "job"));
	cli_table_cell(table, "%s", cli_str(job, "name"));
	cli_table_cell(table, "%s", cli_str(job, "state"));
	cli_table_cell(table, "%lld", (long long)cli_int(row, "generation"));
	cli_table_cell(table, "%s", cli_time(cli_int(row, "created"), when));
	cli_table_cell(table, "%s", killed || bad || !json_object_get(row, "pause_ns") ? "-" :
		       cli_ns((uint64_t)cli_int(row, "pause_ns"), pause));
	cli_table_cell(table, "%s", bad ? "-" :
		       cli_bytes((uint64_t)cli_int(row, "bytes_stored"), stored));
	cmd_list_number_cell(table, row, "processes");
	cmd_list_number_cell(table, row, "threads");
	cli_table_cell(table, "%s", node_names(json_object_get(row, "nodes"), nodes,
					       sizeof(nodes)));
	if (with_levels)
		cli_table_cell(table, "%s", level_names(json_object_get(row, "levels"), levels,
							sizeof(levels)));
	cli_table_cell(table, "%s%s%s%s%s", marked ? trust : "",
		       marked && (pinned || killed || bad) ? ", " : "", pinned ? "pinned" : "",
		       pinned && (killed || bad) ? ", " : "",
		       killed ? "job ended by it" : cli_str(row, "error"));
}

static void cmd_list_print(struct cli *cli, json_t *result)
{
	json_t *jobs = json_object_get(result, "jobs");
	bool with_levels = has_levels(jobs);
	struct cli_table *table = cli_table_new(with_levels ? columns_levels : columns);
	size_t i, j;

	for (i = 0; i < json_array_size(jobs); i++) {
		json_t *job = json_array_get(jobs, i);
		json_t *generations = json_object_get(job, "generations");

		for (j = 0; j < json_array_size(generations); j++)
			print_generation(table, job, json_array_get(generations, j), with_levels);
	}
	cli_table_end(table);
}

static int cmd_list_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "", longs)) != -1) {
		if (c == 'r')
			json_object_set_new(args, "rebuild", json_true());
		else
			status = cli_job_window(cli, c, args);
	}
	if (!status && optind < argc)
		status = cli_job_operand(cli, argc, argv, args);
	if (status) {
		json_decref(args);
		return status;
	}
	return cli_job_list_finish(cli, cli_call(cli, "list", args), cmd_list_print);
}

const struct cli_verb cmd_list = {
	.name = "list",
	.run = cmd_list_run,
	.args = "[options] [JOB]",
	.help = "list what jobs can be restarted from",
	.options =
	"      --last N        only the last N generations of a job\n"
	"      --before GENERATION\n"
	"                      only those before a generation\n"
	"      --rebuild       from the manifests alone; makes the index anew\n",
};
