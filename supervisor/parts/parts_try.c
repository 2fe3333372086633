// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dry run of a restart: each node checks that it has the image, files, module and MPI
 * library that its part needs; see parts.h.  Changes nothing and enters no job in the registry.
 *
 * Asks all nodes even after a failure, so that one answer names everything that is wrong.
 */
#include "supervisor/parts/parts_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/catalog/first_key.h"
#include "supervisor/control/confines.h"
#include "supervisor/job/job_restore.h"
#include "supervisor/job/key_of_job.h"
#include "base/outcome.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/auto/services.h"
#include "supervisor/parts/may_run.h"

/* Much less than a restore: no memory is read. */
#define TRY_MS	30000
/* All of the images is read. */
#define READ_MS	(30 * 60 * 1000)

/* ---------------------------------------------------------------- the home */

struct try_node {
	struct try *try;
	const char *name;	/* of try->names */
	json_t *outcome;
};

struct try {
	json_t *names;
	unsigned int nr, open;
	parts_tried_fn fn;
	void *arg;
	struct try_node node[];
};

/* The first failure's outcome with the texts of all failures; NULL: no node failed. */
static json_t *parts_try_failures(const struct try *t)
{
	json_t *all = NULL, *one, *error;
	unsigned int i;

	for (i = 0; i < t->nr; i++) {
		if (outcome_is_ok(t->node[i].outcome))
			continue;
		one = outcome_of_node(t->node[i].outcome, t->node[i].name);
		if (!all) {
			all = one;
			continue;
		}
		error = json_object_get(all, "error");
		json_object_set_new(error, "text", json_sprintf("%s; %s",
			json_string_value(json_object_get(error, "text")),
			json_string_value(json_object_get(json_object_get(one, "error"), "text"))));
		json_array_extend(json_object_get(error, "refusals"),
				  json_object_get(json_object_get(one, "error"), "refusals"));
		json_decref(one);
	}
	return all;
}

static json_t *parts_try_sums(const struct try *t)
{
	json_t *outcome = json_deep_copy(t->node[0].outcome);
	json_t *result = json_object_get(outcome, "result");
	unsigned int i;

	for (i = 1; i < t->nr; i++)
		job_restore_add_figures(result, json_object_get(t->node[i].outcome, "result"));
	json_object_del(result, "dir");
	json_object_set(result, "nodes", t->names);
	return outcome;
}

static void parts_try_settle(struct try *t)
{
	parts_tried_fn fn = t->fn;
	void *arg = t->arg;
	json_t *outcome;
	unsigned int i;

	if (--t->open)
		return;
	outcome = parts_try_failures(t);
	if (!outcome)
		outcome = parts_try_sums(t);
	for (i = 0; i < t->nr; i++)
		json_decref(t->node[i].outcome);
	json_decref(t->names);
	free(t);
	fn(outcome, arg);
}

static void parts_try_on_tried(const json_t *outcome, void *arg)
{
	struct try_node *node = arg;

	node->outcome = json_incref((json_t *)outcome);
	parts_try_settle(node->try);
}

/* Return: NULL if parts_try_on_tried() will be called, or an outcome. */
static json_t *parts_try_ask(struct common *common, const struct job *job, const json_t *how,
			     unsigned int number, struct try_node *node)
{
	struct peer *peer = nodes_peer(common->nodes);
	int err = peer ? peer_find(peer, node->name) : -ENOTCONN;
	char key[FIRST_KEY_NAME];
	json_t *args, *outcome;

	if (err == -ENOTCONN)
		return outcome_error(err, "%s is on its own: see ckptctl nodes",
				     common->config.node);
	if (err < 0)
		return outcome_error(err, "it is not in %s", common->config.hosts);
	first_key_name(&common->catalog, key);
	args = json_pack("{s:I, s:i, s:o, s:O, s:s}", "job", (json_int_t)job->id,
			 "node", (int)number, "record", job_record_encode(&job->record),
			 "restore", how, "key", key);
	outcome = key_of_job_add(common, job->id, job->record.other, (unsigned int)err, args);
	if (outcome) {
		json_decref(args);
		return outcome;
	}
	err = peer_ask(nodes_asks(common->nodes), (unsigned int)err, "try", args,
		       json_is_true(json_object_get(how, "rollback")) ? READ_MS : TRY_MS,
		       parts_try_on_tried, node, NULL);
	if (!err)
		return NULL;
	return outcome_error(err, "%s", err == -EHOSTUNREACH ?
			     "does not answer: see ckptctl nodes" : strerror(-err));
}

