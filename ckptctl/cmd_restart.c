// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl restart: restart a job from one of its generations.
 *
 * ckptd refuses while the job may still run.  Only the user can know that another node is off,
 * and says so with --node-lost, or which nodes are with --lost-nodes.  If the job runs over
 * several nodes, the node that is asked becomes its home.
 */
#include "ckptctl/cli_job.h"
#include "ckptctl/cli_path.h"
#include "ckptctl/cli_prove.h"
#include "ckptctl/restart_place.h"
#include "ckptctl/slurm_step.h"

#include <stdio.h>

#include "shim/ranks.h"
#include "base/outcome.h"

enum { OPT_ACCEPT_CHANGED = 256, OPT_NODE_LOST, OPT_FILES, OPT_NODES, OPT_MAP, OPT_ENV,
       OPT_MAP_PATH, OPT_LOST };

static const struct option longs[] = {
	{ "generation", required_argument, NULL, 'g' },
	{ "attach", no_argument, NULL, 'a' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "accept-changed", no_argument, NULL, OPT_ACCEPT_CHANGED },
	{ "map-path", required_argument, NULL, OPT_MAP_PATH },
	{ "node-lost", no_argument, NULL, OPT_NODE_LOST },
	{ "lost-nodes", required_argument, NULL, OPT_LOST },
	{ "files", required_argument, NULL, OPT_FILES },
	{ "nodes", required_argument, NULL, OPT_NODES },
	{ "map", required_argument, NULL, OPT_MAP },
	{ "env", required_argument, NULL, OPT_ENV },
	{ NULL }
};

/* Why it is not the image that one would think; files that were renamed since. */
static void print_steps(FILE *to, const json_t *steps)
{
	const json_t *step;
	size_t i;

	json_array_foreach(steps, i, step)
		fprintf(to, "%s\n", json_string_value(step));
}

static void cmd_restart_print(struct cli *cli, json_t *result)
{
	char total[32], bytes[32], phases[CLI_PHASES];
	const json_t *nodes = json_object_get(result, "nodes");
	size_t i;

	print_steps(stdout, json_object_get(result, "steps"));
	print_steps(stdout, json_object_get(result, "notes"));
	if (json_is_true(json_object_get(result, "fetch"))) {
		printf("generation %lld can be fetched; whether it can be restarted here is seen "
		       "then\n",
		       (long long)cli_int(result, "generation"));
		return;
	}
	if (json_is_true(json_object_get(result, "dry_run"))) {
		printf("can be restarted %s", json_array_size(nodes) ? "on " : "here");
		for (i = 0; i < json_array_size(nodes); i++)
			printf("%s%s", i ? "," : "", json_string_value(json_array_get(nodes, i)));
		puts("");
		return;
	}
	printf("job %lld runs again from generation %lld: %lld processes, %lld threads in %s%s, %s "
	       "read\n",
	       (long long)cli_int(result, "job"), (long long)cli_int(result, "generation"),
	       (long long)cli_int(result, "processes"), (long long)cli_int(result, "threads"),
	       cli_ns((uint64_t)cli_int(result, "total_ns"), total), cli_job_phases(result, phases),
	       cli_bytes((uint64_t)cli_int(result, "bytes_read"), bytes));
}

static int take_env(struct cli *cli, json_t *args)
{
	json_t *env = json_object_get(args, "env");
	struct ckpt_error error;

	if (!env) {
		env = json_array();
		json_object_set_new(args, "env", env);
	}
	if (json_array_append_new(env, json_string(optarg)))
		return cli_usage(cli, "--env: it is not UTF-8");
	return ranks_env_check(env, &error) ? cli_usage(cli, "--env: %s", error.text) : 0;
}

