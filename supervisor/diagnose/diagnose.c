// SPDX-License-Identifier: GPL-2.0-only
/*
 * Acts for a diagnosis; see diagnose.h. Owns its workers, questions and deadlines.
 *
 * A worker may hang in the kernel, where reading /proc of a process waits for that process's
 * memory: at the deadline it is killed, and this node is one of those that do not answer.
 */
#include "supervisor/diagnose/diagnose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "shim/proto.h"
#include "shim/ranks.h"
#include "supervisor/control/worker.h"
#include "supervisor/diagnose/filter.h"
#include "supervisor/diagnose/look.h"
#include "mpi-glue/status_progress.h"
#include "supervisor/diagnose/reach_round.h"
#include "supervisor/diagnose/report.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/parts/parts_priv.h"

#define DIAGNOSE_MARGIN_MS	4000	/* beside the samples: reading pages and /proc */
#define DIAGNOSE_STACKS_MS	20000	/* more if they are unwound */
#define DIAGNOSE_PEER_MS	1000	/* more for another node's answer to arrive */
#define DIAGNOSE_PLACES		250	/* that a loop goes through, for the number of samples */
#define DIAGNOSE_SAMPLES_MIN	3
#define DIAGNOSES_MAX		2	/* of one job at a time: its own watch, and somebody's */

struct diagnosis {
	/* who asks: a client, the home, or this node itself; NULL: not he */
	struct request *request;
	struct peer_question *question;
	diagnose_fn fn;
	void *arg;
	struct common *common;
	struct jobs *jobs;	/* set while it counts among the job's */
	struct worker *worker;
	struct reactor_source *deadline;
	long long job;
	uid_t uid;	/* the job's owner */
	unsigned int nr_ranks;
	const char *node;
	struct diagnose_options options;
	struct threads_of of;
	json_t *rows, *silent, *looks;	/* of all nodes that answered */
	json_t *errors;			/* texts of nodes that answered so; silent, too */
	json_t *unheard;		/* the silent ones that did not answer at all */
	json_t *reach;			/* what others say of those (reach_round.h) */
	unsigned int waits;		/* pending: the worker, other nodes */
	char path[4096];
};

struct diagnosed_node {
	struct diagnosis *diagnosis;
	char name[JOB_NODE_MAX];
};

/* -------------------------------------------------------------- the worker */

static json_t *diagnose_run(struct channel_reporter *reporter, void *arg)
{
	struct diagnosis *d = arg;
	_cleanup_fd_ int sock = shim_connect(d->path);
	json_t *result = NULL;
	int err = sock < 0 ? sock :
		  look_at_ranks(sock, &d->of, d->common->config.state_dir, &result);

	if (!err)
		return outcome_ok(result);
	if (err == -EOPNOTSUPP)
		return outcome_error(err, "the ranks of job %lld run without our MPI library: "
				     "nothing is known of their calls", d->job);
	return outcome_error(err, "the shim of job %lld does not answer: %s", d->job,
			     strerror(-err));
}

static unsigned int diagnose_span_ms(const struct diagnosis *d)
{
	return d->of.samples * d->of.interval_ms + DIAGNOSE_MARGIN_MS +
	       (d->of.stacks ? DIAGNOSE_STACKS_MS : 0);
}

/* ----------------------------------------------------------------- answers */

static void diagnose_free(struct diagnosis *d)
{
	struct job *job = d->jobs ? jobs_lookup(d->jobs, d->job) : NULL;

	if (job && job->diagnoses)	/* a job that was registered anew counts from 0 */
		job->diagnoses--;
	reactor_remove(d->deadline);
	json_decref(d->rows);
	json_decref(d->silent);
	json_decref(d->looks);
	json_decref(d->errors);
	json_decref(d->unheard);
	json_decref(d->reach);
	free(d);
}

/* True if a suspect of @result is on @node. */
static bool diagnose_suspects(const struct diagnosis *d, const json_t *result, const json_t *node)
{
	const json_t *row, *suspect;
	size_t i, k;

	json_array_foreach(d->rows, i, row) {
		if (!json_equal(json_object_get(row, "node"), node))
			continue;
		json_array_foreach(json_object_get(result, "suspects"), k, suspect) {
			if (json_equal(json_object_get(row, "rank"), suspect))
				return true;
		}
	}
	return false;
}

/* Add the texts of @signs, of a look, to that of @result. */
static void diagnose_signs(const json_t *look, const char *signs, json_t *result)
{
	const char *node = json_string_value(json_object_get(look, "node"));
	const json_t *sign;
	size_t i;

	json_array_foreach(json_object_get(look, signs), i, sign) {
		const char *said = json_string_value(json_object_get(sign, "text"));

		json_array_append_new(json_object_get(result, "text"),
				      json_sprintf("node %s: %s", node, said ?: "?"));
	}
}

