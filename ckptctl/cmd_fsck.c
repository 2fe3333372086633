// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl fsck: check the image directory, and repair it on request.
 *
 * Owns how findings are printed; ckptd decides what each finding means and what a repair does.
 * The exit status is 0 when nothing is wrong or everything was repaired, else 1.
 */
#include "ckptctl/cli_job.h"

#include <stdio.h>

static const struct option longs[] = {
	{ "deep", no_argument, NULL, 'D' },
	{ "repair", no_argument, NULL, 'r' },
	{ NULL }
};

static void cmd_fsck_print(struct cli *cli, json_t *result)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(result, "findings"), i, row) {
		printf("%s: %s\n  %s\n", cli_str(row, "path"), cli_str(row, "text"),
		       cli_str(row, "means"));
		if (json_is_true(json_object_get(row, "repaired")))
			puts("  repaired");
		else if (json_object_get(row, "failed"))
			printf("  could not be repaired: %s\n", cli_str(row, "failed"));
		else if (json_object_get(row, "repair"))
			printf("  --repair would: %s\n", cli_str(row, "repair"));
	}
	json_array_foreach(json_object_get(result, "left_alone"), i, row)
		printf("%s: may be being written; left alone\n", json_string_value(row));
	printf("%lld jobs, %lld generations: %lld findings, %lld of them open\n",
	       (long long)cli_int(result, "jobs"), (long long)cli_int(result, "generations"),
	       (long long)json_array_size(json_object_get(result, "findings")),
	       (long long)cli_int(result, "open"));
}

static int cmd_fsck_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object(), *outcome;
	int c, status = 0;
	bool open;

	while (!status && (c = cli_getopt(cli, argc, argv, "Dr", longs)) != -1) {
		if (c != 'D' && c != 'r')
			status = cli_usage(cli, "wrong option");
		else
			json_object_set_new(args, c == 'D' ? "deep" : "repair", json_true());
	}
	if (!status && optind < argc)
		status = cli_job_operand(cli, argc, argv, args);
	if (status) {
		json_decref(args);
		return status;
	}
	outcome = cli_call(cli, "fsck", args);
	open = cli_int(json_object_get(outcome, "result"), "open");
	status = cli_finish(cli, outcome, cmd_fsck_print);
	return status == CLI_DONE && open ? CLI_FAILED : status;
}

const struct cli_verb cmd_fsck = {
	.name = "fsck",
	.run = cmd_fsck_run,
	.args = "[--deep] [--repair] [JOB]",
	.help = "check what is in the image directory, and tidy up",
	.options =
	"  -D, --deep          read every chunk of every image\n"
	"  -r, --repair        remove what no restart could use; never a generation\n",
};
