// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl stats: what the checkpoints of a job have cost, phase by phase.
 *
 * Also of generations that were removed. FREEZE, SNAPSHOT and most of THAW are parts of PAUSE, for
 * which the job stands still; what is right of it happens behind its back.
 */
#include "ckptctl/cli_job.h"

#include <stdio.h>

#include "ckptctl/cli_table.h"

static const struct cli_column columns[] = {
	{ .name = "GENERATION", .right = true }, { .name = "TAKEN" },
	{ .name = "QUIESCE", .right = true }, { .name = "FREEZE", .right = true },
	{ .name = "SNAPSHOT", .right = true }, { .name = "THAW", .right = true },
	{ .name = "PAUSE", .right = true },
	{ .name = "MEMORY", .right = true }, { .name = "FILES", .right = true },
	{ .name = "SYNC", .right = true }, { .name = "COMMIT", .right = true },
	{ .name = "TOTAL", .right = true }, { .name = "SIZE", .right = true },
	{ .name = "STORED", .right = true }, { .name = "REMARK", .cut = true }, { .name = NULL }
};

static void ns_cell(struct cli_table *table, const json_t *row, const char *name)
{
	char text[32];

	cli_table_cell(table, "%s", json_object_get(row, name) ?
		       cli_ns((uint64_t)cli_int(row, name), text) : "-");
}

static void bytes_cell(struct cli_table *table, const json_t *row, const char *name)
{
	char text[32];

	cli_table_cell(table, "%s", json_object_get(row, name) ?
		       cli_bytes((uint64_t)cli_int(row, name), text) : "-");
}

static void figure_cells(struct cli_table *table, const json_t *row)
{
	char text[32];

	ns_cell(table, row, "quiesce_ns");
	ns_cell(table, row, "freeze_ns");
	cli_table_cell(table, "%s", json_object_get(row, "clone_ns") ?
		       cli_ns((uint64_t)(cli_int(row, "collect_ns") + cli_int(row, "clone_ns")),
			      text) : "-");
	ns_cell(table, row, "thaw_ns");
	ns_cell(table, row, "pause_ns");
	ns_cell(table, row, "pages_ns");
	ns_cell(table, row, "contents_ns");
	ns_cell(table, row, "sync_ns");
	ns_cell(table, row, "commit_ns");
	ns_cell(table, row, "total_ns");
	bytes_cell(table, row, "bytes_mapped");
	bytes_cell(table, row, "bytes_stored");
}

static bool is(const json_t *row, const char *name)
{
	return json_is_true(json_object_get(row, name));
}

static void print_row(struct cli_table *table, const json_t *row)
{
	char when[32];

	cli_table_row(table);
	cli_table_cell(table, "%lld", (long long)cli_int(row, "generation"));
	cli_table_cell(table, "%s", cli_time(cli_int(row, "taken"), when));
	figure_cells(table, row);
	cli_table_cell(table, "%s%s%s%s", is(row, "auto") ? "auto " : "",
		       is(row, "killed") ? "job ended by it " : "",
		       is(row, "in_place") ? "stop and copy " : "",
		       is(row, "kept") ? "" : "removed");
}

static void print(struct cli *cli, json_t *result)
{
	const json_t *rows = json_object_get(result, "checkpoints"), *row;
	struct cli_table *table;
	char took[32], bytes[32], phases[CLI_PHASES];
	size_t i;

	if (!json_array_size(rows)) {
		printf("job %lld has no checkpoint yet\n", (long long)cli_int(result, "job"));
		return;
	}
	table = cli_table_new(columns);
	json_array_foreach(rows, i, row)
		print_row(table, row);
	cli_table_row(table);
	cli_table_cell(table, "median");
	cli_table_cell(table, "of %zu", json_array_size(rows));
	figure_cells(table, json_object_get(result, "medians"));
	cli_table_cell(table, " ");
	cli_table_end(table);
	rows = json_object_get(result, "levels");
	json_array_foreach(rows, i, row)
		printf("generation %lld copied to level %s in %s, %s\n",
		       (long long)cli_int(row, "generation"), cli_str(row, "level"),
		       cli_ns((uint64_t)cli_int(row, "total_ns"), took),
		       cli_bytes((uint64_t)cli_int(row, "bytes_stored"), bytes));
	rows = json_object_get(result, "restarts");
	json_array_foreach(rows, i, row)
		printf("restarted from generation %lld in %s%s\n", (long long)cli_int(row, "restart"),
		       cli_ns((uint64_t)cli_int(row, "total_ns"), took),
		       cli_job_phases(row, phases));
}

static int run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	int status;

	if (cli_getopt(cli, argc, argv, "", NULL) != -1)
		status = cli_usage(cli, "wrong option");
	else
		status = cli_job_operand(cli, argc, argv, args);
	if (status) {
		json_decref(args);
		return status;
	}
	return cli_finish(cli, cli_call(cli, "stats", args), print);
}

const struct cli_verb cmd_stats = {
	.name = "stats",
	.run = run,
	.args = "JOB",
	.help = "what the checkpoints of a job have cost",
};
