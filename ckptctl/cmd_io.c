// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl io: what a job reads and writes (report), which phases were slow and why (anomalies),
 * which jobs do most (top), and whether a job is watched (watch).
 *
 * Prints what the daemon answers, and adds nothing but the units: judgements on a job's I/O are
 * the daemon's (supervisor/iotrace/portrait.c). Names of files are the job's, and printed without
 * control characters.
 */
#include "ckptctl/cli_job.h"

#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "ckptctl/cli_anomalies.h"
#include "ckptctl/cli_table.h"

#define PHASES		10	/* the last ones are printed */
#define OPT_SINCE	1
#define SINCE_MAX_MS	(365LL * 86400 * 1000)

static const struct option longs[] = {
	{ "since", required_argument, NULL, OPT_SINCE },
	{ NULL }
};

static const struct cli_column op_columns[] = {
	{ .name = "OPERATION" }, { .name = "COUNT", .right = true },
	{ .name = "ERRORS", .right = true }, { .name = "BYTES", .right = true },
	{ .name = "TIME", .right = true }, { .name = NULL }
};

static const struct cli_column hist_columns[] = {
	{ .name = "BELOW", .right = true }, { .name = "READS", .right = true },
	{ .name = "WRITES", .right = true }, { .name = NULL }
};

static const struct cli_column file_columns[] = {
	{ .name = "READ", .right = true }, { .name = "WRITTEN", .right = true },
	{ .name = "READS", .right = true }, { .name = "WRITES", .right = true },
	{ .name = "OPENS", .right = true }, { .name = "SHARED" },
	{ .name = "FILE", .cut = true }, { .name = NULL }
};

static const struct cli_column node_columns[] = {
	{ .name = "NODE" }, { .name = "SECONDS", .right = true }, { .name = "COUNTED BY" },
	{ .name = "READ", .right = true }, { .name = "WRITTEN", .right = true },
	{ .name = "READERS", .right = true }, { .name = "WRITERS", .right = true },
	{ .name = NULL }
};

/* of a job on several nodes */
static const struct cli_column shared_columns[] = {
	{ .name = "READ", .right = true }, { .name = "WRITTEN", .right = true },
	{ .name = "READS", .right = true }, { .name = "WRITES", .right = true },
	{ .name = "OPENS", .right = true }, { .name = "SHARED" },
	{ .name = "NODES", .right = true }, { .name = "FILE", .cut = true }, { .name = NULL }
};

static const struct cli_column top_columns[] = {
	{ .name = "JOB", .right = true }, { .name = "NAME", .cut = true },
	{ .name = "USER", .right = true }, { .name = "READ/s", .right = true },
	{ .name = "WRITTEN/s", .right = true }, { .name = "READS/s", .right = true },
	{ .name = "WRITES/s", .right = true }, { .name = "META/s", .right = true },
	{ .name = NULL }
};

/* ---------------------------------------------------------------- report */

static void io_print_ops(const json_t *ops)
{
	struct cli_table *table = cli_table_new(op_columns);
	char bytes[32], ns[32];
	const char *name;
	json_t *op;

	json_object_foreach((json_t *)ops, name, op) {
		if (!cli_int(op, "count"))
			continue;
		cli_table_row(table);
		cli_table_cell(table, "%s", name);
		cli_table_cell(table, "%lld", (long long)cli_int(op, "count"));
		cli_table_cell(table, "%lld", (long long)cli_int(op, "errors"));
		cli_table_cell(table, "%s", cli_int(op, "bytes") ?
			       cli_bytes((uint64_t)cli_int(op, "bytes"), bytes) : "-");
		cli_table_cell(table, "%s", cli_ns((uint64_t)cli_int(op, "ns"), ns));
	}
	cli_table_end(table);
}

static int64_t io_bucket(const json_t *rows, int64_t below)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		if (cli_int(row, "below") == below)
			return cli_int(row, "count");
	}
	return 0;
}

