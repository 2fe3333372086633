// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl diag: say which rank of an MPI job hangs, where and why; list communicators and places.
 *
 * ckptd looks and decides. Names of functions are found here, in the files that this user may
 * read: ckptd opens no file of a job's.
 */
#include "ckptctl/cli_job.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "ckptctl/bundle.h"
#include "ckptctl/cli_image.h"
#include "ckptctl/cli_table.h"
#include "ckptctl/diag_diff.h"
#include "ckptctl/diag_incidents.h"
#include "ckptctl/diag_place.h"
#include "ckptctl/diag_tree.h"
#include "ckptctl/stack_tree.h"

enum { OPT_RANK = 255, OPT_SAMPLES, OPT_INTERVAL, OPT_PATIENCE, OPT_FORMAT, OPT_OUT };

static const struct option longs[] = {
	{ "rank", required_argument, NULL, OPT_RANK },
	{ "samples", required_argument, NULL, OPT_SAMPLES },
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ "patience", required_argument, NULL, OPT_PATIENCE },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "out", required_argument, NULL, OPT_OUT },
	{ NULL }
};

/* --------------------------------------------------------------- diag run */

static void diag_print_silent(const json_t *result)
{
	const json_t *node;
	size_t i;

	json_array_foreach(json_object_get(result, "away_nodes"), i, node)
		cli_say("the image of node %s is not here: nothing is known of its ranks",
			json_string_value(node));
	json_array_foreach(json_object_get(result, "notes"), i, node)
		cli_say("%s", json_string_value(node));

	json_array_foreach(json_object_get(result, "silent_nodes"), i, node)
		cli_say("node %s does not answer: nothing is known of its ranks",
			json_string_value(node));
}

static const json_t *diag_row(const json_t *result, json_int_t rank)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(result, "mpi_ranks"), i, row) {
		if (cli_int(row, "rank") == rank)
			return row;
	}
	return NULL;
}

static void diag_print_run(struct cli *cli, json_t *result)
{
	const char *verdict = cli_str(result, "verdict");
	const json_t *suspects = json_object_get(result, "suspects"), *line;
	const long long generation = cli_int(result, "generation");
	char place[640], of[40] = "", said[1024];
	size_t i;

	if (generation)
		snprintf(of, sizeof(of), " generation %lld,", generation);
	printf("job %lld,%s %lld ranks: ", (long long)cli_int(result, "job"), of,
	       (long long)cli_int(result, "nr_ranks"));
	if (!strcmp(verdict, "hangs"))
		printf("HANGS (%s), confirmed by status pages and samples\n",
		       cli_str(result, "cause"));
	else
		printf("%s\n",
		       !strcmp(verdict, "runs") ? "no rank hangs" : "a hang is not confirmed");
	json_array_foreach(json_object_get(result, "text"), i, line)
		printf("  %s\n", cli_printable(json_string_value(line), said, sizeof(said)));
	for (i = 0; i < json_array_size(suspects) && i < 8; i++) {
		json_int_t rank = json_integer_value(json_array_get(suspects, i));
		const json_t *row = diag_row(result, rank);

		const json_t *at = json_object_get(json_object_get(row, "thread"), "place");

		if (json_object_get(at, "name"))
			printf("  rank %lld is in %s\n", (long long)rank,
			       diag_place(at, true, place, sizeof(place)));
	}
	diag_print_silent(result);
}

/* ------------------------------------------------------------ diag stacks */

static void diag_print_stacks(const json_t *result, enum stack_format format)
{
	struct stack_tree *tree = diag_tree(result);

	if (tree)
		stack_tree_print(tree, format, stdout);
	stack_tree_free(tree);
	diag_print_silent(result);
}

static void diag_print_tree(struct cli *cli, json_t *result)
{
	diag_print_stacks(result, STACK_TREE);
}

static void diag_print_folded(struct cli *cli, json_t *result)
{
	diag_print_stacks(result, STACK_FOLDED);
}

static void diag_print_dot(struct cli *cli, json_t *result)
{
	diag_print_stacks(result, STACK_DOT);
}

/* ------------------------------------------------------------- diag colls */

