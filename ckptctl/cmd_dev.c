// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl dev: the block devices, NFS mounts and clients of Lustre of the node and how busy they
 * are, how fast generations were written to the node's levels, and what would have been done about
 * those that got slow.
 *
 * Prints rates that the daemon has measured; needs no rights, as /proc/diskstats and mountstats do
 * not. To forget what the daemon knows of a level is root's.
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
	{ .name = "WAITING", .right = true }, { .name = "BUSY", .right = true },
	{ .name = "NOTE", .cut = true }, { .name = NULL }
};

static const struct cli_column level_columns[] = {
	{ .name = "LEVEL" }, { .name = "DISK" }, { .name = "STATE" }, { .name = "SINCE" },
	{ .name = "WRITTEN/s", .right = true }, { .name = "USUAL", .right = true },
	{ .name = "GENERATIONS", .right = true }, { .name = "NOTE", .cut = true },
	{ .name = NULL }
};

static double dev_real(const json_t *row, const char *name)
{
	return json_number_value(json_object_get(row, name));
}

static void dev_print_rate(struct cli_table *table, const json_t *row, const char *name)
{
	char text[32];

	if (dev_real(row, name) > 0)
		cli_table_cell(table, "%s", cli_bytes((uint64_t)dev_real(row, name), text));
	else
		cli_table_cell(table, "-");
}

/* The levels of the node, with the state of their devices. */
static void dev_print_levels(const json_t *levels)
{
	struct cli_table *table = cli_table_new(level_columns);
	const json_t *row;
	char when[32];
	size_t i;

	json_array_foreach(levels, i, row) {
		const int64_t since = cli_int(row, "since");
		const char *disk = json_string_value(json_object_get(row, "disk"));

		cli_table_row(table);
		cli_table_cell(table, "%s", cli_str(row, "level"));
		cli_table_cell(table, "%s", disk && *disk ? disk : "-");
		cli_table_cell(table, "%s", cli_str(row, "state"));
		cli_table_cell(table, "%s", since ? cli_time(since, when) : "-");
		dev_print_rate(table, row, "rate");
		dev_print_rate(table, row, "usual");
		cli_table_cell(table, "%lld", (long long)cli_int(row, "probes"));
		cli_table_cell(table, "%s", cli_str(row, "note"));
	}
	cli_table_end(table);
}

/* How much was read and written, of a device, an NFS mount, or a client of Lustre. */
static void dev_print_rates(struct cli_table *table, const json_t *row)
{
	char read[32], written[32];

	cli_table_cell(table, "%.1f", dev_real(row, "reads_per_s"));
	cli_table_cell(table, "%s", cli_bytes((uint64_t)dev_real(row, "read_bytes_per_s"), read));
	cli_table_cell(table, "%.2f ms", dev_real(row, "read_ms"));
	cli_table_cell(table, "%.1f", dev_real(row, "writes_per_s"));
	cli_table_cell(table, "%s", cli_bytes((uint64_t)dev_real(row, "write_bytes_per_s"),
					      written));
	cli_table_cell(table, "%.2f ms", dev_real(row, "write_ms"));
}

/* An NVMe device says itself that it is ill. */
static void dev_print_warnings(struct cli_table *table, const json_t *row)
{
	const json_t *words = json_object_get(row, "warnings"), *word;
	char text[128] = "";
	size_t i, n = 0;

	json_array_foreach(words, i, word) {
		if (n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? ", " : "",
					      json_string_value(word));
	}
	if (*text)
		cli_table_cell(table, "warns: %s", text);
	else
		cli_table_cell(table, "-");
}

static void dev_print_device(struct cli_table *table, const json_t *row)
{
	cli_table_row(table);
	cli_table_cell(table, "%s", cli_str(row, "device"));
	cli_table_cell(table, "%s", cli_str(row, "number"));
	dev_print_rates(table, row);
	cli_table_cell(table, "%lld", (long long)cli_int(row, "in_flight"));
	cli_table_cell(table, "%.0f %%", dev_real(row, "busy_percent"));
	dev_print_warnings(table, row);
}

static void dev_print_nfs(struct cli_table *table, const json_t *row)
{
	const int64_t again = cli_int(row, "retransmissions"), late = cli_int(row, "timeouts");

	cli_table_row(table);
	cli_table_cell(table, "%s", cli_str(row, "source"));
	cli_table_cell(table, "%s", cli_str(row, "number"));
	dev_print_rates(table, row);
	cli_table_cell(table, "-");
	cli_table_cell(table, "-");
	if (again || late)
		cli_table_cell(table, "%lld requests sent again, %lld timed out", (long long)again,
			       (long long)late);
	else
		cli_table_cell(table, "-");
}

