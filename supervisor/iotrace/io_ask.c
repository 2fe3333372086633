// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asking all nodes of a job what it reads and writes; see io_ask.h.
 *
 * Owns the reports under way: each is answered when the worker and all nodes that were asked have
 * come back, or their deadlines have passed. Answers of nodes are taken one by one, so that none is
 * kept; of several nodes, a second worker makes the report. What other nodes say is checked by
 * io_part_decode().
 */
#include "supervisor/iotrace/io_ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/control/worker.h"
#include "supervisor/iotrace/io_merge.h"
#include "supervisor/iotrace/io_report.h"
#include "supervisor/job/job_record.h"
#include "supervisor/net/nodes.h"
#include "supervisor/net/peer_ask.h"

#define VERB		"io_part"
#define OWN_MS		30000	/* for the worker of a report */
#define PART_MS		5000	/* for the worker of a question, less than who asks waits */
#define QUESTIONS_MAX	8	/* of other nodes, that workers are at work for */
#define REPORTS_MAX	16	/* that wait for other nodes */

struct io_asks {
	struct common *common;
	unsigned int questions, reports;
	uid_t lists[IO_ASK_LISTS];	/* whose they are */
	unsigned int nr_lists;
};

/* A report, or a question of another node. */
struct io_ask {
	struct io_asks *asks;
	struct request *request;		/* of a user; NULL: a question */
	struct peer_question *question;
	struct worker *worker;
	struct io_store_job job;
	char uuid[IO_STORE_UUID];
	char asker[JOB_NODE_MAX];			/* of a question */
	int64_t began_ns;
	/* of a report */
	struct io_merge *merge;
	unsigned int parts, waits;
	bool several;				/* nodes */
	bool anomalies;				/* nothing else is wanted */
	json_t *checkpoints, *own;		/* own: the worker's outcome, if it is an error */
	json_t *silent, *unwatched, *failed;
};

/* A node that was asked. */
struct io_asked_node {
	struct io_ask *ask;
	int64_t asked_ns;
	char name[JOB_NODE_MAX];
};

/* -------------------------------------------------------------- in the worker */

static json_t *io_ask_run(struct channel_reporter *reporter, void *arg)
{
	const struct io_ask *a = arg;

	return io_report_part(a->asks->common, &a->job, a->question ? a->asker : NULL,
			      a->request && !a->request->uid);
}

static const struct worker_kind report_work = {
	.name = "ckptd-report", .run = io_ask_run, .deadline_ms = OWN_MS,
};

static const struct worker_kind part_work = {
	.name = "ckptd-report", .run = io_ask_run, .deadline_ms = PART_MS,
};

/* -------------------------------------------------------------------- whole */

static void io_ask_on_progress(json_t *progress, void *arg)
{
}

static struct io_ask *io_ask_new(struct io_asks *asks, const struct io_store_job *job)
{
	struct io_ask *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	snprintf(a->uuid, sizeof(a->uuid), "%s", job->uuid);
	a->asks = asks;
	a->began_ns = (int64_t)clock_realtime_ns();
	a->job = (struct io_store_job){ .number = job->number, .uuid = a->uuid, .uid = job->uid };
	return a;
}

static void io_ask_free(struct io_ask *a)
{
	io_merge_free(a->merge);
	json_decref(a->checkpoints);
	json_decref(a->own);
	json_decref(a->silent);
	json_decref(a->unwatched);
	json_decref(a->failed);
	free(a);
}

/* Nobody has told anything: the reason of this node, or that the others are silent. */
static json_t *io_ask_nothing(const struct io_ask *a)
{
	const char *name = json_string_value(json_array_get(a->silent, 0));
	const char *failed = json_object_iter_key(json_object_iter(a->failed));

	if (a->own && outcome_errno(a->own) != -ENOENT)
		return json_incref(a->own);
	if (name)
		return outcome_error(-ETIMEDOUT, "the I/O of job %lld was not watched on node %s, "
				     "and node %s did not answer in time",
				     (long long)a->job.number, a->asks->common->config.node, name);
	if (failed)
		return outcome_error(-EIO, "the I/O of job %lld was not watched on node %s; node "
				     "%s: %s", (long long)a->job.number,
				     a->asks->common->config.node, failed,
				     json_string_value(json_object_get(a->failed, failed)));
	return a->own ? json_incref(a->own) : outcome_error(-ENOMEM, "no memory");
}

