// SPDX-License-Identifier: GPL-2.0-only
/*
 * Incidents for people; see diag_incidents.h. Owns the names i1, i2, ... of incidents, by which
 * diag show tells an incident from a job. ckptd decides which incidents the caller may see; nothing
 * here reads the record. Functions of a bundle get their names here, as those of a diagnosis do.
 */
#include "ckptctl/diag_incidents.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ckptctl/bundle.h"
#include "ckptctl/cli_job.h"
#include "ckptctl/cli_table.h"
#include "ckptctl/diag_place.h"
#include "ckptctl/diag_tree.h"

long long diag_incident_number(const char *text)
{
	long long number;
	char *end;

	if (text[0] != 'i' || text[1] < '1' || text[1] > '9')
		return 0;
	errno = 0;
	number = strtoll(text + 1, &end, 10);
	return errno || *end ? 0 : number;
}

/* ------------------------------------------------------------ diag incidents */

/* "2@n1,3@n1 and 7 more" */
static const char *diag_suspects(const json_t *incident, char *buf, size_t size)
{
	const json_t *suspects = json_object_get(incident, "suspects"), *one;
	const long long nr = cli_int(incident, "nr_suspects");
	char node[80];
	size_t i, len = 0;

	snprintf(buf, size, "-");
	json_array_foreach(suspects, i, one) {
		if (i < 4 && len < size)
			len += (size_t)snprintf(buf + len, size - len, "%s%lld@%s", i ? "," : "",
						(long long)cli_int(one, "rank"),
						cli_printable(cli_str(one, "node"), node,
							      sizeof(node)));
	}
	if (nr > 4 && len < size)
		snprintf(buf + len, size - len, " and %lld more", nr - 4);
	return buf;
}

static void diag_print_incidents(struct cli *cli, json_t *result)
{
	static const struct cli_column columns[] = {
		{ .name = "INCIDENT" }, { .name = "JOB", .right = true }, { .name = "SINCE" },
		{ .name = "STATE" }, { .name = "CAUSE" }, { .name = "SUSPECTS" },
		{ .name = "LOOKS", .right = true }, { .name = NULL }
	};
	struct cli_table *table = cli_table_new(columns);
	const json_t *one;
	char buf[512];
	size_t i;

	json_array_foreach(json_object_get(result, "incidents"), i, one) {
		cli_table_row(table);
		cli_table_cell(table, "i%lld", (long long)cli_int(one, "incident"));
		cli_table_cell(table, "%lld", (long long)cli_int(one, "job"));
		cli_table_cell(table, "%s", cli_time(cli_int(one, "since"), buf));
		cli_table_cell(table, "%s", cli_str(one, "state"));
		cli_table_cell(table, "%s", cli_str(one, "cause"));
		cli_table_cell(table, "%s", diag_suspects(one, buf, sizeof(buf)));
		cli_table_cell(table, "%lld", (long long)cli_int(one, "rounds"));
	}
	cli_table_end(table);
}

/* ------------------------------------------------------------------ diag show */

static void diag_print_time(const json_t *incident, const char *name, const char *text)
{
	char buf[64];

	if (json_object_get(incident, name))
		printf("  %s %s\n", text, cli_time(cli_int(incident, name), buf));
}

static void diag_print_incident(struct cli *cli, json_t *result)
{
	const json_t *incident = json_object_get(result, "incident"), *line;
	const long long generation = cli_int(incident, "generation");
	char said[1024];
	size_t i;

	printf("incident i%lld, job %lld: %s (%s), suspects %s\n",
	       (long long)cli_int(incident, "incident"), (long long)cli_int(incident, "job"),
	       cli_str(incident, "state"), cli_str(incident, "cause"),
	       diag_suspects(incident, said, sizeof(said)));
	diag_print_time(incident, "since", "waits since");
	diag_print_time(incident, "confirmed", "confirmed  ");
	diag_print_time(incident, "updated", "last change");
	diag_print_time(incident, "closed", "closed     ");
	if (generation)
		printf("  newest generation then: %lld\n", generation);
	else
		printf("  there was no generation to restart from\n");
	if (json_object_get(incident, "action"))
		printf("  action: %s; %s\n", cli_str(incident, "action"),
		       cli_printable(cli_str(incident, "result"), said, sizeof(said)));
	json_array_foreach(json_object_get(incident, "text"), i, line)
		printf("  %s\n", cli_printable(json_string_value(line), said, sizeof(said)));
}

/* ---------------------------------------------------------------- diag bundle */

static void diag_print_bundle(struct cli *cli, json_t *result)
{
	printf("%s\n", cli_str(result, "dir"));
}

/* Write the bundle in @outcome into @out, and print where it is; takes over @outcome. */
static int diag_write(struct cli *cli, json_t *outcome, const char *out)
{
	json_t *result = json_object_get(outcome, "result");
	json_t *bundle = json_object_get(result, "bundle");
	json_t *report = json_object_get(bundle, "report");
	struct stack_tree *tree;
	int err;

	if (!report)
		return cli_finish(cli, outcome, NULL);
	diag_name_places(report);
	json_object_set(report, "incident", json_object_get(result, "incident"));
	json_object_set(report, "history", json_object_get(bundle, "history"));
	tree = diag_tree(report);
	err = bundle_write(out, report, tree);
	stack_tree_free(tree);
	if (err) {
		json_decref(outcome);
		cli_wrong(cli, err, "--out %s: %s", out, strerror(-err));
		return CLI_FAILED;
	}
	json_object_del(result, "bundle");
	json_object_set_new(result, "dir", json_string(out));
	return cli_finish(cli, outcome, diag_print_bundle);
}

int diag_incidents_run(struct cli *cli, const char *what, int argc, char **argv, const char *out)
{
	const bool list = !strcmp(what, "incidents"), bundle = !strcmp(what, "bundle");
	json_t *args = json_object(), *outcome;
	long long number = 0;
	char dir[64];
	int status = 0;

	if (out && !bundle)
		status = cli_usage(cli, "--out is for run and bundle");
	if (!status && list && optind < argc)
		status = cli_job_operand(cli, argc, argv, args);
	if (!status && !list) {
		number = optind + 1 == argc ? diag_incident_number(argv[optind]) : 0;
		if (!number)
			status = cli_usage(cli, "an incident is needed, as i12");
		json_object_set_new(args, "incident", json_integer(number));
		json_object_set_new(args, "bundle", json_boolean(bundle));
	}
	if (status) {
		json_decref(args);
		return status;
	}
	outcome = cli_call(cli, "incidents", args);
	snprintf(dir, sizeof(dir), "incident-%lld", number);
	if (bundle)
		return diag_write(cli, outcome, out ?: dir);
	return cli_finish(cli, outcome, list ? diag_print_incidents : diag_print_incident);
}
