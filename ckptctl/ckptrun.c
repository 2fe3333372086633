// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptrun: start a job of several ranks.
 *
 * ckptrun works like mpiexec, for unchanged programs of either MPI library. It starts a job as
 * ckptctl run does, and ckptctl takes the job's number. ckptrun finds out from the program which
 * MPI library to use; the user must say it where the program does not tell.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ckptctl/cli_auto.h"
#include "ckptctl/cli_call.h"
#include "ckptctl/cli_job.h"
#include "ckptctl/cli_mpi.h"
#include "ckptctl/cli_path.h"
#include "ckptctl/cli_run.h"
#include "ckptctl/mpi_detect.h"
#include "ckptctl/mpiexec.h"
#include "ckptctl/placement.h"
#include "ckptctl/replicate.h"
#include "ckptctl/slurm.h"
#include "libckptctl/version.h"

enum option_value {
	OPT_MPI = 'M',
	OPT_HOSTS = 'h' + 256,
	OPT_MAP,
	OPT_NO_SLURM,
	OPT_PPN,
	OPT_BIND,
	OPT_MAP_BY,
	OPT_HOSTFILE,
	OPT_KEEP = 'k',
	OPT_DIRECT = 'D',
	OPT_DRY = 'r',
	OPT_COLLECTIVES = 'c',
	OPT_REPLICAS = 'R',
	OPT_PRIVATE = 'P'
};

#define SHORTS	"+n:lN:di:o:e:C:hV"
#define CLI_SAID	(-1)	/* --version */

static const struct option longs[] = {
	{ "ranks", required_argument, NULL, 'n' },
	{ "hosts", required_argument, NULL, OPT_HOSTS },
	{ "map", required_argument, NULL, OPT_MAP },
	{ "ppn", required_argument, NULL, OPT_PPN },
	{ "bind-to", required_argument, NULL, OPT_BIND },
	{ "map-by", required_argument, NULL, OPT_MAP_BY },
	{ "hostfile", required_argument, NULL, OPT_HOSTFILE },
	{ "no-slurm", no_argument, NULL, OPT_NO_SLURM },
	{ "mpi", required_argument, NULL, OPT_MPI },
	{ "label", no_argument, NULL, 'l' },
	{ "keep-going", no_argument, NULL, OPT_KEEP },
	{ "direct", no_argument, NULL, OPT_DIRECT },
	{ "collectives", required_argument, NULL, OPT_COLLECTIVES },
	{ "name", required_argument, NULL, 'N' },
	{ "detach", no_argument, NULL, 'd' },
	{ "host-ns", no_argument, NULL, 'H' },
	{ "stdin", required_argument, NULL, 'i' },
	{ "stdout", required_argument, NULL, 'o' },
	{ "stderr", required_argument, NULL, 'e' },
	{ "chdir", required_argument, NULL, 'C' },
	{ "dry-run", no_argument, NULL, OPT_DRY },
	{ "replicas", required_argument, NULL, OPT_REPLICAS },
	{ "private", required_argument, NULL, OPT_PRIVATE },
	CLI_AUTO_RUN_LONGS,
	CLI_RECOVER_LONGS,
	CLI_RECOVER_NODES_LONGS,
	{ NULL }
};

/* The options, for the two parts of the request: the command and its ranks. */
struct options {
	struct cli_run flags;
	json_t *args;
	json_t *ranks;
	long long per_node;	/* 0: not said */
	struct placement place;
	bool no_slurm;
	long long replicas;	/* members in all; 0: not said */
	json_t *privates;	/* files of which each replica gets its own */
};

static int take_ranks(struct cli *cli, json_t *ranks)
{
	long long n;

	if (!cli_number(cli, optarg, "the number of ranks", 1, RANKS_MAX, &n))
		return CLI_USAGE;
	json_object_set_new(ranks, "n", json_integer(n));
	return 0;
}

static int take_map(struct cli *cli, json_t *ranks)
{
	long long n;
	int status = cli_job_map(cli, optarg, ranks, &n);

	if (!status && !json_object_get(ranks, "n"))
		json_object_set_new(ranks, "n", json_integer(n));
	return status;
}

