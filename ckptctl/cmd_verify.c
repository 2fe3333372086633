// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl verify: check that an image is whole and was written with our key.
 *
 * All findings are printed, not only the first; the exit status is 1 if there is one.
 * Without --deep only the parts that a restore reads first are checked.
 */
#include "ckptctl/cli_image.h"

#include <stdio.h>

static const struct option longs[] = {
	{ "deep", no_argument, NULL, 'D' },
	{ NULL }
};

static void cmd_verify_print(struct cli *cli, json_t *result)
{
	json_t *findings = json_object_get(result, "findings");
	size_t i;

	for (i = 0; i < json_array_size(findings); i++) {
		const json_t *finding = json_array_get(findings, i);
		char text[1024];

		if (json_object_get(finding, "node"))
			printf("node %s: ", cli_str(finding, "node"));
		puts(cli_printable(cli_str(finding, "text"), text, sizeof(text)));
	}
	for (i = 0; i < json_array_size(json_object_get(result, "unchecked")); i++)
		puts(json_string_value(json_array_get(json_object_get(result, "unchecked"), i)));
	if (json_is_true(json_object_get(result, "ok")))
		puts("whole");
}

static int cmd_verify_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	int c, status;

	while ((c = cli_getopt(cli, argc, argv, "D", longs)) != -1) {
		if (c != 'D') {
			json_decref(args);
			return cli_usage(cli, "wrong option");
		}
		json_object_set_new(args, "deep", json_true());
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
	return cli_finish(cli, cli_call(cli, "verify", args), cmd_verify_print);
}

const struct cli_verb cmd_verify = {
	.name = "verify",
	.run = cmd_verify_run,
	.args = "[--deep] DIR|JOB:GENERATION[/NODE]",
	.help = "check that an image is whole and was written with this node's key",
	.options =
	"  -D, --deep          read every chunk, not only manifest and index\n",
};
