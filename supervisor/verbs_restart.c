// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request restart: a job from one of its generations, on this node or, with this one as
 * the home, over several, as many as its images are of or others.
 *
 * Images are restored (job_restore.h; parts.h on the other nodes), and MPI ranks make their
 * library anew (ranks_up.h); only when all of them run it has succeeded. Refused while the
 * job's processes may still run: here, because init lives; elsewhere, because the record
 * says so and nobody has said that node is off. A failed restart leaves job and images
 * as they were.
 *
 * Over nodes it is first tried on all of them (parts_try()): what is missing anywhere is said
 * before anything is begun. A dry run is no more than that, of a draft of the job.
 *
 * Where there are levels, a generation is first made sure of (fetching.h): L1 may not have it any
 * more. If a restore finds it damaged all the same, what L1 has is read as a whole, and it is tried once
 * more.
 *
 * Where image directories are not shared, that is for the image of the first node, which says what the job
 * is; as soon as it is known which ranks are to be where, each node gets the images that it needs
 * (parts_fetch()), before anything is tried.
 *
 * With --node-lost a job that runs on, without the node that is gone, is ended first.
 */
#include "supervisor/verbs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "image/util.h"
#include "supervisor/fetching.h"
#include "supervisor/history.h"
#include "supervisor/hosts.h"
#include "supervisor/job_restore.h"
#include "supervisor/jobs.h"
#include "supervisor/keeper.h"
#include "supervisor/merger.h"
#include "supervisor/outcome.h"
#include "supervisor/parts.h"
#include "supervisor/rank_record.h"
#include "supervisor/ranks_up.h"
#include "supervisor/restart_before.h"

/* How long a job whose ranks could not go on, or are to go, may take to be gone. */
#define END_LOOK_MS	20
#define END_LOOKS	1500

/* What a request has come to before there is a restart, and between two. */
struct attempt {
	struct request *request;
	json_int_t asked;	/* generation; 0: the newest */
	bool known;		/* the job is */
	bool claimed;
	bool deep;		/* it is the second */
	json_int_t run;		/* the highest that is known of, beside our record's */
	json_t *steps;		/* of fetches; NULL */
	json_t *first;		/* images that a fetch under way wants; NULL: all */
};

struct restart {
	struct request *request;
	struct attempt *attempt;
	struct job *job;	/* of a dry run the draft */
	struct job *draft;	/* what is tried; NULL: it is done at once */
	enum job_state before;
	int64_t generation;
	bool attach;
	json_t *how;		/* job_restore.h */
	json_t *how_tried;	/* the same, dry */
	json_t *ranks_before;	/* what the record had; NULL: none, or not changed */
	bool begun;		/* the record says that it starts */
	bool nothing_left;	/* of what was begun */
	int client;		/* the client's end of its terminal; -1 */
	json_t *outcome;	/* of the restore, until the ranks run or the job is gone */
	json_t *failure;	/* the first */
	unsigned int waits;	/* for the other nodes, for the ranks here */
	unsigned int looks;
};

static bool is_of_nodes(const struct job *job)
{
	return json_object_get(json_object_get(job->record, "ranks"), "nodes");
}

static bool is_dry_run(const struct restart *r)
{
	return json_is_true(json_object_get(r->how, "dry_run"));
}

static void restart_free(struct restart *r)
{
	if (r->client >= 0)
		close(r->client);
	json_decref(r->how);
	json_decref(r->how_tried);
	json_decref(r->ranks_before);
	job_draft_free(r->draft);
	free(r);
}

static void attempt_free(struct attempt *a)
{
	json_decref(a->steps);
	json_decref(a->first);
	free(a);
}

/* The request's end. */
static void attempt_answer(struct attempt *a, int64_t job, json_t *outcome, int fd)
{
	json_t *to = json_object_get(outcome, outcome_is_ok(outcome) ? "result" : "error");

	if (a->claimed)
		catalog_unclaim(&a->request->daemon->catalog, job);
	if (a->steps) {
		json_array_extend(a->steps, json_object_get(to, "steps"));
		json_object_set(to, "steps", a->steps);
	}
	request_answer_fd(a->request, outcome, fd);
	attempt_free(a);
}