static int take_mpi(struct cli *cli, json_t *ranks)
{
	enum ranks_mpi mpi;

	if (!ranks_mpi_parse(optarg, &mpi))
		return cli_usage(cli, "--mpi is mpich, ompi or none, not %s", optarg);
	json_object_set_new(ranks, "mpi", json_string(optarg));
	return 0;
}

static int take_collectives(struct cli *cli, json_t *ranks)
{
	bool interruptible = !strcmp(optarg, "interruptible");

	if (!interruptible && strcmp(optarg, "plain"))
		return cli_usage(cli, "--collectives is plain or interruptible, not %s", optarg);
	json_object_set_new(ranks, "interruptible", json_boolean(interruptible));
	return 0;
}

/* Long: one case for each option. */
static int ckptrun_take_option(struct cli *cli, struct options *o, int c)
{
	int status = cli_auto_run_option(cli, o->args, c);

	if (status < 0)
		status = cli_recover_option(cli, &o->flags.recover, c);
	if (status >= 0)
		return status;
	switch (c) {
	case 'n':
		return take_ranks(cli, o->ranks);
	case OPT_HOSTS:
		if (o->place.slots)
			return cli_usage(cli, "--hostfile says which nodes, --hosts says it again");
		return cli_job_nodes(cli, "--hosts", optarg, o->ranks);
	case OPT_MAP:
		return take_map(cli, o->ranks);
	case OPT_PPN:
		return cli_number(cli, optarg, "the number of ranks of a node", 1, RANKS_NODE_MAX,
				  &o->per_node) ? 0 : CLI_USAGE;
	case OPT_BIND:
		return placement_bind_to(cli, &o->place, optarg);
	case OPT_MAP_BY:
		return placement_map_by(cli, &o->place, optarg, &o->per_node);
	case OPT_HOSTFILE:
		return placement_hostfile(cli, &o->place, optarg, o->ranks);
	case OPT_NO_SLURM:
		o->no_slurm = true;
		o->flags.no_step = true;
		return 0;
	case OPT_MPI:
		return take_mpi(cli, o->ranks);
	case 'l':
		json_object_set_new(o->ranks, "label", json_true());
		return 0;
	case OPT_KEEP:
		json_object_set_new(o->ranks, "keep_going", json_true());
		return 0;
	case OPT_DIRECT:
		json_object_set_new(o->ranks, "direct", json_true());
		return 0;
	case OPT_COLLECTIVES:
		return take_collectives(cli, o->ranks);
	case 'N':
		return cli_name(cli, o->args, optarg);
	case 'd':
		o->flags.detach = true;
		return 0;
	case 'H':
		json_object_set_new(o->args, "host_ns", json_true());
		return 0;
	case 'i':
		return cli_path(cli, o->args, "stdin", "--stdin", optarg);
	case 'o':
		return cli_path(cli, o->args, "stdout", "--stdout", optarg);
	case 'e':
		return cli_path(cli, o->args, "stderr", "--stderr", optarg);
	case 'C':
		return cli_path(cli, o->args, "cwd", "--chdir", optarg);
	case OPT_DRY:
		o->flags.dry_run = true;
		return 0;
	case OPT_REPLICAS:
		return cli_number(cli, optarg, "--replicas", 2, REPLICAS_MAX, &o->replicas) ? 0 :
		       CLI_USAGE;
	case OPT_PRIVATE:
		json_array_append_new(o->privates, json_string(optarg));
		return 0;
	default:
		return cli_usage(cli, "wrong option");
	}
}

