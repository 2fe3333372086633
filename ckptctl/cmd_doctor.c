// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl doctor: can this node, this job, this tree be checkpointed?
 *
 * Exit status 0 when nothing stands in the way, 3 when something does; the
 * reasons are those that a checkpoint would be refused with.  A tree is frozen
 * for a moment to find out.
 */
#include "ckptctl/cli.h"

#include <stdio.h>

#include "base/outcome.h"

static const struct option longs[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ NULL }
};

static void cmd_doctor_print(struct cli *cli, json_t *result)
{
	json_t *checks = json_object_get(result, "checks");
	size_t i;

	for (i = 0; i < json_array_size(checks); i++) {
		json_t *check = json_array_get(checks, i);

		printf("%-9s %-4s %s\n", cli_str(check, "check"),
		       json_is_true(json_object_get(check, "ok")) ? "ok" : "NO",
		       cli_str(check, "found"));
		if (json_object_get(check, "advice"))
			printf("%15s%s\n", "", cli_str(check, "advice"));
	}
	if (outcome_is_ok(json_object_get(result, "tree")))
		puts("tree      ok   can be checkpointed");
}

/* The refusals of a tree become the refusals of the verb. */
static int cmd_doctor_finish(struct cli *cli, json_t *outcome)
{
	json_t *result = json_object_get(outcome, "result");
	json_t *tree = json_object_get(result, "tree");
	int status, tree_status = CLI_DONE;

	if (!outcome_is_ok(outcome))
		return cli_finish(cli, outcome, NULL);
	status = json_is_true(json_object_get(result, "ready")) ? CLI_DONE :
		 CLI_REFUSED;
	json_incref(tree);
	cli_finish(cli, outcome, cmd_doctor_print);
	if (tree && !outcome_is_ok(tree)) {
		fflush(stdout);
		cli->json = false;	/* that is printed */
		tree_status = cli_finish(cli, json_incref(tree), NULL);
	}
	json_decref(tree);
	return tree_status ? tree_status : status;
}

static int cmd_doctor_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	int64_t job, generation;
	long long pid = 0;
	int c;

	while ((c = cli_getopt(cli, argc, argv, "p:", longs)) != -1) {
		if (c != 'p') {
			json_decref(args);
			return cli_usage(cli, "wrong option");
		}
		if (!cli_number(cli, optarg, "--pid", 1, INT32_MAX, &pid)) {
			json_decref(args);
			return CLI_USAGE;
		}
	}
	if (pid)
		json_object_set_new(args, "pid", json_integer(pid));
	if (cli->standalone && optind < argc) {
		json_decref(args);
		return cli_usage(cli, "a job needs ckptd: leave --standalone out, or name its tree "
				      "with --pid");
	}
	if (optind < argc && pid) {
		json_decref(args);
		return cli_usage(cli, "a job or, with --pid, a tree: not both");
	}
	if (optind + 1 == argc &&
	    cli_job_spec(argv[optind], &job, &generation) && !generation)
		json_object_set_new(args, "job", json_integer(job));
	else if (optind < argc) {
		json_decref(args);
		return cli_usage(cli, "%s is no job, or too much", argv[optind]);
	}
	return cmd_doctor_finish(cli, cli_call(cli, "doctor", args));
}

const struct cli_verb cmd_doctor = {
	.name = "doctor",
	.run = cmd_doctor_run,
	.args = "[JOB | --pid PID]",
	.help = "say whether this node, a job or a tree can be checkpointed",
	.options =
	"  -p, --pid PID       root of a process tree\n",
};
