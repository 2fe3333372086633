// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl show: print what an image holds.
 *
 * The indented text has the same content as the JSON that --json prints.  Everything shown has
 * been authenticated with the node's key.
 */
#include "ckptctl/cli_image.h"

#include <stdio.h>
#include <stdlib.h>

static const struct option longs[] = {
	{ "records", no_argument, NULL, 'r' },
	{ "runs", no_argument, NULL, 'R' },
	{ NULL }
};

static void print_value(const char *name, const json_t *value, int depth);

static void print_members(json_t *object, int depth)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
		print_value(name, value, depth);
}

static void print_items(const char *name, const json_t *array, int depth)
{
	size_t i;

	printf("%*s%s (%zu)\n", depth * 2, "", name, json_array_size(array));
	for (i = 0; i < json_array_size(array); i++) {
		char index[24];

		snprintf(index, sizeof(index), "[%zu]", i);
		print_value(index, json_array_get(array, i), depth + 1);
	}
}

/* Print a value, on one line if nothing is nested in it. */
static void print_value(const char *name, const json_t *value, int depth)
{
	char *text;

	if (json_is_object(value)) {
		printf("%*s%s\n", depth * 2, "", name);
		print_members((json_t *)value, depth + 1);
		return;
	}
	if (json_array_size(value) && !json_is_integer(json_array_get(value, 0))) {
		print_items(name, value, depth);
		return;
	}
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
	printf("%*s%s: %s\n", depth * 2, "", name, text ? text : "?");
	free(text);
}

static void cmd_show_print(struct cli *cli, json_t *result)
{
	print_members(result, 0);
}

static int cmd_show_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	int c, status;

	while ((c = cli_getopt(cli, argc, argv, "rR", longs)) != -1) {
		if (c != 'r' && c != 'R') {
			json_decref(args);
			return cli_usage(cli, "wrong option");
		}
		json_object_set_new(args, c == 'r' ? "records" : "runs",
				    json_true());
	}
	if (optind + 1 != argc) {
		json_decref(args);
		return cli_usage(cli, "one image is needed");
	}
	status = cli_image_arg(cli, args, "dir", "image", argv[optind]);
	if (status) {
		json_decref(args);
		return status;
	}
	return cli_finish(cli, cli_call(cli, "show", args), cmd_show_print);
}

const struct cli_verb cmd_show = {
	.name = "show",
	.run = cmd_show_run,
	.args = "[--records] [--runs] DIR|JOB:GENERATION[/NODE]",
	.help = "print what an image holds",
	.options =
	"  -r, --records       every record\n"
	"  -R, --runs          every page run\n",
};
