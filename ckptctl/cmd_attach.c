// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl attach: see a job's output, type its input.
 *
 * A signal detaches and is not handed on to the job.  Piped input goes to the job only with
 * an option that asks for it; otherwise an empty input would end the job's input.
 */
#include "ckptctl/cli_job.h"

#include "base/outcome.h"

static const struct option longs[] = {
	{ "history", required_argument, NULL, 'H' },
	{ "input", no_argument, NULL, 'i' },
	{ NULL }
};

static int cmd_attach_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object(), *outcome;
	unsigned int how = 0;
	long long history = 0;
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "H:i", longs)) != -1) {
		if (c == 'i')
			how = CLI_FOLLOW_INPUT;
		else if (c != 'H')
			status = cli_usage(cli, "wrong option");
		else if (!cli_number(cli, optarg, "--history", 0, INT64_MAX, &history))
			status = CLI_USAGE;
	}
	if (!status)
		status = cli_job_operand(cli, argc, argv, args);
	if (status) {
		json_decref(args);
		return status;
	}
	json_object_set_new(args, "history", json_integer(history));
	outcome = cli_call(cli, "attach", args);
	if (!outcome_is_ok(outcome))
		return cli_finish(cli, outcome, NULL);
	return cli_job_follow(cli, outcome, how);
}

const struct cli_verb cmd_attach = {
	.name = "attach",
	.run = cmd_attach_run,
	.args = "[--history BYTES] [--input] JOB",
	.help = "attach to a running job; Ctrl-] or a signal detaches",
	.options =
	"  -H, --history BYTES   show so much of its earlier output first\n"
	"  -i, --input           our input is the job's, although that is a pipe\n",
};
