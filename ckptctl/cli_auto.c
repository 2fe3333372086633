// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options about checkpoints that ckptd takes by itself; see cli_auto.h.
 *
 * ckptd gives the options their meaning. This file only turns durations into numbers; a
 * duration that cannot be read is wrong usage, and no request is sent. The file keeps no state.
 */
#include "ckptctl/cli_auto.h"

#include <stdint.h>
#include <stdio.h>

#include "base/duration.h"

static int cli_auto_take(struct cli *cli, json_t *settings, const char *option, const char *name)
{
	int64_t ms;

	if (duration_parse(optarg, &ms))
		return cli_usage(cli, "%s is a duration, as 30s, 15m, 6h, 1h30m, 2d, not %s",
				 option, optarg);
	json_object_set_new(settings, name, json_integer(ms));
	return 0;
}

int cli_auto_option(struct cli *cli, json_t *settings, int c)
{
	switch (c) {
	case CLI_AUTO_EVERY:
		return cli_auto_take(cli, settings, "--every", "every_ms");
	case CLI_AUTO_MTBF:
		return cli_auto_take(cli, settings, "--mtbf", "mtbf_ms");
	case CLI_AUTO_NODE_MTBF:
		return cli_auto_take(cli, settings, "--node-mtbf", "node_mtbf_ms");
	default:
		return -1;
	}
}

int cli_auto_run_option(struct cli *cli, json_t *args, int c)
{
	json_t *settings = json_object_get(args, "auto");
	long long keep;

	if (c == CLI_AUTO_RETAIN) {
		if (!cli_number(cli, optarg, "--keep", 1, UINT32_MAX, &keep))
			return CLI_USAGE;
		json_object_set_new(args, "keep", json_integer(keep));
		return 0;
	}
	if (c < CLI_AUTO || c > CLI_AUTO_NODE_MTBF)
		return -1;
	if (!settings) {
		settings = json_object();
		json_object_set_new(args, "auto", settings);
	}
	return c == CLI_AUTO ? 0 : cli_auto_option(cli, settings, c);
}

void cli_auto_print(json_t *settings)
{
	char every[32], next[32];

	if (json_object_get(settings, "interval_ms"))
		printf("every %s%s", duration_text(cli_int(settings, "interval_ms"), every),
		       json_is_true(json_object_get(settings, "guessed")) ?
		       ", a guess until one is taken" :
		       json_object_get(settings, "every_ms") ? "" : ", by what they cost");
	else if (json_object_get(settings, "every_ms"))
		printf("every %s", duration_text(cli_int(settings, "every_ms"), every));
	else
		printf("by what they cost");
	if (json_object_get(settings, "next_ms"))
		printf("; next in %s", duration_text(cli_int(settings, "next_ms"), next));
	putchar('\n');
	if (cli_int(settings, "failures"))
		printf("the last %lld failed: %s\n", (long long)cli_int(settings, "failures"),
		       cli_str(settings, "error"));
}
