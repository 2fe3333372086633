// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckpt-slurm-drain: take nodes out of use, have the batch jobs there move to others, and put the
 * nodes to use again.
 *
 * Only Slurm's record of the nodes is changed here. The launchers of the jobs, ckpt-slurm-run, see
 * it, save their jobs and requeue them. Jobs without a launcher run on, as on any drained node.
 */
#include <getopt.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <string.h>

#include "libckptctl/version.h"
#include "scheduler/slurm/drain.h"

#define FAILED		1
#define USAGE		2
#define REASON_MAX	256

static const struct option longs[] = {
	{ "reason", required_argument, NULL, 'r' },
	{ "resume", no_argument, NULL, 'u' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL }
};

static void drain_help(FILE *to)
{
	fputs("usage: ckpt-slurm-drain [--reason TEXT] NODES\n"
	      "       ckpt-slurm-drain --resume NODES\n\n"
	      "drain nodes of Slurm, n1,n[3-5]: batch jobs that ckpt-slurm-run has launched there\n"
	      "are saved, requeued, and go on on other nodes.\n\n"
	      "  -r, --reason TEXT  what squeue and sinfo show behind " DRAIN_REASON "\n"
	      "      --resume       put nodes to use again that were drained so\n"
	      "  -h, --help, -V, --version\n", to);
}

int main(int argc, char **argv)
{
	const char *reason = "maintenance";
	char why[DRAIN_WHY];
	bool resume = false;
	int c, err;

	while ((c = getopt_long(argc, argv, "r:hV", longs, NULL)) != -1) {
		switch (c) {
		case 'r':
			reason = optarg;
			break;
		case 'u':
			resume = true;
			break;
		case 'h':
			drain_help(stdout);
			return 0;
		case 'V':
			puts("ckpt-slurm-drain " CKPT_VERSION);
			return 0;
		default:
			drain_help(stderr);
			return USAGE;
		}
	}
	if (optind + 1 != argc || strlen(reason) > REASON_MAX) {
		fprintf(stderr, "ckpt-slurm-drain: %s\n", optind + 1 != argc ?
			"which nodes? One list, n1,n[3-5]" : "the reason is too long");
		drain_help(stderr);
		return USAGE;
	}
	slurm_init(NULL);
	err = resume ? drain_end(argv[optind], why) : drain_begin(argv[optind], reason, why);
	if (err)
		fprintf(stderr, "ckpt-slurm-drain: %s: %s\n", argv[optind], why);
	return err ? FAILED : 0;
}
