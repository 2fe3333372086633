/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starting a job, for ckptctl run and ckptrun.
 */
#ifndef STILLPOINT_CLI_RUN_H
#define STILLPOINT_CLI_RUN_H

#include "ckptctl/cli.h"

struct cli_run {
	bool detach;
	bool dry_run;
	bool tty;
	bool pipes;	/* never a terminal, whatever we are connected to */
	const char *failed;	/* said of a job that could not be started; NULL: nothing more */
	void (*plan)(struct cli *cli, json_t *args);	/* prints for dry_run; may be NULL */
};

/*
 * Ask for the job that @args (taken over) and the command @argv describe, and stay
 * with it unless detached; returns the exit status.  Not if @status says that something
 * is wrong already.
 */
int cli_run_finish(struct cli *cli, const struct cli_run *flags, json_t *args, char **argv,
		   int status);

#endif /* STILLPOINT_CLI_RUN_H */
