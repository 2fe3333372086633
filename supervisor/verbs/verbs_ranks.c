// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request ranks: tell people what each MPI rank of a job is doing.
 *
 * The job's shim reads the ranks' status pages, which the ranks bring up to date when asked to.
 * A worker asks the shim and waits for slow ranks, so that neither a shim nor a rank that was
 * stopped holds up ckptd.  If the job is over several nodes, the home asks the other nodes:
 *
 *	ranks	{"job": J, "run": R}	peer_ask.h; {"mpi_ranks": [...]}
 *
 * A node that does not answer is named among "silent_nodes", and its ranks are missing.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "mpi-glue/status_page.h"
#include "shim/proto.h"
#include "supervisor/checkpoint/coord_driver.h"
#include "supervisor/job/jobs.h"
#include "base/outcome.h"
#include "supervisor/parts/parts_priv.h"
#include "supervisor/control/worker.h"

#define LOOK_MS		20
#define LOOKS		50	/* looks until a rank counts as one that does not answer */
#define BATCH		(SHIM_DATA_MAX / sizeof(struct shim_doing))

#define PEER_MS		5000

struct asked {
	struct request *request;	/* a client's request; NULL: the home asks */
	struct peer_question *question;	/* the home's question; NULL: a client asks */
	struct worker *worker;
	long long job;
	const char *node;
	json_t *outcome;		/* this node's outcome */
	json_t *others, *silent;	/* the other nodes' ranks; nodes that did not answer */
	unsigned int waits;		/* pending answers: of the worker, of other nodes */
	char path[4096];
};

struct asked_node {
	struct asked *asked;
	char name[64];
};

static const char *state_name(uint32_t state)
{
	static const char *const names[] = {
		[STATUS_BEFORE] = "before MPI_Init", [STATUS_RUNNING] = "running",
		[STATUS_QUIESCED] = "quiescing", [STATUS_DRAINING] = "draining",
		[STATUS_SILENT] = "silent", [STATUS_REBUILDING] = "rebuilding",
		[STATUS_REFUSED] = "refused", [STATUS_BROKEN] = "broken",
		[STATUS_ENDED] = "ended",
	};

	return state < ARRAY_SIZE(names) ? names[state] : "unknown";
}

static json_t *verb_ranks_describe(const struct asked *a, const struct shim_doing *doing)
{
	const struct shim_wait *wait = &doing->wait;
	json_t *row = json_pack("{s:I, s:s, s:s, s:b, s:b}", "rank", (json_int_t)wait->rank,
				"node", a->node, "state",
				state_name(doing->state), "answers", (int)doing->fresh,
				"held", wait->held == STATUS_HELD);
	char id[20];

	if (strnlen(wait->name, sizeof(wait->name)) && doing->state != STATUS_ENDED) {
		json_object_set_new(row, "call", json_stringn(wait->name,
					strnlen(wait->name, sizeof(wait->name))));
		if (wait->peer != STATUS_NONE)
			json_object_set_new(row, "peer", json_integer(wait->peer));
		if (wait->held == STATUS_GATHERS)
			json_object_set_new(row, "gathers", json_true());
	}
	if (wait->comm && doing->state != STATUS_ENDED) {
		snprintf(id, sizeof(id), "%llx", (unsigned long long)wait->comm);
		json_object_set_new(row, "comm", json_string(id));
		json_object_set_new(row, "sequence", json_integer((json_int_t)wait->seq));
	}
	return row;
}

/* Append a row for each rank of this node; *@ret_fresh: all ranks have updated their pages. */
static int verb_ranks_ask(const struct asked *a, int sock, json_t *rows, bool *ret_fresh)
{
	struct shim_doing doing[BATCH];
	struct shim_msg msg;
	size_t i, nr, from = 0;
	int n;

	*ret_fresh = true;
	do {
		n = shim_ask(sock, SHIM_DOING, from, &msg, doing, sizeof(doing), NULL, NULL);
		if (n < 0)
			return n;
		nr = (size_t)n / sizeof(doing[0]);
		for (i = 0; i < nr; i++) {
			*ret_fresh &= doing[i].fresh != 0;
			json_array_append_new(rows, verb_ranks_describe(a, &doing[i]));
		}
		from += nr;
	} while (nr == BATCH);
	return 0;
}

