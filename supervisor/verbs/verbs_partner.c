// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request store: use by hand the images that a partner server on another node keeps.
 *
 * For root only: images are named as the level names them, and are read from or written to any
 * directory.  The daemon asks for a ticket, a worker does the rest; the worker ends when the
 * client goes away.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "levels/partner.h"
#include "levels/source.h"
#include "supervisor/storage/common.h"
#include "base/outcome.h"
#include "supervisor/storage/partner_server.h"
#include "supervisor/control/worker.h"

#define LIMIT_MAX	(1 << 20)	/* MiB a second */
#define ABANDON_MS	5000		/* time for the worker to end its operation in order */

enum store_op { PUT, GET, LIST, VERIFY, DELETE, SPACE };

static const char *const op_names[] = {
	[PUT] = "put", [GET] = "get", [LIST] = "list", [VERIFY] = "verify",
	[DELETE] = "delete", [SPACE] = "space",
};

struct store_request {
	struct request *request;
	struct worker *worker;
	struct reactor_source *patience;	/* ABANDON_MS timer, once the client has gone */
	struct partner_ticket ticket;
	enum store_op op;
	/* these point into the request's arguments */
	const char *node, *owner, *name, *path;
	bool deep;
	uint64_t limit;			/* bytes a second */
	/* in the worker */
	struct image_key *key;
	struct level *level;
	struct level_options options;
	struct level_bucket bucket;
};

/* ---------------------------------------------------------- in the worker */

static void verb_partner_report(uint64_t done, uint64_t total, void *arg)
{
	struct engine_progress p = { .phase = "copy", .done = done, .total = total };

	channel_report_progress(&p, arg);
}

/* If the request has no name, @name becomes the generation's. */
static int verb_partner_put(struct store_request *r, char name[LEVEL_NAME_MAX + 1], json_t *result,
			    struct ckpt_error *error)
{
	struct source s;
	int err = source_open(&s, r->path, r->key, NULL, error);

	if (err)
		return err;
	if (r->name)
		snprintf(name, LEVEL_NAME_MAX + 1, "%s", r->name);
	else
		err = level_name(s.job, s.generation, name);
	json_object_update_new(result, json_pack("{s:s, s:s, s:I, s:I}", "name", name, "job",
						 s.job, "generation", (json_int_t)s.generation,
						 "bytes_stored", (json_int_t)s.layout.bytes));
	source_close(&s);
	if (err)
		return error_set(error, err,
				 "%.200s: its job's name is no name for an image there: give one",
				 r->path);
	return level_put(r->level, name, r->path, &r->options, error);
}

static int verb_partner_add_item(const struct level_item *item, void *arg)
{
	char id[2 * sizeof(item->id) + 1];
	json_t *row = json_pack("{s:s}", "name", item->name);

	if (item->err) {
		json_object_set_new(row, "error", json_string(item->text));
	} else {
		sodium_bin2hex(id, sizeof(id), item->id, sizeof(item->id));
		json_object_update_new(row, json_pack("{s:s, s:I, s:I, s:I, s:s}", "job",
						      item->job, "generation",
						      (json_int_t)item->generation, "created",
						      (json_int_t)(item->created_ns / 1000000000),
						      "bytes_stored", (json_int_t)item->bytes,
						      "id", id));
	}
	return json_array_append_new(arg, row) ? -ENOMEM : 0;
}

static int verb_partner_list(struct store_request *r, json_t *result, struct ckpt_error *error)
{
	json_t *images = json_array();

	json_object_set_new(result, "images", images);
	return level_list(r->level, NULL, verb_partner_add_item, images, error);
}

static int verb_partner_space(struct store_request *r, json_t *result, struct ckpt_error *error)
{
	struct level_space space;
	int err = level_space(r->level, &space, error);

	if (!err)
		json_object_update_new(result, json_pack("{s:I, s:I}", "total",
							 (json_int_t)space.total, "free",
							 (json_int_t)space.free));
	return err;
}

static int verb_partner_act(struct store_request *r, json_t *result, struct ckpt_error *error)
{
	char name[LEVEL_NAME_MAX + 1] = "";

	switch (r->op) {
	case PUT:
		return verb_partner_put(r, name, result, error);
	case GET:
		return level_get(r->level, r->name, r->path, &r->options, error);
	case LIST:
		return verb_partner_list(r, result, error);
	case VERIFY:
		return level_verify(r->level, r->name, r->deep, &r->options, error);
	case DELETE:
		return level_delete(r->level, r->name, error);
	case SPACE:
		break;
	}
	return verb_partner_space(r, result, error);
}

static json_t *store_run(struct channel_reporter *reporter, void *arg)
{
	struct store_request *r = arg;
	struct level_partner_options o = {
		.ticket = &r->ticket, .cancelled = worker_is_to_stop,
	};
	json_t *result = json_pack("{s:s, s:s}", "node", r->node, "owner", r->owner);
	struct ckpt_error error = {};
	int err;

	worker_hold_sigterm();
	if (r->name)
		json_object_set_new(result, "name", json_string(r->name));
	level_bucket_init(&r->bucket, r->limit, 0);
	r->options = (struct level_options) {
		.progress = verb_partner_report, .cancelled = worker_is_to_stop, .arg = reporter,
		.bucket = &r->bucket,
	};
	err = image_key_load(r->request->common->config.key, &r->key, &error);
	o.key = r->key;
	if (!err)
		err = level_partner_open(&o, &r->level, &error);
	if (!err)
		err = verb_partner_act(r, result, &error);
	level_close(r->level);
	image_key_destroy(r->key);
	if (!err)
		return outcome_ok(result);
	json_decref(result);
	return outcome_error(err, "%s", error.text[0] ? error.text : strerror(-err));
}

