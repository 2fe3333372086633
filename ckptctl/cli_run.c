// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starting a job, for ckptctl run and ckptrun: what goes with a command into the
 * request (environment, directory, where its streams go), and staying with the job
 * or not.
 *
 * What a caller has put into the request already is left as it is.
 */
#include "ckptctl/cli_run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ckptctl/cli_job.h"
#include "ckptctl/terminal.h"
#include "supervisor/outcome.h"

extern char **environ;

void cli_run_path(json_t *args, const char *name, const char *path)
{
	char *absolute = cli_absolute(path);

	json_object_set_new(args, name, json_string(absolute));
	free(absolute);
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
static void complete(json_t *args, const struct cli_run *flags, char **argv)
{
	bool tty = flags->tty || (!flags->detach && !flags->pipes &&
				  isatty(STDIN_FILENO) && isatty(STDOUT_FILENO));
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

int cli_run_finish(struct cli *cli, const struct cli_run *flags, json_t *args, char **argv,
		   int status)
{
	json_t *outcome;

	if (!status && !representable(argv))
		status = cli_usage(cli, "the command holds bytes that are not UTF-8; put it into a script");
	if (status) {
		json_decref(args);
		return status;
	}
	complete(args, flags, argv);
	if (flags->dry_run) {
		json_object_del(args, "env");
		return cli_finish(cli, outcome_ok(args), flags->plan);
	}
	if (!flags->detach)
		terminal_hold_signals();
	outcome = cli_call(cli, "run", args);
	return flags->detach ? cli_finish(cli, outcome, print) : follow(cli, outcome);
}