/* The report, or the part of it that is wanted; NULL: no memory. */
static json_t *io_ask_result(const struct io_ask *a)
{
	json_t *whole = io_merge_json(a->merge), *result;

	if (!whole || !a->anomalies)
		return whole;
	result = json_pack("{s:O}", "anomalies", json_object_get(whole, "anomalies"));
	json_decref(whole);
	return result;
}

static json_t *io_ask_outcome(const struct io_ask *a)
{
	json_t *result;

	if (!a->parts)
		return io_ask_nothing(a);
	result = io_ask_result(a);
	if (!result)
		return outcome_error(-ENOMEM, "no memory");
	json_object_set_new(result, "job", json_integer(a->job.number));
	json_object_set_new(result, "node", json_string(a->asks->common->config.node));
	if (a->checkpoints && !a->anomalies)
		json_object_set(result, "checkpoints", a->checkpoints);
	if (a->several) {
		json_object_set(result, "silent_nodes", a->silent);
		json_object_set(result, "unwatched_nodes", a->unwatched);
		json_object_set(result, "failed_nodes", a->failed);
	}
	return outcome_ok(result);
}

static json_t *io_ask_finish(struct channel_reporter *reporter, void *arg)
{
	return io_ask_outcome(arg);
}

static const struct worker_kind merge_work = {
	.name = "ckptd-merge", .run = io_ask_finish, .deadline_ms = OWN_MS,
};

/* Answer the request with @outcome, which is taken over. */
static void io_ask_end(struct io_ask *a, json_t *outcome)
{
	a->asks->reports -= a->several;
	request_on_abandon(a->request, NULL, NULL);
	request_answer(a->request, outcome);
	io_ask_free(a);
}

static void io_ask_on_merged(json_t *outcome, void *arg)
{
	io_ask_end(arg, outcome);
}

/*
 * One of those that are waited for has come, or will not. The files and phases of many nodes take
 * long to be sorted: a worker, which has a copy of them, does that.
 */
static void io_ask_settle(struct io_ask *a)
{
	static const struct channel_ops ops = { io_ask_on_progress, io_ask_on_merged };
	const struct worker_spec spec = { .kind = &merge_work, .arg = a };

	if (--a->waits)
		return;
	if (!a->several ||
	    worker_start(&a->asks->common->workers, &spec, &ops, a, &a->worker))
		io_ask_end(a, io_ask_outcome(a));
	else
		request_on_abandon(a->request, worker_on_abandon, a->worker);
}

/* Note why the node has no part in the report. */
static void io_ask_note(struct io_ask *a, const char *node, const json_t *outcome)
{
	const json_t *error = json_object_get(outcome, "error");
	const char *text = json_string_value(json_object_get(error, "text"));
	char line[300];

	switch (outcome_errno(outcome)) {
	case -ETIMEDOUT:
		json_array_append_new(a->silent, json_string(node));
		break;
	case -ENOENT:
		json_array_append_new(a->unwatched, json_string(node));
		break;
	default:
		/* the node's own words: no more than a line of them */
		snprintf(line, sizeof(line), "%s", text ? text : "?");
		json_object_set_new(a->failed, node, outcome_text(line));
	}
}

static int io_ask_merge(struct io_ask *a, const char *node, const json_t *json, int64_t ahead_ms)
{
	struct io_part *part = calloc(1, sizeof(*part));
	int err = part ? io_part_decode(json, part) : -ENOMEM;

	if (!err)
		err = io_merge_add(a->merge, node, part, ahead_ms);
	if (!err)
		a->parts++;
	if (part)
		io_part_done(part);
	free(part);
	return err;
}

/* ----------------------------------------------------------------- this node */

/* The worker of a question: its outcome is the answer, with the times. */
static void io_ask_answer(struct io_ask *a, json_t *outcome)
{
	json_t *result = json_object_get(outcome, "result");

	a->asks->questions--;
	if (result) {
		json_object_set_new(result, "received_ns", json_integer(a->began_ns));
		json_object_set_new(result, "sent_ns",
				    json_integer((json_int_t)clock_realtime_ns()));
	}
	peer_question_answer(a->question, outcome);
	io_ask_free(a);
}

