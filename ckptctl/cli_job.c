// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts that the verbs on jobs share: naming a job, and being attached to a job.
 *
 * The way the job was started decides which of ckptctl's standard streams belong to the job. The
 * job's exit status becomes ckptctl's, so that ckptctl can stand in the job's place in a
 * script.  The shim waits only for clients that take output; a client that lost the shim asks
 * ckptd for the status.
 */
#include "ckptctl/cli_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ckptctl/cli_call.h"
#include "ckptctl/terminal.h"
#include "libckptctl/ckptctl.h"
#include "shim/ranks.h"
#include "base/outcome.h"

#define STATUS_TRIES	20	/* a tenth of a second apart */

/* Count the jobs of that name, and find the first; @outcome is that of ps, and is taken over. */
static size_t job_count(json_t *outcome, const char *name, int64_t *ret_job, char others[64])
{
	const json_t *job, *jobs = json_object_get(json_object_get(outcome, "result"), "jobs");
	size_t i, nr = 0, len = 0;

	others[0] = '\0';
	json_array_foreach(jobs, i, job) {
		if (strcmp(cli_str(job, "name"), name))
			continue;
		if (!nr++)
			*ret_job = cli_int(job, "job");
		if (len < 64 - 24)
			len += (size_t)snprintf(others + len, 64 - len, "%s%lld", len ? ", " : "",
						(long long)cli_int(job, "job"));
	}
	json_decref(outcome);
	return nr;
}

int cli_job_number(struct cli *cli, const char *text, int64_t *ret_job)
{
	int64_t generation;
	char others[64];
	size_t nr;

	if (cli_job_spec(text, ret_job, &generation) && !generation)
		return 0;
	if (*text >= '0' && *text <= '9')	/* a number with something behind it */
		return cli_usage(cli, "%s is no job's number", text);
	/* of the jobs of one name, the one that runs is meant */
	nr = job_count(cli_call(cli, "ps", json_object()), text, ret_job, others);
	if (!nr)
		nr = job_count(cli_call(cli, "ps", json_pack("{s:b}", "all", 1)), text, ret_job,
			       others);
	if (nr > 1)
		return cli_usage(cli, "%zu jobs have the name %s: say which number (%s%s)", nr,
				 text, others, strlen(others) < 64 - 24 ? "" : ", ...");
	return nr ? 0 : cli_usage(cli, "%s is no job's number or name", text);
}

int cli_job_window(struct cli *cli, int c, json_t *args)
{
	long long number;

	if (c != CLI_OPT_LAST && c != CLI_OPT_BEFORE)
		return cli_usage(cli, "wrong option");
	if (!cli_number(cli, optarg, c == CLI_OPT_LAST ? "--last" : "--before", 1, INT64_MAX,
			&number))
		return CLI_USAGE;
	json_object_set_new(args, c == CLI_OPT_LAST ? "last" : "before", json_integer(number));
	return 0;
}

int cli_job_operand(struct cli *cli, int argc, char **argv, json_t *args)
{
	int64_t job;
	int status;

	if (optind + 1 != argc)
		return cli_usage(cli, "one job is needed");
	status = cli_job_number(cli, argv[optind], &job);
	if (!status)
		json_object_set_new(args, "job", json_integer(job));
	return status;
}

/* Name the jobs of @unreadable that are, or are not, of another key. */
static void say_unreadable(const json_t *unreadable, bool other_key)
{
	char numbers[256] = "";
	const json_t *row, *first = NULL;
	size_t i, len = 0, nr = 0;

	json_array_foreach(unreadable, i, row) {
		if (json_is_true(json_object_get(row, "other_key")) != other_key)
			continue;
		first = first ?: row;
		nr++;
		if (len < sizeof(numbers) - 32)
			len += (size_t)snprintf(numbers + len, sizeof(numbers) - len, "%s%lld",
						len ? ", " : "",
						(long long)cli_int(row, "job"));
		else if (numbers[len - 1] != '.')
			len += (size_t)snprintf(numbers + len, sizeof(numbers) - len, ", ...");
	}
	if (!nr)
		return;
	if (other_key)
		cli_say("%zu job%s of another key: %s; put that key back for %s (ckptctl doctor)",
			nr, nr == 1 ? "" : "s", numbers, nr == 1 ? "it" : "them");
	else
		cli_say("%zu job%s cannot be read: %s; %s", nr, nr == 1 ? "" : "s", numbers,
			cli_str(first, "error"));
}

int cli_job_list_finish(struct cli *cli, json_t *outcome,
			void (*print)(struct cli *cli, json_t *result))
{
	json_t *result = json_object_get(outcome, "result");
	json_t *unreadable = json_incref(json_object_get(result, "unreadable"));
	bool whole = !json_array_size(unreadable);
	int status = cli_finish(cli, outcome, print);

	if (!whole) {
		fflush(stdout);
		say_unreadable(unreadable, true);
		say_unreadable(unreadable, false);
	}
	json_decref(unreadable);
	return status == CLI_DONE && !whole ? CLI_FAILED : status;
}

