// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl run: start a job.
 *
 * Attached, ckptctl is the job's terminal or the other end of its pipes, and
 * its exit status is the job's; detached, it prints the job's number.
 */
#include "ckptctl/cli_job.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ckptctl/terminal.h"
#include "supervisor/outcome.h"

extern char **environ;

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
	{ NULL }
};

struct run_flags {
	bool detach;
	bool dry_run;
	bool tty;
};

static void set_path(json_t *args, const char *name, const char *path)
{
	char *absolute = cli_absolute(path);

	json_object_set_new(args, name, json_string(absolute));
	free(absolute);
}

static int take_option(struct cli *cli, json_t *args, struct run_flags *flags, int c)
{
	switch (c) {
	case 'N':
		json_object_set_new(args, "name", json_string(optarg));
		return 0;
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
		set_path(args, "stdin", optarg);
		return 0;
	case 'o':
		set_path(args, "stdout", optarg);
		return 0;
	case 'e':
		set_path(args, "stderr", optarg);
		return 0;
	case 'C':
		set_path(args, "cwd", optarg);
		return 0;
	default:
		return cli_usage(cli, "wrong option");
	}
}

/* Strings that JSON cannot carry are left out of the environment. */
static json_t *strings(char **list)
{
	json_t *array = json_array();

	for (; *list; list++)
		json_array_append_new(array, json_string(*list));
	return array;
}

static bool representable(char **argv)
{
	json_t *word;

	for (; *argv; argv++) {
		word = json_string(*argv);
		if (!word)
			return false;
		json_decref(word);
	}
	return true;
}

/* What is not said follows from what we are connected to. */
static void complete(json_t *args, const struct run_flags *flags, char **argv)
{
	bool tty = flags->tty || (!flags->detach && isatty(STDIN_FILENO) &&
				  isatty(STDOUT_FILENO));
	mode_t mask = umask(022);
	char cwd[PATH_MAX];

	umask(mask);
	json_object_set_new(args, "argv", strings(argv));
	json_object_set_new(args, "env", strings(environ));
	json_object_set_new(args, "umask", json_integer(mask));
	if (!json_object_get(args, "cwd"))
		json_object_set_new(args, "cwd",
				    json_string(getcwd(cwd, sizeof(cwd)) ? cwd : "/"));
	if (!json_object_get(args, "stdin") && tty)
		json_object_set_new(args, "stdin", json_string("tty"));
	else if (!json_object_get(args, "stdin"))
		json_object_set_new(args, "stdin",
				    json_string(flags->detach ? "null" : "pipe"));
	if (!json_object_get(args, "stdout"))
		json_object_set_new(args, "stdout", json_string(tty ? "tty" : "pipe"));
	if (!json_object_get(args, "stderr"))
		json_object_set_new(args, "stderr", json_string(tty ? "tty" : "pipe"));
	if (tty)
		json_object_set_new(args, "window", json_integer(terminal_window()));
	json_object_set_new(args, "attach", json_boolean(!flags->detach));
}

static void print(struct cli *cli, json_t *result)
{
	printf("%lld\n", (long long)cli_int(result, "job"));
}

static int follow(struct cli *cli, json_t *outcome)
{
	json_t *job = json_object_get(outcome, "result");
	int status;

	if (!outcome_is_ok(outcome))
		return cli_finish(cli, outcome, NULL);
	cli_progress_end(cli);
	if (cli->progress)
		cli_say("job %lld; Ctrl-] detaches from a terminal",
			(long long)cli_int(job, "job"));
	status = cli_job_follow(cli, job, CLI_FOLLOW_SIGNALS | CLI_FOLLOW_INPUT);
	json_decref(outcome);
	return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct run_flags flags = { 0 };
	json_t *args = json_object(), *outcome;
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "+N:di:o:e:tC:n", longs)) != -1)
		status = take_option(cli, args, &flags, c);
	if (!status && optind >= argc)
		status = cli_usage(cli, "which command?");
	if (!status && !representable(argv + optind))
		status = cli_usage(cli, "the command holds bytes that are not UTF-8; put it into a script");
	if (status) {
		json_decref(args);
		return status;
	}
	complete(args, &flags, argv + optind);
	if (flags.dry_run) {
		json_object_del(args, "env");
		return cli_finish(cli, outcome_ok(args), NULL);
	}
	if (!flags.detach)
		terminal_hold_signals();
	outcome = cli_call(cli, "run", args);
	return flags.detach ? cli_finish(cli, outcome, print) : follow(cli, outcome);
}

const struct cli_verb cmd_run = {
	.name = "run",
	.run = run,
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
	"  -n, --dry-run       only print what would be asked for (--json)\n",
};