static json_t *verb_ranks_refuse(const struct asked *a, int err)
{
	if (err == -EOPNOTSUPP)
		return outcome_error(err,
				     "the ranks of job %lld run without our MPI library: nothing "
				     "is known of their calls",
				     a->job);
	return outcome_error(err, "the shim of job %lld does not answer: %s", a->job,
			     strerror(-err));
}

static json_t *ranks_run(struct channel_reporter *reporter, void *arg)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000 };
	struct asked *a = arg;
	_cleanup_fd_ int sock = shim_connect(a->path);
	struct shim_msg msg;
	json_t *rows = NULL;
	bool fresh = false;
	int i, err;

	if (sock < 0)
		return verb_ranks_refuse(a, sock);
	err = shim_ask(sock, SHIM_DOING, UINT64_MAX, &msg, NULL, 0, NULL, NULL);
	for (i = 0; i < LOOKS && err >= 0 && !fresh; i++) {
		nanosleep(&pause, NULL);
		json_decref(rows);
		rows = json_array();
		err = verb_ranks_ask(a, sock, rows, &fresh);
	}
	if (err >= 0)
		return outcome_ok(json_pack("{s:I, s:o}", "job", (json_int_t)a->job, "mpi_ranks",
					    rows));
	json_decref(rows);
	return verb_ranks_refuse(a, err);
}

static void verb_ranks_on_progress(json_t *progress, void *arg)
{
}

static int by_rank(const void *a, const void *b)
{
	json_int_t x = json_integer_value(json_object_get(*(json_t *const *)a, "rank"));
	json_int_t y = json_integer_value(json_object_get(*(json_t *const *)b, "rank"));

	return x < y ? -1 : x > y;
}

/* The rows of all nodes, sorted by rank; a new reference. */
static json_t *verb_ranks_merge(json_t *rows, json_t *others)
{
	size_t i, nr;
	json_t *sorted = json_array(), **all;

	json_array_extend(rows, others);
	nr = json_array_size(rows);
	all = calloc(nr + 1, sizeof(*all));
	for (i = 0; all && i < nr; i++)
		all[i] = json_array_get(rows, i);
	if (all)
		qsort(all, nr, sizeof(*all), by_rank);
	for (i = 0; all && i < nr; i++)
		json_array_append(sorted, all[i]);
	free(all);
	return sorted;
}

static void verb_ranks_settle(struct asked *a)
{
	json_t *result = json_object_get(a->outcome, "result");

	if (--a->waits)
		return;
	if (result) {
		json_object_set_new(result, "mpi_ranks",
				    verb_ranks_merge(json_object_get(result, "mpi_ranks"),
						     a->others));
		if (json_array_size(a->silent))
			json_object_set(result, "silent_nodes", a->silent);
	}
	if (a->request)
		request_answer(a->request, a->outcome);
	else
		peer_question_answer(a->question, a->outcome);
	json_decref(a->others);
	json_decref(a->silent);
	free(a);
}

static void verb_ranks_on_ranks(json_t *outcome, void *arg)
{
	struct asked *a = arg;

	a->outcome = outcome;
	verb_ranks_settle(a);
}

static const struct channel_ops ops = { verb_ranks_on_progress, verb_ranks_on_ranks };

