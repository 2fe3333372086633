// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl interval: advise how often to take a checkpoint of a job, from the cost of its
 * checkpoints and the time between failures, and show the figures behind the advice.
 *
 * All figures come from ckptd; nothing is computed here.  Figures that ckptd only assumed are
 * marked as such.
 */
#include "ckptctl/cli_auto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ckptctl/cli_job.h"
#include "ckptctl/cli_table.h"
#include "base/duration.h"

enum { OPT_SLOWDOWN = 256, OPT_LEVEL, OPT_GRACE };

static const struct option longs[] = {
	CLI_AUTO_LONGS,
	{ "slowdown", required_argument, NULL, OPT_SLOWDOWN },
	{ "level", required_argument, NULL, OPT_LEVEL },
	{ "grace", required_argument, NULL, OPT_GRACE },
	{ NULL }
};

static bool cmd_interval_is(const json_t *object, const char *name)
{
	return json_is_true(json_object_get(object, name));
}

/* ----------------------------------------------------------------- result */

static void print_levels(const json_t *levels)
{
	static const struct cli_column columns[] = {
		{ .name = "LEVEL" }, { .name = "EVERY", .right = true },
		{ .name = "INTERVAL", .right = true }, { .name = "COST", .right = true },
		{ .name = "FAILURES", .right = true }, { .name = NULL }
	};
	struct cli_table *table = cli_table_new(columns);
	const json_t *row;
	char text[32];
	size_t i;

	json_array_foreach(levels, i, row) {
		bool used = cli_int(row, "every");

		cli_table_row(table);
		cli_table_cell(table, "%s", cli_str(row, "name"));
		if (used)
			cli_table_cell(table, "%lld", (long long)cli_int(row, "every"));
		else
			cli_table_cell(table, "never");
		cli_table_cell(table, "%s", used ?
			       duration_text(cli_int(row, "interval_ms"), text) : "-");
		cli_table_cell(table, "%s", cli_ns((uint64_t)cli_int(row, "cost_ns"), text));
		cli_table_cell(table, "%s", duration_text(cli_int(row, "mtbf_ms"), text));
	}
	cli_table_end(table);
}

static void print_basis(const json_t *result)
{
	const json_t *on = json_object_get(result, "based_on");
	char cost[32], blocked[32], background[32], restart[32];

	printf("  a checkpoint costs %s, by the medians of %lld: the job is stopped for %s, and "
	       "written behind its back for %s, of which %lld %% are taken to be lost\n",
	       cli_ns((uint64_t)cli_int(on, "cost_ns"), cost),
	       (long long)cli_int(on, "checkpoints"),
	       cli_ns((uint64_t)cli_int(on, "blocked_ns"), blocked),
	       cli_ns((uint64_t)cli_int(on, "background_ns"), background),
	       (long long)cli_int(on, "slowdown_percent"));
	cli_ns((uint64_t)cli_int(on, "restart_ns"), restart);
	if (cmd_interval_is(on, "restart_assumed"))
		printf("  a restart is taken to need %s, as long as a checkpoint\n", restart);
	else
		printf("  a restart needs %s, by the median of %lld\n", restart,
		       (long long)cli_int(on, "restarts"));
}

static void print_grace(const json_t *grace)
{
	char needs[32], given[32];

	if (!grace)
		return;
	printf("  to notice that it has to leave, and to be saved, takes %s: that %s into a grace "
	       "time of %s\n", duration_text(cli_int(grace, "needs_ms"), needs),
	       cmd_interval_is(grace, "fits") ? "fits" : "does not fit",
	       duration_text(cli_int(grace, "grace_ms"), given));
}

