// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starting a job, for ckptctl run and ckptrun: complete the request with environment,
 * directory and streams, then stay with the job or not.
 *
 * Fields that a caller has already put into the request stay as they are.
 */
#include "ckptctl/cli_run.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ckptctl/cli_job.h"
#include "ckptctl/cli_path.h"
#include "ckptctl/cli_prove.h"
#include "ckptctl/slurm_step.h"
#include "ckptctl/terminal.h"
#include "libckptctl/mempolicy.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "shim/ranks.h"

#define CLI_RUN_KEY	64

extern char **environ;

static json_t *cli_run_strings(char **list)
{
	json_t *array = json_array();

	for (; *list; list++)
		json_array_append_new(array, json_string(*list));
	return array;
}

/* A request holds UTF-8 only: leave other variables out, and tell the user. */
static json_t *cli_run_environment(void)
{
	json_t *array = json_array();
	char **variable, name[128];

	for (variable = environ; *variable; variable++) {
		if (!json_array_append_new(array, json_string(*variable)))
			continue;
		cli_printable(*variable, name, sizeof(name));
		name[strcspn(name, "=")] = '\0';
		cli_say("the variable %s is left out of the job's environment: it is not UTF-8",
			name);
	}
	return array;
}

/* Is rank 0 on this machine? The first of the nodes that have names has it. */
static bool cli_run_is_here(const json_t *args)
{
	const json_t *nodes = json_object_get(json_object_get(args, "ranks"), "nodes");
	const json_t *map = json_object_get(json_object_get(args, "ranks"), "map");
	const char *first = json_string_value(json_array_get(nodes, 0));
	char host[256] = "";
	size_t len;

	if (!nodes)
		return true;
	if (json_integer_value(json_array_get(map, 0)))
		return false;
	gethostname(host, sizeof(host) - 1);
	len = strcspn(host, ".");
	return first && !strncmp(first, host, len) && (!first[len] || first[len] == '.');
}

/*
 * The path of our standard input, if that is a file that the job can open as we have it: a file is
 * a part of the job's state, a pipe from us would end with us. False: it is something else.
 */
