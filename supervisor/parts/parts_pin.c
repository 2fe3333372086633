// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pins a generation on several nodes, where each has an image directory of its own; see parts.h.
 *
 * A pin protects one image directory, so each node that has a part of the generation sets a pin
 * of its own, which its pruner obeys.  A node that has no part of the generation says so, which
 * is no error.  Asking again is harmless: a caller who is told that a node did not answer asks
 * again when the node is back.
 */
#include "supervisor/parts/parts_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "supervisor/catalog/pin.h"
#include "supervisor/job/rank_record.h"

#define ANSWER_MS	15000

/* ----------------------------------------------------------------- asking */

struct pinning_node {
	struct pinning *pinning;
	const char *name;		/* of pinning->names */
};

struct pinning {
	json_t *names, *nodes, *failed;
	size_t open;
	parts_pinned_fn fn;
	void *arg;
	struct pinning_node node[];
};

static void parts_pin_settle(struct pinning *p)
{
	parts_pinned_fn fn = p->fn;
	void *arg = p->arg;
	json_t *result;

	if (--p->open)
		return;
	result = json_pack("{s:o, s:o}", "nodes", p->nodes, "failed", p->failed);
	json_decref(p->names);
	free(p);
	fn(result, arg);
	json_decref(result);
}

static void parts_pin_fail(struct pinning_node *node, const char *text)
{
	json_object_set_new(node->pinning->failed, node->name,
			    json_string(text ? text : "it does not say why"));
	parts_pin_settle(node->pinning);
}

static void parts_pin_on_answer(const json_t *outcome, void *arg)
{
	struct pinning_node *node = arg;
	const json_t *result = json_object_get(outcome, "result");

	if (!outcome_is_ok(outcome)) {
		parts_pin_fail(node,
			       json_string_value(
				       json_object_get(json_object_get(outcome, "error"), "text")));
		return;
	}
	json_object_set_new(node->pinning->nodes, node->name,
			    json_boolean(json_is_true(json_object_get(result, "here"))));
	parts_pin_settle(node->pinning);
}

static void parts_pin_ask(struct common *common, struct pinning_node *node, json_t *args)
{
	struct peer *peer = nodes_peer(common->nodes);
	int host = peer ? peer_find(peer, node->name) : -ENOTCONN, err = host;

	if (host == -ENOENT) {	/* not in the hosts file any more: nothing to pin */
		json_object_set_new(node->pinning->nodes, node->name, json_false());
		parts_pin_settle(node->pinning);
		return;
	}
	if (host >= 0)
		err = peer_ask(nodes_asks(common->nodes), (unsigned int)host, "pin",
			       json_incref(args), ANSWER_MS, parts_pin_on_answer, node, NULL);
	if (err < 0)
		parts_pin_fail(node, err == -EHOSTUNREACH ? "does not answer: see ckptctl nodes"
							  : strerror(-err));
}

/* Append @more to @names in order, without duplicates and without @self. */
static void parts_pin_add_names(json_t *names, const json_t *more, const char *self)
{
	const json_t *name, *has;
	size_t i, j;

	json_array_foreach(more, i, name) {
		bool known = !json_is_string(name) || !strcmp(json_string_value(name), self);

		json_array_foreach(names, j, has)
			known = known || json_equal(has, name);
		if (!known)
			json_array_append(names, (json_t *)name);
	}
}

json_t *parts_pin_nodes(const struct job *job, int64_t generation)
{
	const struct common *common = jobs_common(job->jobs);
	json_t *names = json_array(), *parts = NULL;
	struct ckpt_error error = {};

	if (!common->config.image_dir_shared &&
	    !catalog_generation_parts(&common->catalog, job->id, generation, &parts, &error)) {
		parts_pin_add_names(names, rank_record_nodes(parts), common->config.node);
		parts_pin_add_names(names, rank_record_nodes(job->record.ranks),
				    common->config.node);
	}
	json_decref(parts);
	return names;
}

void parts_pin(const struct job *job, json_t *names, const struct parts_pin *how,
	       parts_pinned_fn fn, void *arg)
{
	size_t i, nr = json_array_size(names);
	struct pinning *p = calloc(1, sizeof(*p) + nr * sizeof(p->node[0]));
	json_t *args = json_pack("{s:I, s:s, s:I, s:b, s:I}", "job", (json_int_t)job->id, "uuid",
				 job->uuid, "generation", (json_int_t)how->generation, "pin",
				 how->pin, "by", (json_int_t)how->by);

	if (!p) {
		json_decref(args);
		fn(NULL, arg);
		return;
	}
	p->names = json_incref(names);
	p->nodes = json_object();
	p->failed = json_object();
	p->open = nr + 1;
	p->fn = fn;
	p->arg = arg;
	for (i = 0; i < nr; i++) {
		p->node[i].pinning = p;
		p->node[i].name = json_string_value(json_array_get(names, i));
		parts_pin_ask(jobs_common(job->jobs), &p->node[i], args);
	}
	json_decref(args);
	parts_pin_settle(p);
}

/* ------------------------------------------------------------ another node */

/* Return: 0, -ENOENT if this node has no part of the generation, or negative errno with @error. */
static int parts_pin_change(const struct common *common, const struct parts_pin *how, int64_t job,
			    struct ckpt_error *error)
{
	_cleanup_fd_ int lock = -1;
	int err = catalog_lock(&common->catalog, job, &lock);

	if (!err && how->pin)
		return pin_set(&common->catalog, job, how->generation, how->by, common->config.node,
			       error);
	if (!err)
		err = pin_clear(&common->catalog, job, how->generation);
	if (err)
		error_set(error, err, "%s", err == -EBUSY ?
			  "generations are being removed or pinned there just now" :
			  strerror(-err));
	return err;
}

static void on_pin(struct peer_question *q, void *arg)
{
	struct jobs *jobs = arg;
	const char *uuid = NULL;
	json_t *no = NULL, *outcome = NULL;
	json_int_t id, generation, by;
	struct ckpt_error error = {};
	struct job *job;
	int pin, err = -ENOENT;

	if (json_unpack(peer_question_args(q), "{s:I, s:s, s:I, s:b, s:I}", "job", &id, "uuid",
			&uuid, "generation", &generation, "pin", &pin, "by", &by)) {
		peer_question_answer(q, outcome_error(-EPROTO, "pin: bad arguments"));
		return;
	}
	job = jobs_reconcile(jobs, id, &no);
	if (!job && outcome_errno(no) != -ENOENT) {
		err = outcome_errno(no);
		error_set(&error, err, "%s", json_string_value(json_object_get(
			  json_object_get(no, "error"), "text")) ?: strerror(-err));
	}
	if (job && !strcmp(job->uuid, uuid))
		outcome = parts_check_change(job, q);
	if (job && !strcmp(job->uuid, uuid) && !outcome) {
		const struct parts_pin how = { .generation = generation, .pin = pin,
			.by = (uid_t)by };

		err = parts_pin_change(jobs_common(jobs), &how, id, &error);
	}
	json_decref(no);
	if (!outcome)
		outcome = err && err != -ENOENT ? outcome_error(err, "%s", error.text) :
			  outcome_ok(json_pack("{s:b}", "here", !err));
	peer_question_answer(q, outcome);
}

int parts_pin_register(struct jobs *jobs)
{
	return peer_verb(nodes_asks(jobs_common(jobs)->nodes), "pin", on_pin, jobs);
}
