// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl dev: the block devices of the node and how busy they are.
 *
 * Prints rates that the daemon has measured between two looks; needs no rights, as
 * /proc/diskstats does not.
 */
#include "ckptctl/cli.h"

#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "ckptctl/cli_table.h"

#define OPT_INTERVAL	1

static const struct option longs[] = {
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ NULL }
};

static const struct cli_column columns[] = {
	{ .name = "DEVICE" }, { .name = "NUMBER", .right = true },
	{ .name = "READS/s", .right = true }, { .name = "READ/s", .right = true },
	{ .name = "EACH", .right = true }, { .name = "WRITES/s", .right = true },
	{ .name = "WRITTEN/s", .right = true }, { .name = "EACH", .right = true },
	{ .name = "WAITING", .right = true }, { .name = "BUSY", .right = true }, { .name = NULL }
};

static double dev_real(const json_t *row, const char *name)
{
	return json_number_value(json_object_get(row, name));
}

static void dev_print(struct cli *cli, json_t *result)
{
	struct cli_table *table = cli_table_new(columns);
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(result, "devices"), i, row) {
		char read[32], written[32];

		cli_table_row(table);
		cli_table_cell(table, "%s", cli_str(row, "device"));
		cli_table_cell(table, "%s", cli_str(row, "number"));
		cli_table_cell(table, "%.1f", dev_real(row, "reads_per_s"));
		cli_table_cell(table, "%s", cli_bytes((uint64_t)dev_real(row, "read_bytes_per_s"),
						      read));
		cli_table_cell(table, "%.2f ms", dev_real(row, "read_ms"));
		cli_table_cell(table, "%.1f", dev_real(row, "writes_per_s"));
		cli_table_cell(table, "%s", cli_bytes((uint64_t)dev_real(row, "write_bytes_per_s"),
						      written));
		cli_table_cell(table, "%.2f ms", dev_real(row, "write_ms"));
		cli_table_cell(table, "%lld", (long long)cli_int(row, "in_flight"));
		cli_table_cell(table, "%.0f %%", dev_real(row, "busy_percent"));
	}
	cli_table_end(table);
}

static int cmd_dev_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	int status = 0, c;
	int64_t ms;

	while (!status && (c = cli_getopt(cli, argc, argv, "", longs)) != -1) {
		if (c != OPT_INTERVAL)
			status = cli_usage(cli, "wrong option");
		else if (duration_parse(optarg, &ms))
			status = cli_usage(cli, "%s is no duration, as 500ms or 2s", optarg);
		else
			json_object_set_new(args, "interval_ms", json_integer(ms));
	}
	if (!status && (optind + 1 != argc || strcmp(argv[optind], "list")))
		status = cli_usage(cli, "say what: list");
	if (status) {
		json_decref(args);
		return status;
	}
	return cli_finish(cli, cli_call(cli, "devices", args), dev_print);
}

const struct cli_verb cmd_dev = {
	.name = "dev",
	.run = cmd_dev_run,
	.args = "list [--interval DURATION]",
	.help = "how busy the node's block devices are",
	.options =
	"      --interval DURATION   between the two looks; 100ms to 10s, default 1s\n",
};
