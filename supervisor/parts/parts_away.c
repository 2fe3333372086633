// SPDX-License-Identifier: GPL-2.0-only
/*
 * A part of a job whose home is another node: reports its state to the home, and takes the
 * home's signals and orders to end; see parts.h.
 *
 * The part runs on until its home says that the job is over, however long the home is silent.
 * The only other reason to end is a newer run in the job's record: the record in the catalog, or
 * where image directories are not shared, the record of any other node.
 */
#include "supervisor/parts/parts_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "supervisor/parts/stale_run.h"
#include "supervisor/job/job_restore.h"
#include "supervisor/job/rank_record.h"

#define RUNS_TICKS	(2000 / PARTS_TICK_MS)
#define ENDED_TICKS	(1000 / PARTS_TICK_MS)
#define OUTPUT_TICKS	(5000 / PARTS_TICK_MS)	/* wait for a shim that leaves slowly */

json_t *parts_end_pack(const struct job_end *end)
{
	return json_pack("{s:i, s:i, s:I, s:b, s:i}", "status", end->status, "rank", end->rank,
			 "failed_ns", (json_int_t)end->failed_ns, "lost", !end->found, "told",
			 end->told);
}

int parts_end_unpack(const json_t *json, struct job_end *ret_end)
{
	struct job_end end = { 0 };
	json_int_t failed_ns;
	int lost;

	if (json_unpack((json_t *)json, "{s:i, s:i, s:I, s:b, s?i}", "status", &end.status,
			"rank", &end.rank, "failed_ns", &failed_ns, "lost", &lost, "told",
			&end.told))
		return -EPROTO;
	end.failed_ns = failed_ns;
	end.found = !lost;
	*ret_end = end;
	return 0;
}

/* -------------------------------------------------------- reports to the home */

void parts_drop(struct job *job)
{
	job_let_go(job);
	job_unprepare(job);
	jobs_forget(job);
}

static void parts_away_over(struct parts *p)
{
	if (p->job->busy)
		parts_abandon(p);
	else if (p->part[p->node].ended)
		parts_drop(p->job);
	else
		parts_end_here(p, 0, NULL);
}

static void parts_away_on_told(const json_t *outcome, void *arg)
{
	struct part *part = arg;

	part->cookie = 0;
	if (outcome_is_ok(outcome)) {
		part->parts->part[0].heard_ms = clock_monotonic_ms();
		part->parts->others_restore = json_is_true(
			json_object_get(json_object_get(outcome, "result"), "restoring"));
		parts_lease_take(part->parts, part->asked_ns,
				 json_object_get(outcome, "result"));
	}
	if (outcome_is_ok(outcome) &&
	    json_is_true(json_object_get(json_object_get(outcome, "result"), "over")))
		parts_away_over(part->parts);
}

static void parts_away_tell(struct parts *p)
{
	struct part *part = &p->part[p->node];
	const char *state = part->restoring ? "restoring" : "running";
	int home = parts_host(p, 0);
	json_t *args;

	if (part->cookie || home < 0)
		return;
	args = parts_end_pack(&part->end);
	json_object_set_new(args, "job", json_integer(p->job->id));
	json_object_set_new(args, "run", json_integer((json_int_t)p->run));
	json_object_set_new(args, "node", json_integer(p->node));
	json_object_set_new(args, "state", json_string(part->ended ? "ended" : state));
	/* a held part has answered: a home that still waits has lost that answer, or its "go" */
	json_object_set_new(args, "starting", json_boolean(p->job->busy && !p->job->held));
	json_object_set_new(args, "lease_ms", json_integer(p->lease_ms > 0 ? p->lease_ms : 0));
	part->asked_ns = clock_boottime_ns();
	peer_ask(nodes_asks(p->common->nodes), (unsigned int)home, "part", args, PARTS_ASK_MS,
		 parts_away_on_told, part, &part->cookie);
}

void parts_away_gone(struct parts *p)
{
	struct part *part = &p->part[p->node];

	while (p->nr_ends)
		peer_question_answer(p->ends[--p->nr_ends], outcome_ok(parts_end_pack(&part->end)));
	/* The request that is busy with the job calls this again. */
	if (p->job->busy)
		return;
	if (p->abandoned) {
		parts_drop(p->job);
		return;
	}
	/* The answer to a report from before the end is of no use. */
	if (part->cookie)
		peer_ask_forget(nodes_asks(p->common->nodes), part->cookie);
	part->cookie = 0;
	parts_away_tell(p);
}