static void io_print_sizes(const json_t *hists)
{
	const json_t *reads = json_object_get(hists, "read_size");
	const json_t *writes = json_object_get(hists, "write_size");
	struct cli_table *table;
	int k;

	if (!json_array_size(reads) && !json_array_size(writes))
		return;
	puts("\nsizes:");
	table = cli_table_new(hist_columns);
	for (k = 0; k < 62; k++) {
		const int64_t below = 1ll << k;
		const int64_t r = io_bucket(reads, below), w = io_bucket(writes, below);
		char text[32];

		if (!r && !w)
			continue;
		cli_table_row(table);
		cli_table_cell(table, "%s", cli_bytes((uint64_t)below, text));
		cli_table_cell(table, "%lld", (long long)r);
		cli_table_cell(table, "%lld", (long long)w);
	}
	cli_table_end(table);
}

static void io_print_file(struct cli_table *table, const json_t *f, bool several)
{
	const bool r = json_is_true(json_object_get(f, "shared_read"));
	const bool w = json_is_true(json_object_get(f, "shared_write"));
	const char *path = cli_str(f, "path"), *last = cli_str(f, "last_name");
	char read[32], written[32], text[1200];

	cli_table_row(table);
	cli_table_cell(table, "%s", cli_bytes((uint64_t)cli_int(f, "read_bytes"), read));
	cli_table_cell(table, "%s", cli_bytes((uint64_t)cli_int(f, "write_bytes"), written));
	cli_table_cell(table, "%lld", (long long)cli_int(f, "reads"));
	cli_table_cell(table, "%lld", (long long)cli_int(f, "writes"));
	cli_table_cell(table, "%lld", (long long)cli_int(f, "opens"));
	cli_table_cell(table, "%s", r && w ? "both" : w ? "written" : r ? "read" : "");
	if (several)
		cli_table_cell(table, "%lld", (long long)cli_int(f, "nodes"));
	if (*path)
		cli_table_cell(table, "%s", cli_printable(path, text, sizeof(text)));
	else if (*last)
		cli_table_cell(table, ".../%s", cli_printable(last, text, sizeof(text)));
	else
		cli_table_cell(table, "inode %lld of device %s", (long long)cli_int(f, "inode"),
			       cli_str(f, "device"));
}

static void io_print_files(const json_t *files, bool several)
{
	const json_t *list = json_object_get(files, "list"), *f;
	const json_t *rest = json_object_get(files, "rest");
	const long long number = cli_int(files, "number");
	char read[32], written[32];
	struct cli_table *table;
	size_t i;

	if (!number)
		return;
	if ((size_t)number > json_array_size(list))
		printf("\n%lld files, those with most bytes:\n", number);
	else
		puts("\nfiles:");
	table = cli_table_new(several ? shared_columns : file_columns);
	json_array_foreach(list, i, f)
		io_print_file(table, f, several);
	cli_table_end(table);
	if (cli_int(rest, "files"))
		printf("the other %lld files: %s read, %s written\n",
		       (long long)cli_int(rest, "files"),
		       cli_bytes((uint64_t)cli_int(rest, "read_bytes"), read),
		       cli_bytes((uint64_t)cli_int(rest, "write_bytes"), written));
}

static void io_print_side(const char *name, const json_t *side, const json_t *rate)
{
	const int64_t processes = cli_int(side, "processes");
	const char *pattern = cli_str(side, "pattern");
	char mean[32], active[32], peak[32];

	if (!cli_int(side, "files"))
		return;
	printf("%s: pattern %s (%s%lld processes, %lld files, %lld shared), %s/s, %s/s while "
	       "active, %s/s at best\n", name, pattern, processes >= 64 ? "at least " :
	       processes > 32 ? "about " : "", (long long)processes,
	       (long long)cli_int(side, "files"), (long long)cli_int(side, "shared_files"),
	       cli_bytes((uint64_t)cli_int(rate, "mean"), mean),
	       cli_bytes((uint64_t)cli_int(rate, "active"), active),
	       cli_bytes((uint64_t)cli_int(rate, "peak"), peak));
}

/* How often the job was watched on the node where that was most often. */
static size_t io_watches(const json_t *spans)
{
	const json_t *span, *other;
	size_t i, k, n, most = 0;

	json_array_foreach(spans, i, span) {
		n = 0;
		json_array_foreach(spans, k, other)
			n += !strcmp(cli_str(span, "node"), cli_str(other, "node"));
		most = n > most ? n : most;
	}
	return most;
}