static bool cli_run_input_file(const json_t *args, char path[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/fd/0", path, PATH_MAX - 1);
	struct stat ours, theirs;
	int fd;

	path[len > 0 ? len : 0] = '\0';
	if (*path != '/' || fstat(STDIN_FILENO, &ours) || !S_ISREG(ours.st_mode) ||
	    lseek(STDIN_FILENO, 0, SEEK_CUR) || !cli_run_is_here(args))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (fstat(fd, &theirs))
		theirs.st_ino = 0;
	close(fd);
	return theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

static bool cli_run_no_input(void)
{
	struct stat st, null;

	return !fstat(STDIN_FILENO, &st) && !stat("/dev/null", &null) && S_ISCHR(st.st_mode) &&
	       st.st_rdev == null.st_rdev;
}

static bool cli_run_is_path(const json_t *input)
{
	const char *path = json_string_value(input);

	return path && *path == '/';
}

/* The input, which the user did not choose. */
static json_t *cli_run_input(const json_t *args, const struct cli_run *flags)
{
	char path[PATH_MAX];
	json_t *file = NULL;

	if (flags->detach || cli_run_no_input())
		return json_string("null");
	/* A name that is not UTF-8 cannot be in a request. */
	if (cli_run_input_file(args, path))
		file = json_string(path);
	return file ?: json_string("pipe");
}

/*
 * Complete the request: streams that the user did not choose follow from ckptctl's own streams.
 * Returns an exit status, or 0.
 */
static int cli_run_complete(struct cli *cli, json_t *args, const struct cli_run *flags, char **argv)
{
	bool tty = flags->tty || (!flags->detach && !flags->pipes &&
				  isatty(STDIN_FILENO) && isatty(STDOUT_FILENO));
	mode_t mask = umask(022);

	umask(mask);
	json_object_set_new(args, "argv", cli_run_strings(argv));
	json_object_set_new(args, "env", cli_run_environment());
	json_object_set_new(args, "umask", json_integer(mask));
	mempolicy_add(args);
	if (!json_object_get(args, "stdin") && tty)
		json_object_set_new(args, "stdin", json_string("tty"));
	else if (!json_object_get(args, "stdin"))
		json_object_set_new(args, "stdin", cli_run_input(args, flags));
	if (!json_object_get(args, "stdout"))
		json_object_set_new(args, "stdout", json_string(tty ? "tty" : "pipe"));
	if (!json_object_get(args, "stderr"))
		json_object_set_new(args, "stderr", json_string(tty ? "tty" : "pipe"));
	if (tty)
		json_object_set_new(args, "window", json_integer(terminal_window()));
	json_object_set_new(args, "attach", json_boolean(!flags->detach));
	return json_object_get(args, "cwd") ? 0 : cli_path_here(cli, args, "cwd");
}

static void cli_run_print(struct cli *cli, json_t *result)
{
	printf("%lld\n", (long long)cli_int(result, "job"));
	/* The job runs even if this output is lost. */
	if (fflush(stdout))
		cli_say("job %lld was started", (long long)cli_int(result, "job"));
}

static int cli_run_follow(struct cli *cli, json_t *outcome, const struct cli_run *flags)
{
	const unsigned int how = CLI_FOLLOW_SIGNALS | CLI_FOLLOW_INPUT;
	json_t *job = json_object_get(outcome, "result");

	if (!outcome_is_ok(outcome))
		return cli_finish(cli, outcome, NULL);
	cli_progress_end(cli);
	if (cli->progress)
		cli_say("job %lld%s", (long long)cli_int(job, "job"),
			cli_job_has_key(cli, job, how) ? "; Ctrl-] detaches" : "");
	if (flags->recover.rules.max)
		return cli_recover_follow(cli, outcome, how, &flags->recover);
	return cli_job_follow(cli, outcome, how);
}

/* A name that no other start has; in the environment of the job, which is not complete yet. */
static void cli_run_key(char key[CLI_RUN_KEY])
{
	snprintf(key, CLI_RUN_KEY, "%d.%llu", (int)getpid(),
		 (unsigned long long)clock_realtime_ns());
	setenv(RANKS_STEP_KEY, key, 1);
}

int cli_run_finish(struct cli *cli, const struct cli_run *flags, json_t *args, char **argv,
		   int status)
{
	const json_t *nodes = json_object_get(json_object_get(args, "ranks"), "nodes");
	struct slurm_step step = { .holder = -1 };
	char key[CLI_RUN_KEY];
	json_t *outcome;
	int64_t job;
	int after;
	bool started, file, chosen = json_object_get(args, "stdin");

	if (!flags->no_step && nodes)
		cli_run_key(key);
	if (!status)
		status = cli_run_complete(cli, args, flags, argv);
	if (status) {
		json_decref(args);
		return status;
	}
	file = !chosen && cli_run_is_path(json_object_get(args, "stdin"));
	if (flags->dry_run) {
		json_object_del(args, "env");
		return cli_finish(cli, outcome_ok(args), flags->plan);
	}
	if (!flags->no_step && nodes)
		slurm_step_open(cli, nodes, key, &step);
	if (nodes)
		cli_prove_start(args);
	cli->hold = !flags->detach;
	outcome = cli_call(cli, "run", args);
	started = outcome_is_ok(outcome);
	/* The job has the input: a later reader of ours finds its end, as behind a pipe. */
	if (started && file)
		lseek(STDIN_FILENO, 0, SEEK_END);
	job = cli_int(json_object_get(outcome, "result"), "job");
	slurm_step_close(&step, job);
	status = flags->detach ? cli_finish(cli, outcome, cli_run_print)
			       : cli_run_follow(cli, outcome, flags);
	if (!started && !cli->unanswered && flags->failed)
		cli_say("%s", flags->failed);
	after = started && flags->detach && flags->started ?
		flags->started(cli, job, flags->started_arg) : 0;
	return status ? status : after;
}
