// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fetches of a job over nodes, where each node has an image directory of its own: before the
 * restart each node gets the images that it needs from the cheapest place that has them
 * (fetch.h); see parts.h.
 *
 * A fetch may take hours, a question may not: the node that is asked answers at once with
 * -EAGAIN, and the home asks again.  The node keeps the outcome until the home asks for it or
 * asks for another fetch of the job.  If the home dies, the fetched images stay; they are whole
 * and do no harm.  After a lost answer, or when a ckptd was restarted meanwhile, the home asks
 * again and the node finds the images that it has.
 */
#include "supervisor/parts/parts_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/auto/fetching.h"
#include "supervisor/auto/services.h"
#include "base/outcome.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/parts/may_run.h"
#include "supervisor/job/rank_sources.h"
#include "supervisor/job/key_of_job.h"

#define ANSWER_MS	15000
#define AGAIN_MS	500
#define SILENT_MS	60000	/* silence after which a fetching node has failed */

/* Add @number to the set @numbers. */
static void add_number(json_t *numbers, size_t number)
{
	const json_t *has;
	size_t i;

	json_array_foreach(numbers, i, has) {
		if (json_integer_value(has) == (json_int_t)number)
			return;
	}
	json_array_append_new(numbers, json_integer((json_int_t)number));
}

/*
 * The parts of the generation with the ranks @was whose images node @node of the ranks @is needs:
 * the images of its ranks, and those whose notes say how long the logs were (job_images.h).
 * NULL: the rank maps are not of one job.
 */
static json_t *parts_fetch_wanted(const json_t *was, const json_t *is, unsigned int node)
{
	const json_t *had = rank_record_map(was), *has = rank_record_map(is), *source;
	size_t i, nr = had ? json_array_size(had) : 1;
	json_t *sources = rank_sources(had, has, node), *numbers;

	if (!sources)
		return NULL;
	numbers = json_array();
	json_array_foreach(sources, i, source)
		add_number(numbers, (size_t)json_integer_value(json_object_get(source, "part")));
	add_number(numbers, node < nr ? node : 0);
	for (i = json_array_size(has); !node && i < nr; i++)
		add_number(numbers, i);
	json_decref(sources);
	return numbers;
}

static json_t *not_of_one_job(int64_t id)
{
	return outcome_error(-EBADMSG,
			     "the rank maps of job %lld and of its generation are not of one job",
			     (long long)id);
}

/* -------------------------------------------------------------- the home */

struct gathering_node {
	struct gathering *gathering;
	const char *name;		/* of gathering->names */
	json_t *args;			/* arguments of the question; NULL for this node */
	json_t *wanted;			/* parts that this node needs; NULL for other nodes */
	int64_t heard_ms;		/* last answer "still fetching"; 0: none */
};

struct gathering {
	struct common *common;
	json_t *names, *was, *of_run, *steps, *failure;
	json_int_t run;
	bool in_l1;
	unsigned int nr, open;
	parts_fetched_fn fn;
	void *arg;
	struct gathering_node node[];
};

static void parts_fetch_settle(struct gathering *g)
{
	parts_fetched_fn fn = g->fn;
	void *arg = g->arg;
	json_t *outcome = g->failure;
	unsigned int i;

	if (--g->open)
		return;
	if (outcome)
		json_object_update_new(json_object_get(outcome, "error"),
				       json_pack("{s:O, s:I}", "steps", g->steps, "run", g->run));
	else
		outcome = outcome_ok(json_pack("{s:b, s:I, s:O}", "in_l1", g->in_l1, "run", g->run,
					       "steps", g->steps));
	for (i = 0; i < g->nr; i++) {
		json_decref(g->node[i].args);
		json_decref(g->node[i].wanted);
	}
	json_decref(g->names);
	json_decref(g->was);
	json_decref(g->of_run);
	json_decref(g->steps);
	free(g);
	fn(outcome, arg);
}

/* Add the outcome of one node; the caller keeps @outcome. */
static void parts_fetch_take(struct gathering_node *node, const json_t *outcome)
{
	struct gathering *g = node->gathering;
	bool ok = outcome_is_ok(outcome);
	const json_t *said = json_object_get(outcome, ok ? "result" : "error"), *step;
	json_int_t run = json_integer_value(json_object_get(said, "run"));
	size_t i;

	json_array_foreach(json_object_get(said, "steps"), i, step)
		json_array_append_new(g->steps, json_sprintf("node %s: %s", node->name,
							     json_string_value(step)));
	if (!ok && !g->failure)
		g->failure = outcome_of_node(outcome, node->name);
	g->in_l1 = g->in_l1 && json_is_true(json_object_get(said, "in_l1"));
	g->run = run > g->run ? run : g->run;
	parts_fetch_settle(g);
}

