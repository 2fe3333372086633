// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl nodes: show the nodes of the hosts file, and whether they answer.
 *
 * ckptd asks all nodes and reports the answers of the next few seconds. The exit status is 1
 * when a node does not answer, and 0 when all answer, whatever the remarks say.
 */
#include "ckptctl/cli.h"

#include <stdlib.h>
#include <string.h>

#include "ckptctl/cli_table.h"
#include "base/outcome.h"

static const struct cli_column columns[] = {
	{ .name = "NODE" }, { .name = "ADDRESS" }, { .name = "STATE" }, { .name = "SINCE" },
	{ .name = "HEARD" }, { .name = "ROUND TRIP", .right = true }, { .name = "CKPTD" },
	{ .name = "MODULE" }, { .name = "REMARK", .cut = true }, { .name = NULL }
};

static void print_time(struct cli_table *table, const json_t *node, const char *name)
{
	char when[32];
	int64_t at = cli_int(node, name);

	cli_table_cell(table, "%s", at ? cli_time(at, when) : "-");
}

static void print_node(struct cli_table *table, const json_t *node)
{
	const char *version = json_string_value(json_object_get(node, "ckptd"));
	char rtt[32];

	cli_table_row(table);
	cli_table_cell(table, "%s", cli_str(node, "name"));
	cli_table_cell(table, "%s", cli_str(node, "address"));
	cli_table_cell(table, "%s", cli_str(node, "state"));
	print_time(table, node, "since");
	print_time(table, node, "heard");
	if (version) {
		cli_table_cell(table, "%s", cli_ns((uint64_t)cli_int(node, "rtt_ns"), rtt));
		cli_table_cell(table, "%s, API %d", version, (int)cli_int(node, "api"));
		cli_table_cell(table, "%s", cli_int(node, "module") ? "loaded" : "none");
	} else {
		cli_table_cell(table, "-");
		cli_table_cell(table, "-");
		cli_table_cell(table, "-");
	}
	cli_table_cell(table, "%s", json_object_get(node, "remark") ?
		       cli_str(node, "remark") : "");
}

static void cmd_nodes_print(struct cli *cli, json_t *result)
{
	struct cli_table *table = cli_table_new(columns);
	json_t *nodes = json_object_get(result, "nodes");
	size_t i;

	for (i = 0; i < json_array_size(nodes); i++)
		print_node(table, json_array_get(nodes, i));
	cli_table_end(table);
}

static bool all_answer(const json_t *outcome)
{
	const json_t *nodes = json_object_get(json_object_get(outcome, "result"), "nodes");
	size_t i;

	for (i = 0; i < json_array_size(nodes); i++) {
		const char *state = cli_str(json_array_get(nodes, i), "state");

		if (strcmp(state, "answers") && strcmp(state, "this node"))
			return false;
	}
	return true;
}

static int cmd_nodes_run(struct cli *cli, int argc, char **argv)
{
	json_t *outcome;
	bool well;
	int status;

	if (cli_getopt(cli, argc, argv, "", NULL) != -1)
		return cli_usage(cli, "wrong option");
	if (optind < argc)
		return cli_usage(cli, "%s is too much", argv[optind]);
	outcome = cli_call(cli, "nodes", json_object());
	well = all_answer(outcome);
	status = cli_finish(cli, outcome, cmd_nodes_print);
	return status ? status : well ? CLI_DONE : CLI_FAILED;
}

const struct cli_verb cmd_nodes = {
	.name = "nodes",
	.run = cmd_nodes_run,
	.args = "",
	.help = "list the nodes of the hosts file, and whether they answer",
};
