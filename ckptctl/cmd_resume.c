// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl resume: start a job, or go on with it.
 *
 * For a script that a batch system starts again from its beginning. The job's name tells whether
 * the script started it before: the newest job of that name and of this user is meant. A saved or
 * lost job is restarted from its newest generation; one that ended is not started again, and
 * ckptctl hands on its exit status. The start is left to ckptrun or ckptctl run, which replace
 * this process.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/outcome.h"
#include "ckptctl/cli_call.h"
#include "ckptctl/cli_job.h"
#include "ckptctl/cli_path.h"
#include "ckptctl/lost_nodes.h"
#include "ckptctl/restart_place.h"

#define RUNS_TRIES	50	/* a job that was killed with its batch step ends in a moment */
#define RUNS_PAUSE_NS	200000000
#define WORDS_BEFORE	5	/* at most: program, run, --name, NAME, -- */

enum { OPT_NEW = 256, OPT_ACCEPT_CHANGED, OPT_NODES, OPT_FILES, OPT_LOST };

static const struct option longs[] = {
	{ "name", required_argument, NULL, 'N' },
	{ "new", no_argument, NULL, OPT_NEW },
	{ "accept-changed", no_argument, NULL, OPT_ACCEPT_CHANGED },
	{ "nodes", required_argument, NULL, OPT_NODES },
	{ "files", required_argument, NULL, OPT_FILES },
	{ "lost-nodes", required_argument, NULL, OPT_LOST },
	{ NULL }
};

/* ----------------------------------------------------------------- start */