/* Say how the figures came, and what is missing in them. */
static void io_print_spans(const json_t *spans)
{
	int64_t names = 0, files = 0, missed = 0, full = 0;
	const char *proc = NULL, *why = "";
	const json_t *span;
	char text[256];
	size_t i;

	json_array_foreach(spans, i, span) {
		names += cli_int(span, "names_lost");
		files += cli_int(span, "files_lost");
		missed += cli_int(span, "missed");
		full += cli_int(span, "files_full");
		if (!strcmp(cli_str(span, "source"), "proc"))
			proc = cli_str(span, "why");
		else if (*cli_str(span, "why"))
			why = cli_str(span, "why");
	}
	if (proc)
		printf("counted by /proc/PID/io, without sizes, times and files, and with pipes "
		       "and sockets: %s\n", cli_printable(proc, text, sizeof(text)));
	if (*why)
		printf("%s\n", cli_printable(why, text, sizeof(text)));
	if (io_watches(spans) > 1)
		printf("watched %zu times; in between nothing was counted\n", io_watches(spans));
	if (missed)
		printf("not counted: %lld operations of the nodes' jobs\n", (long long)missed);
	if (files)
		printf("counted, but not by file: %lld operations; the job uses too many files\n",
		       (long long)files);
	if (full)
		puts("more than 100,000 files on a node: later ones are in the sums alone");
	if (names)
		printf("%lld times a file's name was not told; its inode stands in its place\n",
		       (long long)names);
}

/* Say which nodes of the job are not in the report. */
static void io_print_missing(const json_t *result)
{
	const json_t *failed = json_object_get(result, "failed_nodes"), *name;
	char clean[320];
	const char *node;
	json_t *text;
	size_t i;

	json_array_foreach(json_object_get(result, "silent_nodes"), i, name)
		printf("without node %s, which did not answer in time\n",
		       json_string_value(name));
	json_array_foreach(json_object_get(result, "unwatched_nodes"), i, name)
		printf("without node %s, where the job was never watched\n",
		       json_string_value(name));
	json_object_foreach((json_t *)failed, node, text)
		printf("without node %s: %s\n", node,
		       cli_printable(json_string_value(text), clean, sizeof(clean)));
}

static void io_print_nodes(const json_t *nodes)
{
	struct cli_table *table = cli_table_new(node_columns);
	const json_t *n;
	size_t i;

	putchar('\n');
	json_array_foreach(nodes, i, n) {
		const bool bpf = !strcmp(cli_str(n, "source"), "bpf");
		char read[32], written[32];

		cli_table_row(table);
		cli_table_cell(table, "%s", cli_str(n, "node"));
		cli_table_cell(table, "%lld", (long long)cli_int(n, "seconds"));
		cli_table_cell(table, "%s", bpf ? "BPF" : "/proc/PID/io");
		cli_table_cell(table, "%s", cli_bytes((uint64_t)cli_int(n, "read_bytes"), read));
		cli_table_cell(table, "%s", cli_bytes((uint64_t)cli_int(n, "write_bytes"),
						      written));
		cli_table_cell(table, "%lld", (long long)cli_int(n, "readers"));
		cli_table_cell(table, "%lld", (long long)cli_int(n, "writers"));
	}
	cli_table_end(table);
}

static const struct cli_column phase_columns[] = {
	{ .name = "PHASE" }, { .name = "SECONDS", .right = true }, { .name = "KIND" },
	{ .name = "READ", .right = true }, { .name = "WRITTEN", .right = true }, { .name = NULL }
};

static void io_print_phases(const json_t *phases)
{
	const size_t nr = json_array_size(phases), first = nr > PHASES ? nr - PHASES : 0;
	struct cli_table *table;
	size_t i;

	if (!nr)
		return;
	puts(first ? "\nthe last phases:" : "\nphases:");
	table = cli_table_new(phase_columns);
	for (i = first; i < nr; i++) {
		const json_t *p = json_array_get(phases, i);
		char when[32], read[32], written[32];

		cli_table_row(table);
		cli_table_cell(table, "%s", cli_time(cli_int(p, "began"), when));
		cli_table_cell(table, "%lld", (long long)cli_int(p, "seconds"));
		cli_table_cell(table, "%s", cli_str(p, "kind"));
		cli_table_cell(table, "%s", cli_bytes((uint64_t)cli_int(p, "read_bytes"), read));
		cli_table_cell(table, "%s", cli_bytes((uint64_t)cli_int(p, "write_bytes"),
						      written));
	}
	cli_table_end(table);
}

