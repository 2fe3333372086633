// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl wait: until a job has ended; hands on its exit status.
 */
#include "ckptctl/cli_job.h"

#include "supervisor/outcome.h"

static int run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object(), *outcome;
	int status, job_status;

	if (cli_getopt(cli, argc, argv, "", NULL) != -1)
		status = cli_usage(cli, "wrong option");
	else
		status = cli_job_operand(cli, argc, argv, args);
	if (status) {
		json_decref(args);
		return status;
	}
	outcome = cli_call(cli, "wait", args);
	job_status = (int)cli_int(json_object_get(outcome, "result"), "exit_status");
	status = cli_finish(cli, outcome, NULL);
	return status ? status : job_status;
}

const struct cli_verb cmd_wait = {
	.name = "wait",
	.run = run,
	.args = "JOB",
	.help = "wait until a job has ended, hand on its exit status",
};