/* The program @name beside this one, or in PATH. */
static const char *program_beside(const char *name, char path[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	if (!slash || (size_t)(slash + 1 - path) + strlen(name) >= PATH_MAX)
		return name;
	strcpy(slash + 1, name);
	return access(path, X_OK) ? name : path;
}

static bool is_program(const char *word, const char *name)
{
	const char *slash = strrchr(word, '/');

	return !strcmp(slash ? slash + 1 : word, name);
}

/* Replace this process by what starts the job; returns an exit status only if that fails. */
static int resume_start(struct cli *cli, const char *name, int argc, char **argv)
{
	char **words = calloc((size_t)argc + WORDS_BEFORE + 1, sizeof(*words));
	bool ranks = is_program(argv[0], "ckptrun");
	bool run = is_program(argv[0], "ckptctl") && argc > 1 && !strcmp(argv[1], "run");
	const char *program = ranks ? "ckptrun" : "ckptctl";
	char path[PATH_MAX];
	int n = 0, from = ranks ? 1 : run ? 2 : 0, err;

	if (!words)
		return CLI_FAILED;
	words[n++] = (char *)program;
	if (!ranks)
		words[n++] = (char *)"run";
	words[n++] = (char *)"--name";
	words[n++] = (char *)name;
	if (!ranks && !run)
		words[n++] = (char *)"--";
	memcpy(words + n, argv + from, (size_t)(argc - from) * sizeof(*words));
	if (cli->socket)
		setenv("CKPTD_SOCKET", cli->socket, 1);
	cli_disconnect(cli);
	program = ranks || run ? argv[0] : program_beside(program, path);
	execvp(program, words);
	err = errno;
	free(words);
	cli_wrong(cli, -err, "%s: %s", program, strerror(err));
	return err == ENOENT ? 127 : 126;
}

/* ------------------------------------------------------------ the job before */

/* The newest of @jobs that has @name and is this user's; borrowed, NULL: none. */
static json_t *newest_named(const json_t *jobs, const char *name)
{
	json_t *job, *newest = NULL;
	size_t i;

	json_array_foreach(jobs, i, job) {
		if (strcmp(cli_str(job, "name"), name) || cli_int(job, "uid") != (int64_t)geteuid())
			continue;
		if (!newest || cli_int(job, "job") > cli_int(newest, "job"))
			newest = job;
	}
	return newest;
}

/* Get the job of @name as ckptd knows it, NULL: none; an exit status, or 0. */
static int resume_find(struct cli *cli, const char *name, json_t **ret_job)
{
	json_t *outcome = cli_call(cli, "ps", json_pack("{s:b}", "all", true));
	const json_t *result = json_object_get(outcome, "result");
	size_t unreadable = json_array_size(json_object_get(result, "unreadable"));

	if (!outcome_is_ok(outcome))
		return cli_finish(cli, outcome, NULL);
	*ret_job = json_incref(newest_named(json_object_get(result, "jobs"), name));
	if (!*ret_job && unreadable)
		cli_say("no job %s is known, but %zu cannot be read (ckptctl ps --all): if one of "
			"these is meant, kill the job that begins now", name, unreadable);
	json_decref(outcome);
	return 0;
}

static bool state_is(const json_t *job, const char *state)
{
	return !strcmp(cli_str(job, "state"), state);
}

/*
 * As resume_find(), and wait a little for a job that still runs to end, or for its home to find out
 * that nodes are silent.
 */
static int find_ended(struct cli *cli, const char *name, const json_t *lost, json_t **ret_job)
{
	const struct timespec pause = { .tv_nsec = RUNS_PAUSE_NS };
	json_t *job = NULL;
	int tries, status = 0;

	for (tries = 0; tries < RUNS_TRIES; tries++) {
		json_decref(job);
		job = NULL;
		status = resume_find(cli, name, &job);
		if (status || !job || lost_nodes_is_over(job) || lost_nodes_hold(job, lost))
			break;
		nanosleep(&pause, NULL);
	}
	if (!status)
		*ret_job = job;
	return status;
}

/* Number of generations that a restart of @id may use; negative: an exit status. */
static int count_generations(struct cli *cli, int64_t id)
{
	json_t *outcome = cli_call(cli, "list", json_pack("{s:I}", "job", (json_int_t)id));
	const json_t *jobs = json_object_get(json_object_get(outcome, "result"), "jobs");
	int count = (int)json_array_size(json_object_get(json_array_get(jobs, 0), "generations"));

	if (!outcome_is_ok(outcome))
		return -cli_finish(cli, outcome, NULL);
	json_decref(outcome);
	return count;
}

/* ---------------------------------------------------------------- resume */

static int resume_restart(struct cli *cli, const json_t *job, json_t *args)
{
	int status = 0;

	if (json_object_get(job, "nr_ranks"))
		status = restart_place_nodes(cli, args);
	if (status) {
		json_decref(args);
		return status;
	}
	json_object_set_new(args, "job", json_integer(cli_int(job, "job")));
	json_object_set_new(args, "attach", json_true());
	cli_say("job %lld, %s, goes on", (long long)cli_int(job, "job"), cli_str(job, "name"));
	return cli_job_restart(cli, args);
}

/* Go on with @job in the way that its state demands; @lost: nodes. Takes over @args. */
static int resume_job(struct cli *cli, const json_t *job, const json_t *lost, json_t *args,
		      int argc, char **argv)
{
	const char *name = cli_str(job, "name");
	long long id = (long long)cli_int(job, "job");
	int count;

	if (state_is(job, "ended")) {
		cli_say("job %lld, %s, has ended with status %lld before: not started again", id,
			name, (long long)cli_int(job, "exit_status"));
		json_decref(args);
		return (int)cli_int(job, "exit_status");
	}
	if (lost_nodes_hold(job, lost)) {
		cli_say("job %lld, %s, ran on nodes that are off", id, name);
		json_object_set_new(args, "node_lost", json_true());
	} else if (!lost_nodes_is_over(job)) {
		json_decref(args);
		cli_wrong(cli, -EBUSY,
			  "job %lld, %s, is %s on node %s: ckptctl attach %lld shows it; if that "
			  "node is known to be off, ckptctl restart --attach --node-lost %lld",
			  id, name, cli_str(job, "state"), cli_str(job, "node"), id, id);
		return CLI_FAILED;
	}
	count = count_generations(cli, id);
	if (count > 0)
		return resume_restart(cli, job, args);
	json_decref(args);
	if (count < 0)
		return -count;
	cli_say("job %lld, %s, has ended without a checkpoint: it is started anew", id, name);
	return resume_start(cli, name, argc, argv);
}

static int resume_take_option(struct cli *cli, json_t *args, json_t *flags, int c)
{
	switch (c) {
	case 'N':
		return cli_name(cli, flags, optarg);
	case OPT_NEW:
		json_object_set_new(flags, "new", json_true());
		return 0;
	case OPT_ACCEPT_CHANGED:
		json_object_set_new(args, "accept_changed", json_true());
		return 0;
	case OPT_NODES:
		return cli_job_nodes(cli, "--nodes", optarg, args);
	case OPT_FILES:
		return cli_files(cli, args, optarg);
	case OPT_LOST:
		return restart_place_lost_nodes(cli, flags, optarg);
	default:
		return cli_usage(cli, "wrong option");
	}
}

static int cmd_resume_act(struct cli *cli, const json_t *flags, json_t *args, int argc,
			  char **argv)
{
	const char *name = json_string_value(json_object_get(flags, "name"));
	const json_t *lost = json_object_get(flags, "lost_nodes");
	json_t *job = NULL;
	int status = 0;

	if (!json_object_get(flags, "new"))
		status = find_ended(cli, name, lost, &job);
	if (!status && job)
		status = resume_job(cli, job, lost, args, argc, argv);
	else
		json_decref(args);
	if (!status && !job)
		status = resume_start(cli, name, argc, argv);
	json_decref(job);
	return status;
}

static int cmd_resume_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object(), *flags = json_object();
	int c, status = 0;

	cli->patient = true;
	while (!status && (c = cli_getopt(cli, argc, argv, "+N:", longs)) != -1)
		status = resume_take_option(cli, args, flags, c);
	if (!status && !json_object_get(flags, "name"))
		status = cli_usage(cli, "which job? Say its --name");
	if (!status && optind >= argc)
		status = cli_usage(cli, "which command?");
	if (status)
		json_decref(args);
	else
		status = cmd_resume_act(cli, flags, args, argc - optind, argv + optind);
	json_decref(flags);
	return status;
}

const struct cli_verb cmd_resume = {
	.name = "resume",
	.run = cmd_resume_run,
	.args = "--name NAME [OPTIONS] -- COMMAND [ARGUMENT...]",
	.help = "start a job, or go on with the one of that name",
	.options = "  -N, --name NAME       of the job; the newest of that name is gone on with\n"
		   "      --new             start one, whatever there was before\n"
		   "      --accept-changed  these three as of ckptctl restart,\n"
		   "      --nodes NODES     if the job is restarted\n"
		   "      --files HOW\n"
		   "      --lost-nodes NODES\n"
		   "                        n1,n2: known to be off; what ran there has ended\n"
		   "\n"
		   "COMMAND is ckptrun or ckptctl run with their options, or a command for\n"
		   "ckptctl run.\n",
};