static const struct cli_column coll_columns[] = {
	{ .name = "COMMUNICATOR" }, { .name = "RANKS", .right = true },
	{ .name = "LEAST", .right = true }, { .name = "RANK", .right = true },
	{ .name = "MOST", .right = true }, { .name = "RANK", .right = true }, { .name = NULL }
};


static void diag_count(json_t *comms, const char *id, long long seq, long long rank)
{
	json_t *comm = json_object_get(comms, id);

	if (!comm) {
		comm = json_pack("{s:i, s:I, s:I, s:I, s:I}", "ranks", 0, "least",
				 (json_int_t)seq, "least_rank", (json_int_t)rank, "most",
				 (json_int_t)seq, "most_rank", (json_int_t)rank);
		json_object_set_new(comms, id, comm);
	}
	json_object_set_new(comm, "ranks", json_integer(cli_int(comm, "ranks") + 1));
	if (seq < cli_int(comm, "least")) {
		json_object_set_new(comm, "least", json_integer(seq));
		json_object_set_new(comm, "least_rank", json_integer(rank));
	}
	if (seq > cli_int(comm, "most")) {
		json_object_set_new(comm, "most", json_integer(seq));
		json_object_set_new(comm, "most_rank", json_integer(rank));
	}
}

static void diag_print_colls(struct cli *cli, json_t *result)
{
	struct cli_table *table = cli_table_new(coll_columns);
	json_t *comms = json_object(), *comm;
	const json_t *row, *entry;
	const char *id;
	size_t i, k;

	json_array_foreach(json_object_get(result, "mpi_ranks"), i, row) {
		json_array_foreach(json_object_get(row, "begun"), k, entry) {
			id = json_string_value(json_array_get(entry, 0));
			if (id)
				diag_count(comms, id, json_integer_value(json_array_get(entry, 1)),
					   cli_int(row, "rank"));
		}
	}
	json_object_foreach(comms, id, comm) {
		cli_table_row(table);
		cli_table_cell(table, "%s", strcmp(id, "1") ? id : "WORLD");
		cli_table_cell(table, "%lld", (long long)cli_int(comm, "ranks"));
		cli_table_cell(table, "%lld", (long long)cli_int(comm, "least"));
		cli_table_cell(table, "%lld", (long long)cli_int(comm, "least_rank"));
		cli_table_cell(table, "%lld", (long long)cli_int(comm, "most"));
		cli_table_cell(table, "%lld", (long long)cli_int(comm, "most_rank"));
	}
	cli_table_end(table);
	json_decref(comms);
	diag_print_silent(result);
}

/* -------------------------------------------------------------- diag show */

/* "MPI_Recv from 3, tag 7", "MPI_Allreduce number 21 of WORLD", "MPI_Comm_rank". */
static void diag_cell_call(struct cli_table *table, const json_t *op)
{
	const char *doing = cli_str(op, "doing"), *comm = cli_str(op, "comm");
	const json_t *tag = json_object_get(op, "tag"), *peer = json_object_get(op, "peer");
	char of[64] = "";

	if (!strcmp(doing, "collective"))
		snprintf(of, sizeof(of), " number %lld of %s", (long long)cli_int(op, "sequence"),
			 strcmp(comm, "1") ? comm : "WORLD");
	else if (peer)
		snprintf(of, sizeof(of), " %s %lld", strcmp(doing, "sends") ? "from" : "to",
			 (long long)json_integer_value(peer));
	cli_table_cell(table, tag ? "%s%s, tag %lld" : "%s%s", cli_str(op, "call"), of,
		       (long long)json_integer_value(tag));
}

/* The last calls of the ranks that tell of them: of one, if one was asked for. */
static void diag_print_show(struct cli *cli, json_t *result)
{
	static const struct cli_column columns[] = {
		{ .name = "RANK", .right = true }, { .name = "CALL", .right = true },
		{ .name = "BEGAN", .right = true }, { .name = "DOES" }, { .name = NULL }
	};
	struct cli_table *table = cli_table_new(columns);
	const json_t *row, *op;
	size_t i, k;

	json_array_foreach(json_object_get(result, "mpi_ranks"), i, row) {
		json_array_foreach(json_object_get(row, "recent"), k, op) {
			const json_t *began = json_object_get(op, "began_ms");

			cli_table_row(table);
			cli_table_cell(table, "%lld", (long long)cli_int(row, "rank"));
			cli_table_cell(table, "%lld",
				       (long long)cli_int(row, "calls") - (long long)k);
			if (began)
				cli_table_cell(table, "%.1f s ago",
					       (double)json_integer_value(began) / 1000);
			else
				cli_table_cell(table, "-");
			diag_cell_call(table, op);
		}
	}
	cli_table_end(table);
	diag_print_silent(result);
}

