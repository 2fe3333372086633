// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl store: list this node's images that another node keeps.
 *
 * Owns how the list is printed; ckptd asks the other node.  ckptctl copy copies images to the
 * other node and back.
 */
#include "ckptctl/cli.h"

#include <stdio.h>
#include <string.h>

#include "ckptctl/cli_table.h"

static const struct option longs[] = {
	{ "owner", required_argument, NULL, 'o' },
	{ "deep", no_argument, NULL, 'D' },
	{ NULL }
};

static const struct cli_column columns[] = {
	{ .name = "NAME" }, { .name = "JOB" }, { .name = "GEN", .right = true },
	{ .name = "CREATED" }, { .name = "SIZE", .right = true },
	{ .name = "REMARK", .cut = true }, { .name = NULL }
};

static void print_image(struct cli_table *table, const json_t *image)
{
	char created[32], size[32];

	cli_table_row(table);
	cli_table_cell(table, "%s", cli_str(image, "name"));
	if (json_object_get(image, "error")) {
		cli_table_cell(table, "-");
		cli_table_cell(table, "-");
		cli_table_cell(table, "-");
		cli_table_cell(table, "-");
		cli_table_cell(table, "%s", cli_str(image, "error"));
		return;
	}
	cli_table_cell(table, "%s", cli_str(image, "job"));
	cli_table_cell(table, "%lld", (long long)cli_int(image, "generation"));
	cli_table_cell(table, "%s", cli_time(cli_int(image, "created"), created));
	cli_table_cell(table, "%s", cli_bytes((uint64_t)cli_int(image, "bytes_stored"), size));
	cli_table_cell(table, "%s", "");
}

static void print_list(struct cli *cli, json_t *result)
{
	struct cli_table *table = cli_table_new(columns);
	json_t *image;
	size_t i;

	json_array_foreach(json_object_get(result, "images"), i, image)
		print_image(table, image);
	cli_table_end(table);
}

static void print_space(struct cli *cli, json_t *result)
{
	char total[32], left[32];

	printf("node %s: %s free of %s\n", cli_str(result, "node"),
	       cli_bytes((uint64_t)cli_int(result, "free"), left),
	       cli_bytes((uint64_t)cli_int(result, "total"), total));
}

static void print_whole(struct cli *cli, json_t *result)
{
	printf("%s is whole on node %s\n", cli_str(result, "name"), cli_str(result, "node"));
}

static void print_gone(struct cli *cli, json_t *result)
{
	printf("removed from node %s: %s\n", cli_str(result, "node"), cli_str(result, "name"));
}

static const struct action {
	const char *word, *op;
	bool name;			/* the action takes the name of an image */
	void (*print)(struct cli *cli, json_t *result);
} actions[] = {
	{ "list", "list", false, print_list },
	{ "space", "space", false, print_space },
	{ "verify", "verify", true, print_whole },
	{ "rm", "delete", true, print_gone },
};

static const struct action *find_action(const char *word)
{
	size_t i;

	for (i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (!strcmp(actions[i].word, word))
			return &actions[i];
	}
	return NULL;
}

static int cmd_store_run(struct cli *cli, int argc, char **argv)
{
	const struct action *action;
	const char *owner = NULL;
	bool deep = false;
	json_t *args;
	int c;

	while ((c = cli_getopt(cli, argc, argv, "o:D", longs)) != -1) {
		if (c == 'o')
			owner = optarg;
		else if (c == 'D')
			deep = true;
		else
			return cli_usage(cli, "wrong option");
	}
	if (optind == argc)
		return cli_usage(cli, "which node?");
	action = find_action(optind + 1 < argc ? argv[optind + 1] : "list");
	if (!action)
		return cli_usage(cli, "%s: list, space, verify or rm", argv[optind + 1]);
	if (argc > optind + 3 || (argc > optind + 2) != action->name)
		return cli_usage(cli, action->name ? "one image's name is needed" :
				 "that is too much");
	args = json_pack("{s:s, s:s}", "op", action->op, "node", argv[optind]);
	if (action->name)
		json_object_set_new(args, "name", json_string(argv[optind + 2]));
	if (owner)
		json_object_set_new(args, "owner", json_string(owner));
	if (deep)
		json_object_set_new(args, "deep", json_true());
	return cli_finish(cli, cli_call(cli, "store", args), action->print);
}

const struct cli_verb cmd_store = {
	.name = "store",
	.run = cmd_store_run,
	.args = "[--owner NODE] NODE [list | space | verify [--deep] NAME | rm NAME]",
	.help = "what another node keeps of this one's images",
	.options =
	"  -o, --owner NODE    of what it keeps for that node, not for this one\n"
	"  -D, --deep          verify: read every chunk\n",
};