static void io_ask_on_outcome(json_t *outcome, void *arg)
{
	struct io_ask *a = arg;
	const char *node = a->asks->common->config.node;
	const json_t *result = json_object_get(outcome, "result");
	int err = 0;

	a->worker = NULL;
	if (a->question) {
		io_ask_answer(a, outcome);
		return;
	}
	request_on_abandon(a->request, NULL, NULL);
	if (outcome_is_ok(outcome))
		err = io_ask_merge(a, node, json_object_get(result, "part"), 0);
	if (err) {
		json_decref(outcome);
		outcome = outcome_error(err, "the record of job %lld's I/O is of no use: %s",
					(long long)a->job.number, strerror(-err));
	}
	if (outcome_is_ok(outcome)) {
		a->checkpoints = json_incref(json_object_get(result, "checkpoints"));
	} else {
		a->own = json_incref(outcome);
		io_ask_note(a, node, outcome);
	}
	json_decref(outcome);
	io_ask_settle(a);
}

static int io_ask_start(struct io_ask *a, const struct worker_kind *kind)
{
	static const struct channel_ops ops = { io_ask_on_progress, io_ask_on_outcome };
	const struct worker_spec spec = { .kind = kind, .arg = a };

	return worker_start(&a->asks->common->workers, &spec, &ops, a, &a->worker);
}

/* --------------------------------------------------------------- other nodes */

static void io_ask_on_answer(const json_t *outcome, void *arg)
{
	struct io_asked_node *n = arg;
	struct io_ask *a = n->ask;
	const json_t *result = json_object_get(outcome, "result");
	const int64_t received =
		json_integer_value(json_object_get(result, "received_ns"));
	const int64_t sent = json_integer_value(json_object_get(result, "sent_ns"));
	int err;

	if (!outcome_is_ok(outcome)) {
		io_ask_note(a, n->name, outcome);
	} else {
		err = io_ask_merge(a, n->name, json_object_get(result, "part"),
				   io_merge_ahead_ms(n->asked_ns, received, sent,
						     (int64_t)clock_realtime_ns()));
		if (err)
			json_object_set_new(a->failed, n->name, json_string(
				err == -EBADMSG ? "its answer is none" : strerror(-err)));
	}
	free(n);
	io_ask_settle(a);
}

/* The node's number in the hosts file; -1: it has none. */
static int io_ask_host(const struct io_ask *a, const char *name)
{
	const struct levels_node *list;
	unsigned int i, nr;

	if (!nodes_peer(a->asks->common->nodes))
		return -1;
	list = nodes_list(a->asks->common->nodes, &nr);
	for (i = 0; i < nr; i++) {
		if (!strcmp(list[i].name, name))
			return (int)i;
	}
	return -1;
}

static void io_ask_node(struct io_ask *a, const char *name)
{
	struct io_asked_node *n = calloc(1, sizeof(*n));
	const int host = io_ask_host(a, name);
	json_t *args = json_pack("{s:I, s:s, s:I}", "job", (json_int_t)a->job.number, "uuid",
				 a->uuid, "uid", (json_int_t)a->job.uid);

	if (n) {
		*n = (struct io_asked_node){ .ask = a, .asked_ns = (int64_t)clock_realtime_ns() };
		snprintf(n->name, sizeof(n->name), "%s", name);
	}
	if (host < 0)
		json_object_set_new(a->failed, name, json_string("is not in the hosts file"));
	if (!n || host < 0) {
		free(n);
		json_decref(args);
		return;
	}
	if (peer_ask(nodes_asks(a->asks->common->nodes), (unsigned int)host, VERB, args,
		     IO_ASK_MS, io_ask_on_answer, n, NULL)) {
		json_array_append_new(a->silent, json_string(name));
		free(n);
		return;
	}
	a->waits++;
}

