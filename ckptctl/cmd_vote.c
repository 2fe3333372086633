// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl vote: compare the replicas of a job, and put right what differs.
 *
 * The members are brought to the end of the same section, checkpointed, and compared by ckptd,
 * which marks their generations. A minority is ended and begins again from the majority's memory;
 * without a majority all go back to their last generation that a vote has found right. Then all go
 * on. Whatever happens on the way, the members are told to go on.
 */
#include "ckptctl/cli_job.h"
#include "ckptctl/replica_call.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/outcome.h"

#define LOOK_MS		20
#define MEET_S		600	/* default of --timeout */

static const struct option longs[] = {
	{ "timeout", required_argument, NULL, 't' },
	{ NULL }
};

static json_t *cmd_vote_jobs(const struct replica_group *group)
{
	json_t *jobs = json_array();

	for (unsigned int i = 0; i < group->nr; i++)
		json_array_append_new(jobs, json_integer((json_int_t)group->members[i].job));
	return jobs;
}

static void cmd_vote_nap(void)
{
	const struct timespec nap = { .tv_nsec = LOOK_MS * 1000000L };

	nanosleep(&nap, NULL);
}

/* Bring all to the end of the same section. 0 or an exit status. */
static int cmd_vote_meet(struct cli *cli, const struct replica_group *group, long long seconds)
{
	int64_t end = clock_monotonic_ms() + seconds * 1000;
	bool met = false;
	json_t *result;
	int status;

	while (!met) {
		result = replica_ask(cli, "section", json_pack("{s:o}", "jobs",
							       cmd_vote_jobs(group)), &status);
		if (!result)
			return status;
		met = !strcmp(cli_str(result, "step"), "met");
		json_decref(result);
		if (!met && clock_monotonic_ms() > end) {
			cli_wrong(cli, 0, "the replicas did not meet within %lld s", seconds);
			return CLI_FAILED;
		}
		if (!met)
			cmd_vote_nap();
	}
	return 0;
}

static int cmd_vote_go_on(struct cli *cli, const struct replica_group *group)
{
	int status;

	json_decref(replica_ask(cli, "section", json_pack("{s:o, s:b}", "jobs",
							  cmd_vote_jobs(group), "release", 1),
				&status));
	return status;
}

/* Checkpoint one member; its generation, or 0 with an exit status. */
static int64_t cmd_vote_checkpoint(struct cli *cli, int64_t job, int *ret_status)
{
	json_t *result = replica_ask(cli, "checkpoint", json_pack("{s:I}", "job", (json_int_t)job),
				     ret_status);
	int64_t generation = cli_int(result, "generation");

	json_decref(result);
	return generation;
}

static int cmd_vote_end(struct cli *cli, int64_t job)
{
	int status;

	json_decref(replica_ask(cli, "kill", json_pack("{s:I, s:i}", "job", (json_int_t)job,
						       "signal", SIGKILL), &status));
	if (status)
		return status;
	json_decref(replica_ask(cli, "wait", json_pack("{s:I}", "job", (json_int_t)job),
				&status));
	return status;
}

/* The minority begins again with what the member @from has. 0 or an exit status. */
static int cmd_vote_repair(struct cli *cli, const struct replica_group *group, unsigned int from,
			   unsigned int to, int64_t generation)
{
	int status = cmd_vote_end(cli, group->members[to].job);
	json_t *result;

	if (status)
		return status;
	result = replica_ask(cli, "replica", json_pack("{s:I, s:I, s:I}", "job",
						       (json_int_t)group->members[from].job,
						       "generation", (json_int_t)generation, "to",
						       (json_int_t)group->members[to].job),
			     &status);
	if (!result)
		return status;
	generation = cli_int(result, "generation");
	json_decref(result);
	status = replica_copy_files(cli, group, from, to);
	return status ? status : replica_restart(cli, group, to, generation);
}

/* All go back to what ckptd trusts most. 0 or an exit status. */
static int cmd_vote_back(struct cli *cli, const struct replica_group *group)
{
	int status = 0;

	for (unsigned int i = 0; i < group->nr && !status; i++)
		status = cmd_vote_end(cli, group->members[i].job);
	for (unsigned int i = 0; i < group->nr && !status; i++)
		status = replica_restart(cli, group, i, 0);
	return status;
}

