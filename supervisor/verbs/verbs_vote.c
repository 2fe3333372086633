// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requests of replicas: section, vote, replica.
 *
 * Owns the check of rights and arguments; every job that is named must be the caller's. section is
 * one step on the way of a group to a common point: read all tables, decide (vote/section.h), tell.
 * Whoever asks does so again until the members have met.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/job/jobs.h"
#include "supervisor/verbs/user_limits.h"
#include "supervisor/vote/member.h"
#include "supervisor/vote/vote.h"

/* The caller's job of that number; NULL with an outcome. */
static struct job *verb_vote_job(struct request *request, json_int_t id, json_t **ret_outcome)
{
	json_object_set_new(request->args, "job", json_integer(id));
	return jobs_reconcile_for(request, ret_outcome);
}

/* ---------------------------------------------------------------- section */

struct verb_section {
	size_t nr;
	struct member members[TALLY_MEMBERS];
	struct section_member states[TALLY_MEMBERS];
};

static json_t *verb_section_open(struct request *request, struct verb_section *s, json_int_t id)
{
	struct member *m = &s->members[s->nr];
	struct ckpt_error error = {};
	json_t *outcome = NULL;
	struct job *job = verb_vote_job(request, id, &outcome);
	int err;

	if (!job)
		return outcome;
	outcome = job_check_running(job);
	if (outcome)
		return outcome;
	err = member_open(job->init, m, &error);
	if (!err) {
		s->nr++;
		err = member_read(m, &s->states[s->nr - 1]);
	}
	return err ? outcome_error(err, "job %lld cannot be a replica: %s", (long long)job->id,
				   error.text[0] ? error.text : strerror(-err)) : NULL;
}

/* 0 or negative errno. */
static int verb_section_tell(const struct verb_section *s, uint64_t until)
{
	int err = 0;

	for (size_t i = 0; i < s->nr && !err; i++)
		err = member_tell(&s->members[i], until);
	return err;
}

static json_t *verb_section_step(const struct verb_section *s, bool release)
{
	static const char *const names[] = {
		[SECTION_MET] = "met", [SECTION_TELL] = "told", [SECTION_WAIT] = "wait",
	};
	enum section_step step = SECTION_WAIT;
	json_t *sections = json_array();
	uint64_t target = 0;
	int err = 0;

	if (release)
		err = verb_section_tell(s, 0);
	else
		step = section_decide(s->states, s->nr, &target);
	if (!release && step == SECTION_TELL)
		err = verb_section_tell(s, target);
	for (size_t i = 0; i < s->nr; i++)
		json_array_append_new(sections, json_integer((json_int_t)s->states[i].section));
	if (!err)
		return outcome_ok(json_pack("{s:s, s:o}", "step", release ? "released" :
					    names[step], "sections", sections));
	json_decref(sections);
	return outcome_error(err, "a replica cannot be told where to wait: %s", strerror(-err));
}

void verb_section(struct request *request)
{
	struct verb_section s = { 0 };
	json_t *jobs = NULL, *id, *outcome = NULL;
	json_error_t why;
	int release = 0;
	size_t i;

	if (json_unpack_ex(request->args, &why, 0, "{s:o, s?b !}", "jobs", &jobs, "release",
			   &release) || !json_array_size(jobs) ||
	    json_array_size(jobs) > TALLY_MEMBERS)
		outcome = outcome_usage("section: bad arguments");
	for (i = 0; !outcome && i < json_array_size(jobs); i++) {
		id = json_array_get(jobs, i);
		outcome = verb_section_open(request, &s, json_integer_value(id));
	}
	if (!outcome)
		outcome = verb_section_step(&s, release);
	for (i = 0; i < s.nr; i++)
		member_close(&s.members[i]);
	request_answer(request, outcome);
}

/* ------------------------------------------------------------------- vote */

