// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl replicate: more copies of a running job, for a vote.
 *
 * The job is checkpointed, and the copies are restored from that generation, each as a job of its
 * own with its own process numbers. Files that the job writes have to be named: each replica gets a
 * copy beside, with ".replica-N" behind its name.
 */
#include "ckptctl/cli_job.h"
#include "ckptctl/replicate.h"

#include <stdio.h>

enum { OPT_REPLICAS = 256, OPT_PRIVATE };

static const struct option longs[] = {
	{ "replicas", required_argument, NULL, OPT_REPLICAS },
	{ "private", required_argument, NULL, OPT_PRIVATE },
	{ NULL }
};

static void cmd_replicate_print(struct cli *cli, json_t *result)
{
	const json_t *job;
	size_t i;

	(void)cli;
	printf("job %lld and its replicas run:", (long long)cli_int(result, "leader"));
	json_array_foreach(json_object_get(result, "jobs"), i, job)
		printf(" %lld", (long long)json_integer_value(job));
	printf("\n");
}

static int cmd_replicate_do(struct cli *cli, int64_t job, unsigned int nr, const json_t *files)
{
	json_t *result = NULL;
	int status = replicate_job(cli, job, nr, files, 0, &result);

	return status ? status : cli_finish(cli, json_pack("{s:b, s:o}", "ok", 1, "result",
							   result), cmd_replicate_print);
}

static int cmd_replicate_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object(), *files = json_array();
	long long nr = REPLICAS_MAX;
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "", longs)) != -1) {
		if (c == OPT_PRIVATE)
			json_array_append_new(files, json_string(optarg));
		else if (c != OPT_REPLICAS)
			status = cli_usage(cli, "wrong option");
		else if (!cli_number(cli, optarg, "--replicas", 2, REPLICAS_MAX, &nr))
			status = CLI_USAGE;
	}
	if (!status)
		status = cli_job_operand(cli, argc, argv, args);
	if (!status)
		status = cmd_replicate_do(cli, cli_int(args, "job"), (unsigned int)nr, files);
	json_decref(args);
	json_decref(files);
	return status;
}

const struct cli_verb cmd_replicate = {
	.name = "replicate",
	.run = cmd_replicate_run,
	.args = "[--replicas N] [--private FILE ...] JOB",
	.help = "run more copies of a job, to be compared by vote",
	.options =
	"      --replicas N    copies in all, 2 or 3 (default)\n"
	"      --private FILE  the job writes FILE: each replica gets FILE.replica-N. As often as\n"
	"                      needed\n",
};