static void attempt_start(struct attempt *a);

static void finish(struct restart *r, json_t *outcome)
{
	int client = outcome_is_ok(outcome) ? take_fd(&r->client) : -1;

	r->job->busy = NULL;
	attempt_answer(r->attempt, r->job->id, outcome, client);
	restart_free(r);
}

/* It is damaged where a look from outside does not find it: once more, and closer. */
static bool try_again(struct restart *r, json_t *failure)
{
	struct attempt *a = r->attempt;

	if (outcome_errno(failure) != -EBADMSG || a->deep || is_dry_run(r) ||
	    !fetching_is_on(r->request->daemon))
		return false;
	a->deep = true;
	r->job->busy = NULL;
	json_decref(failure);
	restart_free(r);
	attempt_start(a);
	return true;
}

static void on_progress(json_t *progress, void *arg)
{
	struct restart *r = arg;

	request_progress(r->request, progress);
}

/* ------------------------------------------------------------ and back again */

static void back(struct restart *r)
{
	struct job *job = r->job;
	char why[512];

	if (job == r->draft)
		return;
	job_let_go(job);
	job_unprepare(job);
	if (r->ranks_before)
		json_object_set(job->record, "ranks", r->ranks_before);
	if (!r->begun)
		return;
	/* Of a job that another node had, only its images are known to be left. */
	if (job_set_state(job, r->before == JOB_ELSEWHERE ? JOB_LOST : r->before,
			  why, sizeof(why)))
		log_error(&r->request->daemon->log, "%s", why);
}

/* Takes over @failure. */
static void give_up(struct restart *r, json_t *failure)
{
	log_warning(&r->request->daemon->log, "job %lld: no restart from generation %lld: %s",
		    (long long)r->job->id, (long long)r->generation,
		    json_string_value(json_object_get(json_object_get(failure, "error"), "text")));
	back(r);
	if (!try_again(r, failure))
		finish(r, failure);
}

/* ----------------------------------------------------------- MPI ranks */

static void on_gone(void *arg)
{
	struct restart *r = arg;
	struct reactor_source *timer;

	if (r->nothing_left || !job_is_alive(r->job))
		give_up(r, r->failure);
	else if (r->looks++ >= END_LOOKS ||
		 reactor_timer(r->request->daemon->reactor, END_LOOK_MS, on_gone, r, &timer))
		finish(r, r->failure);	/* it is seen to end later */
}

/* How long it took goes into the job's history; without that it runs all the same. */
static void remember(const struct restart *r)
{
	const json_t *took = json_object_get(json_object_get(r->outcome, "result"), "total_ns");
	json_t *row = json_pack("{s:I, s:I, s:I}", "taken", (json_int_t)time(NULL), "restart",
				(json_int_t)r->generation, "total_ns", json_integer_value(took));
	int err = took ? history_append(&r->request->daemon->catalog, r->job->id, row) : 0;

	if (err)
		log_warning(&r->request->daemon->log, "job %lld: what the restart took cannot be written down: %s",
			    (long long)r->job->id, strerror(-err));
	json_decref(row);
}

/* All that was waited for has come. */
static void settle(struct restart *r)
{
	char why[512];

	if (--r->waits)
		return;
	if (r->failure) {
		json_decref(r->outcome);
		on_gone(r);
		return;
	}
	if (r->job->parts && job_set_state(r->job, JOB_RUNNING, why, sizeof(why)))
		log_error(&r->request->daemon->log, "%s", why);
	log_info(&r->request->daemon->log, "job %lld runs again from generation %lld",
		 (long long)r->job->id, (long long)r->generation);
	remember(r);
	json_object_update_missing(json_object_get(r->outcome, "result"), job_describe(r->job));
	finish(r, r->outcome);
}

