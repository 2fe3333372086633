/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A started job that is restarted when it dies, while the command that started it stays with it.
 *
 * The command asks for the restart as its user would: the job is back in the control group, the
 * namespaces and the limits of the command, with the rights of its user and no others. So nothing
 * recovers a job whose command has detached or has ended itself.
 */
#ifndef STILLPOINT_CLI_RECOVER_H
#define STILLPOINT_CLI_RECOVER_H

#include "ckptctl/cli.h"
#include "ckptctl/recover_policy.h"

#define RECOVER_MAX_DEFAULT	3
#define RECOVER_WITHIN_MS	3600000
#define RECOVER_SPARES_MAX	65536

enum cli_recover_option { CLI_RECOVER = 920, CLI_RECOVER_MAX, CLI_RECOVER_SPARES };

/*
 * How a started job is recovered, as the options say.
 *
 * @rules: how often
 * @fewer: --recover oversubscribe
 * @nr_spares: --spares
 * @spares: names of the nodes that wait, a reference; NULL: none
 * @nodes: names of the nodes that the job begins on, a reference; NULL: this one alone
 */
struct cli_recover {
	struct recover_rules rules;
	bool fewer;
	long long nr_spares;
	json_t *spares;
	json_t *nodes;
};

#define CLI_RECOVER_LONGS \
	{ "recover", required_argument, NULL, CLI_RECOVER }, \
	{ "max-recoveries", required_argument, NULL, CLI_RECOVER_MAX }
#define CLI_RECOVER_NODES_LONGS \
	{ "spares", required_argument, NULL, CLI_RECOVER_SPARES }

#define CLI_RECOVER_NODES_HELP \
	"      --recover oversubscribe\n" \
	"                      auto, and with too few nodes left, with more ranks on each\n" \
	"      --spares N      the last N of --hosts wait, and take the place of lost nodes\n"

#define CLI_RECOVER_HELP \
	"      --recover auto|off    auto: if a signal or a lost node ends it, restart it from\n" \
	"                      its newest checkpoint; default: off\n" \
	"      --max-recoveries N    within an hour; default: 3\n"

/* Take the option @c with its value in optarg; an exit status, or 0; -1: it is another option. */
int cli_recover_option(struct cli *cli, struct cli_recover *recover, int c);
/* The rules as all options together say; an exit status, or 0. */
int cli_recover_complete(struct cli *cli, struct cli_recover *recover, bool detach);
/*
 * Take the spares off the end of "nodes" of @ranks, whose nodes were named by --hosts; an exit
 * status, or 0.
 */
int cli_recover_take_spares(struct cli *cli, struct cli_recover *recover, json_t *ranks);
void cli_recover_done(struct cli_recover *recover);

/*
 * As cli_job_follow(), and restart the job as @recover says if it fails. Takes over @outcome;
 * returns the exit status of the last run.
 */
int cli_recover_follow(struct cli *cli, json_t *outcome, unsigned int how,
		       const struct cli_recover *recover);

#endif /* STILLPOINT_CLI_RECOVER_H */