/*
 * Add to the text what nodes say of themselves, of a job that may hang: connections that lose
 * packets, and signs of broken hardware on the nodes of suspects; without suspects on all.
 */
static void diagnose_evidence(const struct diagnosis *d, json_t *result)
{
	const bool all = !json_array_size(json_object_get(result, "suspects"));
	const json_t *look;
	size_t i;

	if (!strcmp(json_string_value(json_object_get(result, "verdict")), "runs"))
		return;
	json_array_foreach(d->looks, i, look) {
		diagnose_signs(look, "lost_packets", result);
		if (all || diagnose_suspects(d, result, json_object_get(look, "node")))
			diagnose_signs(look, "hardware", result);
	}
}

/* Say of the silent nodes what was found of them. */
static void diagnose_silence(const struct diagnosis *d, json_t *result)
{
	const json_t *one;
	size_t i;

	json_object_set(result, "silent_nodes", d->silent);
	json_array_extend(json_object_get(result, "text"), d->errors);
	if (!d->reach)
		return;
	json_object_set(result, "reach", d->reach);
	json_array_foreach(d->reach, i, one)
		json_array_append(json_object_get(result, "text"), json_object_get(one, "text"));
}

static json_t *diagnose_outcome(struct diagnosis *d)
{
	json_t *result;

	if (!json_array_size(d->looks) && json_array_size(d->silent) == 1)
		return outcome_error(-ETIMEDOUT, "node %s did not say in time what its ranks do",
				     json_string_value(json_array_get(d->silent, 0)));
	result = report_make(d->rows, d->nr_ranks, d->options.patience_ms);
	if (!result)
		return outcome_error(-ENOMEM, "out of memory");
	json_object_set_new(result, "job", json_integer(d->job));
	json_object_set_new(result, "uid", json_integer(d->uid));
	json_object_set_new(result, "patience_ms",
			    json_integer((json_int_t)d->options.patience_ms));
	json_object_set(result, "looks", d->looks);
	diagnose_evidence(d, result);
	if (json_array_size(d->silent))
		diagnose_silence(d, result);
	return outcome_ok(result);
}

/* Give the outcome to whoever asked. Takes over @outcome, and frees @d. */
static void diagnose_answer(struct diagnosis *d, json_t *outcome)
{
	diagnose_fn fn = d->fn;
	void *arg = d->arg;

	if (d->question)
		peer_question_answer(d->question, outcome);
	else if (d->request)
		request_answer(d->request, outcome);
	else if (!fn)
		json_decref(outcome);
	diagnose_free(d);
	if (fn)
		fn(outcome, arg);
}

static void diagnose_on_reach(json_t *found, void *arg)
{
	struct diagnosis *d = arg;

	d->reach = found;
	diagnose_answer(d, diagnose_outcome(d));
}

/* All have answered, or will not. What keeps the silent ones is for the others to say. */
static void diagnose_settle(struct diagnosis *d)
{
	json_t *voters;
	const json_t *look;
	size_t i;
	int err = -ENOENT;

	if (--d->waits)
		return;
	if (json_array_size(d->unheard) && json_array_size(d->looks)) {
		voters = json_array();
		json_array_foreach(d->looks, i, look)
			json_array_append(voters, json_object_get(look, "node"));
		err = reach_round_start(d->common, d->unheard, voters, diagnose_on_reach, d);
		json_decref(voters);
	}
	if (err)
		diagnose_answer(d, diagnose_outcome(d));
}

void diagnose_forget(struct diagnosis *d)
{
	if (d)
		d->fn = NULL;
}

/* Node @name said nothing of its ranks, but @outcome if it did answer; NULL: it did not. */
static void diagnose_miss(struct diagnosis *d, const char *name, const json_t *outcome)
{
	const json_t *error = json_object_get(outcome, "error");
	const char *text = json_string_value(json_object_get(error, "text"));

	json_array_append_new(d->silent, json_string(name));
	/* what peer_ask() says of one that does not answer */
	if (!outcome || outcome_errno(outcome) == -ETIMEDOUT)
		json_array_append_new(d->unheard, json_string(name));
	else
		json_array_append_new(d->errors, json_sprintf("node %s says nothing of its ranks: "
							      "%s", name, text ?: "?"));
}

