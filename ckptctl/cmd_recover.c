// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl recover: from which generation, and from which level for each node's image, a job would
 * be recovered if certain nodes are lost.
 *
 * Only plans. For each image the table has the level that is taken, and why each cheaper one is
 * not; after it come the newer generations that are passed over.
 */
#include "ckptctl/cli_job.h"

#include <stdio.h>
#include <string.h>

#include "base/outcome.h"
#include "ckptctl/cli_table.h"

static const struct option longs[] = {
	{ "dry-run", no_argument, NULL, 'n' },
	{ "lost", required_argument, NULL, 'l' },
	{ NULL }
};

static const struct cli_column columns[] = {
	{ .name = "NODE" }, { .name = "LEVEL" }, { .name = "CHEAPER LEVELS" }, { .name = NULL }
};

/* Put the reasons of the levels before the one that is taken into @text: "L1: ...; ..." */
static const char *cmd_recover_reasons(const json_t *group, char *text, size_t size)
{
	const json_t *levels = json_object_get(group, "levels"), *level;
	size_t i, len = 0;

	text[0] = '\0';
	json_array_foreach(levels, i, level) {
		if (json_is_true(json_object_get(level, "works")))
			break;
		if (len < size)
			len += (size_t)snprintf(text + len, size - len, "%s%s: %s",
						len ? "; " : "", cli_str(level, "level"),
						cli_str(level, "why"));
	}
	return text;
}

static void cmd_recover_print_groups(const json_t *groups)
{
	struct cli_table *table = cli_table_new(columns);
	const json_t *group;
	char reasons[1024];
	size_t i;

	json_array_foreach(groups, i, group) {
		cli_table_row(table);
		cli_table_cell(table, "%s", cli_str(group, "node"));
		cli_table_cell(table, "%s", cli_str(group, "level"));
		cli_table_cell(table, "%s",
			       cmd_recover_reasons(group, reasons, sizeof(reasons)));
	}
	cli_table_end(table);
}

static void cmd_recover_print_passed(FILE *to, const json_t *passed)
{
	const json_t *row, *group;
	char reasons[1024];
	size_t i, k;

	json_array_foreach(passed, i, row) {
		long long number = (long long)cli_int(row, "generation");

		if (json_object_get(row, "why"))
			fprintf(to, "not generation %lld: %s\n", number, cli_str(row, "why"));
		json_array_foreach(json_object_get(row, "groups"), k, group)
			fprintf(to, "not generation %lld: image of node %s: %s\n", number,
				cli_str(group, "node"),
				cmd_recover_reasons(group, reasons, sizeof(reasons)));
	}
}

/* True if a node is said to be lost, or an image comes from elsewhere than its image directory. */
static bool cmd_recover_is_lost(const json_t *result)
{
	const json_t *group, *first;
	size_t i;

	if (json_array_size(json_object_get(result, "lost")))
		return true;
	json_array_foreach(json_object_get(result, "groups"), i, group) {
		first = json_array_get(json_object_get(group, "levels"), 0);
		if (!json_is_true(json_object_get(first, "works")))
			return true;
	}
	return false;
}

static void cmd_recover_print(struct cli *cli, json_t *result)
{
	long long job = (long long)cli_int(result, "job");
	long long generation = (long long)cli_int(result, "generation");

	printf("job %lld would be recovered from generation %lld:\n", job, generation);
	cmd_recover_print_groups(json_object_get(result, "groups"));
	cmd_recover_print_passed(stdout, json_object_get(result, "passed"));
	printf("to do that: ckptctl restart %s%lld:%lld\n",
	       cmd_recover_is_lost(result) ? "--node-lost " : "", job, generation);
}

/* The value of --lost into @args; an exit status or 0. */
static int cmd_recover_lost(struct cli *cli, char *list, json_t *args)
{
	json_t *lost = json_object_get(args, "lost");
	char *name;

	if (!lost) {
		lost = json_array();
		json_object_set_new(args, "lost", lost);
	}
	while ((name = strsep(&list, ","))) {
		if (!*name || json_array_append_new(lost, json_string(name)))
			return cli_usage(cli, "--lost is a list of nodes, n1,n2");
	}
	return 0;
}

static int cmd_recover_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object(), *outcome;
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "n", longs)) != -1) {
		if (c == 'n')
			json_object_set_new(args, "dry_run", json_true());
		else if (c == 'l')
			status = cmd_recover_lost(cli, optarg, args);
		else
			status = cli_usage(cli, "wrong option");
	}
	if (!status)
		status = cli_job_operand(cli, argc, argv, args);
	if (status) {
		json_decref(args);
		return status;
	}
	outcome = cli_call(cli, "recover", args);
	if (!outcome_is_ok(outcome) && !cli->json)
		cmd_recover_print_passed(stderr, json_object_get(json_object_get(outcome, "error"),
								 "passed"));
	return cli_finish(cli, outcome, cmd_recover_print);
}

const struct cli_verb cmd_recover = {
	.name = "recover",
	.run = cmd_recover_run,
	.args = "--dry-run [--lost NODES] JOB",
	.help = "plan from which generation and levels a job would be recovered",
	.options =
	"  -n, --dry-run     only plan; needed, as restart does it\n"
	"      --lost NODES  n1,n2: count these nodes as lost. As often as needed\n",
};
