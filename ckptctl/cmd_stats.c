// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl stats: show the cost of a job's checkpoints, phase by phase or in bytes.
 *
 * Removed generations are shown too. FREEZE, SNAPSHOT and most of THAW are parts of PAUSE, during
 * which the job stands still; the phases right of PAUSE pass while the job runs.  In the table of
 * bytes, memory in the columns left of SIZE was never read, and the columns right of SIZE show
 * how the rest gets smaller. A figure that was not recorded is a dash.
 */
#include "ckptctl/cli_job.h"

#include <stdio.h>

#include "ckptctl/cli_table.h"

#define PAGE	4096

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

static const struct cli_column byte_columns[] = {
	{ .name = "GENERATION", .right = true }, { .name = "TAKEN" },
	{ .name = "UNTOUCHED", .right = true }, { .name = "CLEAN", .right = true },
	{ .name = "EXCLUDED", .right = true }, { .name = "SIZE", .right = true },
	{ .name = "ZERO", .right = true }, { .name = "SHARED", .right = true },
	{ .name = "BASE", .right = true }, { .name = "SAME", .right = true },
	{ .name = "RAW", .right = true }, { .name = "STORED", .right = true },
	{ .name = "PROCESSES", .right = true }, { .name = "THREADS", .right = true },
	{ .name = "NODES", .right = true }, { .name = "REMARK", .cut = true }, { .name = NULL }
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

static void pages_cell(struct cli_table *table, const json_t *row, const char *name)
{
	char text[32];

	cli_table_cell(table, "%s", json_object_get(row, name) ?
		       cli_bytes((uint64_t)cli_int(row, name) * PAGE, text) : "-");
}

static void cmd_stats_number_cell(struct cli_table *table, const json_t *row, const char *name)
{
	if (json_object_get(row, name))
		cli_table_cell(table, "%lld", (long long)cli_int(row, name));
	else
		cli_table_cell(table, "-");
}

static void byte_cells(struct cli_table *table, const json_t *row)
{
	pages_cell(table, row, "pages_untouched");
	pages_cell(table, row, "pages_file");
	pages_cell(table, row, "pages_excluded");
	bytes_cell(table, row, "bytes_mapped");
	pages_cell(table, row, "pages_zero");
	pages_cell(table, row, "pages_shared");
	pages_cell(table, row, "pages_base");
	pages_cell(table, row, "pages_same");
	bytes_cell(table, row, "bytes_raw");
	bytes_cell(table, row, "bytes_stored");
	cmd_stats_number_cell(table, row, "processes");
	cmd_stats_number_cell(table, row, "threads");
	cmd_stats_number_cell(table, row, "nodes");
}

static void phase_cells(struct cli_table *table, const json_t *row)
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

static bool cmd_stats_is(const json_t *row, const char *name)
{
	return json_is_true(json_object_get(row, name));
}

typedef void (*cells_fn)(struct cli_table *table, const json_t *row);

static void cmd_stats_print_row(struct cli_table *table, const json_t *row, cells_fn cells)
{
	char when[32];

	cli_table_row(table);
	cli_table_cell(table, "%lld", (long long)cli_int(row, "generation"));
	cli_table_cell(table, "%s", cli_time(cli_int(row, "taken"), when));
	cells(table, row);
	cli_table_cell(table, "%s%s%s%s", cmd_stats_is(row, "auto") ? "auto " : "",
		       cmd_stats_is(row, "killed") ? "job ended by it " : "",
		       cmd_stats_is(row, "in_place") ? "stop and copy " : "",
		       cmd_stats_is(row, "kept") ? "" : "removed");
}

static void print_table(const json_t *result, const struct cli_column *which, cells_fn cells)
{
	const json_t *rows = json_object_get(result, "checkpoints"), *row;
	struct cli_table *table = cli_table_new(which);
	size_t i;

	json_array_foreach(rows, i, row)
		cmd_stats_print_row(table, row, cells);
	cli_table_row(table);
	cli_table_cell(table, "median");
	cli_table_cell(table, "of %zu", json_array_size(rows));
	cells(table, json_object_get(result, "medians"));
	cli_table_cell(table, " ");
	cli_table_end(table);
}

static void print_bytes(struct cli *cli, json_t *result)
{
	if (json_array_size(json_object_get(result, "checkpoints")))
		print_table(result, byte_columns, byte_cells);
	else
		printf("job %lld has no checkpoint yet\n", (long long)cli_int(result, "job"));
}

/* A generation that the kernel keeps costs memory, so its price is told. */
static void cmd_stats_print_l0(const json_t *l0)
{
	char bytes[32], max[32];

	if (json_object_get(l0, "given_up"))
		printf("generation %lld is not kept in the kernel any more (l0_memory): %s\n",
		       (long long)cli_int(l0, "generation"), cli_str(l0, "given_up"));
	else if (l0)
		printf("generation %lld is kept in the kernel for a rollback, with %s of at most "
		       "%s (l0_memory)\n", (long long)cli_int(l0, "generation"),
		       cli_bytes((uint64_t)cli_int(l0, "bytes"), bytes),
		       cli_bytes((uint64_t)cli_int(l0, "max"), max));
}

static void cmd_stats_print(struct cli *cli, json_t *result)
{
	const json_t *rows = json_object_get(result, "checkpoints"), *row;
	char took[32], bytes[32], phases[CLI_PHASES];
	size_t i;

	if (!json_array_size(rows)) {
		printf("job %lld has no checkpoint yet\n", (long long)cli_int(result, "job"));
		return;
	}
	print_table(result, columns, phase_cells);
	rows = json_object_get(result, "levels");
	json_array_foreach(rows, i, row)
		printf("generation %lld copied to level %s in %s, %s\n",
		       (long long)cli_int(row, "generation"), cli_str(row, "level"),
		       cli_ns((uint64_t)cli_int(row, "total_ns"), took),
		       cli_bytes((uint64_t)cli_int(row, "bytes_stored"), bytes));
	rows = json_object_get(result, "restarts");
	json_array_foreach(rows, i, row)
		printf("restarted from generation %lld in %s%s\n",
		       (long long)cli_int(row, "restart"),
		       cli_ns((uint64_t)cli_int(row, "total_ns"), took),
		       cli_job_phases(row, phases));
	cmd_stats_print_l0(json_object_get(result, "l0"));
}

static int cmd_stats_run(struct cli *cli, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "bytes", no_argument, NULL, 'b' },
		{ "last", required_argument, NULL, CLI_OPT_LAST },
		{ "before", required_argument, NULL, CLI_OPT_BEFORE },
		{ NULL }
	};
	json_t *args = json_object();
	bool bytes = false;
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "b", longs)) != -1) {
		if (c == 'b')
			bytes = true;
		else
			status = cli_job_window(cli, c, args);
	}
	if (!status)
		status = cli_job_operand(cli, argc, argv, args);
	if (status) {
		json_decref(args);
		return status;
	}
	return cli_finish(cli, cli_call(cli, "stats", args), bytes ? print_bytes : cmd_stats_print);
}

const struct cli_verb cmd_stats = {
	.name = "stats",
	.run = cmd_stats_run,
	.args = "[options] JOB",
	.help = "what the checkpoints of a job have cost",
	.options =
	"  -b, --bytes         where the bytes of memory went, instead of the time\n"
	"      --last N        only the last N generations\n"
	"      --before GENERATION\n"
	"                      only those before a generation\n",
};
