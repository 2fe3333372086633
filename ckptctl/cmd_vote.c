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
#include "ckptctl/replicate.h"

#include <stdio.h>
#include <string.h>

#include "base/outcome.h"

static const struct option longs[] = {
	{ "timeout", required_argument, NULL, 't' },
	{ "release", no_argument, NULL, 'r' },
	{ NULL }
};

/* Checkpoint one member; its generation, or 0 with an exit status. */
static int64_t cmd_vote_checkpoint(struct cli *cli, int64_t job, int *ret_status)
{
	json_t *result = replica_ask(cli, "checkpoint", json_pack("{s:I}", "job", (json_int_t)job),
				     ret_status);
	int64_t generation = cli_int(result, "generation");

	json_decref(result);
	return generation;
}

/* Give the member @to what @from has in @generation, and restart it. 0 or an exit status. */
static int cmd_vote_replace(struct cli *cli, const struct replica_group *group, unsigned int from,
			    unsigned int to, int64_t generation)
{
	json_t *result;
	int status;

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

/*
 * The minority begins again with what the member @from has. MPI jobs begin again all, as each
 * restart leaves traces in a rank: only members that were restored as often are equal. Those that
 * are right begin again also if the minority cannot. 0 or the first exit status of a failure.
 */
static int cmd_vote_repair(struct cli *cli, const struct replica_group *group, unsigned int from,
			   unsigned int to, const int64_t *generations)
{
	bool ended[REPLICAS_MAX] = { false };
	int status = 0, again;

	for (unsigned int i = 0; i < group->nr && !status; i++) {
		if (i != to && !group->ranks)
			continue;
		status = replica_end(cli, group->members[i].job);
		ended[i] = !status;
	}
	if (!status)
		status = cmd_vote_replace(cli, group, from, to, generations[from]);
	for (unsigned int i = 0; i < group->nr; i++) {
		again = i == to || !ended[i] ? 0 : replica_restart(cli, group, i, generations[i]);
		status = status ? status : again;
	}
	return status;
}

/* All go back to what ckptd trusts most. 0 or the first exit status of a failure. */
static int cmd_vote_back(struct cli *cli, const struct replica_group *group)
{
	bool ended[REPLICAS_MAX] = { false };
	int status = 0, again;

	for (unsigned int i = 0; i < group->nr && !status; i++) {
		status = replica_end(cli, group->members[i].job);
		ended[i] = !status;
	}
	for (unsigned int i = 0; i < group->nr; i++) {
		again = ended[i] ? replica_restart(cli, group, i, 0) : 0;
		status = status ? status : again;
	}
	return status;
}

/* Has the job a generation that a vote has found right? */
static bool cmd_vote_has_good(struct cli *cli, int64_t job, int *ret_status)
{
	json_t *result = replica_ask(cli, "list", json_pack("{s:I}", "job", (json_int_t)job),
				     ret_status);
	const json_t *rows, *row;
	bool good = false;
	size_t i;

	rows = json_object_get(json_array_get(json_object_get(result, "jobs"), 0), "generations");
	json_array_foreach(rows, i, row)
		good |= !strcmp(cli_str(row, "trust"), "verified") ||
			!strcmp(cli_str(row, "trust"), "repaired");
	json_decref(result);
	return good;
}

/* Nothing is ended without a place to go back to. 0 or an exit status. */
static int cmd_vote_reject(struct cli *cli, const struct replica_group *group, json_t *result)
{
	bool back = true;
	int status = 0;

	for (unsigned int i = 0; i < group->nr && !status && back; i++)
		back = cmd_vote_has_good(cli, group->members[i].job, &status);
	if (status)
		return status;
	json_object_set_new(result, "back", json_boolean(back));
	return back ? cmd_vote_back(cli, group) : 0;
}

static int cmd_vote_act(struct cli *cli, const struct replica_group *group,
			const int64_t *generations, json_t *result)
{
	const char *outcome = cli_str(result, "outcome");
	int64_t minority = cli_int(result, "minority");
	unsigned int i = 0;

	if (!strcmp(outcome, "rejected"))
		return cmd_vote_reject(cli, group, result);
	if (strcmp(outcome, "repaired"))
		return 0;
	while (i + 1 < group->nr && group->members[i].job != minority)
		i++;
	return cmd_vote_repair(cli, group, i ? 0 : 1, i, generations);
}

static void cmd_vote_print_unsure(const json_t *result)
{
	const json_t *call;
	size_t i;

	printf("  nothing was changed: the ranks have called");
	json_array_foreach(json_object_get(result, "choices"), i, call)
		printf("%s %s", i ? "," : "", json_string_value(call));
	printf(", of which replicas may differ without an error\n");
}

static void cmd_vote_print_page(const json_t *page)
{
	printf("  ");
	if (cli_int(page, "job"))
		printf("job %lld, ", (long long)cli_int(page, "job"));
	if (json_object_get(page, "rank"))
		printf("rank %lld, ", (long long)cli_int(page, "rank"));
	printf("process %lld: page %s of %s-%s (%s), from byte %s%s\n",
	       (long long)cli_int(page, "pid"), cli_str(page, "address"), cli_str(page, "start"),
	       cli_str(page, "end"), cli_str(page, "mapping"), cli_str(page, "byte"),
	       cli_int(page, "job") ? "" : "; no two are equal");
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
		printf("; %s", json_is_true(json_object_get(result, "back")) ?
		       "all begin again from their last generation that is trusted" :
		       "all run on, as no vote has found a generation of each right before");
	printf("\n");
	if (!strcmp(cli_str(result, "outcome"), "unsure"))
		cmd_vote_print_unsure(result);
	json_array_foreach(json_object_get(result, "wrong"), i, page)
		cmd_vote_print_page(page);
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
	status = replicate_meet(cli, &group, seconds);
	if (!status)
		status = cmd_vote_compare(cli, &group, &result);
	after = replicate_go_on(cli, &group);
	status = status ? status : after;
	if (!status)
		status = cli_finish(cli, json_pack("{s:b, s:O}", "ok", 1, "result", result),
				    cmd_vote_print);
	json_decref(result);
	replica_group_done(&group);
	return status;
}

static void cmd_vote_print_released(struct cli *cli, json_t *result)
{
	(void)cli;
	(void)result;
	printf("the job does not wait for a vote any more\n");
}

/* Let one job go on, whatever has become of the others. */
static int cmd_vote_release(struct cli *cli, int64_t job)
{
	json_t *result;
	int status;

	result = replica_ask(cli, "section", json_pack("{s:[I], s:b}", "jobs", (json_int_t)job,
						       "release", 1), &status);
	if (!result)
		return status;
	return cli_finish(cli, json_pack("{s:b, s:o}", "ok", 1, "result", result),
			  cmd_vote_print_released);
}

static int cmd_vote_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	long long seconds = REPLICATE_MEET_S;
	bool release = false;
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "", longs)) != -1) {
		if (c == 'r')
			release = true;
		else if (c != 't')
			status = cli_usage(cli, "wrong option");
		else if (!cli_number(cli, optarg, "--timeout", 1, 86400, &seconds))
			status = CLI_USAGE;
	}
	if (!status)
		status = cli_job_operand(cli, argc, argv, args);
	if (!status)
		status = release ? cmd_vote_release(cli, cli_int(args, "job")) :
			 cmd_vote_do(cli, cli_int(args, "job"), seconds);
	json_decref(args);
	return status;
}

const struct cli_verb cmd_vote = {
	.name = "vote",
	.run = cmd_vote_run,
	.args = "[--timeout SECONDS | --release] JOB",
	.help = "compare the replicas of a job, and put right what differs",
	.options =
	"      --timeout SECONDS  for the replicas to meet; default 600\n"
	"      --release          only let this job go on, if it waits for a vote\n",
};
