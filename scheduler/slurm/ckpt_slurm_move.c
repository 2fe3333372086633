// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckpt-slurm-move: have a batch job go on on other nodes.
 *
 * Whoever may change the batch job may move it. The launcher of the job, ckpt-slurm-run, saves and
 * requeues it; this process asks Slurm for the nodes meanwhile, and stays until the job runs again.
 */
#include <errno.h>
#include <getopt.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/duration.h"
#include "libckptctl/version.h"
#include "scheduler/slurm/move.h"

#define FAILED		1
#define USAGE		2
#define WAIT_MS		1800000
#define LOOK_NS		500000000

static const struct option longs[] = {
	{ "wait", required_argument, NULL, 'w' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL }
};

static void move_help(FILE *to)
{
	fputs("usage: ckpt-slurm-move [--wait DURATION] JOBID NODES\n\n"
	      "have a batch job that ckpt-slurm-run has launched go on on NODES, n1,n[3-5]\n\n"
	      "  -w, --wait DURATION  at most so long for the job to run again; default 30m\n"
	      "  -h, --help, -V, --version\n", to);
}

static int move_say(const char *job, const char *text, int status)
{
	fprintf(stderr, "ckpt-slurm-move: %s: %s\n", job, text);
	return status;
}

/* Stay until the job runs again or will not be moved; an exit status. */
static int move_follow(struct move *move, const char *job, int64_t wait_ms)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	int64_t end = clock_monotonic_ms() + wait_ms;
	char text[MOVE_WHY], last[MOVE_WHY] = "";

	while (clock_monotonic_ms() < end) {
		switch (move_look(move, text)) {
		case MOVE_DONE:
			printf("batch job %s runs on %s\n", job, text);
			return move->asked ? 0 : move_say(job, "Slurm had started it again before "
							  "it could be asked for nodes", FAILED);
		case MOVE_FAILED:
			return move_say(job, text, FAILED);
		case MOVE_WAITS:
			if (strcmp(text, last))
				move_say(job, text, 0);
			strcpy(last, text);
			break;
		case MOVE_BEGUN:
			break;
		}
		nanosleep(&pause, NULL);
	}
	return move_say(job, "it does not run again yet; squeue shows it", FAILED);
}

/* Read a positive number; 0: it is none. */
static uint32_t move_number(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	return *text < '0' || *text > '9' || *end || number > UINT32_MAX ? 0 : (uint32_t)number;
}

int main(int argc, char **argv)
{
	struct move move = { 0 };
	int64_t wait_ms = WAIT_MS;
	char why[MOVE_WHY];
	int c;

	while ((c = getopt_long(argc, argv, "w:hV", longs, NULL)) != -1) {
		switch (c) {
		case 'w':
			if (!duration_parse(optarg, &wait_ms))
				break;
			return move_say(optarg, "--wait is a duration, as 90s, 30m", USAGE);
		case 'h':
			move_help(stdout);
			return 0;
		case 'V':
			puts("ckpt-slurm-move " CKPT_VERSION);
			return 0;
		default:
			move_help(stderr);
			return USAGE;
		}
	}
	if (optind + 2 != argc) {
		move_help(stderr);
		return USAGE;
	}
	move.id = move_number(argv[optind]);
	move.nodes = argv[optind + 1];
	if (!move.id)
		return move_say(argv[optind], "the number of a batch job is needed", USAGE);
	slurm_init(NULL);
	if (move_begin(&move, why))
		return move_say(argv[optind], why, FAILED);
	return move_follow(&move, argv[optind], wait_ms);
}
