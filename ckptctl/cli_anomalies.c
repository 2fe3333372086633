// SPDX-License-Identifier: GPL-2.0-only
/*
 * Printing phases of I/O that were slower than usual; see cli_anomalies.h.
 *
 * Owns the columns of that table. Adds nothing to what the daemon answers but the units: verdicts
 * and causes are the daemon's (supervisor/iotrace/anomaly.c), and so are their words.
 */
#include "ckptctl/cli_anomalies.h"

#include <stdio.h>

#include "ckptctl/cli_table.h"

static const struct cli_column columns[] = {
	{ .name = "JOB", .right = true }, { .name = "NODE" }, { .name = "PHASE" },
	{ .name = "SECONDS", .right = true }, { .name = "KIND" },
	{ .name = "RATE/s", .right = true }, { .name = "USUAL", .right = true },
	{ .name = "LIKE IT", .right = true }, { .name = "PROBABLY", .cut = true }, { .name = NULL }
};

/* Rows of the phases of @job that were slower than usual. */
static void cli_anomalies_rows(struct cli_table *table, int64_t job, const char *node,
			      const json_t *anomalies)
{
	const json_t *p;
	size_t i;

	json_array_foreach(json_object_get(anomalies, "list"), i, p) {
		char when[32], rate[32], usual[32];

		cli_table_row(table);
		cli_table_cell(table, "%lld", (long long)job);
		cli_table_cell(table, "%s", json_object_get(p, "node") ? cli_str(p, "node") : node);
		cli_table_cell(table, "%s", cli_time(cli_int(p, "began"), when));
		cli_table_cell(table, "%lld", (long long)cli_int(p, "seconds"));
		cli_table_cell(table, "%s", cli_str(p, "kind"));
		cli_table_cell(table, "%s", cli_bytes((uint64_t)cli_int(p, "rate"), rate));
		cli_table_cell(table, "%s", cli_bytes((uint64_t)cli_int(p, "usual"), usual));
		cli_table_cell(table, "%lld%s", (long long)cli_int(p, "compared"),
			       json_is_true(json_object_get(p, "few")) ? " (few)" : "");
		cli_table_cell(table, "%s", cli_str(p, "text"));
	}
}

/* How many phases were judged, how well, and how many were not. */
static void cli_anomalies_sum(long long abnormal, long long judged, long long few,
			      long long unknown, long long left_out)
{
	if (!judged && !unknown)
		puts("no phase was recorded: one is two minutes after its end, and at the job's "
		     "end");
	else
		printf("%lld of %lld phases were slower than usual", abnormal, judged);
	if (few)
		printf("; insufficient history: %lld were compared with fewer than 8 others", few);
	if (unknown)
		printf("; too little history to judge %lld more", unknown);
	if (left_out)
		printf("; %lld older ones were not looked at", left_out);
	if (judged || unknown)
		putchar('\n');
}

/* Nodes that could not read their phases, or do not judge them yet. */
static void cli_anomalies_unjudged(const json_t *nodes)
{
	const json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node)
		printf("node %s told no verdicts\n", json_string_value(node));
}

void cli_anomalies_of_job(const json_t *result, bool whole)
{
	const json_t *anomalies = json_object_get(result, "anomalies");
	const size_t nr = json_array_size(json_object_get(anomalies, "list"));

	if (whole || nr)
		cli_anomalies_sum((long long)nr, cli_int(anomalies, "judged"),
				  cli_int(anomalies, "few"), cli_int(anomalies, "unknown"),
				  cli_int(anomalies, "left_out"));
	cli_anomalies_unjudged(json_object_get(anomalies, "unjudged_nodes"));
	if (nr) {
		struct cli_table *table = cli_table_new(columns);

		cli_anomalies_rows(table, cli_int(result, "job"), "", anomalies);
		cli_table_end(table);
	}
}

void cli_anomalies_of_jobs(const json_t *result)
{
	const json_t *jobs = json_object_get(result, "jobs"), *job;
	long long judged = 0, few = 0, unknown = 0, abnormal = 0, left_out = 0;
	struct cli_table *table;
	size_t i;

	json_array_foreach(jobs, i, job) {
		const json_t *anomalies = json_object_get(job, "anomalies");

		judged += cli_int(anomalies, "judged");
		few += cli_int(anomalies, "few");
		unknown += cli_int(anomalies, "unknown");
		left_out += cli_int(anomalies, "left_out");
		abnormal += (long long)json_array_size(json_object_get(anomalies, "list"));
	}
	printf("%zu jobs on node %s%s: ", json_array_size(jobs), cli_str(result, "node"),
	       json_is_true(json_object_get(result, "more")) ? " (the newest, not all)" : "");
	cli_anomalies_sum(abnormal, judged, few, unknown, left_out);
	if (!abnormal)
		return;
	table = cli_table_new(columns);
	json_array_foreach(jobs, i, job)
		cli_anomalies_rows(table, cli_int(job, "job"), cli_str(result, "node"),
				  json_object_get(job, "anomalies"));
	cli_table_end(table);
}
