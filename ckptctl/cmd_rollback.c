// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl rollback: give a running job the state of one of its generations.
 *
 * The job's processes stay, if that is possible; else ckptd ends the job and restarts it, and says
 * why.
 */
#include "ckptctl/cli_job.h"

#include <stdio.h>

enum { OPT_ACCEPT_CHANGED = 256, OPT_IN_PLACE, OPT_REREAD };

static const struct option longs[] = {
	{ "generation", required_argument, NULL, 'g' },
	{ "in-place", no_argument, NULL, OPT_IN_PLACE },
	{ "accept-changed", no_argument, NULL, OPT_ACCEPT_CHANGED },
	{ "reread", no_argument, NULL, OPT_REREAD },
	{ NULL }
};

static void cmd_rollback_print(struct cli *cli, json_t *result)
{
	long long job = (long long)cli_int(result, "job");
	long long generation = (long long)cli_int(result, "generation");
	char pause[32], bytes[32], kept[32], copied[32];
	const json_t *note;
	size_t i;

	json_array_foreach(json_object_get(result, "notes"), i, note)
		printf("%s\n", json_string_value(note));
	cli_bytes((uint64_t)cli_int(result, "bytes_read"), bytes);
	cli_bytes((uint64_t)cli_int(result, "bytes_kept"), kept);
	cli_bytes((uint64_t)cli_int(result, "bytes_copied"), copied);
	if (json_is_true(json_object_get(result, "in_place")))
		printf("job %lld is rolled back to generation %lld: its %lld processes stayed and "
		       "stood still for %s, %s read, %s copied from the kernel, %s unchanged\n",
		       job, generation, (long long)cli_int(result, "processes"),
		       cli_ns((uint64_t)cli_int(result, "pause_ns"), pause), bytes, copied, kept);
	else
		printf("job %lld was ended and runs again from generation %lld, as a rollback in "
		       "place was not possible: %s\n",
		       job, generation, json_string_value(json_object_get(result, "why")));
}

static int cmd_rollback_run(struct cli *cli, int argc, char **argv)
{
	bool in_place = false, accept = false, reread = false;
	int64_t job, generation = 0;
	long long given = 0;
	json_t *args;
	int c;

	while ((c = cli_getopt(cli, argc, argv, "g:", longs)) != -1) {
		if (c == OPT_IN_PLACE)
			in_place = true;
		else if (c == OPT_ACCEPT_CHANGED)
			accept = true;
		else if (c == OPT_REREAD)
			reread = true;
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
	args = json_pack("{s:I, s:b, s:b, s:b}", "job", (json_int_t)job, "in_place_only", in_place,
			 "accept_changed", accept, "reread", reread);
	if (generation || given)
		json_object_set_new(args, "generation",
				    json_integer(generation ? generation : given));
	return cli_finish(cli, cli_call(cli, "rollback", args), cmd_rollback_print);
}

const struct cli_verb cmd_rollback = {
	.name = "rollback",
	.run = cmd_rollback_run,
	.args = "[OPTIONS] JOB[:GENERATION]",
	.help = "give a running job the state of a checkpoint; its processes stay",
	.options =
	"  -g, --generation N    default: the one that restart takes\n"
	"      --in-place        else leave the job running as it is; default: end it then, and "
	"restart it\n"
	"      --accept-changed  go on although its files were rewritten since\n"
	"      --reread          read all memory anew; default: what was written since\n",
};
