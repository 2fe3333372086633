// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl diag: say which rank of an MPI job hangs, where and why; list communicators and places.
 *
 * ckptd looks and decides. Names of functions are found here, in the files that this user may
 * read: ckptd opens no file of a job's.
 */
#include "ckptctl/cli_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "ckptctl/bundle.h"
#include "ckptctl/cli_table.h"
#include "ckptctl/stack_tree.h"
#include "ckptctl/symbol.h"

enum { OPT_SAMPLES = 256, OPT_INTERVAL, OPT_PATIENCE, OPT_FORMAT, OPT_OUT };

static const struct option longs[] = {
	{ "samples", required_argument, NULL, OPT_SAMPLES },
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ "patience", required_argument, NULL, OPT_PATIENCE },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "out", required_argument, NULL, OPT_OUT },
	{ NULL }
};

/* ----------------------------------------------------------------- places */

/* Add "name" to a place, where a file here has the symbols. */
static void diag_name_place(json_t *place)
{
	char name[512];

	if (place &&
	    !symbol_name(cli_str(place, "path"), cli_str(place, "build_id"),
			 (uint64_t)cli_int(place, "address"), name, sizeof(name)) &&
	    cli_is_utf8(name))
		json_object_set_new(place, "name", json_string(name));
}

static void diag_name_places(const json_t *result)
{
	const json_t *row;
	json_t *frame;
	size_t i, k;

	json_array_foreach(json_object_get(result, "mpi_ranks"), i, row) {
		const json_t *thread = json_object_get(row, "thread");

		diag_name_place(json_object_get(thread, "place"));
		json_array_foreach(json_object_get(thread, "frames"), k, frame)
			diag_name_place(frame);
	}
}

/* "compute+0x12 (hpl)", "libm.so.6+0x4711", "-"; without the offset if not @exact. */
static const char *diag_place(const json_t *place, bool exact, char *buf, size_t size)
{
	const char *path = cli_str(place, "path"), *base = strrchr(path, '/');
	const char *name = cli_str(place, "name");

	base = base ? base + 1 : path;
	if (!place)
		snprintf(buf, size, "-");
	else if (*name)
		snprintf(buf, size, "%.*s (%s)",
			 exact ? (int)strlen(name) : (int)strcspn(name, "+"), name, base);
	else
		snprintf(buf, size, "%s+0x%llx", base,
			 (unsigned long long)cli_int(place, exact ? "address" : "function"));
	return buf;
}

/* --------------------------------------------------------------- diag run */

static void diag_print_silent(const json_t *result)
{
	const json_t *node;
	size_t i;

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
	char place[640];
	size_t i;

	if (!strcmp(verdict, "hangs"))
		printf("job %lld, %lld ranks: HANGS (%s), confirmed by status pages and samples\n",
		       (long long)cli_int(result, "job"), (long long)cli_int(result, "nr_ranks"),
		       cli_str(result, "cause"));
	else
		printf("job %lld, %lld ranks: %s\n", (long long)cli_int(result, "job"),
		       (long long)cli_int(result, "nr_ranks"),
		       !strcmp(verdict, "runs") ? "no rank hangs" : "a hang is not confirmed");
	json_array_foreach(json_object_get(result, "text"), i, line)
		printf("  %s\n", json_string_value(line));
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

#define DIAG_FRAMES	64
#define DIAG_NAME	600

/* The stack of a row, the outermost first; below it the call, as MPI calls it. */
static int diag_add_stack(struct stack_tree *tree, const json_t *row)
{
	const json_t *frames = json_object_get(json_object_get(row, "thread"), "frames");
	char (*text)[DIAG_NAME] = calloc(DIAG_FRAMES + 1, sizeof(*text));
	const char *name[DIAG_FRAMES + 1];
	size_t nr = json_array_size(frames), i;
	int err;

	if (!text)
		return -ENOMEM;
	nr = nr > DIAG_FRAMES ? DIAG_FRAMES : nr;
	for (i = 0; i < nr; i++)
		name[i] = diag_place(json_array_get(frames, nr - 1 - i), false, text[i],
				     sizeof(text[i]));
	if (!nr) {
		snprintf(text[0], sizeof(text[0]), "%s, state %s, place not known",
			 json_object_get(row, "call") ? cli_str(row, "call") : "outside MPI",
			 cli_str(json_object_get(row, "thread"), "state"));
		name[nr++] = text[0];
	}
	err = stack_tree_add(tree, cli_int(row, "rank"), name, nr);
	free(text);
	return err;
}

/* The stacks of all ranks; NULL: no memory. */
static struct stack_tree *diag_tree(const json_t *result)
{
	struct stack_tree *tree = stack_tree_new();
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(result, "mpi_ranks"), i, row) {
		if (tree && diag_add_stack(tree, row))
			break;
	}
	return tree;
}

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
	long long samples;
	int64_t ms;

	if (c == OPT_SAMPLES) {
		if (!cli_number(cli, optarg, "--samples", 2, 16, &samples))
			return CLI_USAGE;
		json_object_set_new(args, "samples", json_integer(samples));
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

static int cmd_diag_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object(), *outcome;
	struct diag_options options = { NULL, NULL };
	const char *what = NULL;
	diag_print_fn print = NULL;
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "", longs)) != -1)
		status = diag_take_option(cli, args, &options, c);
	if (!status) {
		what = optind < argc ? argv[optind++] : "";
		print = diag_print_of(what, options.format);
		if (!print)
			status = cli_usage(cli, "%s", options.format ?
					   "--format is tree, folded or dot, of stacks" :
					   "say what: run, stacks or colls");
	}
	if (!status)
		status = cli_job_operand(cli, argc, argv, args);
	if (status) {
		json_decref(args);
		return status;
	}
	if (!strcmp(what, "stacks") || options.out)
		json_object_set_new(args, "stacks", json_true());
	outcome = cli_call(cli, "diagnose", args);
	diag_name_places(json_object_get(outcome, "result"));
	if (options.out && json_object_get(outcome, "result"))
		status = diag_write_bundle(cli, options.out, json_object_get(outcome, "result"));
	if (status) {
		json_decref(outcome);
		return status;
	}
	return cli_finish(cli, outcome, print);
}

const struct cli_verb cmd_diag = {
	.name = "diag",
	.run = cmd_diag_run,
	.args = "run|stacks|colls [OPTIONS] JOB",
	.help = "which rank of an MPI job hangs, where and why",
	.options =
	"      --samples N           of each thread; by default 3, more for many ranks\n"
	"      --interval DURATION   between two samples; default 200ms\n"
	"      --patience DURATION   ranks that others wait for less long may be at work;\n"
	"                            default 30s\n"
	"      --out DIR             make DIR and write the evidence there, with all stacks\n"
	"      --format FORMAT       of stacks: tree, folded or dot; default tree\n",
};
