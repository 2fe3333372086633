// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl prune: remove the generations that a rule does not keep.
 *
 * ckptd takes the limits that no option gives (--keep, ...) from its configuration.
 * The exit status is 1 also when a generation that had to go could not be removed.
 */
#include "ckptctl/cli_job.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/op/op_args.h"

static const struct option longs[] = {
	{ "keep", required_argument, NULL, 'k' },
	{ "keep-every", required_argument, NULL, 'e' },
	{ "max-size", required_argument, NULL, 's' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ NULL }
};

static void print_rows(const json_t *job, const char *list, const char *word)
{
	char size[32];
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(job, list), i, row)
		printf("%s generation %lld of job %lld, %s: %s\n", word,
		       (long long)cli_int(row, "generation"), (long long)cli_int(job, "job"),
		       cli_bytes((uint64_t)cli_int(row, "bytes"), size), cli_str(row, "why"));
}

static void cmd_prune_print(struct cli *cli, json_t *result)
{
	bool dry_run = json_is_true(json_object_get(result, "dry_run"));
	json_t *job, *row;
	char size[32];
	size_t i, j;

	json_array_foreach(json_object_get(result, "jobs"), i, job) {
		if (json_object_get(job, "skipped"))
			cli_say("job %lld is left alone: %s", (long long)cli_int(job, "job"),
				cli_str(job, "skipped"));
		print_rows(job, "removed", dry_run ? "would remove" : "removed");
		if (dry_run)
			print_rows(job, "kept", "would keep");
		json_array_foreach(json_object_get(job, "failed"), j, row)
			cli_say("generation %lld of job %lld: %s",
				(long long)cli_int(row, "generation"),
				(long long)cli_int(job, "job"), cli_str(row, "text"));
	}
	printf("%s %s\n", dry_run ? "would free" : "freed",
	       cli_bytes((uint64_t)cli_int(result, "freed"), size));
}

/*
 * True if a removal failed, or the @named job was skipped. Without a named job, skipped jobs of
 * other nodes are no failure.
 */
static bool cmd_prune_failed(const json_t *result, bool named)
{
	const json_t *jobs = json_object_get(result, "jobs");
	json_t *job;
	size_t i;

	json_array_foreach(jobs, i, job) {
		if (json_array_size(json_object_get(job, "failed")) ||
		    (named && json_object_get(job, "skipped")))
			return true;
	}
	return false;
}

/* Take one option; returns 0, or an exit status. */
static int cmd_prune_option(struct cli *cli, int c, json_t *args)
{
	long long number;
	uint64_t size;

	switch (c) {
	case 'k':
	case 'e':
		if (!cli_number(cli, optarg, c == 'k' ? "--keep" : "--keep-every", 0, UINT32_MAX,
				&number))
			return CLI_USAGE;
		json_object_set_new(args, c == 'k' ? "keep" : "keep_every", json_integer(number));
		return 0;
	case 's':
		if (op_size_parse(optarg, &size) || size > INT64_MAX)
			return cli_usage(cli, "%s is no size: 500G", optarg);
		json_object_set_new(args, "max_size", json_integer((json_int_t)size));
		return 0;
	case 'n':
		json_object_set_new(args, "dry_run", json_true());
		return 0;
	}
	return cli_usage(cli, "wrong option");
}

static int cmd_prune_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object(), *outcome;
	int c, status = 0;
	bool bad, named;

	while (!status && (c = cli_getopt(cli, argc, argv, "n", longs)) != -1)
		status = cmd_prune_option(cli, c, args);
	if (!status && optind < argc)
		status = cli_job_operand(cli, argc, argv, args);
	if (status) {
		json_decref(args);
		return status;
	}
	named = json_object_get(args, "job");
	outcome = cli_call(cli, "prune", args);
	bad = cmd_prune_failed(json_object_get(outcome, "result"), named);
	status = cli_finish(cli, outcome, cmd_prune_print);
	return status == CLI_DONE && bad ? CLI_FAILED : status;
}

const struct cli_verb cmd_prune = {
	.name = "prune",
	.run = cmd_prune_run,
	.args = "[--keep N] [--keep-every K] [--max-size SIZE] [--dry-run] [JOB]",
	.help = "remove the generations that a rule does not keep",
	.options =
	"      --keep N         keep the newest N that can be restarted from\n"
	"      --keep-every K   and those whose number is a multiple of K\n"
	"      --max-size SIZE  then the oldest go until a job's take no more: 500G\n"
	"  -n, --dry-run        only say what would go, and what would stay and why\n",
};