const char *cli_job_phases(const json_t *row, char text[CLI_PHASES])
{
	static const char *const names[][2] = {
		{ "fetch_ns", "fetch" }, { "try_ns", "try" }, { "restore_ns", "restore" },
		{ "ranks_ns", "ranks up" },
	};
	char took[32];
	size_t i, n = 0;

	text[0] = '\0';
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (json_object_get(row, names[i][0]))
			n += (size_t)snprintf(text + n, CLI_PHASES - n, "%s%s %s", n ? ", " : " (",
					      names[i][1],
					      cli_ns((uint64_t)cli_int(row, names[i][0]), took));
	}
	if (n)
		snprintf(text + n, CLI_PHASES - n, ")");
	return text;
}

int cli_job_nodes(struct cli *cli, const char *option, char *list, json_t *args)
{
	json_t *nodes = json_array();
	char *name;

	json_object_set_new(args, "nodes", nodes);
	if (json_object_get(args, "map"))
		return cli_usage(cli, "--map says which nodes, %s says it again", option);
	while ((name = strsep(&list, ","))) {
		if (!*name)
			return cli_usage(cli, "%s is a list of nodes, n1,n2", option);
		json_array_append_new(nodes, json_string(name));
	}
	return 0;
}

/* Return the index of node @name in @nodes; append the node if it is new. */
static size_t node_place(json_t *nodes, json_t *map, const char *name)
{
	size_t i;

	for (i = 0; i < json_array_size(nodes); i++) {
		if (!strcmp(json_string_value(json_array_get(nodes, i)), name))
			return i;
	}
	json_array_append_new(nodes, json_string(name));
	json_array_append_new(map, json_string(""));
	return i;
}

/* Read a rank: digits, without a sign or white space before them. */
static bool take_rank(const char **at, long *ret_rank)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret_rank = strtol(*at, &end, 10);
	*at = end;
	return !errno && *ret_rank < RANKS_MAX;
}

/* Return the number of ranks in @range, "3" or "0-2"; 0: it is no range. */
static long range_size(const char *range)
{
	long first, last;

	if (!take_rank(&range, &first))
		return 0;
	if (!*range)
		return 1;
	if (*range++ != '-' || !take_rank(&range, &last) || *range || last < first)
		return 0;
	return last - first + 1;
}

static void cli_job_join(json_t *array, size_t i, const char *text)
{
	const char *before = json_string_value(json_array_get(array, i));

	json_array_set_new(array, i, json_sprintf("%s%s%s", before, *before ? "," : "", text));
}

/* Read "0-1:n1,2,4:n2"; a range without a node goes to the next node that is named. */
int cli_job_map(struct cli *cli, char *list, json_t *args, long long *ret_n)
{
	json_t *nodes = json_array(), *map = json_array(), *open = json_pack("[s]", "");
	bool twice = json_object_get(args, "nodes") && !json_object_get(args, "map");
	char *range = NULL, *name;
	long size = 1, n = 0;

	json_object_set_new(args, "nodes", nodes);
	json_object_set_new(args, "map", map);
	while (!twice && size && (range = strsep(&list, ","))) {
		name = strchr(range, ':');
		if (name)
			*name++ = '\0';
		size = name && !*name ? 0 : range_size(range);
		n += size;
		cli_job_join(open, 0, range);
		if (name) {
			cli_job_join(map, node_place(nodes, map, name),
				     json_string_value(json_array_get(open, 0)));
			json_array_set_new(open, 0, json_string(""));
		}
	}
	if (size && *json_string_value(json_array_get(open, 0))) {
		size = 0;
		range = "the end";
	}
	json_decref(open);
	if (twice)
		return cli_usage(cli, "--map says which nodes, and another option has said it "
				      "already");
	if (!size)
		return cli_usage(cli,
				 "--map is ranks, 0 to %d, and their nodes, 0-3:n1,4-7:n2; see %s",
				 RANKS_MAX - 1, range);
	*ret_n = n;
	return 0;
}

static bool stream_is(const json_t *job, unsigned int i, const char *how)
{
	const char *stream = json_string_value(json_array_get(json_object_get(job, "stdio"), i));

	return stream && !strcmp(stream, how);
}

static unsigned int terminal_flags(const struct cli *cli, const json_t *job, unsigned int how)
{
	bool tty = stream_is(job, 0, "tty") && isatty(STDIN_FILENO);
	unsigned int flags = 0;

	if (tty)
		flags = TERMINAL_RAW | TERMINAL_INPUT;
	else if (stream_is(job, 0, "tty") ||
		 (stream_is(job, 0, "pipe") && how & CLI_FOLLOW_INPUT))
		flags = TERMINAL_INPUT;
	if (how & CLI_FOLLOW_SIGNALS && !tty)
		flags |= TERMINAL_SIGNALS;
	/* Text typed while a job of ckptctl run reads no input belongs to the shell. */
	if ((flags & TERMINAL_INPUT || !(how & CLI_FOLLOW_SIGNALS)) && terminal_has_key())
		flags |= TERMINAL_KEY;
	/* A client that only watches detaches when the reader of its output is gone. */
	if (!(how & CLI_FOLLOW_SIGNALS))
		flags |= TERMINAL_READER;
	return flags | (cli->json ? TERMINAL_END_LINE : 0);
}