static void parts_fetch_fail(struct gathering_node *node, int err, const char *text)
{
	json_t *outcome = outcome_error(err, "%s", text);

	parts_fetch_take(node, outcome);
	json_decref(outcome);
}

static void parts_fetch_ask(struct gathering_node *node);

static void parts_fetch_on_again(void *arg)
{
	parts_fetch_ask(arg);
}

/*
 * True if the node still fetches, or was out of reach for a moment.  An outcome of the fetch
 * itself has "run".
 */
static bool is_open(struct gathering_node *node, const json_t *outcome)
{
	int err = outcome_errno(outcome);

	if (err == -EAGAIN) {
		node->heard_ms = clock_monotonic_ms();
		return true;
	}
	return (err == -ETIMEDOUT || err == -EHOSTUNREACH || err == -EBUSY) &&
	       !json_object_get(json_object_get(outcome, "error"), "run") &&
	       node->heard_ms && clock_monotonic_ms() - node->heard_ms < SILENT_MS;
}

static void parts_fetch_on_answer(const json_t *outcome, void *arg)
{
	struct gathering_node *node = arg;
	struct reactor_source *timer;

	if (!is_open(node, outcome) || reactor_timer(node->gathering->common->reactor, AGAIN_MS,
						     parts_fetch_on_again, node, &timer))
		parts_fetch_take(node, outcome);
}

static void parts_fetch_ask(struct gathering_node *node)
{
	struct common *common = node->gathering->common;
	struct peer *peer = nodes_peer(common->nodes);
	int host = peer ? peer_find(peer, node->name) : -ENOTCONN, err = host;
	json_t *no;

	if (host >= 0)
		err = peer_ask(nodes_asks(common->nodes), (unsigned int)host, "fetch",
			       json_incref(node->args), ANSWER_MS, parts_fetch_on_answer, node,
			       NULL);
	if (err >= 0)
		return;
	no = outcome_error(err, "%s",
			   err == -EHOSTUNREACH ? "does not answer: see ckptctl nodes"
						: strerror(-err));
	parts_fetch_on_answer(no, node);
	json_decref(no);
}

static void on_fetched_here(json_t *outcome, void *arg)
{
	parts_fetch_take(arg, outcome);
	json_decref(outcome);
}

static const struct fetching_ops here_ops = { .ended = on_fetched_here };

static void fetch_here(struct gathering_node *node, const struct job *job,
		       const struct parts_fetch *how)
{
	const struct fetching_options options = {
		.flusher = how->flusher,
		.id = job->id, .job = job, .generation = how->generation, .deep = how->deep,
		.dry_run = how->dry_run, .parts = node->wanted, .ranks = how->was,
		.of_run = node->gathering->of_run,
	};
	int err = fetching_start(node->gathering->common, &options, &here_ops, node);

	if (err)
		parts_fetch_fail(node, err, strerror(-err));
}

static struct gathering *gathering_new(const struct job *job, json_t *names)
{
	unsigned int i, nr = (unsigned int)json_array_size(names);
	struct gathering *g = calloc(1, sizeof(*g) + nr * sizeof(g->node[0]));

	if (!g)
		return NULL;
	g->common = jobs_common(job->jobs);
	g->names = json_incref(names);
	g->steps = json_array();
	g->in_l1 = true;
	g->nr = nr;
	for (i = 0; i < nr; i++) {
		g->node[i].gathering = g;
		g->node[i].name = json_string_value(json_array_get(names, i));
	}
	return g;
}

static json_t *parts_fetch_question(const struct job *job, const struct parts_fetch *how,
				    unsigned int number, int64_t token)
{
	return json_pack("{s:I, s:i, s:o, s:I, s:I, s:O*, s:O*, s:b, s:b}", "job",
			 (json_int_t)job->id, "node", (int)number,
			 "record", job_record_encode(&job->record), "token", (json_int_t)token,
			 "generation", (json_int_t)how->generation, "was", how->was,
			 "of_run", how->of_run, "deep", how->deep, "dry_run", how->dry_run);
}

