// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl run: start a job.
 *
 * Attached, ckptctl is the job's terminal or the other end of its pipes, and
 * its exit status is the job's; detached, it prints the job's number.
 */
#include "base/launcher.h"
#include "ckptctl/cli_auto.h"
#include "ckptctl/cli_path.h"
#include "ckptctl/cli_run.h"

static const struct option longs[] = {
	{ "name", required_argument, NULL, 'N' },
	{ "detach", no_argument, NULL, 'd' },
	{ "host-ns", no_argument, NULL, 'H' },
	{ "stdin", required_argument, NULL, 'i' },
	{ "stdout", required_argument, NULL, 'o' },
	{ "stderr", required_argument, NULL, 'e' },
	{ "tty", no_argument, NULL, 't' },
	{ "chdir", required_argument, NULL, 'C' },
	{ "dry-run", no_argument, NULL, 'n' },
	CLI_AUTO_RUN_LONGS,
	CLI_RECOVER_LONGS,
	{ NULL }
};

static int cmd_run_take_option(struct cli *cli, json_t *args, struct cli_run *flags, int c)
{
	int status = cli_auto_run_option(cli, args, c);

	if (status < 0)
		status = cli_recover_option(cli, &flags->recover, c);
	if (status >= 0)
		return status;
	switch (c) {
	case 'N':
		return cli_name(cli, args, optarg);
	case 'd':
		flags->detach = true;
		return 0;
	case 'n':
		flags->dry_run = true;
		return 0;
	case 't':
		flags->tty = true;
		return 0;
	case 'H':
		json_object_set_new(args, "host_ns", json_true());
		return 0;
	case 'i':
		return cli_path(cli, args, "stdin", "--stdin", optarg);
	case 'o':
		return cli_path(cli, args, "stdout", "--stdout", optarg);
	case 'e':
		return cli_path(cli, args, "stderr", "--stderr", optarg);
	case 'C':
		return cli_path(cli, args, "cwd", "--chdir", optarg);
	default:
		return cli_usage(cli, "wrong option");
	}
}

static int cmd_run_main(struct cli *cli, int argc, char **argv)
{
	struct cli_run flags = { 0 };
	json_t *args = json_object();
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "+N:di:o:e:tC:n", longs)) != -1)
		status = cmd_run_take_option(cli, args, &flags, c);
	if (!status && optind >= argc)
		status = cli_usage(cli, "which command?");
	if (!status)
		status = flags.recover.fewer ?
			 cli_usage(cli, "--recover oversubscribe is for ckptrun") :
			 cli_recover_complete(cli, &flags.recover, flags.detach);
	if (!status && launcher_is(argv[optind]))
		cli_say("%s starts the ranks of an MPI job by itself, and such a job cannot be "
			"checkpointed; ckptrun -n RANKS PROGRAM starts one that can",
			argv[optind]);
	return cli_run_finish(cli, &flags, args, argv + optind, status);
}

const struct cli_verb cmd_run = {
	.name = "run",
	.run = cmd_run_main,
	.args = "[OPTIONS] -- COMMAND [ARGUMENT...]",
	.help = "start a job",
	.options =
	"  -N, --name NAME     default: the command's\n"
	"  -d, --detach        print the job's number and return; else wait for the job,\n"
	"                      with its output and exit status\n"
	"      --host-ns       no PID and IPC namespace of its own\n"
	"  -i, --stdin FILE    default: a terminal's, what is piped in, or (detached) none\n"
	"  -o, --stdout FILE   default: here and to the job's log\n"
	"  -e, --stderr FILE\n"
	"  -t, --tty           on a terminal of its own, also when detached\n"
	"  -C, --chdir DIR\n"
	"  -n, --dry-run       only print what would be asked for (--json)\n"
	CLI_AUTO_RUN_HELP
	CLI_RECOVER_HELP,
};
