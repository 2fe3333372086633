// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl kill: send a signal to a job's main process.
 *
 * The job's init sends the signal, so it never hits a later process with the same pid.  When
 * the main process ends, the job ends with all its processes.
 */
#include "ckptctl/cli_job.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Return the number of "9", "KILL" or "SIGKILL"; -1: there is no such signal. */
static int parse_signal(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);
	int signo;

	if (isdigit((unsigned char)*text))
		return *end || number >= NSIG ? -1 : (int)number;
	if (!strncasecmp(text, "SIG", 3))
		text += 3;
	for (signo = 1; signo < NSIG; signo++) {
		const char *name = sigabbrev_np(signo);

		if (name && !strcasecmp(name, text))
			return signo;
	}
	return -1;
}

static int cmd_kill_run(struct cli *cli, int argc, char **argv)
{
	int signo = SIGTERM, status;
	int64_t job;

	if (cli_getopt(cli, argc, argv, "", NULL) != -1)
		return cli_usage(cli, "wrong option");
	if (argc - optind < 1 || argc - optind > 2)
		return cli_usage(cli, "one job is needed");
	status = cli_job_number(cli, argv[optind], &job);
	if (status)
		return status;
	if (optind + 1 < argc)
		signo = parse_signal(argv[optind + 1]);
	if (signo < 0)
		return cli_usage(cli, "%s is no signal", argv[optind + 1]);
	return cli_finish(cli, cli_call(cli, "kill",
					json_pack("{s:I, s:i}", "job", (json_int_t)job,
						  "signal", signo)), NULL);
}

const struct cli_verb cmd_kill = {
	.name = "kill",
	.run = cmd_kill_run,
	.args = "JOB [SIGNAL]",
	.help = "send a signal to a job (default TERM); KILL ends all of it",
};
