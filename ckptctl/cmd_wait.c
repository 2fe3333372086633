// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl wait: wait until a job has ended, and hand on its exit status.
 *
 * The wait may take weeks, and jobs run on while ckptd is updated: if ckptd goes away, the verb
 * asks the next ckptd, for up to RETURN_S. If no ckptd answers the first request, the verb fails
 * at once. The request changes nothing, so it can be repeated.
 */
#include "ckptctl/cli_job.h"

#include <errno.h>
#include <time.h>

#include "ckptctl/cli_call.h"
#include "base/outcome.h"

#define RETURN_S	60	/* time that ckptd may take to come back */
#define LOOKS_A_SECOND	4

static bool went_away(const json_t *outcome)
{
	int64_t err = cli_int(json_object_get(outcome, "error"), "errno");

	return err == -EPIPE || err == -ECONNRESET;
}

/* Ask ckptd, and ask again if it goes away and comes back. Takes over @args. */
static json_t *cmd_wait_ask(struct cli *cli, json_t *args)
{
	const struct timespec pause = { .tv_nsec = 1000000000 / LOOKS_A_SECOND };
	json_t *outcome = cli_call(cli, "wait", json_incref(args));
	unsigned int looks = 0;

	while (cli->unanswered && (cli->connection ? went_away(outcome) : looks)) {
		if (cli->connection) {
			cli_say("ckptd went away; its return is waited for, up to %d s", RETURN_S);
			looks = RETURN_S * LOOKS_A_SECOND;
		}
		looks--;
		cli_disconnect(cli);
		json_decref(outcome);
		nanosleep(&pause, NULL);
		outcome = cli_call(cli, "wait", json_incref(args));
	}
	json_decref(args);
	return outcome;
}

static int cmd_wait_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object(), *outcome;
	int status, job_status;

	if (cli_getopt(cli, argc, argv, "", NULL) != -1)
		status = cli_usage(cli, "wrong option");
	else
		status = cli_job_operand(cli, argc, argv, args);
	if (status) {
		json_decref(args);
		return status;
	}
	outcome = cmd_wait_ask(cli, args);
	job_status = (int)cli_int(json_object_get(outcome, "result"), "exit_status");
	status = cli_finish(cli, outcome, NULL);
	return status ? status : job_status;
}

const struct cli_verb cmd_wait = {
	.name = "wait",
	.run = cmd_wait_run,
	.args = "JOB",
	.help = "wait until a job has ended, hand on its exit status",
};