static void on_node(const json_t *outcome, void *arg)
{
	struct asked_node *node = arg;
	struct asked *a = node->asked;
	json_t *rows = json_object_get(json_object_get(outcome, "result"), "mpi_ranks");

	if (outcome_is_ok(outcome) && json_is_array(rows))
		json_array_extend(a->others, rows);
	else
		json_array_append_new(a->silent, json_string(node->name));
	free(node);
	verb_ranks_settle(a);
}

/* Ask the other nodes of a job whose home is this node. */
static void ask_nodes(struct asked *a, const struct job *job)
{
	struct peer_asks *asks = nodes_asks(jobs_common(job->jobs)->nodes);
	struct parts *p = job->parts;
	unsigned int i;

	for (i = 1; i < p->nr; i++) {
		struct asked_node *node = calloc(1, sizeof(*node));
		int host = parts_host(p, i);
		json_t *args;

		if (!node)
			continue;
		node->asked = a;
		snprintf(node->name, sizeof(node->name), "%s", parts_name(p, i));
		args = json_pack("{s:I, s:I}", "job", (json_int_t)job->id, "run",
				 (json_int_t)p->run);
		if (host >= 0 && !peer_ask(asks, (unsigned int)host, "ranks", args, PEER_MS,
					   on_node, node, NULL)) {
			a->waits++;
		} else {
			json_array_append_new(a->silent, json_string(node->name));
			free(node);
		}
	}
}

static const struct worker_kind ranks_work = {
	.name = "ckptd-ranks",
	.run = ranks_run,
};

/* Start the worker, and ask the other nodes. Takes over @a. NULL or an outcome. */
static json_t *verb_ranks_begin(struct asked *a, const struct job *job)
{
	const struct worker_spec spec = { .kind = &ranks_work, .arg = a };
	struct common *common = jobs_common(job->jobs);
	int err;

	a->job = job->id;
	a->node = common->config.node;
	a->others = json_array();
	a->silent = json_array();
	a->waits = 1;
	snprintf(a->path, sizeof(a->path), "%s/shim.sock", job->state_dir);
	err = worker_start(&common->workers, &spec, &ops, a, &a->worker);
	if (!err) {
		if (a->request && job->parts)
			ask_nodes(a, job);
		return NULL;
	}
	json_decref(a->others);
	json_decref(a->silent);
	free(a);
	return outcome_error(err, "no worker: %s", strerror(-err));
}

void verb_ranks(struct request *request)
{
	json_t *outcome = NULL;
	struct job *job = jobs_reconcile_for(request, &outcome);
	struct asked *a;

	if (job)
		outcome = job_check_running(job);
	if (job && !outcome && !coord_driver_wanted(job))
		outcome = outcome_error(-EOPNOTSUPP, "job %lld is no MPI job", (long long)job->id);
	a = job && !outcome ? calloc(1, sizeof(*a)) : NULL;
	if (a) {
		a->request = request;
		outcome = verb_ranks_begin(a, job);
		if (!outcome)
			return;
	}
	request_answer(request, outcome);
}

static void verb_ranks_on_question(struct peer_question *question, void *arg)
{
	json_int_t id = 0, run = 0;
	json_t *outcome = NULL;
	struct asked *a = NULL;
	struct job *job;

	json_unpack(peer_question_args(question), "{s:I, s:I}", "job", &id, "run", &run);
	job = parts_job(arg, id, (uint64_t)run);
	if (job && !parts_is_homes(job->parts, peer_question_from(question)))
		job = NULL;
	if (job)
		a = calloc(1, sizeof(*a));
	else
		outcome = outcome_error(-ESRCH, "job %lld does not run here", (long long)id);
	if (a) {
		a->question = question;
		outcome = verb_ranks_begin(a, job);
		if (!outcome)
			return;
	}
	peer_question_answer(question, outcome);
}

int verb_ranks_register(struct jobs *jobs)
{
	struct peer_asks *asks = nodes_asks(jobs_common(jobs)->nodes);

	return asks ? peer_verb(asks, "ranks", verb_ranks_on_question, jobs) : 0;
}
