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
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/control/worker.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/verbs/user_limits.h"
#include "supervisor/vote/member.h"
#include "supervisor/vote/vote.h"

#define SECTION_MS	10000

/* The caller's job of that number; NULL with an outcome. */
static struct job *verb_vote_job(struct request *request, json_int_t id, json_t **ret_outcome)
{
	json_object_set_new(request->args, "job", json_integer(id));
	return jobs_reconcile_for(request, ret_outcome);
}

/* ---------------------------------------------------------------- section */

struct verb_section {
	struct request *request;
	struct worker *worker;
	bool release;
	size_t nr;
	json_int_t jobs[TALLY_MEMBERS];
	pid_t inits[TALLY_MEMBERS];
	unsigned int ranks[TALLY_MEMBERS];	/* 0: one process without ranks */
};

/* ---- in the worker: who looks into a process waits for whoever holds the lock of its map */

struct verb_section_tables {
	size_t nr;
	struct member *members;
	struct section_member *states;
};

static json_t *verb_section_open(const struct verb_section *s, struct verb_section_tables *t)
{
	struct ckpt_error error = {};
	unsigned int nr, i;
	size_t job;
	int err = 0;

	for (job = 0; job < s->nr && !err; job++) {
		nr = s->ranks[job] ? s->ranks[job] : 1;
		err = member_open(s->inits[job], s->ranks[job], &t->members[t->nr], &error);
		for (i = 0; i < nr && !err; i++)
			err = member_read(&t->members[t->nr + i], &t->states[t->nr + i]);
		if (err)
			return outcome_error(err, "job %lld cannot be a replica: %s",
					     (long long)s->jobs[job],
					     error.text[0] ? error.text : strerror(-err));
		t->nr += nr;
	}
	return NULL;
}

/* 0 or negative errno. */
static int verb_section_tell(const struct verb_section_tables *t, uint64_t until)
{
	int err = 0;

	for (size_t i = 0; i < t->nr && !err; i++)
		err = member_tell(&t->members[i], until);
	return err;
}

static json_t *verb_section_step(const struct verb_section_tables *t)
{
	static const char *const names[] = {
		[SECTION_MET] = "met", [SECTION_TELL] = "told", [SECTION_WAIT] = "wait",
	};
	enum section_step step = SECTION_WAIT;
	json_t *sections = json_array();
	uint64_t target = 0;
	int err = 0;

	step = section_decide(t->states, t->nr, &target);
	if (step == SECTION_TELL)
		err = verb_section_tell(t, target);
	for (size_t i = 0; i < t->nr; i++)
		json_array_append_new(sections, json_integer((json_int_t)t->states[i].section));
	if (!err)
		return outcome_ok(json_pack("{s:s, s:o}", "step", names[step], "sections",
					    sections));
	json_decref(sections);
	return outcome_error(err, "a replica cannot be told where to wait: %s", strerror(-err));
}

/* Let all go on that can be told; the first that cannot is the error. */
static json_t *verb_section_release(const struct verb_section *s)
{
	json_t *outcome = NULL;
	int told;

	for (size_t i = 0; i < s->nr; i++) {
		told = member_release_all(s->inits[i]);
		if (told < 0 && !outcome)
			outcome = outcome_error(told, "job %lld: not all its processes could be "
						"told to go on: %s", (long long)s->jobs[i],
						strerror(-told));
	}
	return outcome ?: outcome_ok(json_pack("{s:s}", "step", "released"));
}

static json_t *verb_section_run(struct channel_reporter *reporter, void *arg)
{
	const struct verb_section *s = arg;
	struct verb_section_tables t = { 0 };
	json_t *outcome;
	size_t nr = 0;

	(void)reporter;
	if (s->release)
		return verb_section_release(s);
	for (size_t i = 0; i < s->nr; i++)
		nr += s->ranks[i] ? s->ranks[i] : 1;
	t.members = calloc(nr, sizeof(*t.members));
	t.states = calloc(nr, sizeof(*t.states));
	if (!t.members || !t.states)
		outcome = outcome_error(-ENOMEM, "out of memory");
	else
		outcome = verb_section_open(s, &t) ?: verb_section_step(&t);
	for (size_t i = 0; i < t.nr; i++)
		member_close(&t.members[i]);
	free(t.members);
	free(t.states);
	return outcome;
}

static const struct worker_kind section_work = {
	.name = "ckptd-section", .run = verb_section_run, .deadline_ms = SECTION_MS,
};

/* ---- in the daemon */

static void verb_section_on_outcome(json_t *outcome, void *arg)
{
	struct verb_section *s = arg;

	request_on_abandon(s->request, NULL, NULL);
	request_answer(s->request, outcome);
	free(s);
}

static const struct channel_ops section_ops = { NULL, verb_section_on_outcome };

static json_t *verb_section_take(struct request *request, struct verb_section *s, json_int_t id)
{
	json_t *outcome = NULL;
	const struct job *job = verb_vote_job(request, id, &outcome);

	/* a member that is over holds up no other one that is to go on */
	if (!outcome && s->release && !job_is_alive(job))
		return NULL;
	if (!outcome)
		outcome = job_check_running(job);
	if (!outcome) {
		s->jobs[s->nr] = id;
		s->ranks[s->nr] = job->record.ranks ? rank_record_size(job->record.ranks) : 0;
		s->inits[s->nr++] = job->init;
	}
	return outcome;
}

static json_t *verb_section_parse(struct request *request, struct verb_section *s)
{
	json_t *jobs = NULL, *outcome = NULL;
	json_error_t why;
	int release = 0;
	size_t i;

	if (json_unpack_ex(request->args, &why, 0, "{s:o, s?b !}", "jobs", &jobs, "release",
			   &release) || !json_array_size(jobs) ||
	    json_array_size(jobs) > TALLY_MEMBERS)
		return outcome_usage("section: bad arguments");
	s->request = request;
	s->release = release;
	for (i = 0; !outcome && i < json_array_size(jobs); i++)
		outcome = verb_section_take(request, s,
					    json_integer_value(json_array_get(jobs, i)));
	return outcome;
}

void verb_section(struct request *request)
{
	struct verb_section *s = calloc(1, sizeof(*s));
	const struct worker_spec spec = { .kind = &section_work, .arg = s };
	json_t *outcome = s ? verb_section_parse(request, s) : outcome_error(-ENOMEM, "no memory");
	int err;

	if (!outcome) {
		err = worker_start(&request->common->workers, &spec, &section_ops, s, &s->worker);
		if (!err) {
			request_on_abandon(request, worker_on_abandon, s->worker);
			return;
		}
		outcome = outcome_error(err, "no worker: %s", strerror(-err));
	}
	free(s);
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
	if (job->parts)
		return outcome_error(-EOPNOTSUPP, "job %lld has ranks on several nodes: replicas "
				     "are of jobs on one node", (long long)job->id);
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
