// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl replicate: more copies of a running job, for a vote.
 *
 * The job is checkpointed, and the copies are restored from that generation, each as a job of its
 * own with its own process numbers. Files that the job writes have to be named: each replica gets a
 * copy beside, with ".replica-N" behind its name.
 */
#include "ckptctl/cli_job.h"
#include "ckptctl/replica_call.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_REPLICAS = 256, OPT_PRIVATE };

static const struct option longs[] = {
	{ "replicas", required_argument, NULL, OPT_REPLICAS },
	{ "private", required_argument, NULL, OPT_PRIVATE },
	{ NULL }
};

/* [[OLD, NEW], ...] of the replica with this number. */
static json_t *cmd_replicate_paths(const json_t *files, int number)
{
	json_t *paths = json_array(), *file;
	size_t i;

	json_array_foreach((json_t *)files, i, file)
		json_array_append_new(paths, json_pack("[O, o]", file,
						       json_sprintf("%s.replica-%d",
								    json_string_value(file),
								    number)));
	return paths;
}

/* Make and start one replica; its job is added to @group. 0 or an exit status. */
static int cmd_replicate_one(struct cli *cli, struct replica_group *group, int64_t generation,
			     const json_t *files)
{
	struct replica_member *m = &group->members[group->nr];
	int number = (int)group->nr + 1, status;
	json_t *result;

	m->paths = cmd_replicate_paths(files, number);
	result = replica_ask(cli, "replica", json_pack("{s:I, s:I, s:i, s:O}", "job",
						       (json_int_t)group->members[0].job,
						       "generation", (json_int_t)generation,
						       "number", number, "paths", m->paths),
			     &status);
	if (!result) {
		json_decref(m->paths);
		return status;
	}
	m->job = cli_int(result, "job");
	generation = cli_int(result, "generation");
	json_decref(result);
	group->nr++;
	status = replica_copy_files(cli, group, 0, group->nr - 1);
	return status ? status : replica_restart(cli, group, group->nr - 1, generation);
}

static json_t *cmd_replicate_result(const struct replica_group *group)
{
	json_t *jobs = json_array();

	for (unsigned int i = 0; i < group->nr; i++)
		json_array_append_new(jobs, json_integer((json_int_t)group->members[i].job));
	return json_pack("{s:b, s:{s:I, s:o}}", "ok", 1, "result", "leader",
			 (json_int_t)group->members[0].job, "jobs", jobs);
}

static void cmd_replicate_print(struct cli *cli, json_t *result)
{
	const json_t *job;
	size_t i;

	(void)cli;
	printf("job %lld and its replicas run:", (long long)cli_int(result, "leader"));
	json_array_foreach(json_object_get(result, "jobs"), i, job)
		printf(" %lld", (long long)json_integer_value(job));
	printf("\n");
}

static int cmd_replicate_do(struct cli *cli, int64_t job, unsigned int nr, const json_t *files)
{
	struct replica_group group;
	int64_t generation = 0;
	json_t *result;
	int status = replica_group_find(cli, job, &group);

	if (!status && group.nr != 1) {
		cli_wrong(cli, 0, group.nr ? "job %lld has replicas already" :
			  "job %lld does not run", (long long)job);
		status = CLI_FAILED;
	}
	if (!status) {
		result = replica_ask(cli, "checkpoint", json_pack("{s:I, s:b}", "job",
								  (json_int_t)job, "incremental",
								  false), &status);
		generation = cli_int(result, "generation");
		json_decref(result);
	}
	while (!status && group.nr < nr)
		status = cmd_replicate_one(cli, &group, generation, files);
	if (!status)
		status = cli_finish(cli, cmd_replicate_result(&group), cmd_replicate_print);
	replica_group_done(&group);
	return status;
}

static int cmd_replicate_private(struct cli *cli, json_t *files, const char *path)
{
	char *real = realpath(path, NULL);
	int status = 0;

	if (!real)
		status = cli_usage(cli, "--private: there is no file %s", path);
	else
		json_array_append_new(files, json_string(real));
	free(real);
	return status;
}

static int cmd_replicate_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object(), *files = json_array();
	long long nr = REPLICAS_MAX;
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "", longs)) != -1) {
		if (c == OPT_PRIVATE)
			status = cmd_replicate_private(cli, files, optarg);
		else if (c != OPT_REPLICAS)
			status = cli_usage(cli, "wrong option");
		else if (!cli_number(cli, optarg, "--replicas", 2, REPLICAS_MAX, &nr))
			status = CLI_USAGE;
	}
	if (!status)
		status = cli_job_operand(cli, argc, argv, args);
	if (!status)
		status = cmd_replicate_do(cli, cli_int(args, "job"), (unsigned int)nr, files);
	json_decref(args);
	json_decref(files);
	return status;
}

const struct cli_verb cmd_replicate = {
	.name = "replicate",
	.run = cmd_replicate_run,
	.args = "[--replicas N] [--private FILE ...] JOB",
	.help = "run more copies of a job, to be compared by vote",
	.options =
	"      --replicas N    copies in all, 2 or 3 (default)\n"
	"      --private FILE  the job writes FILE: each replica gets FILE.replica-N. As often as\n"
	"                      needed\n",
};