void io_ask_report(struct io_asks *asks, struct request *request, const struct io_store_job *job,
		   const json_t *nodes, bool anomalies)
{
	const bool several = json_array_size(nodes) > 1;
	struct io_ask *a = NULL;
	int err = -ENOMEM;
	const json_t *name;
	size_t i;

	/* users' reports must leave other questions to these nodes a place */
	if (several && asks->reports >= REPORTS_MAX) {
		request_answer(request, outcome_error(-EBUSY, "%d reports wait for other nodes: "
						      "ask again", REPORTS_MAX));
		return;
	}
	a = io_ask_new(asks, job);
	if (a) {
		a->request = request;
		a->merge = io_merge_new();
		a->silent = json_array();
		a->unwatched = json_array();
		a->failed = json_object();
		a->several = several;
		a->anomalies = anomalies;
		a->waits = 1;
		err = a->merge ? io_ask_start(a, &report_work) : -ENOMEM;
	}
	if (err) {
		request_answer(request, outcome_error(err, "no worker: %s", strerror(-err)));
		if (a)
			io_ask_free(a);
		return;
	}
	asks->reports += several;
	request_on_abandon(request, worker_on_abandon, a->worker);
	json_array_foreach(nodes, i, name) {
		if (json_is_string(name) &&
		    strcmp(json_string_value(name), asks->common->config.node))
			io_ask_node(a, json_string_value(name));
	}
}

/* ---------------------------------------------------------------------- lists */

json_t *io_asks_enter(struct io_asks *asks, uid_t uid)
{
	unsigned int i, own = 0;

	for (i = 0; i < asks->nr_lists; i++)
		own += asks->lists[i] == uid;
	if (own >= IO_ASK_USER_LISTS)
		return outcome_error(-EBUSY, "%d of your reports on all jobs are under way: ask "
				     "again when they are there", IO_ASK_USER_LISTS);
	if (asks->nr_lists >= IO_ASK_LISTS)
		return outcome_error(-EBUSY, "%d reports on all jobs are under way: ask again",
				     IO_ASK_LISTS);
	asks->lists[asks->nr_lists++] = uid;
	return NULL;
}

void io_asks_leave(struct io_asks *asks, uid_t uid)
{
	unsigned int i = 0;

	while (i < asks->nr_lists && asks->lists[i] != uid)
		i++;
	if (i < asks->nr_lists)
		asks->lists[i] = asks->lists[--asks->nr_lists];
}

/* ------------------------------------------------------------------ questions */

static json_t *io_ask_begin(struct io_asks *asks, struct peer_question *question,
			    const struct io_store_job *job)
{
	const unsigned int from = peer_question_from(question);
	const struct levels_node *list;
	struct io_ask *a;
	unsigned int nr;
	int err;

	list = nodes_list(asks->common->nodes, &nr);
	if (asks->questions >= QUESTIONS_MAX || from >= nr)
		return outcome_error(-EBUSY, "too many reports are read there: ask again");
	a = io_ask_new(asks, job);
	if (!a)
		return outcome_error(-ENOMEM, "no memory");
	a->question = question;
	snprintf(a->asker, sizeof(a->asker), "%s", list[from].name);
	err = io_ask_start(a, &part_work);
	if (err) {
		io_ask_free(a);
		return outcome_error(err, "no worker: %s", strerror(-err));
	}
	asks->questions++;
	return NULL;
}

static void io_ask_on_question(struct peer_question *question, void *arg)
{
	json_int_t job = 0, uid = 0;
	const char *uuid;
	json_t *outcome;

	if (json_unpack(peer_question_args(question), "{s:I, s:s, s:I !}", "job", &job, "uuid",
			&uuid, "uid", &uid) || strlen(uuid) >= IO_STORE_UUID || uid < 0 ||
	    uid > UINT32_MAX)
		outcome = outcome_usage(VERB ": bad arguments");
	else
		outcome = io_ask_begin(arg, question, &(const struct io_store_job){
			.number = job, .uuid = uuid, .uid = (uid_t)uid,
		});
	if (outcome)
		peer_question_answer(question, outcome);
}

int io_asks_open(struct common *common, struct io_asks **ret_asks)
{
	struct io_asks *asks = calloc(1, sizeof(*asks));
	int err = asks ? 0 : -ENOMEM;

	if (err)
		return err;
	asks->common = common;
	if (nodes_peer(common->nodes))
		err = peer_verb(nodes_asks(common->nodes), VERB, io_ask_on_question, asks);
	if (err) {
		free(asks);
		return err;
	}
	*ret_asks = asks;
	return 0;
}

void io_asks_close(struct io_asks *asks)
{
	free(asks);
}