/* Take over what node @name saw. False: it saw nothing. */
static bool diagnose_take(struct diagnosis *d, const json_t *outcome, const char *name)
{
	const json_t *result = json_object_get(outcome, "result");
	json_t *rows = json_object_get(result, "mpi_ranks"), *row, *look;
	size_t i;

	if (!outcome_is_ok(outcome) || !json_is_array(rows)) {
		diagnose_miss(d, name, outcome);
		return false;
	}
	json_array_foreach(rows, i, row) {
		json_object_set_new(row, "node", json_string(name));
		json_array_append(d->rows, row);
	}
	look = json_copy((json_t *)result);
	json_object_del(look, "mpi_ranks");
	json_object_set_new(look, "node", json_string(name));
	json_array_append_new(d->looks, look);
	return true;
}

static void diagnose_on_progress(json_t *progress, void *arg)
{
}

static void diagnose_on_look(json_t *outcome, void *arg)
{
	struct diagnosis *d = arg;

	d->worker = NULL;
	reactor_remove(d->deadline);
	d->deadline = NULL;
	/* an error of this node alone, as for a job without pages, is the answer */
	if (d->question ||
	    (!outcome_is_ok(outcome) && d->waits == 1 && !json_array_size(d->looks))) {
		diagnose_answer(d, outcome);
		return;
	}
	diagnose_take(d, outcome, d->node);
	json_decref(outcome);
	diagnose_settle(d);
}

static const struct channel_ops diagnose_ops = { diagnose_on_progress, diagnose_on_look };

static void diagnose_on_deadline(void *arg)
{
	struct diagnosis *d = arg;

	d->deadline = NULL;
	worker_leave(d->worker);
	d->worker = NULL;
	diagnose_on_look(outcome_error(-ETIME, "node %s did not say in time what its ranks do",
				       d->node), d);
}

static void diagnose_on_node(const json_t *outcome, void *arg)
{
	struct diagnosed_node *node = arg;
	struct diagnosis *d = node->diagnosis;

	diagnose_take(d, outcome, node->name);
	free(node);
	diagnose_settle(d);
}

/* ------------------------------------------------------------------- start */

/* Make rows of the ranks of the @node-th node, whose part has ended: nobody is there to ask. */
static void diagnose_ended(struct diagnosis *d, const struct job *job, unsigned int node)
{
	json_t *spec = json_pack("{s:O}", "map", rank_record_map(job->record.ranks));
	struct ranks ranks = { 0 };

	if (!ranks_parse(spec, &ranks, NULL)) {
		for (unsigned int rank = 0; rank < ranks.size; rank++) {
			if (ranks.node_of[rank] != node)
				continue;
			json_array_append_new(d->rows,
					      json_pack("{s:I, s:s, s:s}", "rank", (json_int_t)rank,
							"life", "ended", "node",
							parts_name(job->parts, node)));
		}
	}
	ranks_done(&ranks);
	json_decref(spec);
}

/* Ask the other nodes of a job whose home is this node. */
static void diagnose_ask(struct diagnosis *d, const struct job *job)
{
	struct peer_asks *asks = nodes_asks(d->common->nodes);
	struct parts *p = job->parts;

	for (unsigned int i = 1; i < p->nr; i++) {
		struct diagnosed_node *node = calloc(1, sizeof(*node));
		int host = parts_host(p, i);
		json_t *args;

		if (p->part[i].ended)
			diagnose_ended(d, job, i);
		if (!node || p->part[i].ended) {
			free(node);
			continue;
		}
		node->diagnosis = d;
		snprintf(node->name, sizeof(node->name), "%s", parts_name(p, i));
		args = json_pack("{s:I, s:I, s:I, s:I, s:b, s:I, s:I}", "job",
				 (json_int_t)job->id, "run", (json_int_t)p->run, "samples",
				 (json_int_t)d->of.samples,
				 "interval_ms", (json_int_t)d->of.interval_ms, "stacks",
				 d->of.stacks, "recent", (json_int_t)d->of.recent, "rank",
				 (json_int_t)d->of.full);
		if (host >= 0 && !peer_ask(asks, (unsigned int)host, "diagnose", args,
					   diagnose_span_ms(d) + DIAGNOSE_PEER_MS,
					   diagnose_on_node, node, NULL)) {
			d->waits++;
		} else {
			diagnose_miss(d, node->name, NULL);
			free(node);
		}
	}
}

static const struct worker_kind diagnose_work = {
	.name = "ckptd-diagnose",
	.run = diagnose_run,
};