/* What was restored and cannot go on is of no use to anybody. Takes over @failure. */
static void fail(struct restart *r, json_t *failure)
{
	if (r->failure) {
		json_decref(failure);
		return;
	}
	r->failure = failure;
	if (r->nothing_left)
		return;
	if (r->job->parts)
		parts_cancel(r->job->parts, failure);
	else if (r->job->init)
		kill(r->job->init, SIGKILL);
}

static void on_ranks(json_t *failure, void *arg)
{
	struct restart *r = arg;

	if (failure)
		fail(r, failure);
	settle(r);
}

static void on_parts(json_t *outcome, void *arg)
{
	struct restart *r = arg;

	if (outcome_is_ok(outcome)) {
		parts_add_figures(json_object_get(r->outcome, "result"),
				  json_object_get(outcome, "result"));
		json_decref(outcome);
	} else {
		r->nothing_left = true;
		fail(r, outcome);
	}
	settle(r);
}

static void adopt(struct restart *r)
{
	struct job *job = r->job;
	char why[512];

	json_object_set_new(job->record, "generation", json_integer(r->generation));
	if (job->parts) {
		job_take(job);
	} else if (job_adopt(job)) {
		job->state = JOB_RUNNING;
		job_recover(job);
	} else if (job_set_state(job, JOB_RUNNING, why, sizeof(why))) {
		log_error(&r->request->daemon->log, "%s", why);
	}
}

/* Takes over @outcome: of several nodes it is this one's. */
static json_t *of_node(const struct restart *r, json_t *outcome)
{
	json_t *named;

	if (!is_of_nodes(r->job))
		return outcome;
	named = outcome_of_node(outcome, r->request->daemon->config.node);
	json_decref(outcome);
	return named;
}

static void on_restored(json_t *outcome, void *arg)
{
	struct restart *r = arg;
	struct job *job = r->job;
	int err;

	if (!outcome_is_ok(outcome)) {
		give_up(r, of_node(r, outcome));
		return;
	}
	log_info(&r->request->daemon->log, "job %lld restored from generation %lld",
		 (long long)job->id, (long long)r->generation);
	adopt(r);
	r->outcome = outcome;
	/* One more than there are: none of them is the last before all are asked. */
	r->waits = 2;
	err = ranks_up_wait(job, on_ranks, r);
	if (err < 0)
		fail(r, outcome_error(err, "the ranks of job %lld cannot be watched: %s",
				      (long long)job->id, strerror(-err)));
	if (err)
		r->waits--;
	if (job->parts) {
		r->waits++;
		parts_start(job->parts, r->how, on_parts, r);
	}
	settle(r);
}

/* ---------------------------------------------------------------- the start */

/* Above that of every other: what is left of those is known by it. */
static json_int_t next_run(const struct restart *r)
{
	json_int_t run = json_integer_value(json_object_get(r->job->record, "run"));

	return (run > r->attempt->run ? run : r->attempt->run) + 1;
}

/* Its image is good: from here on the job is what is restarted. */
static json_t *on_checked(void *arg)
{
	struct restart *r = arg;
	struct job *job = r->job;
	char why[512];
	int err = 0;

	json_object_set_new(job->record, "run", json_integer(next_run(r)));
	job->saving = false;
	if (is_of_nodes(job))
		err = parts_open(job, true, why, sizeof(why));
	if (!err) {
		err = job_set_state(job, JOB_STARTING, why, sizeof(why));
		r->begun = !err;
		if (err)
			job->state = r->before;
	}
	return err ? outcome_error(err, "%s", why) : NULL;
}

