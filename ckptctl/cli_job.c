// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the verbs on jobs share: naming one, and being attached to one.
 *
 * Which of our standard streams are the job's follows from how it was started;
 * its exit status becomes ckptctl's, so that ckptctl can stand in its place in
 * a script.
 */
#include "ckptctl/cli_job.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ckptctl/terminal.h"
#include "libckptctl/ckptctl.h"

int cli_job_operand(struct cli *cli, int argc, char **argv, json_t *args)
{
	int64_t job, generation;

	if (optind + 1 != argc)
		return cli_usage(cli, "one job is needed");
	if (!cli_job_spec(argv[optind], &job, &generation) || generation)
		return cli_usage(cli, "%s is no job's number", argv[optind]);
	json_object_set_new(args, "job", json_integer(job));
	return 0;
}

int cli_job_nodes(struct cli *cli, const char *option, char *list, json_t *args)
{
	json_t *nodes = json_array();
	char *name;

	json_object_set_new(args, "nodes", nodes);
	while ((name = strsep(&list, ","))) {
		if (!*name)
			return cli_usage(cli, "%s is a list of nodes, n1,n2", option);
		json_array_append_new(nodes, json_string(name));
	}
	return 0;
}

static bool stream_is(const json_t *job, unsigned int i, const char *how)
{
	const char *stream = json_string_value(json_array_get(json_object_get(job, "stdio"), i));

	return stream && !strcmp(stream, how);
}

int cli_job_follow(struct cli *cli, const json_t *job, unsigned int how)
{
	bool tty = stream_is(job, 0, "tty") && isatty(STDIN_FILENO);
	unsigned int flags = 0;
	int status = 0, ret;
	int sock = ckpt_answer_fd(cli->connection);

	if (sock < 0) {
		cli_say("%s: ckptd sent no connection to the job", cli->verb->name);
		return CLI_FAILED;
	}
	if (tty)
		flags = TERMINAL_RAW | TERMINAL_INPUT;
	else if (stream_is(job, 0, "tty") ||
		 (stream_is(job, 0, "pipe") && how & CLI_FOLLOW_INPUT))
		flags = TERMINAL_INPUT;
	if (how & CLI_FOLLOW_SIGNALS && !tty)
		flags |= TERMINAL_SIGNALS;
	ret = terminal_run(sock, flags, &status);
	if (ret == 1)
		return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	if (ret == 0) {
		cli_say("detached from job %lld, which runs on",
			(long long)cli_int(job, "job"));
		return CLI_DONE;
	}
	cli_say("lost the connection to job %lld: %s; see ckptctl ps --all",
		(long long)cli_int(job, "job"), strerror(-ret));
	return CLI_FAILED;
}