/* ---------------------------------------------------------------- request */

/* Write the evidence into the new directory @out; an exit status or 0. */
static int diag_write_bundle(struct cli *cli, const char *out, const json_t *result)
{
	struct stack_tree *tree = diag_tree(result);
	int err = bundle_write(out, result, tree);

	stack_tree_free(tree);
	if (!err)
		return 0;
	cli_wrong(cli, err, "--out %s: %s", out, strerror(-err));
	return CLI_FAILED;
}

typedef void (*diag_print_fn)(struct cli *cli, json_t *result);

struct diag_options {
	const char *format;	/* NULL: by default */
	const char *out;	/* NULL: no bundle */
};


/* The first of each name prints by default; "stacks" has one for each format. */
static const struct {
	const char *name, *format;
	diag_print_fn print;
} parts[] = {
	{ "run", NULL, diag_print_run },
	{ "stacks", "tree", diag_print_tree },
	{ "stacks", "folded", diag_print_folded },
	{ "stacks", "dot", diag_print_dot },
	{ "colls", NULL, diag_print_colls },
	{ "show", NULL, diag_print_show },
};

/* How to print @name, in @format or as by default; NULL: there is no such thing. */
static diag_print_fn diag_print_of(const char *name, const char *format)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!strcmp(parts[i].name, name) &&
		    (!format || (parts[i].format && !strcmp(parts[i].format, format))))
			return parts[i].print;
	}
	return NULL;
}

static int diag_take_option(struct cli *cli, json_t *args, struct diag_options *options, int c)
{
	const char *name = c == OPT_INTERVAL ? "interval_ms" : "patience_ms";
	long long number;
	int64_t ms;

	if (c == OPT_SAMPLES) {
		if (!cli_number(cli, optarg, "--samples", 2, 16, &number))
			return CLI_USAGE;
		json_object_set_new(args, "samples", json_integer(number));
		return 0;
	}
	if (c == OPT_RANK) {
		if (!cli_number(cli, optarg, "--rank", 0, INT_MAX, &number))
			return CLI_USAGE;
		json_object_set_new(args, "rank", json_integer(number));
		json_object_set_new(args, "recent", json_integer(0));
		return 0;
	}
	if (c == OPT_FORMAT || c == OPT_OUT) {
		*(c == OPT_FORMAT ? &options->format : &options->out) = optarg;
		return 0;
	}
	if (c != OPT_INTERVAL && c != OPT_PATIENCE)
		return cli_usage(cli, "wrong option");
	if (duration_parse(optarg, &ms))
		return cli_usage(cli, "%s is no duration, as 200ms or 30s", optarg);
	json_object_set_new(args, name, json_integer(ms));
	return 0;
}

/* Ask for a diagnosis of the image @text, JOB:GENERATION or a directory. */
static json_t *diag_call_image(struct cli *cli, const json_t *args, const char *text,
			       int *ret_status)
{
	json_t *copy = json_copy((json_t *)args), *outcome;

	*ret_status = cli_image_arg(cli, copy, "dir", "image", text);
	if (!*ret_status && (json_object_get(copy, "samples") ||
			     json_object_get(copy, "interval_ms")))
		*ret_status = cli_usage(cli, "--samples and --interval are for a running job");
	if (*ret_status) {
		json_decref(copy);
		return NULL;
	}
	outcome = cli_call(cli, "diagnose_image", copy);
	diag_name_places(json_object_get(outcome, "result"));
	return outcome;
}