/* Without the key the node refuses, and says why. */
static void parts_fetch_add_key(const struct job *job, struct gathering_node *node)
{
	const struct common *common = jobs_common(job->jobs);
	struct peer *peer = nodes_peer(common->nodes);
	int host = peer ? peer_find(peer, node->name) : -ENOTCONN;

	if (host >= 0)
		json_decref(key_of_job_add(common, job->id, job->record.other, (unsigned int)host,
					   node->args));
}

void parts_fetch(const struct job *job, const struct parts_fetch *how, parts_fetched_fn fn,
		 void *arg)
{
	const json_t *ranks = job->record.ranks;
	json_t *names = rank_record_nodes(ranks), *own = NULL;
	struct gathering *g;
	unsigned int i;
	int64_t token;

	if (!names)
		names = own = json_pack("[s]", jobs_common(job->jobs)->config.node);
	g = gathering_new(job, names);
	json_decref(own);
	if (!g) {
		fn(outcome_error(-ENOMEM, "out of memory"), arg);
		return;
	}
	g->was = json_incref(how->was);
	g->of_run = json_incref((json_t *)how->of_run);
	g->fn = fn;
	g->arg = arg;
	g->open = g->nr + 1;
	token = (int64_t)(clock_realtime_ns() / 1000);
	for (i = 1; i < g->nr; i++) {
		g->node[i].args = parts_fetch_question(job, how, i, token);
		parts_fetch_add_key(job, &g->node[i]);
		parts_fetch_ask(&g->node[i]);
	}
	g->node[0].wanted = parts_fetch_wanted(how->was, ranks, 0);
	if (g->node[0].wanted) {
		fetch_here(&g->node[0], job, how);
	} else {
		json_decref(g->failure);
		g->failure = not_of_one_job(job->id);
		parts_fetch_settle(g);
	}
	parts_fetch_settle(g);
}

/* ------------------------------------------------------------ another node */

struct away_fetch {
	struct away_fetch *next;
	struct parts_fetches *fetches;
	int64_t job, token;
	json_int_t run;			/* the highest run that this node knows */
	json_t *wanted, *was, *of_run, *record;
	json_t *outcome;		/* NULL: still fetching */
};

struct parts_fetches {
	struct common *common;
	struct services *services;
	struct away_fetch *first;
};

static void away_free(struct away_fetch *f)
{
	struct away_fetch **at = &f->fetches->first;

	while (*at && *at != f)
		at = &(*at)->next;
	if (*at)
		*at = f->next;
	json_decref(f->wanted);
	json_decref(f->was);
	json_decref(f->of_run);
	json_decref(f->record);
	json_decref(f->outcome);
	free(f);
}

static void on_fetched_away(json_t *outcome, void *arg)
{
	struct away_fetch *f = arg;

	f->outcome = outcome;
	json_object_set_new(json_object_get(outcome, outcome_is_ok(outcome) ? "result" : "error"),
			    "run", json_integer(f->run));
}

static const struct fetching_ops away_ops = { .ended = on_fetched_away };

static json_int_t parts_fetch_run_of(const json_t *had, const json_t *record)
{
	return json_equal(json_object_get(had, "uuid"), json_object_get(record, "uuid")) ?
	       json_integer_value(json_object_get(had, "run")) : 0;
}

/* The highest run of this job, in our record and in our registry; 0 for another job's. */
static json_int_t run_here(const struct jobs *jobs, int64_t id, const json_t *record)
{
	const struct job *job = jobs_lookup(jobs, id);
	const char *uuid = json_string_value(json_object_get(record, "uuid"));
	json_int_t run = job && uuid && !strcmp(job->uuid, uuid) ? job->record.run : 0;
	json_int_t on_disk = 0;
	json_t *had = NULL;
	struct ckpt_error error = {};

	if (!catalog_job_read(&jobs_common(jobs)->catalog, id, &had, &error))
		on_disk = parts_fetch_run_of(had, record);
	json_decref(had);
	return run > on_disk ? run : on_disk;
}

static int begin_fetch(struct away_fetch *f, const json_t *args)
{
	struct common *common = f->fetches->common;
	const json_t *names = rank_record_nodes(json_object_get(f->record, "ranks"));
	struct fetching_options options = {
		.flusher = f->fetches->services->flusher,
		.id = f->job, .parts = f->wanted, .ranks = f->was,
		.generation = json_integer_value(json_object_get(args, "generation")),
		.deep = json_is_true(json_object_get(args, "deep")),
		.dry_run = json_is_true(json_object_get(args, "dry_run")),
		.home = json_string_value(json_array_get(names, 0)), .of_run = f->of_run,
	};
	struct ckpt_error error = {};
	struct job *draft;
	int err = jobs_draft(f->fetches->services->jobs, f->job, json_incref(f->record), &draft,
			     &error);

	if (err)
		return err;
	/* fetching_start() takes the label from the draft and does not keep the draft. */
	options.job = draft;
	err = fetching_start(common, &options, &away_ops, f);
	job_draft_free(draft);
	return err;
}

