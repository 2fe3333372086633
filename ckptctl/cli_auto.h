/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Options about automatic checkpoints and about the rate of failures.
 */
#ifndef STILLPOINT_CLI_AUTO_H
#define STILLPOINT_CLI_AUTO_H

#include "ckptctl/cli.h"

enum cli_auto_option { CLI_AUTO = 900, CLI_AUTO_EVERY, CLI_AUTO_MTBF, CLI_AUTO_NODE_MTBF,
	CLI_AUTO_RETAIN };

#define CLI_AUTO_LONGS \
	{ "mtbf", required_argument, NULL, CLI_AUTO_MTBF }, \
	{ "node-mtbf", required_argument, NULL, CLI_AUTO_NODE_MTBF }

#define CLI_AUTO_HELP \
	"      --mtbf DURATION       between failures of the job, as 6h, 2d\n" \
	"      --node-mtbf DURATION  between failures of one node; default: ckptd's\n"

/*
 * cli_auto_option() - take the option @c, one of the above, with its value in optarg
 * @settings: gets every_ms, mtbf_ms, node_mtbf_ms
 *
 * An exit status, or 0; -1: it is another option.
 */
int cli_auto_option(struct cli *cli, json_t *settings, int c);

/*
 * As cli_auto_option(), for starting a job: --auto and its options, as "auto" into @args, and
 * --keep as "keep", which also holds for checkpoints that somebody asks for.
 */
int cli_auto_run_option(struct cli *cli, json_t *args, int c);

#define CLI_AUTO_RUN_LONGS \
	{ "auto", no_argument, NULL, CLI_AUTO }, \
	{ "every", required_argument, NULL, CLI_AUTO_EVERY }, \
	{ "keep", required_argument, NULL, CLI_AUTO_RETAIN }, \
	CLI_AUTO_LONGS

#define CLI_AUTO_RUN_HELP \
	"      --auto          ckptd takes checkpoints by itself, as often as their cost and\n" \
	"                      failures make it worth while (ckptctl interval)\n" \
	"      --every DURATION      so often instead, as 30s, 15m\n" \
	CLI_AUTO_HELP \
	"      --keep N        no more than the newest N checkpoints; the site may keep fewer\n"

/* Print ckptd's settings, such as "next in 12 min, every 2 h 3 min". */
void cli_auto_print(json_t *settings);

#endif /* STILLPOINT_CLI_AUTO_H */