/* ---------------------------------------------------------- in the daemon */

/* Answer the request and free @r; takes over @outcome. */
static void verb_partner_finish(struct store_request *r, json_t *outcome)
{
	reactor_remove(r->patience);
	request_on_abandon(r->request, NULL, NULL);
	request_answer(r->request, outcome);
	sodium_memzero(r, sizeof(*r));
	free(r);
}

static void verb_partner_on_progress(json_t *progress, void *arg)
{
	struct store_request *r = arg;

	request_progress(r->request, progress);
}

static void verb_partner_on_outcome(json_t *outcome, void *arg)
{
	verb_partner_finish(arg, outcome);
}

static const struct channel_ops ops = { verb_partner_on_progress, verb_partner_on_outcome };

static void verb_partner_on_patience_over(void *arg)
{
	struct store_request *r = arg;

	r->patience = NULL;
	worker_kill(r->worker, SIGKILL);
}

/*
 * The client has gone away: stop the worker, so that the partner does not wait, either.  The
 * worker ends its operation in order, and its outcome ends the request.  Do not end the request
 * here: this may be called from within the worker's progress.
 */
static void verb_partner_on_abandon(struct request *request, void *arg)
{
	struct store_request *r = arg;

	worker_kill(r->worker, SIGTERM);
	if (reactor_timer(request->common->reactor, ABANDON_MS, verb_partner_on_patience_over, r,
			  &r->patience))
		worker_kill(r->worker, SIGKILL);
}

static const struct worker_kind store_work = {
	.name = "ckptd-copy",
	.run = store_run,
	.killed = "what it had done by then stays done: ckptctl store shows what is on the "
		  "other node",
};

static void verb_partner_on_ticket(const struct partner_ticket *ticket, json_t *no, void *arg)
{
	const struct worker_spec spec = { .kind = &store_work, .arg = arg };
	struct store_request *r = arg;
	int err;

	if (!no && !request_abandoned(r->request)) {
		r->ticket = *ticket;
		err = worker_start(&r->request->common->workers, &spec, &ops, r, &r->worker);
		sodium_memzero(r->ticket.token, sizeof(r->ticket.token));
		if (!err) {
			request_on_abandon(r->request, verb_partner_on_abandon, r);
			return;
		}
		no = outcome_error(err, "no worker: %s", strerror(-err));
	}
	verb_partner_finish(r, no ? no : outcome_error(-ECANCELED, "cancelled"));
}

/* Does the request have the arguments that its operation needs? */
static bool is_complete(const struct store_request *r)
{
	bool name = r->op == GET || r->op == VERIFY || r->op == DELETE;
	bool path = r->op == PUT || r->op == GET;

	if (path != (r->path != NULL) || (r->path && r->path[0] != '/'))
		return false;
	if (r->name && !level_name_valid(r->name))
		return false;
	return name ? r->name != NULL : r->op == PUT || !r->name;
}

static json_t *verb_partner_parse(const struct request *request, struct store_request *r)
{
	json_int_t limit = 0;
	int deep = 0;
	json_error_t why;
	const char *op;
	size_t i;

	if (json_unpack_ex(request->args, &why, 0, "{s:s, s:s, s?s, s?s, s?s, s?b, s?I !}",
			   "op", &op, "node", &r->node, "owner", &r->owner, "name", &r->name,
			   "path", &r->path, "deep", &deep, "limit", &limit))
		return outcome_usage("store: bad arguments: %s", why.text);
	for (i = 0; i < ARRAY_SIZE(op_names) && strcmp(op, op_names[i]);)
		i++;
	r->op = (enum store_op)i;
	r->deep = deep;
	if (i == ARRAY_SIZE(op_names) || limit < 0 || limit > LIMIT_MAX || !is_complete(r))
		return outcome_usage("store: bad arguments, or '%s' is no name for an image "
				     "(letters, digits, \".\", \"_\", \"-\")",
				     r->name ? r->name : "");
	r->limit = (uint64_t)limit << 20;
	if (request->uid)
		return outcome_error(-EPERM, "what another node keeps is root's business");
	return NULL;
}

static json_t *why_not(const struct request *request, const char *node, int err)
{
	if (err == -EINVAL)
		return outcome_error(err, "%s is this node: images here need no way to it", node);
	if (err == -ENOENT)
		return outcome_error(err, "there is no node %s: see ckptctl nodes", node);
	return outcome_error(err, "node %s cannot be asked: %s: see ckptctl nodes", node,
			     strerror(-err));
}

void verb_store(struct request *request)
{
	struct store_request *r = calloc(1, sizeof(*r));
	const struct config *config = &request->common->config;
	json_t *outcome;
	bool reads;
	int err;

	if (!r) {
		request_answer(request, NULL);
		return;
	}
	r->request = request;
	outcome = verb_partner_parse(request, r);
	if (!outcome) {
		reads = r->op != PUT && r->op != DELETE;
		r->owner = r->owner ? r->owner : config->node;
		err = partner_ticket_ask(request->common, r->node, r->owner, reads,
					 verb_partner_on_ticket, r);
		if (!err)
			return;
		outcome = why_not(request, r->node, err);
	}
	verb_partner_finish(r, outcome);
}