static json_t *verb_vote_member(struct request *request, json_int_t id, json_int_t generation,
				struct vote_member *ret_member)
{
	json_t *outcome = NULL;
	struct job *job = verb_vote_job(request, id, &outcome);

	if (!job)
		return outcome;
	if (!catalog_has(&request->common->catalog, id, generation))
		return outcome_error(-ENOENT, "job %lld has no generation %lld", (long long)id,
				     (long long)generation);
	ret_member->job = id;
	ret_member->generation = generation;
	job_label(job, ret_member->label);
	return NULL;
}

void verb_vote(struct request *request)
{
	struct vote_member members[TALLY_MEMBERS];
	json_t *list = json_object_get(request->args, "members"), *outcome = NULL;
	unsigned int i, nr = (unsigned int)json_array_size(list);
	json_int_t id, generation;

	if (nr < 2 || nr > TALLY_MEMBERS)
		outcome = outcome_usage("vote: two or three members are needed");
	for (i = 0; !outcome && i < nr; i++) {
		if (json_unpack(json_array_get(list, i), "[I, I !]", &id, &generation))
			outcome = outcome_usage("vote: bad arguments");
		else
			outcome = verb_vote_member(request, id, generation, &members[i]);
	}
	if (outcome)
		request_answer(request, outcome);
	else
		vote_start(request, members, nr);
}

/* ---------------------------------------------------------------- replica */

static json_t *verb_replica_check(const struct job *job)
{
	if (job->parts || job->record.ranks)
		return outcome_error(-EOPNOTSUPP, "job %lld has MPI ranks: replicas are of single "
				     "processes", (long long)job->id);
	if (job->host_ns)
		return outcome_error(-EOPNOTSUPP, "job %lld has no namespaces of its own, so its "
				     "process numbers cannot be used twice", (long long)job->id);
	if (job->record.hidden)
		return outcome_error(-ENOKEY, "the record of job %lld is encrypted with another "
				     "key", (long long)job->id);
	return NULL;
}

static json_t *verb_replica_target(struct request *request, const struct job *leader,
				   json_int_t to, struct job **ret_job)
{
	uid_t uid = leader->uid;
	json_t *outcome = NULL;

	*ret_job = verb_vote_job(request, to, &outcome);
	if (!*ret_job)
		return outcome;
	if ((*ret_job)->uid != uid)
		return outcome_error(-EPERM, "job %lld is another user's", (long long)to);
	if (job_is_alive(*ret_job))
		return outcome_error(-EBUSY, "job %lld runs: end it first", (long long)to);
	return job_check_free(*ret_job, "repair");
}

static void verb_replica_begin(struct request *request)
{
	struct replica_wish wish = { 0 };
	json_int_t id = 0, generation = 0, to = 0;
	struct job *job = NULL, *target = NULL;
	json_t *outcome = NULL, *paths = NULL;
	json_error_t why;

	if (json_unpack_ex(request->args, &why, 0, "{s:I, s:I, s?I, s?i, s?o !}", "job", &id,
			   "generation", &generation, "to", &to, "number", &wish.number, "paths",
			   &paths))
		outcome = outcome_usage("replica: %s", why.text);
	wish.paths = json_incref(paths);
	if (!outcome)
		outcome = verb_vote_member(request, id, generation, &wish.from);
	job = outcome ? NULL : jobs_lookup(request->jobs, id);
	if (!outcome)
		outcome = job ? verb_replica_check(job) : outcome_error(-ENOENT, "no such job");
	if (!outcome && to)
		outcome = verb_replica_target(request, job, to, &target);
	if (outcome)
		request_answer(request, outcome);
	else if (target)
		replica_repair(request, target, &wish);
	else
		replica_create(request, job, &wish);
	json_decref(wish.paths);
}

void verb_replica(struct request *request)
{
	user_limits_pass(request, json_object_get(request->args, "to") ? USER_CHECKPOINTS :
			 USER_RUNS, verb_replica_begin);
}
