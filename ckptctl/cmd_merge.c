// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl merge: copy into a generation all data that it needs from earlier generations.
 *
 * The verb takes one generation of one job: the one that --generation or JOB:GENERATION names,
 * else the newest.  A generation that needs no earlier one is no error.
 */
#include "ckptctl/cli_job.h"

#include <stdio.h>

static const struct option longs[] = {
	{ "generation", required_argument, NULL, 'g' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ NULL }
};

static void cmd_merge_print(struct cli *cli, json_t *result)
{
	long long job = (long long)cli_int(result, "job");
	long long generation = (long long)cli_int(result, "generation");
	char was[32], base[32], is[32], took[32];

	if (!cli_int(result, "bases")) {
		printf("generation %lld of job %lld needs no earlier one\n", generation, job);
		return;
	}
	cli_bytes((uint64_t)cli_int(result, "bytes_was"), was);
	cli_bytes((uint64_t)cli_int(result, "bytes_base"), base);
	if (json_is_true(json_object_get(result, "dry_run")))
		printf("would merge generation %lld of job %lld: %s of its own, and of %lld "
		       "earlier ones %s\n",
		       generation, job, was, (long long)cli_int(result, "bases"), base);
	else
		printf("merged generation %lld of job %lld: %s and %s of %lld earlier ones are %s "
		       "now, %s\n",
		       generation, job, was, base, (long long)cli_int(result, "bases"),
		       cli_bytes((uint64_t)cli_int(result, "bytes_stored"), is),
		       cli_ns((uint64_t)cli_int(result, "total_ns"), took));
}

static int cmd_merge_run(struct cli *cli, int argc, char **argv)
{
	int64_t job, generation = 0;
	long long given = 0;
	bool dry_run = false;
	json_t *args;
	int c;

	while ((c = cli_getopt(cli, argc, argv, "g:n", longs)) != -1) {
		if (c == 'n')
			dry_run = true;
		else if (c != 'g')
			return cli_usage(cli, "wrong option");
		else if (!cli_number(cli, optarg, "a generation", 1, INT64_MAX, &given))
			return CLI_USAGE;
	}
	if (optind + 1 != argc)
		return cli_usage(cli, "one job is needed");
	if (!cli_job_spec(argv[optind], &job, &generation))
		return cli_usage(cli, "%s is neither JOB nor JOB:GENERATION", argv[optind]);
	if (generation && given && generation != given)
		return cli_usage(cli, "--generation says another one than %s", argv[optind]);
	args = json_pack("{s:I, s:b}", "job", (json_int_t)job, "dry_run", dry_run);
	if (generation || given)
		json_object_set_new(args, "generation",
				    json_integer(generation ? generation : given));
	return cli_finish(cli, cli_call(cli, "merge", args), cmd_merge_print);
}

const struct cli_verb cmd_merge = {
	.name = "merge",
	.run = cmd_merge_run,
	.args = "[--generation N] [--dry-run] JOB[:GENERATION]",
	.help = "store in a generation what it needs of earlier ones",
	.options =
	"  -g, --generation N  default: the newest\n"
	"  -n, --dry-run       only say what it needs\n",
};