static void cmd_interval_print(struct cli *cli, json_t *result)
{
	const json_t *levels = json_object_get(result, "levels");
	char every[32], mtbf[32], young[32], daly[32];

	printf("job %lld: a checkpoint every %s; %.2f %% of the time is then work that lasts\n",
	       (long long)cli_int(result, "job"),
	       duration_text(cli_int(result, "interval_ms"), every),
	       100 * json_real_value(json_object_get(result, "efficiency")));
	printf("  one failure in %s, from %s, %lld node%s\n",
	       duration_text(cli_int(result, "mtbf_ms"), mtbf), cli_str(result, "mtbf_from"),
	       (long long)cli_int(result, "nodes"), cli_int(result, "nodes") == 1 ? "" : "s");
	print_basis(result);
	print_grace(json_object_get(result, "grace"));
	duration_text(cli_int(result, "daly_ms"), daly);
	duration_text(cli_int(result, "young_ms"), young);
	if (levels)
		puts("  by the multilevel formula, of first order");
	else if (cmd_interval_is(result, "limited"))
		printf("  Daly's formula says %s; it is longer, as one is not written faster\n",
		       daly);
	else
		printf("  by Daly's formula, which %s here; Young's says %s\n",
		       cmd_interval_is(result, "valid") ? "holds" : "does not hold", young);
	if (levels)
		print_levels(levels);
}

/* ---------------------------------------------------------------- request */

/* Read a level: NAME=MTBF or NAME=MTBF,COST. */
static int take_level(struct cli *cli, json_t *args)
{
	json_t *levels = json_object_get(args, "levels"), *level;
	char *mtbf = strchr(optarg, '='), *cost;
	int64_t mtbf_ms, cost_ms = 0;

	if (mtbf)
		*mtbf++ = '\0';
	cost = mtbf ? strchr(mtbf, ',') : NULL;
	if (cost)
		*cost++ = '\0';
	if (!mtbf || !*optarg || duration_parse(mtbf, &mtbf_ms) ||
	    (cost && duration_parse(cost, &cost_ms)))
		return cli_usage(cli, "--level is NAME=MTBF or NAME=MTBF,COST, as partner=5d,20s");
	level = json_pack("{s:s, s:I}", "name", optarg, "mtbf_ms", (json_int_t)mtbf_ms);
	if (!level)
		return cli_usage(cli, "--level: a name is UTF-8");
	if (cost)
		json_object_set_new(level, "cost_ns", json_integer(cost_ms * 1000000));
	if (!levels) {
		levels = json_array();
		json_object_set_new(args, "levels", levels);
	}
	json_array_append_new(levels, level);
	return 0;
}

static int cmd_interval_take_option(struct cli *cli, json_t *args, int c)
{
	long long percent;
	int64_t grace;
	int status = cli_auto_option(cli, args, c);

	if (status >= 0)
		return status;
	switch (c) {
	case OPT_SLOWDOWN:
		if (!cli_number(cli, optarg, "--slowdown", 0, 100, &percent))
			return CLI_USAGE;
		json_object_set_new(args, "slowdown", json_integer(percent));
		return 0;
	case OPT_LEVEL:
		return take_level(cli, args);
	case OPT_GRACE:
		if (duration_parse(optarg, &grace) || grace <= 0)
			return cli_usage(cli, "--grace is a duration above 0, as 30s, 5m");
		json_object_set_new(args, "grace_ms", json_integer(grace));
		return 0;
	default:
		return cli_usage(cli, "wrong option");
	}
}

static int cmd_interval_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "", longs)) != -1)
		status = cmd_interval_take_option(cli, args, c);
	if (!status)
		status = cli_job_operand(cli, argc, argv, args);
	if (status) {
		json_decref(args);
		return status;
	}
	return cli_finish(cli, cli_call(cli, "interval", args), cmd_interval_print);
}

const struct cli_verb cmd_interval = {
	.name = "interval",
	.run = cmd_interval_run,
	.args = "[OPTIONS] JOB",
	.help = "how often to take a checkpoint of a job",
	.options =
	CLI_AUTO_HELP
	"      --slowdown PERCENT    by which the job is slower while a checkpoint is written\n"
	"                            behind its back; default 10\n"
	"      --level NAME=MTBF[,COST]  from the lowest: how often something fails that needs\n"
	"                            this level, and what it costs beside those below;\n"
	"                            by default what was measured\n"
	"      --grace DURATION      that a batch system gives the job to leave: is that enough?\n",
};