static void io_print_checkpoints(const json_t *checkpoints)
{
	char bytes[32], ns[32], usual[32];
	const json_t *slow;
	size_t i;

	json_array_foreach(json_object_get(checkpoints, "slow"), i, slow)
		printf("checkpoint %lld was slow: %s/s, usually %s/s\n",
		       (long long)cli_int(slow, "generation"),
		       cli_bytes((uint64_t)cli_int(slow, "rate"), bytes),
		       cli_bytes((uint64_t)cli_int(slow, "usual"), usual));
	if (cli_int(checkpoints, "number") && !cli_int(checkpoints, "judged"))
		puts("too few checkpoints to say whether one was slow");
	if (cli_int(checkpoints, "number"))
		printf("checkpoints, not in the above: %lld, %s in %s\n",
		       (long long)cli_int(checkpoints, "number"),
		       cli_bytes((uint64_t)cli_int(checkpoints, "bytes"), bytes),
		       cli_ns((uint64_t)cli_int(checkpoints, "ns"), ns));
}

static void io_print_report(struct cli *cli, json_t *result)
{
	const json_t *files = json_object_get(result, "files");
	const json_t *spans = json_object_get(result, "spans");
	const json_t *last = json_array_get(spans, json_array_size(spans) - 1);
	const json_t *nodes = json_object_get(result, "nodes");
	const bool several = json_object_get(result, "silent_nodes");
	char when[32], where[300];

	if (json_array_size(nodes) > 1)
		snprintf(where, sizeof(where), "%zu nodes", json_array_size(nodes));
	else
		snprintf(where, sizeof(where), "%s", cli_str(json_array_get(nodes, 0), "node"));
	printf("job %lld on %s, watched for %lld s, the last time from %s on\n",
	       (long long)cli_int(result, "job"), where,
	       (long long)cli_int(result, "seconds"), cli_time(cli_int(last, "began"), when));
	io_print_missing(result);
	io_print_spans(spans);
	io_print_side("reading", json_object_get(files, "read"),
		      json_object_get(result, "read_rate"));
	io_print_side("writing", json_object_get(files, "write"),
		      json_object_get(result, "write_rate"));
	if (json_is_true(json_object_get(result, "many_small_files")))
		puts("many small files");
	if (*cli_str(result, "bottleneck"))
		printf("probably limited by %s\n", cli_str(result, "bottleneck"));
	io_print_checkpoints(json_object_get(result, "checkpoints"));
	cli_anomalies_of_job(result, false);
	if (several)
		io_print_nodes(nodes);
	putchar('\n');
	io_print_ops(json_object_get(result, "operations"));
	io_print_sizes(json_object_get(result, "histograms"));
	io_print_phases(json_object_get(result, "phases"));
	io_print_files(files, several);
}

/* ------------------------------------------------------------ top, watch */

static void io_print_top(struct cli *cli, json_t *result)
{
	const double seconds = (double)cli_int(result, "seconds");
	struct cli_table *table = cli_table_new(top_columns);
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(result, "jobs"), i, row) {
		const double r = (double)cli_int(row, "read_bytes") / seconds;
		const double w = (double)cli_int(row, "write_bytes") / seconds;
		char read[32], written[32], name[64];

		cli_table_row(table);
		cli_table_cell(table, "%lld", (long long)cli_int(row, "job"));
		cli_table_cell(table, "%s", cli_printable(cli_str(row, "name"), name,
							  sizeof(name)));
		cli_table_cell(table, "%lld", (long long)cli_int(row, "uid"));
		cli_table_cell(table, "%s", cli_bytes((uint64_t)r, read));
		cli_table_cell(table, "%s", cli_bytes((uint64_t)w, written));
		cli_table_cell(table, "%.1f", (double)cli_int(row, "reads") / seconds);
		cli_table_cell(table, "%.1f", (double)cli_int(row, "writes") / seconds);
		cli_table_cell(table, "%.1f", (double)cli_int(row, "meta") / seconds);
	}
	cli_table_end(table);
}

