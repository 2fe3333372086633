// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl pin, ckptctl unpin: protect a generation from removal, or end the protection.
 *
 * The verb takes one generation of one job: the one that --generation or JOB:GENERATION names,
 * else the newest.  ckptd asks the other nodes that have image directories of their own.
 */
#include "ckptctl/cli_job.h"

#include <stdio.h>

static const struct option longs[] = {
	{ "generation", required_argument, NULL, 'g' },
	{ NULL }
};

static void cmd_pin_print(struct cli *cli, json_t *result)
{
	const char *done = json_is_true(json_object_get(result, "pinned")) ? "pinned" : "unpinned";
	const char *name;
	json_t *had;

	printf("%s generation %lld of job %lld\n", done, (long long)cli_int(result, "generation"),
	       (long long)cli_int(result, "job"));
	json_object_foreach(json_object_get(result, "nodes"), name, had)
		printf(json_is_true(had) ? "%s on node %s as well\n"
					 : "not %s on node %s, which has nothing of it\n",
		       done, name);
}

static int cmd_pin_run(struct cli *cli, int argc, char **argv)
{
	int64_t job, generation = 0;
	long long given = 0;
	json_t *args;
	int c;

	while ((c = cli_getopt(cli, argc, argv, "g:", longs)) != -1) {
		if (c != 'g')
			return cli_usage(cli, "wrong option");
		if (!cli_number(cli, optarg, "a generation", 1, INT64_MAX, &given))
			return CLI_USAGE;
	}
	if (optind + 1 != argc)
		return cli_usage(cli, "one job is needed");
	if (!cli_job_spec(argv[optind], &job, &generation))
		return cli_usage(cli, "%s is neither JOB nor JOB:GENERATION", argv[optind]);
	if (generation && given && generation != given)
		return cli_usage(cli, "--generation says another one than %s", argv[optind]);
	args = json_pack("{s:I}", "job", (json_int_t)job);
	if (generation || given)
		json_object_set_new(args, "generation",
				    json_integer(generation ? generation : given));
	return cli_finish(cli, cli_call(cli, cli->verb->name, args), cmd_pin_print);
}

static const char options[] =
	"  -g, --generation N  default: the newest\n";

const struct cli_verb cmd_pin = {
	.name = "pin",
	.run = cmd_pin_run,
	.args = "[--generation N] JOB[:GENERATION]",
	.help = "keep a generation: rm and prune leave it alone",
	.options = options,
};

const struct cli_verb cmd_unpin = {
	.name = "unpin",
	.run = cmd_pin_run,
	.args = "[--generation N] JOB[:GENERATION]",
	.help = "let a pinned generation go when its time comes",
	.options = options,
};
