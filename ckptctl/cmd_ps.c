// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl ps: show the jobs of this node, or with --all every job in the image directory; with
 * --mpi show what the MPI ranks of one job are doing.
 *
 * The pid is that of the job's init, the ancestor of the job's processes.
 */
#include "ckptctl/cli_job.h"

#include <string.h>
#include <time.h>

#include "ckptctl/cli_table.h"

static const struct option longs[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "mpi", no_argument, NULL, 'm' },
	{ NULL }
};

static const struct cli_column columns[] = {
	{ .name = "JOB", .right = true }, { .name = "NAME" }, { .name = "USER" },
	{ .name = "STATE" },
	{ .name = "RANKS", .right = true }, { .name = "STATUS", .right = true },
	{ .name = "SINCE" }, { .name = "NODE" },
	{ .name = "PID", .right = true }, { .name = "COMMAND", .cut = true }, { .name = NULL }
};

static void command_line(const json_t *argv, char *text, size_t size)
{
	size_t i, len = 0;

	text[0] = '\0';
	for (i = 0; i < json_array_size(argv) && len + 1 < size; i++) {
		const char *arg = json_string_value(json_array_get(argv, i));

		strncat(text + len, i ? " " : "", size - len - 1);
		len += strlen(text + len);
		strncat(text + len, arg ? arg : "", size - len - 1);
		len += strlen(text + len);
	}
}

/* Return the name of a node that does not answer and may run the job; NULL: there is none. */
static const char *silent_node(const json_t *job)
{
	return json_string_value(json_array_get(json_object_get(job, "silent_nodes"), 0));
}

static void cmd_ps_print_row(struct cli_table *table, const json_t *job)
{
	char when[32], command[256];

	command_line(json_object_get(job, "argv"), command, sizeof(command));
	cli_table_row(table);
	cli_table_cell(table, "%lld", (long long)cli_int(job, "job"));
	cli_table_cell(table, "%s", cli_str(job, "name"));
	cli_table_cell(table, "%s", cli_str(job, "user"));
	cli_table_cell(table, "%s", cli_str(job, "state"));
	if (json_object_get(job, "nr_ranks"))
		cli_table_cell(table, "%lld", (long long)cli_int(job, "nr_ranks"));
	else
		cli_table_cell(table, "-");
	if (json_object_get(job, "exit_status"))
		cli_table_cell(table, "%lld", (long long)cli_int(job, "exit_status"));
	else if (silent_node(job))
		cli_table_cell(table, "%s silent", silent_node(job));
	else
		cli_table_cell(table, "%s", json_object_get(job, "busy") ?
			       cli_str(job, "busy") : "-");
	cli_table_cell(table, "%s", cli_time(cli_int(job, "since"), when));
	cli_table_cell(table, "%s", cli_str(job, "node"));
	if (json_object_get(job, "init_pid"))
		cli_table_cell(table, "%lld", (long long)cli_int(job, "init_pid"));
	else
		cli_table_cell(table, "-");
	cli_table_cell(table, "%s", command);
}

static void cmd_ps_print(struct cli *cli, json_t *result)
{
	struct cli_table *table = cli_table_new(columns);
	json_t *jobs = json_object_get(result, "jobs");
	size_t i;

	for (i = 0; i < json_array_size(jobs); i++)
		cmd_ps_print_row(table, json_array_get(jobs, i));
	cli_table_end(table);
}

/* ------------------------------------------------------------- MPI ranks */

static const struct cli_column mpi_columns[] = {
	{ .name = "RANK", .right = true }, { .name = "NODE" }, { .name = "STATE" },
	{ .name = "CALL" },
	{ .name = "PEER", .right = true }, { .name = "COMMUNICATOR" },
	{ .name = "SEQUENCE", .right = true }, { .name = "HELD" }, { .name = NULL }
};

static void cmd_ps_number_cell(struct cli_table *table, const json_t *row, const char *name)
{
	if (json_object_get(row, name))
		cli_table_cell(table, "%lld", (long long)cli_int(row, name));
	else
		cli_table_cell(table, "-");
}

static void print_rank(struct cli_table *table, const json_t *row)
{
	bool answers = json_is_true(json_object_get(row, "answers"));

	cli_table_row(table);
	cli_table_cell(table, "%lld", (long long)cli_int(row, "rank"));
	cli_table_cell(table, "%s", cli_str(row, "node"));
	cli_table_cell(table, "%s%s", cli_str(row, "state"), answers ? "" : ", does not answer");
	cli_table_cell(table, "%s%s",
		       json_is_true(json_object_get(row, "gathers")) ? "waits to begin " : "",
		       json_object_get(row, "call") ? cli_str(row, "call") : "-");
	cmd_ps_number_cell(table, row, "peer");
	cli_table_cell(table, "%s", json_object_get(row, "comm") ? cli_str(row, "comm") : "-");
	cmd_ps_number_cell(table, row, "sequence");
	cli_table_cell(table, "%s", json_is_true(json_object_get(row, "held")) ? "yes" : "no");
}

static void print_ranks(struct cli *cli, json_t *result)
{
	struct cli_table *table = cli_table_new(mpi_columns);
	const json_t *rows = json_object_get(result, "mpi_ranks");
	size_t i;

	for (i = 0; i < json_array_size(rows); i++)
		print_rank(table, json_array_get(rows, i));
	cli_table_end(table);
	rows = json_object_get(result, "silent_nodes");
	for (i = 0; i < json_array_size(rows); i++)
		cli_say("node %s does not answer: its ranks are missing",
			json_string_value(json_array_get(rows, i)));
}

static int run_ranks(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	int status = cli_job_operand(cli, argc, argv, args);

	if (status) {
		json_decref(args);
		return status;
	}
	return cli_finish(cli, cli_call(cli, "ranks", args), print_ranks);
}

static int cmd_ps_run(struct cli *cli, int argc, char **argv)
{
	bool all = false, mpi = false;
	int c;

	while ((c = cli_getopt(cli, argc, argv, "a", longs)) != -1) {
		if (c != 'a' && c != 'm')
			return cli_usage(cli, "wrong option");
		*(c == 'a' ? &all : &mpi) = true;
	}
	if (all && mpi)
		return cli_usage(cli, "--mpi is about one job");
	if (mpi)
		return run_ranks(cli, argc, argv);
	if (optind < argc)
		return cli_usage(cli, "%s is too much", argv[optind]);
	return cli_job_list_finish(cli, cli_call(cli, "ps", json_pack("{s:b}", "all", all)),
				   cmd_ps_print);
}

const struct cli_verb cmd_ps = {
	.name = "ps",
	.run = cmd_ps_run,
	.args = "[--all | --mpi JOB]",
	.help = "list running jobs",
	.options =
	"  -a, --all           also those that have ended, and of other nodes\n"
	"      --mpi JOB       what each MPI rank of a job is doing\n",
};