static void io_print_watch(struct cli *cli, json_t *result)
{
	const char *why = cli_str(result, "why");

	if (!json_is_true(json_object_get(result, "watched")))
		printf("the I/O of job %lld is not watched\n", (long long)cli_int(result, "job"));
	else
		printf("the I/O of job %lld is watched by %s%s%s\n",
		       (long long)cli_int(result, "job"),
		       !strcmp(cli_str(result, "source"), "bpf") ? "BPF" : "/proc/PID/io",
		       *why ? ": " : "", why);
}

static int io_run_report(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	int status = cli_job_operand(cli, argc, argv, args);

	if (status) {
		json_decref(args);
		return status;
	}
	return cli_finish(cli, cli_call(cli, "io_report", args), io_print_report);
}

static int io_run_watch(struct cli *cli, int argc, char **argv)
{
	const char *word = optind + 2 == argc ? argv[optind + 1] : "";
	json_t *args;
	int status;

	if (strcmp(word, "on") && strcmp(word, "off"))
		return cli_usage(cli, "a job, and on or off, are needed");
	args = json_pack("{s:b}", "on", !strcmp(word, "on"));
	status = cli_job_operand(cli, argc - 1, argv, args);
	if (status) {
		json_decref(args);
		return status;
	}
	return cli_finish(cli, cli_call(cli, "io_watch", args), io_print_watch);
}

static void io_print_anomalies(struct cli *cli, json_t *result)
{
	if (json_object_get(result, "jobs")) {
		cli_anomalies_of_jobs(result);
		return;
	}
	io_print_missing(result);
	cli_anomalies_of_job(result, true);
}

/* @since_ms: 0: not said */
static int io_run_anomalies(struct cli *cli, int argc, char **argv, int64_t since_ms)
{
	json_t *args = json_object();
	int status = 0;

	if (optind < argc && since_ms)
		status = cli_usage(cli, "--since is for all jobs, without the number of one");
	else if (optind < argc)
		status = cli_job_operand(cli, argc, argv, args);
	else if (since_ms)
		json_object_set_new(args, "since_s", json_integer((since_ms + 999) / 1000));
	if (status) {
		json_decref(args);
		return status;
	}
	return cli_finish(cli, cli_call(cli, "io_anomalies", args), io_print_anomalies);
}

static int cmd_io_run(struct cli *cli, int argc, char **argv)
{
	int64_t since_ms = 0;
	const char *what;
	int c;

	while ((c = cli_getopt(cli, argc, argv, "", longs)) != -1) {
		if (c != OPT_SINCE)
			return cli_usage(cli, "wrong option");
		if (duration_parse(optarg, &since_ms) || since_ms > SINCE_MAX_MS)
			return cli_usage(cli, "%s is no duration of up to a year, as 12h or 7d",
					 optarg);
	}
	what = optind < argc ? argv[optind++] : "";
	if (!strcmp(what, "anomalies"))
		return io_run_anomalies(cli, argc, argv, since_ms);
	if (since_ms)
		return cli_usage(cli, "--since is of io anomalies");
	if (!strcmp(what, "report"))
		return io_run_report(cli, argc, argv);
	if (!strcmp(what, "watch"))
		return io_run_watch(cli, argc, argv);
	if (strcmp(what, "top"))
		return cli_usage(cli, "say what: report, anomalies, top or watch");
	if (optind < argc)
		return cli_usage(cli, "%s is too much", argv[optind]);
	return cli_finish(cli, cli_call(cli, "io_top", json_object()), io_print_top);
}

const struct cli_verb cmd_io = {
	.name = "io",
	.run = cmd_io_run,
	.args = "report JOB, or anomalies [JOB], or top, or watch JOB on|off",
	.help = "what jobs read and write, and which phases were slow",
	.options =
	"      --since DURATION   anomalies of all jobs: in the last so long, default 1d\n",
};
