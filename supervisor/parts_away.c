// SPDX-License-Identifier: GPL-2.0-only
/*
 * A part of a job whose home is another node: started, signalled and ended from there, and
 * said to it how it is; see parts.h.
 *
 * The home has checked who asks for what.  What is checked here is that it is the
 * home: node 0 of the record that it sends.
 */
#include "supervisor/parts_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/util.h"
#include "supervisor/launch.h"
#include "supervisor/outcome.h"
#include "supervisor/rank_record.h"

#define RUNS_TICKS	(2000 / PARTS_TICK_MS)
#define ENDED_TICKS	(1000 / PARTS_TICK_MS)
#define OUTPUT_TICKS	(5000 / PARTS_TICK_MS)	/* for a shim that is slow to leave */

struct away_start {
	struct peer_question *question;
	struct job *job;
	struct channel *channel;
};

json_t *parts_end_pack(const struct job_end *end)
{
	return json_pack("{s:i, s:i, s:I, s:b}", "status", end->status, "rank", end->rank,
			 "failed_ns", (json_int_t)end->failed_ns, "lost", !end->found);
}

int parts_end_unpack(const json_t *json, struct job_end *ret_end)
{
	struct job_end end = { 0 };
	json_int_t failed_ns;
	int lost;

	if (json_unpack((json_t *)json, "{s:i, s:i, s:I, s:b}", "status", &end.status,
			"rank", &end.rank, "failed_ns", &failed_ns, "lost", &lost))
		return -EPROTO;
	end.failed_ns = failed_ns;
	end.found = !lost;
	*ret_end = end;
	return 0;
}

/* -------------------------------------------------------- what is said home */

/* The home has no more use for it. */
static void drop(struct job *job)
{
	parts_close(job);
	job_unprepare(job);
	jobs_forget(job);
}

static void over(struct parts *p)
{
	if (p->part[p->node].ended)
		drop(p->job);
	else
		parts_end_here(p, 0, NULL);
}

static void on_told(const json_t *outcome, void *arg)
{
	struct part *part = arg;

	part->cookie = 0;
	if (outcome_is_ok(outcome) &&
	    json_is_true(json_object_get(json_object_get(outcome, "result"), "over")))
		over(part->parts);
}

static void tell(struct parts *p)
{
	struct part *part = &p->part[p->node];
	int home = parts_host(p, 0);
	json_t *args;

	if (part->cookie || home < 0)
		return;
	args = parts_end_pack(&part->end);
	json_object_set_new(args, "job", json_integer(p->job->id));
	json_object_set_new(args, "run", json_integer((json_int_t)p->run));
	json_object_set_new(args, "node", json_integer(p->node));
	json_object_set_new(args, "state", json_string(part->ended ? "ended" : "running"));
	peer_ask(nodes_asks(p->daemon->nodes), (unsigned int)home, "part", args, PARTS_ASK_MS,
		 on_told, part, &part->cookie);
}

void parts_away_gone(struct parts *p)
{
	struct part *part = &p->part[p->node];

	while (p->nr_ends)
		peer_question_answer(p->ends[--p->nr_ends], outcome_ok(parts_end_pack(&part->end)));
	/* What it said of the time before is of no use. */
	if (part->cookie)
		peer_ask_forget(nodes_asks(p->daemon->nodes), part->cookie);
	part->cookie = 0;
	tell(p);
}

void parts_away_tick(struct parts *p)
{
	struct part *part = &p->part[p->node];

	if (p->job->busy)
		return;
	if (p->gone && !part->ended && ++p->gone_ticks > OUTPUT_TICKS) {
		part->ended = true;
		parts_away_gone(p);
	} else if (p->ticks % (part->ended ? ENDED_TICKS : RUNS_TICKS) == 0) {
		tell(p);
	}
}

/* ------------------------------------------------------------- the start */

static void answer_started(struct peer_question *q, const struct job *job)
{
	peer_question_answer(q, outcome_ok(json_pack("{s:i}", "init", (int)job->init)));
}

static void on_progress(json_t *progress, void *arg)
{
}

static void on_launched(json_t *outcome, void *arg)
{
	struct away_start *start = arg;
	struct job *job = start->job;

	job->busy = NULL;
	if (!outcome)
		outcome = outcome_error(-ECHILD, "the job's shim ended without a word");
	if (outcome_is_ok(outcome)) {
		log_info(&job->parts->daemon->log, "job %lld (%s): part %u started",
			 (long long)job->id, job->name, job->parts->node);
		json_decref(outcome);
		job_take(job);
		answer_started(start->question, job);
		/* It was to end before it ran. */
		if (job->parts->nr_ends)
			parts_end_here(job->parts, 0, NULL);
	} else {
		drop(job);
		peer_question_answer(start->question, outcome);
	}
	free(start);
}

static const struct channel_ops launch_ops = { on_progress, on_launched };

static json_t *launch(struct job *job, struct peer_question *q)
{
	struct away_start *start = calloc(1, sizeof(*start));
	json_t *spec;
	int err;

	if (!start)
		return outcome_error(-ENOMEM, "out of memory");
	start->question = q;
	start->job = job;
	err = job_prepare(job);
	spec = err ? NULL : launch_spec(job, NULL);
	if (!err)
		err = launch_start(job, spec, -1, &launch_ops, start, &start->channel);
	json_decref(spec);
	if (!err) {
		job->busy = "start";
		return NULL;
	}
	free(start);
	return outcome_error(err, "the job's shim cannot be started: %s", strerror(-err));
}

