// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl doctor: can this node, this job, this tree be checkpointed?
 *
 * Exit status 0 when nothing stands in the way, 3 when something does; the
 * reasons are those that a checkpoint would be refused with.  A tree is frozen
 * for a moment to find out.  Without ckptd this process looks at what it can, and that
 * ckptd does not answer is a finding.
 */
#include "ckptctl/cli_call.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/outcome.h"

static const struct option longs[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ NULL }
};

/* Say how a restart would find the files that the tree can write. */
static void print_files(const json_t *figures)
{
	const json_t *files = json_object_get(figures, "files");
	const json_t *copied = json_object_get(files, "copied");
	const json_t *watched = json_object_get(files, "watched");
	char kept[32];

	if (!files)
		return;
	printf("files     %s   %lld kept (%s), %lld watched, %lld only grow\n",
	       cli_int(watched, "nr") ? "NO" : "ok", (long long)cli_int(copied, "nr"),
	       cli_bytes((uint64_t)cli_int(copied, "bytes"), kept),
	       (long long)cli_int(watched, "nr"),
	       (long long)cli_int(json_object_get(files, "grows"), "nr"));
	cli_watched(figures);
}

static void cmd_doctor_print(struct cli *cli, json_t *result)
{
	json_t *checks = json_object_get(result, "checks");
	const json_t *tree = json_object_get(result, "tree");
	size_t i;

	for (i = 0; i < json_array_size(checks); i++) {
		json_t *check = json_array_get(checks, i);

		printf("%-9s %-4s %s\n", cli_str(check, "check"),
		       json_is_true(json_object_get(check, "ok")) ? "ok" : "NO",
		       cli_str(check, "found"));
		if (json_object_get(check, "advice"))
			printf("%15s%s\n", "", cli_str(check, "advice"));
	}
	if (!outcome_is_ok(tree))
		return;
	puts(json_object_get(result, "ranks") ? "ranks     ok   can be checkpointed" :
	     "tree      ok   can be checkpointed");
	print_files(json_object_get(tree, "result"));
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
		cli->json = false;	/* the JSON is printed already */
		tree_status = cli_finish(cli, json_incref(tree), NULL);
	}
	json_decref(tree);
	return tree_status ? tree_status : status;
}

/* An MPI job: its ranks can only be asked together, as a checkpoint does it. */
static void cmd_doctor_ranks(struct cli *cli, json_t *outcome)
{
	json_t *result = json_object_get(outcome, "result");

	if (!json_object_get(result, "ranks") || !json_is_true(json_object_get(result, "ready")))
		return;
	json_object_set_new(result, "tree",
			    cli_call(cli, "checkpoint",
				     json_pack("{s:I, s:b}", "job",
					       (json_int_t)cli_int(result, "job"), "dry_run", 1)));
}

/* ckptd does not answer, as @refused says (taken over): its line is one of the findings. */
static json_t *cmd_doctor_alone(struct cli *cli, json_t *refused, int pid)
{
	json_t *args = pid ? json_pack("{s:i}", "pid", pid) : json_object();
	json_t *outcome = cli_local(cli, "doctor", args);
	json_t *result = json_object_get(outcome, "result");
	int err = outcome_errno(refused);

	json_decref(refused);
	if (!outcome_is_ok(outcome))
		return outcome;
	json_array_insert_new(json_object_get(result, "checks"), 0,
			      json_pack("{s:s, s:b, s:o, s:b, s:s}", "check", "ckptd", "ok", 0,
					"found", json_sprintf("%s: %s", cli_socket_path(cli),
							      strerror(-err)),
					"required", 1, "advice", err == -EAGAIN ?
					"it takes no connections; is it stopped? systemctl status "
					"ckptd" :
					"start it: systemctl start ckptd; if it does not stay: "
					"ckptd --check, journalctl -u ckptd"));
	json_object_set_new(result, "ready", json_false());
	return outcome;
}

static int cmd_doctor_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	int64_t job, generation;
	long long pid = 0;
	json_t *outcome;
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
	outcome = cli_call(cli, "doctor", args);
	if (!cli->standalone && cli->unanswered)
		outcome = cmd_doctor_alone(cli, outcome, (int)pid);
	cmd_doctor_ranks(cli, outcome);
	return cmd_doctor_finish(cli, outcome);
}

const struct cli_verb cmd_doctor = {
	.name = "doctor",
	.run = cmd_doctor_run,
	.args = "[JOB | --pid PID]",
	.help = "say whether this node, a job or a tree can be checkpointed",
	.options =
	"  -p, --pid PID       root of a process tree\n",
};
