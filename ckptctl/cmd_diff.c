// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl diff: what differs between two images.
 *
 * The exit status is 0 when nothing differs, 1 when something does (as diff(1)).  Fields that
 * differ in any two images (identity, times) do not count.
 */
#include "ckptctl/cli_image.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/outcome.h"

static void cmd_diff_print(struct cli *cli, json_t *result)
{
	char *text;

	if (json_is_true(json_object_get(result, "equal"))) {
		puts("equal");
		return;
	}
	text = json_dumps(result, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	if (text)
		puts(text);
	free(text);
}

static int cmd_diff_run(struct cli *cli, int argc, char **argv)
{
	json_t *outcome, *args;
	bool equal;
	int status;

	if (cli_getopt(cli, argc, argv, "", NULL) != -1)
		return cli_usage(cli, "wrong option");
	if (optind + 2 != argc)
		return cli_usage(cli, "two images are needed");
	args = json_object();
	status = cli_image_arg(cli, args, "dir", "image", argv[optind]);
	if (!status)
		status = cli_image_arg(cli, args, "other", "other_image", argv[optind + 1]);
	if (status) {
		json_decref(args);
		return status;
	}
	outcome = cli_call(cli, "diff", args);
	equal = json_is_true(json_object_get(json_object_get(outcome, "result"),
					     "equal"));
	status = cli_finish(cli, outcome, cmd_diff_print);
	return status == CLI_DONE && !equal ? CLI_FAILED : status;
}

const struct cli_verb cmd_diff = {
	.name = "diff",
	.run = cmd_diff_run,
	.args = "DIR|JOB:GENERATION[/NODE] DIR|JOB:GENERATION[/NODE]",
	.help = "say what differs between two images",
};