/* Start this node's look. Takes over @d unless it returns an outcome. */
static json_t *diagnose_begin(struct diagnosis *d, struct job *job)
{
	const struct worker_spec spec = { .kind = &diagnose_work, .arg = d };
	int err;

	if (job->diagnoses >= DIAGNOSES_MAX)
		return outcome_error(-EBUSY, "job %lld is being diagnosed: wait for that to end",
				     (long long)job->id);
	job->diagnoses++;
	d->jobs = job->jobs;
	d->common = jobs_common(job->jobs);
	d->job = job->id;
	d->node = d->common->config.node;
	d->rows = json_array();
	d->silent = json_array();
	d->errors = json_array();
	d->unheard = json_array();
	d->looks = json_array();
	d->of.init = job->init;
	d->of.uid = job->uid;
	d->of.gid = job->record.gid;
	d->waits = 1;
	snprintf(d->path, sizeof(d->path), "%s/shim.sock", job->state_dir);
	err = reactor_timer(d->common->reactor, diagnose_span_ms(d), diagnose_on_deadline, d,
			    &d->deadline);
	if (!err)
		err = worker_start(&d->common->workers, &spec, &diagnose_ops, d, &d->worker);
	return err ? outcome_error(err, "no worker: %s", strerror(-err)) : NULL;
}

static void diagnose_bound(struct threads_of *of, unsigned int samples, unsigned int interval_ms)
{
	of->samples = samples < 2 ? 2 : samples > THREADS_SAMPLES_MAX ? THREADS_SAMPLES_MAX :
		      samples;
	of->interval_ms = interval_ms < 1 ? 1 : interval_ms > 1000 ? 1000 : interval_ms;
}

/* A diagnosis by the job's home; NULL with an outcome: it could not begin. */
static struct diagnosis *diagnose_new(struct job *job, const struct diagnose_options *options,
				      json_t **ret_outcome)
{
	struct diagnosis *d = calloc(1, sizeof(*d));
	unsigned int samples = options->samples;

	if (!d) {
		*ret_outcome = outcome_error(-ENOMEM, "out of memory");
		return NULL;
	}
	d->options = *options;
	d->nr_ranks = rank_record_size(job->record.ranks);
	d->uid = job->uid;
	if (!samples)
		samples = filter_samples(d->nr_ranks, DIAGNOSE_PLACES);
	if (!options->samples && samples < DIAGNOSE_SAMPLES_MIN)
		samples = DIAGNOSE_SAMPLES_MIN;
	diagnose_bound(&d->of, samples, options->interval_ms);
	d->of.stacks = options->stacks;
	d->of.recent = options->recent;
	d->of.full = options->full;
	*ret_outcome = diagnose_begin(d, job);
	if (*ret_outcome) {
		diagnose_free(d);
		return NULL;
	}
	if (job->parts)
		diagnose_ask(d, job);
	return d;
}

json_t *diagnose_request(struct request *request, struct job *job,
			 const struct diagnose_options *options)
{
	json_t *outcome;
	struct diagnosis *d = diagnose_new(job, options, &outcome);

	if (d)
		d->request = request;
	return outcome;
}

struct diagnosis *diagnose_quietly(struct job *job, const struct diagnose_options *options,
				   diagnose_fn fn, void *arg)
{
	json_t *outcome;
	struct diagnosis *d = diagnose_new(job, options, &outcome);

	json_decref(outcome);
	if (d) {
		d->fn = fn;
		d->arg = arg;
	}
	return d;
}

static void diagnose_on_question(struct peer_question *question, void *arg)
{
	json_int_t id = 0, run = 0, samples = 0, interval_ms = 0, recent = 0, full = -1;
	struct diagnosis *d = NULL;
	json_t *outcome = NULL;
	struct job *job;

	json_unpack(peer_question_args(question), "{s:I, s:I, s:I, s:I, s?I, s?I}", "job", &id,
		    "run", &run, "samples", &samples, "interval_ms", &interval_ms, "recent",
		    &recent, "rank", &full);
	job = parts_job(arg, id, (uint64_t)run);
	if (job && parts_is_homes(job->parts, peer_question_from(question)))
		d = calloc(1, sizeof(*d));
	if (d) {
		d->question = question;
		diagnose_bound(&d->of, (unsigned int)samples, (unsigned int)interval_ms);
		d->of.stacks = json_is_true(json_object_get(peer_question_args(question),
							    "stacks"));
		d->of.recent = recent < 0 || recent > STATUS_OPS ? 0 : (unsigned int)recent;
		d->of.full = full;
		outcome = diagnose_begin(d, job);
		if (!outcome)
			return;
		diagnose_free(d);
	} else {
		outcome = outcome_error(-ESRCH, "job %lld does not run here", (long long)id);
	}
	peer_question_answer(question, outcome);
}

int diagnose_register(struct jobs *jobs)
{
	struct peer_asks *asks = nodes_asks(jobs_common(jobs)->nodes);

	return asks ? peer_verb(asks, "diagnose", diagnose_on_question, jobs) : 0;
}
