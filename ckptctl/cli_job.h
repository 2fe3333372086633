/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the verbs on jobs: operands, options about nodes, and following a job.
 */
#ifndef STILLPOINT_CLI_JOB_H
#define STILLPOINT_CLI_JOB_H

#include "ckptctl/cli.h"

/*
 * The number of the job that @text names: a number, or the name of one running job, or else of one
 * job in the image directory; an exit status or 0.
 */
int cli_job_number(struct cli *cli, const char *text, int64_t *ret_job);
/* The only operand, a job, into @args; an exit status or 0. */
int cli_job_operand(struct cli *cli, int argc, char **argv, json_t *args);

/* Options for a window on a job's generations. */
enum { CLI_OPT_LAST = 600, CLI_OPT_BEFORE };
/* Option @c of these into @args, or another one, which is a mistake; an exit status or 0. */
int cli_job_window(struct cli *cli, int c, json_t *args);

/* "n1,n2", the value of @option, as "nodes" into @args; an exit status or 0. */
int cli_job_nodes(struct cli *cli, const char *option, char *list, json_t *args);
/*
 * "0-1:n1,2,4:n2", the value of --map, as "nodes" and "map" into @args; an exit status or 0. A
 * range without a node is for the next node.
 */
int cli_job_map(struct cli *cli, char *list, json_t *args, long long *ret_n);

/*
 * As cli_finish(), for a list of jobs: names those that could not be read ("unreadable") on
 * standard error, and then returns CLI_FAILED, as the list is not whole.
 */
int cli_job_list_finish(struct cli *cli, json_t *outcome,
			void (*print)(struct cli *cli, json_t *result));

#define CLI_PHASES	192
/* The phases of a restart, " (restore 80 ms, ranks up 2.1 s)"; "" where there are none. */
const char *cli_job_phases(const json_t *row, char text[CLI_PHASES]);

#define CLI_FOLLOW_SIGNALS	(1U << 0)	/* hand signals on, instead of detaching */
#define CLI_FOLLOW_INPUT	(1U << 1)	/* pass standard input on, a pipe as well */

/*
 * Attach to the job of the last answer, @outcome (taken over), by the descriptor that came with
 * it, until the job ends; returns the exit status of ckptctl: the job's, or CLI_DONE after
 * detaching.
 */
int cli_job_follow(struct cli *cli, json_t *outcome, unsigned int how);

/*
 * cli_job_follow() in two steps, for a command that does something in between: be attached to the
 * job of @outcome until it ends (the caller keeps @outcome), then end the verb (@outcome is taken
 * over; the exit status). cli_job_attend() returns -EPROTO if the answer has no descriptor.
 */
struct cli_job_left {
	int status;	/* exit status of the job; -1: it runs, or the status is unknown */
	int err;	/* 1: the job told its end; 0: detached; -errno: its shim went away */
	bool asked;	/* a signal that ends programs was handed on */
};

int cli_job_attend(struct cli *cli, json_t *outcome, unsigned int how,
		   struct cli_job_left *ret_left);
int cli_job_left(struct cli *cli, json_t *outcome, const struct cli_job_left *left);

/*
 * Make the request restart with @args (taken over), and with "attach" in them follow the job;
 * returns the exit status of ckptctl.
 */
int cli_job_restart(struct cli *cli, json_t *args);

/* True if Ctrl-] detaches from a job that is followed so. */
bool cli_job_has_key(const struct cli *cli, const json_t *job, unsigned int how);

#endif /* STILLPOINT_CLI_JOB_H */