/* The job as its home has it, in this node's registry; an outcome, or NULL. */
static json_t *enter(struct daemon *daemon, json_int_t id, const json_t *record,
		     struct job **ret_job)
{
	struct job *job = jobs_known(daemon->jobs, id);
	char why[512];
	int err;

	if (job && (job->busy || job->parts ||
		    (job_is_alive(job) && job->state != JOB_ELSEWHERE)))
		return outcome_error(-EBUSY, "job %lld is here already", (long long)id);
	if (job)
		jobs_forget(job);
	err = jobs_enter(daemon->jobs, id, json_deep_copy(record), &job);
	if (err)
		return outcome_error(err, "the record of job %lld is not understood",
				     (long long)id);
	job->state = JOB_RUNNING;
	if (access(job->image_dir, F_OK)) {
		json_t *outcome = outcome_error(-errno, "%s: %s; is image_dir the same directory on all nodes?",
						job->image_dir, strerror(errno));

		jobs_forget(job);
		return outcome;
	}
	err = parts_open(job, true, why, sizeof(why));
	if (err) {
		jobs_forget(job);
		return outcome_error(err, "%s", why);
	}
	*ret_job = job;
	return NULL;
}

/* Is it the home that asks, and are we who it takes us for? */
static bool is_home(const struct daemon *daemon, const struct peer_question *q,
		    const json_t *record, int node)
{
	const json_t *names = json_object_get(json_object_get(record, "ranks"), "nodes");
	const char *home = json_string_value(json_array_get(names, 0));

	return home && node > 0 && parts_number(record, daemon->config.node) == node &&
	       peer_find(nodes_peer(daemon->nodes), home) == (int)peer_question_from(q);
}

static void on_start(struct peer_question *q, void *arg)
{
	struct daemon *daemon = arg;
	json_int_t id = 0, run = 0;
	json_t *record = NULL, *outcome;
	struct job *job;
	int node = 0;

	if (json_unpack(peer_question_args(q), "{s:I, s:I, s:i, s:o}", "job", &id, "run", &run,
			"node", &node, "record", &record) || !is_home(daemon, q, record, node)) {
		peer_question_answer(q, outcome_error(-EPROTO, "this is no part of ours"));
		return;
	}
	job = parts_job(daemon, id, (uint64_t)run);
	if (job && !job->busy) {
		answer_started(q, job);
		return;
	}
	outcome = rank_record_check(json_object_get(record, "ranks"), &daemon->config);
	if (!outcome)
		outcome = enter(daemon, id, record, &job);
	if (!outcome) {
		outcome = launch(job, q);
		if (outcome)
			drop(job);
	}
	if (outcome)
		peer_question_answer(q, outcome);
}

/* ---------------------------------------------------------- other requests */

/* The part that is asked for, by its home; false: answered. */
static bool take_question(struct peer_question *q, struct daemon *daemon, struct job **ret_job)
{
	json_int_t id = 0, run = 0;
	struct job *job;

	if (json_unpack(peer_question_args(q), "{s:I, s:I}", "job", &id, "run", &run)) {
		peer_question_answer(q, outcome_error(-EPROTO, "which job?"));
		return false;
	}
	job = parts_job(daemon, id, (uint64_t)run);
	if (!job) {
		peer_question_answer(q, outcome_ok(NULL));
		return false;
	}
	if (!job->parts->node || parts_host(job->parts, 0) != (int)peer_question_from(q)) {
		peer_question_answer(q, outcome_error(-EPERM, "only its home may ask that"));
		return false;
	}
	*ret_job = job;
	return true;
}

static void on_end(struct peer_question *q, void *arg)
{
	const json_t *args = peer_question_args(q);
	int signo = (int)json_integer_value(json_object_get(args, "signal"));
	bool grace = json_integer_value(json_object_get(args, "grace_ms")) > 0;
	struct parts *p;
	struct job *job;

	if (!take_question(q, arg, &job))
		return;
	p = job->parts;
	if (p->part[p->node].ended) {
		peer_question_answer(q, outcome_ok(parts_end_pack(&p->part[p->node].end)));
	} else if (p->nr_ends == PARTS_QUESTIONS) {
		peer_question_answer(q, outcome_error(-EBUSY, "it is ending"));
	} else {
		p->ends[p->nr_ends++] = q;
		parts_end_here(p, grace ? 128 + (signo & 127) : 0, NULL);
	}
}

static void on_signal(struct peer_question *q, void *arg)
{
	const struct shim_msg msg = {
		.type = SHIM_SIGNAL,
		.number = (uint64_t)json_integer_value(json_object_get(peer_question_args(q),
								       "signal")),
	};
	struct job *job;
	int err;

	if (!take_question(q, arg, &job))
		return;
	err = job->shim < 0 ? -ENOTCONN : shim_send(job->shim, &msg, NULL, 0, NULL, 0);
	if (err && msg.number == SIGKILL)
		parts_end_here(job->parts, 0, NULL);
	peer_question_answer(q, outcome_ok(NULL));
}

static void on_over(struct peer_question *q, void *arg)
{
	struct job *job;

	if (!take_question(q, arg, &job))
		return;
	peer_question_answer(q, outcome_ok(NULL));
	if (!job->busy)
		over(job->parts);
}

int parts_away_register(struct daemon *daemon)
{
	struct peer_asks *asks = nodes_asks(daemon->nodes);
	int err = peer_verb(asks, "start", on_start, daemon);

	if (!err)
		err = peer_verb(asks, "end", on_end, daemon);
	if (!err)
		err = peer_verb(asks, "signal", on_signal, daemon);
	return err ? err : peer_verb(asks, "over", on_over, daemon);
}