static void dev_print_lustre(struct cli_table *table, const json_t *row)
{
	const int64_t bad = cli_int(row, "disconnected");

	cli_table_row(table);
	cli_table_cell(table, "lustre %s", cli_str(row, "fs"));
	cli_table_cell(table, "-");
	dev_print_rates(table, row);
	cli_table_cell(table, "%lld", (long long)cli_int(row, "in_flight"));
	cli_table_cell(table, "-");
	if (bad)
		cli_table_cell(table, "%lld of %zu targets not connected", (long long)bad,
			       json_array_size(json_object_get(row, "targets")));
	else
		cli_table_cell(table, "-");
}

static void dev_print(struct cli *cli, json_t *result)
{
	struct cli_table *table = cli_table_new(columns);
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(result, "devices"), i, row)
		dev_print_device(table, row);
	json_array_foreach(json_object_get(result, "nfs"), i, row)
		dev_print_nfs(table, row);
	json_array_foreach(json_object_get(result, "lustre"), i, row)
		dev_print_lustre(table, row);
	cli_table_end(table);
	if (json_object_get(result, "remark"))
		printf("%s\n", cli_str(result, "remark"));
	printf("\n");
	dev_print_levels(json_object_get(result, "levels"));
}

static const struct cli_column replay_columns[] = {
	{ .name = "JOB", .right = true }, { .name = "GENERATION", .right = true },
	{ .name = "WRITTEN/s", .right = true }, { .name = "USUAL", .right = true },
	{ .name = "FROM" }, { .name = "TO" }, { .name = "AVOID", .cut = true }, { .name = NULL }
};

/* The daemon does not tell the jobs of other users. */
static void dev_print_number(struct cli_table *table, const json_t *row, const char *name)
{
	if (json_object_get(row, name))
		cli_table_cell(table, "%lld", (long long)cli_int(row, name));
	else
		cli_table_cell(table, "-");
}

/* The changes of a device's state, as they are in its history. */
static void dev_print_replay(struct cli *cli, json_t *result)
{
	const json_t *changes = json_object_get(result, "changes"), *row;
	struct cli_table *table;
	size_t i;

	printf("level %s: %lld generations are recorded, %lld of them while its device was "
	       "degraded; degraded_devices = %s\n", cli_str(result, "level"),
	       (long long)cli_int(result, "probes"), (long long)cli_int(result, "degraded"),
	       cli_str(result, "setting"));
	if (!json_array_size(changes))
		return;
	table = cli_table_new(replay_columns);
	json_array_foreach(changes, i, row) {
		cli_table_row(table);
		dev_print_number(table, row, "job");
		dev_print_number(table, row, "generation");
		dev_print_rate(table, row, "rate");
		dev_print_rate(table, row, "usual");
		cli_table_cell(table, "%s", cli_str(row, "from"));
		cli_table_cell(table, "%s", cli_str(row, "to"));
		cli_table_cell(table, "%s", cli_str(row, "would"));
	}
	cli_table_end(table);
}

static void dev_print_forgotten(struct cli *cli, json_t *result)
{
	printf("forgotten: the level's next generations are the first\n");
}

static int cmd_dev_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	bool forget = false, replay = false;
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
	forget = optind < argc && !strcmp(argv[optind], "forget");
	replay = optind < argc && !strcmp(argv[optind], "replay");
	if (!status && (forget || replay) && (optind + 2 != argc || json_object_size(args)))
		status = cli_usage(cli, "dev %s takes the name of one level", argv[optind]);
	else if (!status && !forget && !replay &&
		 (optind + 1 != argc || strcmp(argv[optind], "list")))
		status = cli_usage(cli, "say what: list, replay LEVEL, or forget LEVEL");
	if (status) {
		json_decref(args);
		return status;
	}
	if (!forget && !replay)
		return cli_finish(cli, cli_call(cli, "devices", args), dev_print);
	json_object_set_new(args, "level", json_string(argv[optind + 1]));
	if (replay)
		return cli_finish(cli, cli_call(cli, "device_replay", args), dev_print_replay);
	return cli_finish(cli, cli_call(cli, "device_forget", args), dev_print_forgotten);
}

const struct cli_verb cmd_dev = {
	.name = "dev",
	.run = cmd_dev_run,
	.args = "list [--interval DURATION] | replay LEVEL | forget LEVEL",
	.help = "how busy the node's devices and mounts are, and which level's device got slow",
	.options =
	"      --interval DURATION   between the two looks; 100ms to 10s, default 1s\n",
};