/* Ranks of each node: nodes get even blocks, so the numbers must fit. */
static int ckptrun_per_node(struct cli *cli, struct options *o)
{
	size_t nodes = json_array_size(json_object_get(o->ranks, "nodes"));
	long long n = cli_int(o->ranks, "n"), all = o->per_node * (nodes ? (long long)nodes : 1);

	if (o->place.by_node && json_object_get(o->ranks, "map"))
		return cli_usage(cli, "--map says which ranks each node has: leave --map-by node "
				      "out");
	if (!o->per_node)
		return 0;
	if (json_object_get(o->ranks, "map"))
		return cli_usage(cli, "--map says which ranks each node has: leave --ppn out");
	if (o->place.slots)
		return cli_usage(cli, "the host file says which ranks each node has: leave --ppn "
				      "out");
	if (!nodes && !o->no_slurm && slurm_is_here())
		return cli_usage(cli, "in a Slurm allocation each node has its tasks: leave --ppn "
				      "out, or say which nodes with --hosts");
	if (!json_object_get(o->ranks, "n"))
		json_object_set_new(o->ranks, "n", json_integer(all));
	else if (n != all && (nodes > 1 || n > all))
		return cli_usage(cli, "--ppn %lld on %zu nodes are %lld ranks and not %lld; say "
				      "which ranks are on which node with --map 0-1:n1,2-3:n2",
				 o->per_node, nodes ? nodes : 1, all, n);
	return 0;
}

/* Which nodes wait, before the ranks are put on the others. */
static int ckptrun_spares(struct cli *cli, struct options *o)
{
	if (!o->flags.recover.nr_spares)
		return 0;
	if (json_object_get(o->ranks, "map") || o->place.slots ||
	    !json_object_get(o->ranks, "nodes"))
		return cli_usage(cli, "--spares takes the last nodes of --hosts: it needs that, "
				      "and neither --map nor --hostfile");
	return cli_recover_take_spares(cli, &o->flags.recover, o->ranks);
}

/* In a Slurm allocation its nodes, if nobody said which. */
static int ckptrun_place(struct cli *cli, struct options *o)
{
	if (o->no_slurm || json_object_get(o->ranks, "nodes") || !slurm_is_here())
		return 0;
	o->flags.failed = "the nodes are those of the Slurm allocation, by whose names ckptd must "
			  "know them (see ckptctl nodes), the first of them is this one; say which "
			  "with --hosts, or --no-slurm for this one alone";
	return slurm_place(cli, o->ranks);
}

/* Several programs: the commands of their ranks, and the number of all. */
static int ckptrun_programs(struct cli *cli, const struct options *o, struct mpiexec *m,
			    char **commands[])
{
	json_int_t sum = json_integer_value(json_object_get(o->ranks, "n"));
	json_t *programs = json_array();
	int status = 0, command;
	long long n;
	unsigned int i;

	if (!sum) {
		json_decref(programs);
		return cli_usage(cli, "how many ranks of %s? Say -n", commands[0][0]);
	}
	json_array_append_new(programs,
			      json_pack("{s:I, s:o}", "n", sum, "argv",
					mpiexec_command(&m->program[0],
							(int)(commands[0] - m->program[0].argv))));
	for (i = 1; i < m->nr && !status; i++) {
		status = mpiexec_ranks(cli, &m->program[i], &n, &command);
		if (status)
			break;
		commands[i] = m->program[i].argv + command;
		json_array_append_new(programs,
				      json_pack("{s:I, s:o}", "n", (json_int_t)n, "argv",
						mpiexec_command(&m->program[i], command)));
		sum += n;
	}
	json_object_set_new(o->ranks, "n", json_integer(sum));
	json_object_set_new(o->ranks, "programs", programs);
	return status;
}

/* Which programs, with which library. */
static int ckptrun_complete(struct cli *cli, const struct options *o, char **commands[],
			    unsigned int nr)
{
	const char *dir = json_string_value(json_object_get(o->args, "cwd"));
	unsigned int i;
	int err;

	if (!json_object_get(o->ranks, "n"))
		return cli_usage(cli, "how many ranks? Say -n");
	for (i = 0; i < nr; i++) {
		err = mpi_program_check(commands[i][0], dir);
		if (!err)
			continue;
		cli_wrong(cli, err, "%s: %s", commands[i][0], strerror(-err));
		return err == -ENOENT || err == -ENOTDIR ? 127 : 126;
	}
	return cli_mpi_complete(cli, o->ranks, (char *const *const *)commands, nr, dir);
}

static int check_direct(struct cli *cli, const struct options *o)
{
	if (!json_is_true(json_object_get(o->ranks, "direct")) ||
	    (!json_object_get(o->args, "auto") && o->flags.recover.rules.within_ms <= 0) ||
	    !strcmp(cli_str(o->ranks, "mpi"), "none"))
		return 0;
	return cli_usage(cli, "a job with --direct cannot be checkpointed: leave that out, or "
			      "--auto, --every and --recover");
}