void parts_try(const struct job *job, const json_t *how, json_t *own, parts_tried_fn fn, void *arg)
{
	struct common *common = jobs_common(job->jobs);
	json_t *names = rank_record_nodes(job->record.ranks);
	unsigned int i, nr = (unsigned int)json_array_size(names);
	struct try *t = nr ? calloc(1, sizeof(*t) + nr * sizeof(t->node[0])) : NULL;

	if (!t) {
		fn(own, arg);
		return;
	}
	*t = (struct try) { .names = json_deep_copy(names), .nr = nr, .fn = fn, .arg = arg };
	/* Node 0 is this node: its count is kept until all others have been asked. */
	t->open = nr;
	for (i = 0; i < nr; i++) {
		t->node[i].try = t;
		t->node[i].name = json_string_value(json_array_get(t->names, i));
	}
	t->node[0].outcome = own;
	for (i = 1; i < nr; i++) {
		t->node[i].outcome = parts_try_ask(common, job, how, i, &t->node[i]);
		if (t->node[i].outcome)
			t->open--;
	}
	parts_try_settle(t);
}

json_t *parts_check_names(const struct common *common, const json_t *names)
{
	struct peer *peer = nodes_peer(common->nodes);
	const json_t *name;
	size_t i;

	if (json_array_size(names) && !peer)
		return outcome_error(-ENOTCONN, "node %s is on its own: see ckptctl nodes",
				     common->config.node);
	json_array_foreach(names, i, name) {
		if (peer_find(peer, json_string_value(name)) < 0)
			return outcome_error(-ENOENT, "there is no node %s in %s",
					     json_string_value(name), common->config.hosts);
	}
	return NULL;
}

/* ---------------------------------------------------------- another node */

struct away_try {
	struct peer_question *question;
	struct job *draft;
};

static void parts_try_on_ended(json_t *outcome, void *arg)
{
	struct away_try *a = arg;

	peer_question_answer(a->question, outcome);
	job_draft_free(a->draft);
	free(a);
}

static const struct job_restore_ops try_ops = { .ended = parts_try_on_ended };

/* Return: NULL if the dry run has begun and will answer @q, or an outcome. */
static json_t *parts_try_begin(struct jobs *jobs, struct peer_question *q, json_int_t id,
			       const json_t *record, const json_t *how)
{
	struct away_try *a = calloc(1, sizeof(*a));
	struct ckpt_error error = {};
	json_t *outcome = NULL;
	int err = -ENOMEM;

	if (a) {
		a->question = q;
		err = jobs_draft(jobs, id, json_deep_copy(record), &a->draft, &error);
	}
	if (err == -EBADMSG)
		outcome = outcome_error(err, "the record of job %lld is not understood: %s",
					(long long)id, error.text);
	if (!err)
		outcome = parts_check_place(a->draft);
	if (!err && !outcome)
		err = job_restore_start(a->draft, how, -1, NULL, &try_ops, a);
	if (!err && !outcome)
		return NULL;
	if (a)
		job_draft_free(a->draft);
	free(a);
	return outcome ? outcome : outcome_error(err, "it cannot be tried: %s", strerror(-err));
}

/* The owner of the job may run here, or @outcome says why not. */
static void parts_try_on_may(struct peer_question *q, json_t *outcome, struct confines *confines,
			     void *arg)
{
	const json_t *args = peer_question_args(q);
	const json_t *record = json_object_get(args, "record");
	json_t *how = json_object_get(args, "restore");
	json_int_t id = json_integer_value(json_object_get(args, "job"));
	struct jobs *jobs = arg;
	const struct common *common = jobs_common(jobs);
	const struct job *job;

	/* The place can be taken; a dry run starts nothing there. */
	confines_free(confines);
	if (outcome) {
		peer_question_answer(q, outcome);
		return;
	}
	outcome = parts_check_key(common, q) ?:
		  key_of_job_take(common, id, record, peer_question_from(q), args);
	/*
	 * A part left of an older run ends at the start; until then the engine sees it run.  The
	 * other ends of its connections must be known before. Before a rollback images are read.
	 */
	job = jobs_lookup(jobs, id);
	if (!outcome && job && job->parts && job_is_alive(job) &&
	    !json_is_true(json_object_get(how, "rollback"))) {
		json_object_set_new(how, "links_only", json_true());
		if (rank_record_has_mpi(json_object_get(record, "ranks")))
			outcome = outcome_ok(NULL);
	}
	if (!outcome)
		outcome = parts_try_begin(jobs, q, id, record, how);
	if (outcome)
		peer_question_answer(q, outcome);
}

static void on_try(struct peer_question *q, void *arg)
{
	struct services *services = arg;
	json_t *record = NULL, *how = NULL;
	json_int_t id = 0;
	int node = 0;

	if (json_unpack(peer_question_args(q), "{s:I, s:i, s:o, s:o}", "job", &id, "node", &node,
			"record", &record, "restore", &how) ||
	    !json_is_true(json_object_get(how, "dry_run")) ||
	    !parts_is_home(jobs_common(services->jobs), q, record, node)) {
		peer_question_answer(q, outcome_error(-EPROTO, "this is no part of ours"));
		return;
	}
	may_run_check(services->may_run, q, MAY_RUN_RESTART, record, how, parts_try_on_may,
		      services->jobs);
}

int parts_try_register(struct services *services)
{
	return peer_verb(nodes_asks(jobs_common(services->jobs)->nodes), "try", on_try, services);
}