/* True if the home is silent and the record says that the job was restarted elsewhere. */
static bool is_superseded(const struct parts *p)
{
	json_t *record;
	struct ckpt_error error = {};
	bool stale_run;

	if (p->ticks % PARTS_LOOK_TICKS ||
	    clock_monotonic_ms() - p->part[0].heard_ms < PARTS_SILENT_MS)
		return false;
	if (rank_record_is_apart(p->job->record.ranks)) {
		stale_run_ask(p->job, p->ticks / PARTS_LOOK_TICKS);
		return false;
	}
	if (catalog_job_read(&p->common->catalog, p->job->id, &record, &error))
		return false;
	stale_run = (uint64_t)json_integer_value(json_object_get(record, "run")) > p->run;
	json_decref(record);
	return stale_run;
}

void parts_away_tick(struct parts *p)
{
	struct part *part = &p->part[p->node];
	int64_t silence;

	if (p->job->busy) {
		/* the home may be lost, and the job be restarted elsewhere: nothing has run here */
		silence = listening_silence_ms(&p->listening, clock_monotonic_ms(),
					       p->part[0].heard_ms);
		if (p->ticks % RUNS_TICKS == 0)
			parts_away_tell(p);
		if (p->job->held && silence >= PARTS_ALONE_MS)
			job_restore_answer(p->job, false);
		return;
	}
	if (is_superseded(p)) {
		stale_run_end(p->job);
		return;
	}
	if (clock_monotonic_ms() - p->part[0].heard_ms < PARTS_ALONE_MS)
		p->alone_ticks = 0;
	else if (++p->alone_ticks > PARTS_ALONE_TICKS)
		p->job->ops->coord_alone(p->job);
	if (p->gone && !part->ended && ++p->gone_ticks > OUTPUT_TICKS) {
		part->ended = true;
		parts_away_gone(p);
	} else if (p->ticks % (part->ended ? ENDED_TICKS : RUNS_TICKS) == 0) {
		parts_away_tell(p);
	}
}

/* ---------------------------------------------------------- other requests */

/* Look again for a job whose record could not be read when ckptd started. */
static struct job *find_again(struct jobs *jobs, int64_t id, uint64_t run)
{
	json_t *outcome = NULL;

	if (!jobs_reconcile(jobs, id, &outcome))
		json_decref(outcome);
	return parts_job(jobs, id, run);
}

/* Find the job that its home asks about; false: none, and @q has been answered. */
static bool take_question(struct peer_question *q, struct jobs *jobs, struct job **ret_job)
{
	json_int_t id = 0, run = 0;
	const struct job *known;
	struct job *job;

	if (json_unpack(peer_question_args(q), "{s:I, s:I}", "job", &id, "run", &run)) {
		peer_question_answer(q, outcome_error(-EPROTO, "which job?"));
		return false;
	}
	job = parts_job(jobs, id, (uint64_t)run);
	known = jobs_lookup(jobs, id);
	if (!job && !(known && known->parts) && jobs_has_processes(jobs, id)) {
		job = find_again(jobs, id, (uint64_t)run);
		if (!job) {
			peer_question_answer(q, outcome_error(-EAGAIN, "it runs here, and its "
								       "record cannot be read"));
			return false;
		}
	}
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

static void parts_away_on_end(struct peer_question *q, void *arg)
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

static void parts_away_on_signal(struct peer_question *q, void *arg)
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

static void on_ask_run(struct peer_question *q, void *arg)
{
	const struct common *common = jobs_common(arg);
	const json_t *args = peer_question_args(q);
	json_t *record = NULL;
	json_int_t run = 0;
	struct ckpt_error error = {};

	if (!catalog_job_read(&common->catalog, json_integer_value(json_object_get(args, "job")),
			      &record, &error) &&
	    json_equal(json_object_get(args, "uuid"), json_object_get(record, "uuid")))
		run = json_integer_value(json_object_get(record, "run"));
	json_decref(record);
	peer_question_answer(q, outcome_ok(json_pack("{s:I}", "run", run)));
}

static void parts_away_on_over(struct peer_question *q, void *arg)
{
	struct job *job;

	if (!take_question(q, arg, &job))
		return;
	peer_question_answer(q, outcome_ok(NULL));
	if (!job->busy)
		parts_away_over(job->parts);
}

int parts_away_register(struct jobs *jobs)
{
	struct peer_asks *asks = nodes_asks(jobs_common(jobs)->nodes);
	int err = peer_verb(asks, "end", parts_away_on_end, jobs);

	if (!err)
		err = peer_verb(asks, "signal", parts_away_on_signal, jobs);
	if (!err)
		err = peer_verb(asks, "run", on_ask_run, jobs);
	return err ? err : peer_verb(asks, "over", parts_away_on_over, jobs);
}