/* Return: NULL if the fetch has begun, or an outcome. */
static json_t *parts_fetch_begin(struct parts_fetches *fetches, int64_t id, int64_t token,
				 unsigned int node, const json_t *args)
{
	json_t *record = json_object_get(args, "record"), *outcome = NULL;
	struct away_fetch *f;
	int err;

	f = calloc(1, sizeof(*f));
	if (!f)
		return outcome_error(-ENOMEM, "out of memory");
	*f = (struct away_fetch) {
		.next = fetches->first, .fetches = fetches, .job = id, .token = token,
		.run = run_here(fetches->services->jobs, id, record),
		.was = json_incref(json_object_get(args, "was")), .record = json_incref(record),
		.of_run = json_incref(json_object_get(args, "of_run")),
	};
	fetches->first = f;
	f->wanted = parts_fetch_wanted(f->was, json_object_get(record, "ranks"), node);
	if (!f->wanted)
		outcome = not_of_one_job(id);
	else if (!json_is_true(json_object_get(args, "dry_run")))
		outcome = parts_make_place(fetches->common, id, record, f->run);
	if (!outcome) {
		err = begin_fetch(f, args);
		if (!err)
			return NULL;
		outcome = outcome_error(err, "nothing can be fetched: %s", strerror(-err));
	}
	away_free(f);
	return outcome;
}

/* The owner of the job may run here, or @outcome says why not. */
static void parts_fetch_on_may(struct peer_question *q, json_t *outcome,
			       struct confines *confines, void *arg)
{
	struct parts_fetches *fetches = arg;
	json_t *args = peer_question_args(q);
	json_int_t id = 0, token = 0;
	struct away_fetch *f;
	int node = 0;

	if (outcome) {
		peer_question_answer(q, outcome);
		return;
	}
	json_unpack(args, "{s:I, s:i, s:I}", "job", &id, "node", &node, "token", &token);
	for (f = fetches->first; f && f->job != id;)
		f = f->next;
	if (f && f->outcome) {
		if (f->token == token)
			outcome = json_incref(f->outcome);
		away_free(f);
		f = NULL;
	}
	if (!f && !outcome)
		outcome = key_of_job_take(fetches->common, id, json_object_get(args, "record"),
					  peer_question_from(q), args);
	if (!f && !outcome)
		outcome = parts_fetch_begin(fetches, id, token, (unsigned int)node, args);
	peer_question_answer(q, outcome ? outcome
					: outcome_error(-EAGAIN,
							"images of job %lld are being fetched",
							(long long)id));
}

static void on_fetch(struct peer_question *q, void *arg)
{
	struct parts_fetches *fetches = arg;
	json_t *args = peer_question_args(q), *record = json_object_get(args, "record");
	json_int_t id, token;
	int node = 0;

	if (json_unpack(args, "{s:I, s:i, s:I}", "job", &id, "node", &node, "token", &token) ||
	    !parts_is_home(fetches->common, q, record, node)) {
		peer_question_answer(q, outcome_error(-EPROTO, "this is no part of ours"));
		return;
	}
	/* Root's rights come with the start, which is checked by itself. */
	may_run_check(fetches->services->may_run, q, MAY_RUN_FETCH, record, NULL,
		      parts_fetch_on_may, fetches);
}

int parts_fetch_register(struct services *services, struct parts_fetches **ret_fetches)
{
	struct common *common = jobs_common(services->jobs);
	struct parts_fetches *fetches = calloc(1, sizeof(*fetches));

	if (!fetches)
		return -ENOMEM;
	fetches->common = common;
	fetches->services = services;
	*ret_fetches = fetches;
	return peer_verb(nodes_asks(common->nodes), "fetch", on_fetch, fetches);
}

/*
 * A fetch under way keeps its struct away_fetch, which its worker uses; the worker ends with this
 * process.
 */
void parts_fetch_close(struct parts_fetches *fetches)
{
	struct away_fetch *f, *next;

	for (f = fetches ? fetches->first : NULL; f; f = next) {
		next = f->next;
		if (f->outcome)
			away_free(f);
	}
	free(fetches);
}