static int cmd_restart_take_option(struct cli *cli, json_t *args, int c)
{
	long long number, n;

	switch (c) {
	case 'g':
		if (!cli_number(cli, optarg, "--generation", 1, 1000000000, &number))
			return CLI_USAGE;
		json_object_set_new(args, "generation", json_integer(number));
		return 0;
	case 'a':
		json_object_set_new(args, "attach", json_true());
		cli->patient = true;
		return 0;
	case 'n':
		json_object_set_new(args, "dry_run", json_true());
		return 0;
	case OPT_ACCEPT_CHANGED:
		json_object_set_new(args, "accept_changed", json_true());
		return 0;
	case OPT_NODE_LOST:
		json_object_set_new(args, "node_lost", json_true());
		return 0;
	case OPT_LOST:
		return restart_place_lost_nodes(cli, args, optarg);
	case OPT_MAP_PATH:
		return cli_path_map(cli, args, optarg);
	case OPT_FILES:
		return cli_files(cli, args, optarg);
	case OPT_NODES:
		return cli_job_nodes(cli, "--nodes", optarg, args);
	case OPT_MAP:
		return cli_job_map(cli, optarg, args, &n);
	case OPT_ENV:
		return take_env(cli, args);
	default:
		return cli_usage(cli, "wrong option");
	}
}

int cli_job_restart(struct cli *cli, json_t *args)
{
	bool follow = json_object_get(args, "attach") &&
		      !json_object_get(args, "dry_run");
	int64_t job = cli_int(args, "job");
	struct slurm_step step = { .holder = -1 };
	json_t *outcome;
	char key[32];

	snprintf(key, sizeof(key), "job %lld", (long long)job);
	if (!json_object_get(args, "dry_run"))
		slurm_step_open(cli, json_object_get(args, "nodes"), key, &step);
	cli_prove_restart(args);
	cli->hold = follow;
	outcome = cli_call(cli, "restart", args);
	slurm_step_close(&step, outcome_is_ok(outcome) ? job : 0);
	if (!follow || !outcome_is_ok(outcome))
		return cli_finish(cli, outcome, cmd_restart_print);
	cli_progress_end(cli);
	print_steps(stderr, json_object_get(json_object_get(outcome, "result"), "notes"));
	return cli_job_follow(cli, outcome, CLI_FOLLOW_SIGNALS);
}

static int cmd_restart_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	int64_t job, generation = 0, given;
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "g:an", longs)) != -1)
		status = cmd_restart_take_option(cli, args, c);
	given = cli_int(args, "generation");
	if (!status && optind + 1 != argc)
		status = cli_usage(cli, "one job is needed");
	else if (!status && !cli_job_spec(argv[optind], &job, &generation))
		status = cli_usage(cli, "%s is neither JOB nor JOB:GENERATION", argv[optind]);
	else if (!status && generation && given && generation != given)
		status = cli_usage(cli, "--generation says another one than %s", argv[optind]);
	if (status) {
		json_decref(args);
		return status;
	}
	json_object_set_new(args, "job", json_integer(job));
	if (generation)
		json_object_set_new(args, "generation", json_integer(generation));
	status = restart_place(cli, job, args);
	if (!status)
		return cli_job_restart(cli, args);
	json_decref(args);
	return status;
}

const struct cli_verb cmd_restart = {
	.name = "restart",
	.run = cmd_restart_run,
	.args = "[OPTIONS] JOB[:GENERATION]",
	.help = "restart a job from a checkpoint, here or over nodes",
	.options = "  -g, --generation N    default: the newest\n"
		   "  -a, --attach          stay attached, hand on its exit status\n"
		   "  -n, --dry-run         only say whether it can be done, on all its nodes\n"
		   "      --accept-changed  go on although its files were rewritten since\n"
		   "      --map-path OLD=NEW\n"
		   "                        what was at the path OLD, a file or a directory, is at "
		   "NEW now; /dev/null:\n"
		   "                        a file is left out. As often as needed\n"
		   "      --node-lost       the node that last ran it, or ran a part of it, is "
		   "known to be off\n"
		   "      --lost-nodes NODES\n"
		   "                        n1,n2: known to be off; as --node-lost if the job can "
		   "only run there\n"
		   "      --nodes NODES     n1,n2: where its ranks are to run, the first is this "
		   "one; default: those of\n"
		   "                        the Slurm allocation, else as before\n"
		   "      --map MAP         0-1:n1,2-3:n2: which ranks on which node; default: as "
		   "before on as many\n"
		   "                        nodes, else in even blocks\n"
		   "      --env NAME=VALUE  of the MPI library that its ranks get anew, as of this "
		   "node's interfaces;\n"
		   "                        NAME: without it. As often as needed\n"
		   "      --files HOW       keep (default), track, carry, or ignore files it "
		   "wrote\n",
};