static void start(struct restart *r)
{
	static const struct job_restore_ops ops = {
		.progress = on_progress, .checked = on_checked, .ended = on_restored,
	};
	int pair[2] = { -1, -1 }, err;

	if (r->attach && !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		r->client = pair[0];
	err = job_restore_start(r->job, r->how, pair[1], &ops, r);
	if (err)
		give_up(r, outcome_error(err, "the restart cannot be begun: %s", strerror(-err)));
}

/* On all nodes. */
static void on_tried(json_t *outcome, void *arg)
{
	struct restart *r = arg;

	if (is_dry_run(r)) {
		finish(r, outcome);
	} else if (!outcome_is_ok(outcome)) {
		give_up(r, outcome);
	} else {
		json_decref(outcome);
		start(r);
	}
}

static void on_tried_here(json_t *outcome, void *arg)
{
	struct restart *r = arg;

	parts_try(r->draft, r->how_tried, outcome, on_tried, r);
}

static void try(struct restart *r)
{
	static const struct job_restore_ops ops = {
		.progress = on_progress, .ended = on_tried_here,
	};
	int err = job_restore_start(r->draft, r->how_tried, -1, &ops, r);

	if (err)
		give_up(r, outcome_error(err, "the restart cannot be tried: %s", strerror(-err)));
}

/* ----------------------------------------------------------------- check */

/* What is tried, and what the job will be; @ranks (taken over) as of restart_place(). */
static json_t *prepare(struct restart *r, json_t *ranks)
{
	json_t *record = NULL;
	int err = 0;

	if (ranks || is_dry_run(r)) {
		record = json_deep_copy(r->job->record);
		if (ranks)
			json_object_set(record, "ranks", ranks);
		err = jobs_draft(r->job->jobs, r->job->id, record, &r->draft);
		r->how_tried = json_copy(r->how);
		json_object_set_new(r->how_tried, "dry_run", json_true());
	}
	if (err) {
		json_decref(ranks);
		return outcome_error(err, "the record of job %lld is not understood",
				     (long long)r->job->id);
	}
	if (is_dry_run(r)) {
		json_decref(ranks);
		r->job = r->draft;
	} else if (ranks) {
		r->ranks_before = json_incref(json_object_get(r->job->record, "ranks"));
		json_object_set_new(r->job->record, "ranks", ranks);
	}
	return NULL;
}

static struct restart *parse(struct attempt *a, struct job *job, json_t **ret_outcome)
{
	struct request *request = a->request;
	int accept = 0, dry_run = 0, node_lost = 0, attach = 0;
	json_t *nodes = NULL, *map = NULL, *ranks;
	json_int_t id, generation = 0;
	const char *files = NULL;
	struct restart *r;
	json_error_t why;

	if (json_unpack_ex(request->args, &why, 0,
			   "{s:I, s?I, s?b, s?b, s?b, s?b, s?s, s?o, s?o !}", "job", &id,
			   "generation", &generation, "accept_changed", &accept,
			   "dry_run", &dry_run, "node_lost", &node_lost,
			   "attach", &attach, "files", &files, "nodes", &nodes,
			   "map", &map)) {
		*ret_outcome = outcome_error(-EINVAL, "restart: bad arguments: %s",
					     why.text);
		return NULL;
	}
	*ret_outcome = restart_choose(&request->daemon->catalog, job, &generation);
	if (*ret_outcome)
		return NULL;
	ranks = restart_place(request->daemon, job, generation, nodes, map, ret_outcome);
	r = *ret_outcome ? NULL : calloc(1, sizeof(*r));
	if (!r) {
		json_decref(ranks);
		return NULL;
	}
	*r = (struct restart) {
		.request = request, .attempt = a, .job = job, .before = job->state,
		.generation = generation, .attach = attach, .client = -1,
	};
	r->how = json_pack("{s:I, s:b, s:b, s:b}", "generation", generation,
			   "accept_changed", accept, "any_rights", request->uid == 0,
			   "dry_run", dry_run);
	if (files)
		json_object_set_new(r->how, "files", json_string(files));
	*ret_outcome = prepare(r, ranks);
	if (!*ret_outcome)
		return r;
	restart_free(r);
	return NULL;
}

/* From here on no other node restarts it; @job is what it is now. */
static json_t *take_claim(struct request *request, struct job **job)
{
	const struct daemon *daemon = request->daemon;
	bool force = json_is_true(json_object_get(request->args, "node_lost"));
	int64_t id = (*job)->id;
	json_t *outcome = NULL;
	char holder[80];
	int err;

	err = catalog_claim(&daemon->catalog, id, daemon->config.node, force, holder,
			    sizeof(holder));
	if (err == -EBUSY)
		return outcome_error(err, "job %lld is being restarted on node %s",
				     (long long)id, holder);
	if (err)
		return outcome_error(err, "%s: %s", (*job)->image_dir, strerror(-err));
	merger_stop(daemon->merger, id, true);
	outcome = keeper_yield(daemon->keeper, id);
	if (!outcome)
		*job = jobs_find(daemon->jobs, id, &outcome);
	if (outcome)
		catalog_unclaim(&daemon->catalog, id);
	return outcome;
}

/* ------------------------------------------------------------------ the verb */

static void begin_restart(struct restart *r)
{
	if (r->draft)
		try(r);
	else
		start(r);
}

static void note_run(struct attempt *a, const json_t *result)
{
	json_int_t run = json_integer_value(json_object_get(result, "run"));

	a->run = run > a->run ? run : a->run;
}

static void add_steps(struct attempt *a, const json_t *result)
{
	if (!a->steps)
		a->steps = json_array();
	json_array_extend(a->steps, json_object_get(result, "steps"));
}

/* Each node has what it needs, or could have it. */
static void on_parts_fetched(json_t *outcome, void *arg)
{
	struct restart *r = arg;
	const json_t *result = json_object_get(outcome, "result");

	if (!outcome_is_ok(outcome)) {
		give_up(r, outcome);
		return;
	}
	add_steps(r->attempt, result);
	note_run(r->attempt, result);
	if (json_is_true(json_object_get(result, "in_l1"))) {
		json_decref(outcome);
		begin_restart(r);
		return;
	}
	json_decref(outcome);
	finish(r, outcome_ok(json_pack("{s:I, s:b, s:b, s:I}", "job", (json_int_t)r->job->id, "dry_run", 1,
				       "fetch", 1, "generation", (json_int_t)r->generation)));
}

/* False: there is nothing to be fetched that is not here. */
static bool fetch_parts(struct restart *r)
{
	const struct daemon *daemon = r->request->daemon;
	struct parts_fetch how = {
		.generation = r->generation, .deep = r->attempt->deep, .dry_run = is_dry_run(r),
	};
	const struct job *job = r->draft ? r->draft : r->job;
	char why[512];
	int err;

	if (daemon->config.image_dir_shared || !json_object_get(job->record, "ranks"))
		return false;
	err = catalog_generation_parts(&daemon->catalog, job->id, r->generation, &how.was, why,
				       sizeof(why));
	if (err && err != -ENOENT) {
		give_up(r, outcome_error(err, "%s", why));
		return true;
	}
	parts_fetch(job, &how, on_parts_fetched, r);
	json_decref(how.was);
	return true;
}

/* L1 has it now, as far as that can be told. */
static void go_on(struct attempt *a, struct job *job)
{
	json_t *outcome = NULL;
	struct restart *r = parse(a, job, &outcome);

	if (!r) {
		attempt_answer(a, job->id, outcome, -1);
		return;
	}
	r->job->busy = "restart";
	if (!fetch_parts(r))
		begin_restart(r);
}

/* Of a dry run with nothing in L1 that could be tried. */
static json_t *would_be_fetched(const struct attempt *a, const json_t *result)
{
	return outcome_ok(json_pack("{s:O, s:b, s:b, s:O}", "job",
				    json_object_get(a->request->args, "job"), "dry_run", true,
				    "fetch", true, "generation", json_object_get(result, "generation")));
}

/* What levels have of it has a number, too. False: answered. */
static bool note_newest(struct attempt *a, struct job *job, const json_t *result)
{
	char why[512];
	int err = 0;

	if (job && !json_is_true(json_object_get(a->request->args, "dry_run")))
		err = job_raise_floor(job, json_integer_value(json_object_get(result, "newest")), why,
				      sizeof(why));
	if (err)
		attempt_answer(a, job->id, outcome_error(err, "%s", why), -1);
	return !err;
}

static void on_fetched(json_t *outcome, void *arg)
{
	struct attempt *a = arg;
	int64_t id = json_integer_value(json_object_get(a->request->args, "job"));
	const json_t *result = json_object_get(outcome, "result");
	struct job *job = a->known ? jobs_known(a->request->daemon->jobs, id) : NULL;

	json_decref(a->first);
	a->first = NULL;
	if (job)
		job->busy = NULL;
	if (!outcome_is_ok(outcome)) {
		attempt_answer(a, id, outcome, -1);
		return;
	}
	add_steps(a, result);
	note_run(a, result);
	if (!json_is_true(json_object_get(result, "in_l1"))) {
		attempt_answer(a, id, would_be_fetched(a, result), -1);
	} else if (!job) {
		a->known = true;
		attempt_start(a);
	} else if (note_newest(a, job, result)) {
		json_object_set(a->request->args, "generation", json_object_get(result, "generation"));
		go_on(a, job);
	}
	json_decref(outcome);
}

static void on_fetch_progress(json_t *progress, void *arg)
{
	const struct attempt *a = arg;

	request_progress(a->request, progress);
}

/* @job: NULL: L1 knows nothing of it. False: without. */
static bool fetch(struct attempt *a, struct job *job)
{
	static const struct fetching_ops ops = { on_fetch_progress, on_fetched };
	struct request *request = a->request;
	const struct config *config = &request->daemon->config;
	struct fetching_options options = {
		.id = json_integer_value(json_object_get(request->args, "job")), .job = job,
		.generation = a->asked, .deep = a->deep, .uid = request->uid,
		.dry_run = json_is_true(json_object_get(request->args, "dry_run")),
	};

	if (!fetching_is_on(request->daemon))
		return false;
	/* Which of the others are for us is not known yet. */
	if (!config->image_dir_shared && !a->first)
		a->first = json_pack("[i]", 0);
	options.parts = a->first;
	if (fetching_start(request->daemon, &options, &ops, a))
		return false;
	a->known = job;
	if (job)
		job->busy = "restart";
	return true;
}

static void attempt_start(struct attempt *a)
{
	struct request *request = a->request;
	bool dry_run = json_is_true(json_object_get(request->args, "dry_run"));
	json_t *outcome = NULL;
	struct job *job = jobs_find_for(request, &outcome);
	int64_t id = job ? job->id : 0;

	if (!job && outcome_errno(outcome) == -ENOENT && !a->known && fetch(a, NULL)) {
		json_decref(outcome);
		return;
	}
	if (job)
		outcome = job_check_free(job, "restart");
	/* What is refused anyway is not worth a fetch. */
	if (job && !outcome)
		outcome = restart_check_not_running(job, json_is_true(json_object_get(request->args, "node_lost")));
	if (job && !outcome && !dry_run && !a->claimed) {
		outcome = take_claim(request, &job);
		a->claimed = job && !outcome;
	}
	if (!job || outcome)
		attempt_answer(a, id, outcome, -1);
	else if (!fetch(a, job))
		go_on(a, job);
}

static void begin(struct request *request)
{
	struct attempt *a = calloc(1, sizeof(*a));

	if (!a) {
		request_answer(request, NULL);
		return;
	}
	a->request = request;
	a->asked = json_integer_value(json_object_get(request->args, "generation"));
	attempt_start(a);
}

void verb_restart(struct request *request)
{
	json_t *outcome = NULL;
	struct job *job = jobs_find_for(request, &outcome);

	json_decref(outcome);
	if (!job || !restart_put_down(request, job, begin))
		begin(request);
}