static int cmd_vote_act(struct cli *cli, const struct replica_group *group,
			const int64_t *generations, const json_t *result)
{
	const char *outcome = cli_str(result, "outcome");
	int64_t minority = cli_int(result, "minority");
	unsigned int i = 0;

	if (!strcmp(outcome, "rejected"))
		return cmd_vote_back(cli, group);
	if (strcmp(outcome, "repaired"))
		return 0;
	while (i + 1 < group->nr && group->members[i].job != minority)
		i++;
	return cmd_vote_repair(cli, group, i ? 0 : 1, i, generations[i ? 0 : 1]);
}

static void cmd_vote_print(struct cli *cli, json_t *result)
{
	const json_t *page;
	size_t i;

	(void)cli;
	printf("%s: %lld pages, %lld differ", cli_str(result, "outcome"),
	       (long long)cli_int(result, "pages"), (long long)cli_int(result, "differ"));
	if (json_object_get(result, "minority"))
		printf("; job %lld begins again with the others' memory",
		       (long long)cli_int(result, "minority"));
	if (!strcmp(cli_str(result, "outcome"), "rejected"))
		printf("; all begin again from their last generation that is trusted");
	printf("\n");
	json_array_foreach(json_object_get(result, "wrong"), i, page) {
		if (cli_int(page, "job"))
			printf("  job %lld, process %lld: page %s\n",
			       (long long)cli_int(page, "job"), (long long)cli_int(page, "pid"),
			       cli_str(page, "address"));
		else
			printf("  process %lld: page %s, of which no two are equal\n",
			       (long long)cli_int(page, "pid"), cli_str(page, "address"));
	}
}

/* The members wait: checkpoint, compare, act. *@ret_result is the vote's. */
static int cmd_vote_compare(struct cli *cli, const struct replica_group *group,
			    json_t **ret_result)
{
	int64_t generations[REPLICAS_MAX] = { 0 };
	json_t *members = json_array();
	int status = 0;

	for (unsigned int i = 0; i < group->nr && !status; i++) {
		generations[i] = cmd_vote_checkpoint(cli, group->members[i].job, &status);
		json_array_append_new(members, json_pack("[I, I]",
							 (json_int_t)group->members[i].job,
							 (json_int_t)generations[i]));
	}
	if (status) {
		json_decref(members);
		return status;
	}
	*ret_result = replica_ask(cli, "vote", json_pack("{s:o}", "members", members), &status);
	return status ? status : cmd_vote_act(cli, group, generations, *ret_result);
}

static int cmd_vote_do(struct cli *cli, int64_t job, long long seconds)
{
	struct replica_group group;
	json_t *result = NULL;
	int status = replica_group_find(cli, job, &group), after;

	if (!status && group.nr < 2) {
		cli_wrong(cli, 0, "job %lld has no replicas that run: ckptctl replicate makes some",
			  (long long)job);
		status = CLI_FAILED;
	}
	if (status) {
		replica_group_done(&group);
		return status;
	}
	status = cmd_vote_meet(cli, &group, seconds);
	if (!status)
		status = cmd_vote_compare(cli, &group, &result);
	after = cmd_vote_go_on(cli, &group);
	status = status ? status : after;
	if (!status)
		status = cli_finish(cli, json_pack("{s:b, s:O}", "ok", 1, "result", result),
				    cmd_vote_print);
	json_decref(result);
	replica_group_done(&group);
	return status;
}

static int cmd_vote_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	long long seconds = MEET_S;
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "", longs)) != -1) {
		if (c != 't')
			status = cli_usage(cli, "wrong option");
		else if (!cli_number(cli, optarg, "--timeout", 1, 86400, &seconds))
			status = CLI_USAGE;
	}
	if (!status)
		status = cli_job_operand(cli, argc, argv, args);
	if (!status)
		status = cmd_vote_do(cli, cli_int(args, "job"), seconds);
	json_decref(args);
	return status;
}

const struct cli_verb cmd_vote = {
	.name = "vote",
	.run = cmd_vote_run,
	.args = "[--timeout SECONDS] JOB",
	.help = "compare the replicas of a job, and put right what differs",
	.options =
	"      --timeout SECONDS  for the replicas to meet; default 600\n",
};