static void ckptrun_plan(struct cli *cli, json_t *args)
{
	const json_t *ranks = json_object_get(args, "ranks"), *node, *program;
	const char *library = json_string_value(json_object_get(ranks, "library"));
	size_t i;

	printf("%lld ranks of %s, MPI library: %s%s%s%s%s%s", (long long)cli_int(ranks, "n"),
	       json_string_value(json_array_get(json_object_get(args, "argv"), 0)),
	       cli_str(ranks, "mpi"), library ? " (" : "", library ? library : "",
	       library ? ")" : "",
	       json_is_true(json_object_get(ranks, "direct")) ? ", direct" : "",
	       json_is_true(json_object_get(ranks, "interruptible")) ?
			", interruptible collectives" : "");
	if (json_object_get(ranks, "bind"))
		printf(", bound to %s", cli_str(json_object_get(ranks, "bind"), "to"));
	json_array_foreach(json_object_get(ranks, "programs"), i, program) {
		if (i)
			printf(", %s", json_string_value(json_array_get(
					       json_object_get(program, "argv"), 0)));
	}
	json_array_foreach(json_object_get(ranks, "nodes"), i, node)
		printf("%s%s", i ? "," : ", on ", json_string_value(node));
	puts("");
}

static int ckptrun_options(struct cli *cli, struct options *o, struct mpiexec *m)
{
	struct mpiexec_program *first = &m->program[0];
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, first->argc, first->argv, SHORTS, longs)) != -1) {
		if (c == 'V') {
			puts("ckptrun " CKPT_VERSION);
			return CLI_SAID;
		}
		status = ckptrun_take_option(cli, o, c);
	}
	if (!status && optind >= first->argc)
		status = cli_usage(cli, "which program?");
	return status;
}

static int ckptrun_check_replicas(struct cli *cli, const struct options *o)
{
	if (json_array_size(o->privates) && !o->replicas)
		return cli_usage(cli, "--private is for --replicas");
	if (!o->replicas)
		return 0;
	if (!o->flags.detach)
		return cli_usage(cli, "--replicas needs --detach; ckptctl attach JOB stays with "
				      "the job");
	if (json_array_size(json_object_get(o->ranks, "nodes")) > 1)
		return cli_usage(cli, "replicas are of jobs on one node: leave --hosts out, and in "
				      "a Slurm allocation say --no-slurm");
	if (json_object_get(o->args, "host_ns"))
		return cli_usage(cli, "replicas need namespaces of their own: leave --host-ns out");
	return 0;
}

/* The job runs: make the others, from the end of one of its sections. */
static int ckptrun_replicate(struct cli *cli, int64_t job, void *arg)
{
	const struct options *o = arg;
	json_t *result = NULL;
	int status = replicate_job(cli, job, (unsigned int)o->replicas, o->privates,
				   REPLICATE_MEET_S, &result);

	json_decref(result);
	if (status)
		cli_say("job %lld runs, without all its replicas", (long long)job);
	return status;
}

static int ckptrun_start(struct cli *cli, struct mpiexec *m)
{
	struct options o = {
		.flags = { .pipes = true, .plan = ckptrun_plan, .started_arg = &o },
		.args = json_object(), .ranks = json_object(), .privates = json_array(),
	};
	int status = ckptrun_options(cli, &o, m);
	char **commands[MPIEXEC_PROGRAMS_MAX] = { m->program[0].argv + optind };

	if (status == CLI_SAID) {
		placement_done(&o.place);
		json_decref(o.args);
		json_decref(o.ranks);
		json_decref(o.privates);
		return CLI_DONE;
	}
	if (!status && m->nr > 1)
		status = ckptrun_programs(cli, &o, m, commands);
	if (!status)
		status = ckptrun_spares(cli, &o);
	if (!status)
		status = ckptrun_per_node(cli, &o);
	if (!status)
		status = ckptrun_place(cli, &o);
	if (!status)
		status = placement_map(cli, &o.place, o.ranks);
	if (!status)
		status = ckptrun_complete(cli, &o, commands, m->nr);
	if (!status)
		placement_bind(&o.place, o.ranks);
	placement_done(&o.place);
	if (!status)
		status = check_direct(cli, &o);
	if (!status)
		status = cli_recover_complete(cli, &o.flags.recover, o.flags.detach);
	if (!status)
		status = ckptrun_check_replicas(cli, &o);
	if (o.replicas)
		o.flags.started = ckptrun_replicate;
	o.flags.recover.nodes = json_incref(json_object_get(o.ranks, "nodes"));
	json_object_set_new(o.args, "ranks", o.ranks);
	status = cli_run_finish(cli, &o.flags, o.args, commands[0], status);
	cli_recover_done(&o.flags.recover);
	json_decref(o.privates);
	return status;
}