/* Two generations; takes over @args. */
static int diag_run_diff(struct cli *cli, int argc, char **argv, json_t *args)
{
	json_t *one = NULL, *other = NULL;
	int status = 0;

	if (optind + 2 != argc)
		status = cli_usage(cli, "two generations are needed, as 7:3 7:4");
	if (!status)
		one = diag_call_image(cli, args, argv[optind], &status);
	if (!status && json_object_get(one, "result"))
		other = diag_call_image(cli, args, argv[optind + 1], &status);
	json_decref(args);
	if (status) {
		json_decref(one);
		return status;
	}
	if (!json_object_get(one, "result"))
		return cli_finish(cli, one, NULL);
	if (json_object_get(other, "result"))
		json_object_set_new(other, "result", diag_diff(json_object_get(one, "result"),
							       json_object_get(other, "result")));
	json_decref(one);
	return cli_finish(cli, other, diag_diff_print);
}

/* True if the operand names an image, not a job that runs. */
static bool diag_is_image(int argc, char **argv)
{
	return optind < argc && (strchr(argv[optind], ':') || strchr(argv[optind], '/'));
}

/* True if @what is about incidents that ckptd has kept, not about a job as it is. */
static bool diag_is_incident(const char *what, int argc, char **argv)
{
	return !strcmp(what, "incidents") || !strcmp(what, "bundle") ||
	       (!strcmp(what, "show") && optind < argc && diag_incident_number(argv[optind]));
}

/* Ask and print; takes over @args. */
static int diag_run_part(struct cli *cli, int argc, char **argv, const struct diag_options *options,
			 diag_print_fn print, json_t *args)
{
	const bool image = diag_is_image(argc, argv);
	json_t *outcome = NULL;
	int status = 0;

	if (image && optind + 1 != argc)
		status = cli_usage(cli, "one image is needed");
	else if (image)
		outcome = diag_call_image(cli, args, argv[optind], &status);
	else
		status = cli_job_operand(cli, argc, argv, args);
	if (image || status)
		json_decref(args);
	if (status)
		return status;
	if (!image) {
		outcome = cli_call(cli, "diagnose", args);
		diag_name_places(json_object_get(outcome, "result"));
	}
	if (options->out && json_object_get(outcome, "result"))
		status = diag_write_bundle(cli, options->out, json_object_get(outcome, "result"));
	if (status) {
		json_decref(outcome);
		return status;
	}
	return cli_finish(cli, outcome, print);
}

static int cmd_diag_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	struct diag_options options = { NULL, NULL };
	diag_print_fn print = NULL;
	const char *what = "";
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "", longs)) != -1)
		status = diag_take_option(cli, args, &options, c);
	if (!status) {
		what = optind < argc ? argv[optind++] : "";
		if (!strcmp(what, "diff") && !options.format && !options.out)
			return diag_run_diff(cli, argc, argv, args);
		if (diag_is_incident(what, argc, argv) && !options.format) {
			status = json_object_size(args) ?
				 cli_usage(cli, "diag %s of incidents takes none of these options",
					   what) :
				 diag_incidents_run(cli, what, argc, argv, options.out);
			json_decref(args);
			return status;
		}
		print = diag_print_of(what, options.format);
		if (!print)
			status = cli_usage(cli, "%s", options.format ?
					   "--format is tree, folded or dot, of stacks" :
					   "say what: run, stacks, colls, show, diff, incidents "
					   "or bundle");
	}
	if (status) {
		json_decref(args);
		return status;
	}
	if (!strcmp(what, "stacks") || options.out)
		json_object_set_new(args, "stacks", json_true());
	return diag_run_part(cli, argc, argv, &options, print, args);
}

const struct cli_verb cmd_diag = {
	.name = "diag",
	.run = cmd_diag_run,
	.args = "run|stacks|colls|show [OPTIONS] JOB|JOB:GENERATION, or diff JOB:A JOB:B,\n"
		"       or incidents [JOB], show INCIDENT, bundle [--out DIR] INCIDENT",
	.help = "which rank of an MPI job hangs, where and why",
	.options =
	"      --rank R              show: all that is known of the last calls of rank R\n"
	"      --samples N           of each thread; by default 3, more for many ranks\n"
	"      --interval DURATION   between two samples; default 200ms\n"
	"      --patience DURATION   ranks that others wait for less long may be at work;\n"
	"                            default 30s\n"
	"      --out DIR             run, bundle: make DIR and write the evidence there, with\n"
	"                            all stacks; of bundle by default incident-N\n"
	"      --format FORMAT       of stacks: tree, folded or dot; default tree\n",
};
