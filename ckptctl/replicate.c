// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making replicas of a job that runs; see replicate.h.
 *
 * The job is checkpointed, and the replicas are restored from that generation, each as a job of its
 * own with its own process numbers, and its own MPI world. Must not compare or repair: cmd_vote.c
 * does.
 */
#include "ckptctl/replicate.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/outcome.h"
#include "ckptctl/cli_job.h"

#define LOOK_MS	20

static json_t *replicate_jobs(const struct replica_group *group)
{
	json_t *jobs = json_array();

	for (unsigned int i = 0; i < group->nr; i++)
		json_array_append_new(jobs, json_integer((json_int_t)group->members[i].job));
	return jobs;
}

static void replicate_nap(void)
{
	const struct timespec nap = { .tv_nsec = LOOK_MS * 1000000L };

	nanosleep(&nap, NULL);
}

int replicate_meet(struct cli *cli, const struct replica_group *group, long long seconds)
{
	int64_t end = clock_monotonic_ms() + seconds * 1000;
	bool met = false;
	json_t *result;
	int status;

	while (!met) {
		result = replica_ask(cli, "section", json_pack("{s:o}", "jobs",
							       replicate_jobs(group)), &status);
		if (!result)
			return status;
		met = !strcmp(cli_str(result, "step"), "met");
		json_decref(result);
		if (!met && clock_monotonic_ms() > end) {
			cli_wrong(cli, 0, "the replicas did not meet within %lld s", seconds);
			return CLI_FAILED;
		}
		if (!met)
			replicate_nap();
	}
	return 0;
}

int replicate_go_on(struct cli *cli, const struct replica_group *group)
{
	int status;

	json_decref(replica_ask(cli, "section", json_pack("{s:o, s:b}", "jobs",
							  replicate_jobs(group), "release", 1),
				&status));
	return status;
}

/*
 * Bring a job that was just started to the end of a section. Until its processes have called
 * ckpt_section_begin() there is nothing to tell them.
 */
static int replicate_await(struct cli *cli, const struct replica_group *group, long long seconds)
{
	int64_t end = clock_monotonic_ms() + seconds * 1000;
	json_t *outcome;
	bool begun;

	for (;;) {
		outcome = cli_call(cli, "section", json_pack("{s:o}", "jobs",
							     replicate_jobs(group)));
		begun = outcome_is_ok(outcome);
		if (!begun && (outcome_errno(outcome) != -ENODATA ||
			       clock_monotonic_ms() > end))
			return cli_finish(cli, outcome, NULL);
		json_decref(outcome);
		if (begun)
			return replicate_meet(cli, group, seconds);
		replicate_nap();
	}
}

/* [[OLD, NEW], ...] of the replica with this number. */
static json_t *replicate_paths(const json_t *files, int number)
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
static int replicate_one(struct cli *cli, struct replica_group *group, int64_t generation,
			     const json_t *files)
{
	struct replica_member *m = &group->members[group->nr];
	int number = (int)group->nr + 1, status;
	json_t *result;

	m->paths = replicate_paths(files, number);
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

static json_t *replicate_result(const struct replica_group *group)
{
	json_t *jobs = json_array();

	for (unsigned int i = 0; i < group->nr; i++)
		json_array_append_new(jobs, json_integer((json_int_t)group->members[i].job));
	return json_pack("{s:I, s:o}", "leader", (json_int_t)group->members[0].job, "jobs", jobs);
}

/* The absolute paths of @files; NULL: one is not there, and the error has been printed. */
static json_t *replicate_real(struct cli *cli, const json_t *files)
{
	json_t *paths = json_array(), *file;
	char *real;
	size_t i;

	json_array_foreach((json_t *)files, i, file) {
		real = realpath(json_string_value(file), NULL);
		if (!real) {
			cli_usage(cli, "--private: there is no file %s", json_string_value(file));
			json_decref(paths);
			return NULL;
		}
		json_array_append_new(paths, json_string(real));
		free(real);
	}
	return paths;
}

/*
 * Checkpoint the leader, and make the others of that generation. A restart leaves traces in an MPI
 * rank, of a library that was loaded once more: so the leader of an MPI group begins again from the
 * same generation as the others. 0 or an exit status.
 */
static int replicate_make(struct cli *cli, struct replica_group *group, unsigned int nr,
			  const json_t *files)
{
	json_t *paths = replicate_real(cli, files), *result;
	int64_t generation;
	int status;

	if (!paths)
		return CLI_USAGE;
	result = replica_ask(cli, "checkpoint", json_pack("{s:I, s:b}", "job",
							  (json_int_t)group->members[0].job,
							  "incremental", false), &status);
	generation = cli_int(result, "generation");
	json_decref(result);
	while (!status && group->nr < nr)
		status = replicate_one(cli, group, generation, paths);
	if (!status && group->ranks)
		status = replica_end(cli, group->members[0].job);
	if (!status && group->ranks)
		status = replica_restart(cli, group, 0, generation);
	json_decref(paths);
	return status;
}

int replicate_job(struct cli *cli, int64_t job, unsigned int nr, const json_t *files,
		  long long seconds, json_t **ret_result)
{
	struct replica_group group;
	int status = replica_group_find(cli, job, &group), after;

	if (!status && group.nr != 1) {
		cli_wrong(cli, 0, group.nr ? "job %lld has replicas already" :
			  "job %lld does not run", (long long)job);
		status = CLI_FAILED;
	}
	/* ckptrun stays with the leader, which is ended and begins again; a launch would be over */
	if (!status && group.batch && group.ranks && !seconds) {
		cli_wrong(cli, 0, "job %lld is the launch of a batch job, which would end with it: "
			  "start it with ckptrun --replicas in the script", (long long)job);
		status = CLI_FAILED;
	}
	if (!status && seconds)
		status = replicate_await(cli, &group, seconds);
	if (!status)
		status = replicate_make(cli, &group, nr, files);
	if (seconds && group.nr) {
		after = replicate_go_on(cli, &group);
		status = status ? status : after;
	}
	if (!status)
		*ret_result = replicate_result(&group);
	replica_group_done(&group);
	return status;
}