bool cli_job_has_key(const struct cli *cli, const json_t *job, unsigned int how)
{
	return terminal_flags(cli, job, how) & (TERMINAL_RAW | TERMINAL_KEY);
}

/* True while ckptd lists the job, whose end it may not have seen yet, or does not answer. */
static bool still_runs(struct cli *cli, int64_t id)
{
	json_t *outcome = cli_call(cli, "ps", json_object());
	const json_t *jobs = json_object_get(json_object_get(outcome, "result"), "jobs");
	bool runs = !outcome_is_ok(outcome);
	size_t i;

	for (i = 0; i < json_array_size(jobs) && !runs; i++)
		runs = cli_int(json_array_get(jobs, i), "job") == id;
	json_decref(outcome);
	return runs;
}

/* Exit status of a job whose shim has left; -1: the job still runs, or its status is unknown. */
static int recorded_status(struct cli *cli, int64_t id)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	json_t *outcome = NULL;
	int tries, status = -1;

	terminal_free_signals();
	for (tries = 0; tries < STATUS_TRIES && !outcome; tries++) {
		if (tries)
			nanosleep(&pause, NULL);
		/* The connection may lead to a ckptd that is gone. */
		cli_disconnect(cli);
		if (!still_runs(cli, id))
			outcome = cli_call(cli, "wait", json_pack("{s:I}", "job", (json_int_t)id));
	}
	if (outcome_is_ok(outcome))
		status = (int)cli_int(json_object_get(outcome, "result"), "exit_status");
	json_decref(outcome);
	return status;
}

/* Tell the user that output is missing, and note it in @job. Takes over @why. */
static void output_lost(json_t *job, json_t *why)
{
	cli_say("%s; its logs in %s have all of it", json_string_value(why),
		cli_str(job, "image_dir"));
	json_object_set_new(job, "output_lost", json_true());
	json_decref(why);
}

int cli_job_attend(struct cli *cli, json_t *outcome, unsigned int how,
		   struct cli_job_left *ret_left)
{
	json_t *job = json_object_get(outcome, "result");
	int64_t id = cli_int(job, "job");
	int sock = ckpt_answer_fd(cli->connection);
	struct terminal_end end;

	*ret_left = (struct cli_job_left){ .status = -1 };
	/* The job may run for days, and the connections of one user are counted. */
	cli_disconnect(cli);
	if (sock < 0)
		return -EPROTO;
	ret_left->err = terminal_run(sock, terminal_flags(cli, job, how), &end);
	ret_left->asked = end.asked;
	if (end.lost)
		output_lost(job, json_sprintf("not all of the output of job %lld is here: %s",
					      (long long)id, strerror(-end.lost)));
	if (ret_left->err == 1)
		ret_left->status = WIFSIGNALED(end.status) ? 128 + WTERMSIG(end.status) :
							     WEXITSTATUS(end.status);
	else if (ret_left->err == -EPIPE)
		ret_left->status = recorded_status(cli, id);
	if (ret_left->err == -EPIPE && ret_left->status >= 0)
		output_lost(job, json_sprintf("job %lld has ended; the last of its output may be "
					      "missing here",
					      (long long)id));
	return 0;
}

int cli_job_left(struct cli *cli, json_t *outcome, const struct cli_job_left *left)
{
	json_t *job = json_object_get(outcome, "result");
	int64_t id = cli_int(job, "job");

	if (left->status >= 0)
		return cli_finish_attached(cli, outcome, left->status);
	if (!left->err) {
		cli_say("detached from job %lld, which runs on", (long long)id);
		json_object_set_new(job, "detached", json_true());
		return cli_finish_attached(cli, outcome, CLI_DONE);
	}
	json_decref(outcome);
	outcome = outcome_error(left->err,
				"lost the connection to job %lld: %s; see ckptctl ps --all",
				(long long)id, strerror(-left->err));
	return cli_finish_attached(cli, outcome, CLI_FAILED);
}

int cli_job_follow(struct cli *cli, json_t *outcome, unsigned int how)
{
	struct cli_job_left left;

	if (!cli_job_attend(cli, outcome, how, &left))
		return cli_job_left(cli, outcome, &left);
	json_decref(outcome);
	outcome = outcome_error(-EPROTO, "%s: ckptd sent no connection to the job",
				cli->verb->name);
	return cli_finish_attached(cli, outcome, CLI_FAILED);
}