static int ckptrun_run(struct cli *cli, int argc, char **argv)
{
	struct mpiexec *m = calloc(1, sizeof(*m));
	int status = m ? mpiexec_parse(cli, argc, argv, SHORTS, longs, m) : CLI_FAILED;

	if (!status)
		status = ckptrun_start(cli, m);
	if (m)
		mpiexec_done(m);
	free(m);
	return status;
}

static const struct cli_verb program = {
	.name = "ckptrun",
	.alone = true,
	.run = ckptrun_run,
	.args = "[-n RANKS] [--hosts NODE,...] [OPTIONS] [--] PROGRAM [ARGUMENT...]\n"
		"       [: -n RANKS PROGRAM [ARGUMENT...]]...",
	.help = "start a job of several ranks, of an MPI program or of any",
	.options =
	"  -n, --ranks N       how many; default: the tasks of the Slurm allocation, in one\n"
	"      --hosts NODES   n1,n2: even blocks of ranks on these, by their names in the\n"
	"                      hosts file; the first is this node. Default: the nodes of the\n"
	"                      Slurm allocation; outside of one all are here\n"
	"      --map MAP       0-1:n1,2-3:n2: which ranks on which node; -n follows from it\n"
	"      --ppn N         ranks of each node of --hosts, where -n is left out or fits\n"
	"      --hostfile FILE nodes, one a line, NODE slots=N or NODE:N\n"
	"      --map-by WORD   node: the nodes of --hosts take turns; socket, numa, ...: what\n"
	"                      the ranks of a node are bound within, in turns\n"
	"      --bind-to WORD  core, socket, ...: processors of each rank; default: none of\n"
	"                      its own\n"
	"      --no-slurm      all are here, also in a Slurm allocation\n"
	"      --mpi LIBRARY   mpich, ompi or none; default: the one that the program needs\n"
	"  -l, --label         each line of output with its rank\n"
	"      --keep-going    a rank that fails does not end the others\n"
	"      --direct        without Stillpoint's library in front of the MPI library:\n"
	"                      the job cannot be checkpointed\n"
	"      --collectives plain|interruptible\n"
	"                      interruptible: checkpoints do not wait for a rank that others\n"
	"                      wait for in a blocking collective; makes these slower\n"
	"  -N, --name NAME     default: the program's\n"
	"  -d, --detach        print the job's number and return; else wait for the job,\n"
	"                      with its output and exit status\n"
	"      --host-ns       no PID and IPC namespace of its own\n"
	"  -i, --stdin FILE    of rank 0; default: ours, or (detached) none\n"
	"  -o, --stdout FILE   default: here and to the job's log\n"
	"  -e, --stderr FILE\n"
	"  -C, --chdir DIR\n"
	"      --dry-run       only print what would be asked for\n"
	"      --replicas N    with --detach: N copies, 2 or 3, to be compared by ckptctl vote;\n"
	"                      made at the end of the program's first section\n"
	"      --private FILE  the job writes FILE: each replica gets FILE.replica-N. As often\n"
	"                      as needed\n"
	CLI_AUTO_RUN_HELP
	CLI_RECOVER_HELP
	CLI_RECOVER_NODES_HELP,
};

int main(int argc, char **argv)
{
	struct cli cli = { .verb = &program, .progress = isatty(STDERR_FILENO) };
	int status = cli_begin(&cli, argc, argv);

	if (!status)
		status = ckptrun_run(&cli, argc, argv);
	cli_disconnect(&cli);
	return cli_end(&cli, status);
}
