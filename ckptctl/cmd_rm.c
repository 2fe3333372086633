// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl rm: remove generations, or a job with all of them.
 *
 * Several operands are removed one by one; the exit status is the worst, and --json prints one
 * document for all.  Only --force removes generations without which the job would be lost.
 */
#include "ckptctl/cli_job.h"

#include <stdio.h>

static const struct option longs[] = {
	{ "force", no_argument, NULL, 'f' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "level", required_argument, NULL, 'l' },
	{ NULL }
};

static void cmd_rm_print(struct cli *cli, json_t *result)
{
	json_t *removed = json_object_get(result, "removed");
	bool dry_run = json_is_true(json_object_get(result, "dry_run"));
	const char *name;
	json_t *text;
	size_t i;

	for (i = 0; i < json_array_size(removed); i++)
		printf("%s generation %lld of job %lld%s%s\n",
		       dry_run ? "would remove" : "removed",
		       (long long)json_integer_value(json_array_get(removed, i)),
		       (long long)cli_int(result, "job"),
		       json_object_get(result, "level") ? " from level " : "",
		       cli_str(result, "level"));
	json_object_foreach(json_object_get(result, "failed"), name, text)
		printf("on level %s it is still there: %s\n", name, json_string_value(text));
	if (json_is_true(json_object_get(result, "whole")))
		printf("%s job %lld\n", dry_run ? "would remove" : "removed",
		       (long long)cli_int(result, "job"));
}

static int remove_one(struct cli *cli, const char *text, const char *level, bool force,
		      bool dry_run)
{
	int64_t job, generation;
	json_t *args;

	cli_job_spec(text, &job, &generation);
	args = json_pack("{s:I, s:b, s:b}", "job", (json_int_t)job, "force", force,
			 "dry_run", dry_run);
	if (generation)
		json_object_set_new(args, "generation", json_integer(generation));
	if (level)
		json_object_set_new(args, "level", json_string(level));
	return cli_finish(cli, cli_call(cli, "rm", args), cmd_rm_print);
}

static int cmd_rm_run(struct cli *cli, int argc, char **argv)
{
	bool force = false, dry_run = false;
	const char *level = NULL;
	int c, i, status = 0, worst = 0;
	int64_t job, generation;

	while ((c = cli_getopt(cli, argc, argv, "fn", longs)) != -1) {
		if (c != 'f' && c != 'n' && c != 'l')
			return cli_usage(cli, "wrong option");
		if (c == 'l')
			level = optarg;
		else
			*(c == 'f' ? &force : &dry_run) = true;
	}
	if (optind >= argc)
		return cli_usage(cli, "which job?");
	/* check all operands before the first removal */
	for (i = optind; i < argc; i++) {
		if (!cli_job_spec(argv[i], &job, &generation))
			return cli_usage(cli, "%s is neither JOB nor JOB:GENERATION", argv[i]);
	}
	if (optind + 1 < argc)
		cli_several(cli);
	for (; optind < argc; optind++) {
		status = remove_one(cli, argv[optind], level, force, dry_run);
		worst = status > worst ? status : worst;
	}
	cli_several_end(cli);
	return worst;
}

const struct cli_verb cmd_rm = {
	.name = "rm",
	.run = cmd_rm_run,
	.args = "[--force] [--dry-run] [--level LEVEL] JOB[:GENERATION]...",
	.help = "remove generations, or jobs with all of them",
	.options =
	"  -f, --force         also the last one that a job could be restarted from\n"
	"  -n, --dry-run       only say what would be removed\n"
	"      --level LEVEL   a generation from this level only; L1 is the image directory\n",
};
