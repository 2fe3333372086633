/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starting a job, for ckptctl run and ckptrun.
 */
#ifndef STILLPOINT_CLI_RUN_H
#define STILLPOINT_CLI_RUN_H

#include "ckptctl/cli.h"
#include "ckptctl/cli_recover.h"

struct cli_run {
	bool detach;
	bool dry_run;
	bool tty;
	bool pipes;	/* never a terminal, whatever ckptctl is connected to */
	struct cli_recover recover;
	bool no_step;	/* start no step of Slurm's for ranks on other nodes (slurm_step.h) */
	const char *failed;	/* added to the error of a failed start; NULL: nothing */
	void (*plan)(struct cli *cli, json_t *args);	/* prints for dry_run; may be NULL */
	/* called with a detached job once it runs; its exit status, or 0; may be NULL */
	int (*started)(struct cli *cli, int64_t job, void *started_arg);
	void *started_arg;
};

/*
 * Start the job that @args (taken over) and the command @argv describe, and stay with it
 * unless detached; returns the exit status.  If @status is an earlier failure, no job is
 * started.
 */
int cli_run_finish(struct cli *cli, const struct cli_run *flags, json_t *args, char **argv,
		   int status);

#endif /* STILLPOINT_CLI_RUN_H */
