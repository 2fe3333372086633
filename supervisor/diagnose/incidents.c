// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workers that note and read incidents; see incidents.h. A worker that writes is not killed when
 * its caller forgets it, but at its deadline: the file survives that. Owns each struct
 * incident_work, from its start until its outcome has been handed over.
 */
#include "supervisor/diagnose/incidents.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "supervisor/catalog/generation.h"
#include "supervisor/catalog/history.h"
#include "supervisor/catalog/trust.h"
#include "supervisor/control/worker.h"
#include "supervisor/diagnose/act.h"
#include "supervisor/diagnose/incident_store.h"
#include "supervisor/iotrace/io_store.h"

#define INCIDENTS_MS	30000

struct incident_work {
	struct common *common;
	struct worker *worker;
	struct request *request;	/* NULL: nobody's */
	incident_fn fn;			/* NULL: forgotten, or a request */
	void *arg;
	struct incident_note note;
	char uuid[IO_STORE_UUID];
	char result[INCIDENT_RESULT_MAX];	/* note.result, if there is one */
	uid_t uid;			/* who asks */
	int64_t job, incident;
	bool bundle;
};

/* ------------------------------------------------------------ in the worker */

static int incidents_open(const struct common *common, bool writer,
			  struct incident_store **ret_store, struct ckpt_error *error)
{
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "%s/" INCIDENTS_FILE, common->config.state_dir);
	err = incident_store_open(path, writer, ret_store, error);
	if (err == -EUCLEAN && writer && !io_store_put_aside(path))
		err = incident_store_open(path, writer, ret_store, error);
	return err;
}

/* The text of the bundle; NULL: it is too long, or there is no memory. */
static char *incidents_bundle(const struct incident_work *w)
{
	json_t *history = history_read(&w->common->catalog, w->note.job), *bundle;
	char *report = incident_shorten(w->note.report, INCIDENT_BUNDLE_MAX), *text;

	bundle = json_pack("{s:O, s:o*}", "report", w->note.report, "history", history);
	text = report ? json_dumps(bundle, JSON_COMPACT) : NULL;
	free(report);
	json_decref(bundle);
	return text;
}

/* When the generation was taken, as its images say; 0: they cannot be read here. */
static json_int_t incidents_taken(const struct incident_work *w, int64_t generation)
{
	const struct common *common = w->common;
	const struct op_env env = { .key = common->config.key, .secret = common->config.secret };
	char label[64 + IO_STORE_UUID];
	json_t *outcome;
	json_int_t taken;

	snprintf(label, sizeof(label), "%lld-%s", (long long)w->note.job, w->uuid);
	outcome = generation_describe(&env, &common->catalog, w->note.job, generation, label);
	taken = json_integer_value(json_object_get(json_object_get(outcome, "result"),
						   "created"));
	json_decref(outcome);
	return taken;
}

/* The newest generation that is not doubted and is older than the hang; 0: none. */
static int64_t incidents_back_to(const struct incident_work *w, const json_t *generations,
				 json_int_t since)
{
	for (size_t i = json_array_size(generations); i-- > 0;) {
		int64_t generation = json_integer_value(json_array_get(generations, i));
		json_int_t taken;

		if (trust_is_doubted(trust_get(&w->common->catalog, w->note.job, generation,
					       NULL)))
			continue;
		taken = incidents_taken(w, generation);
		if (taken && taken < since)
			return generation;
	}
	return 0;
}

/* Add to the incident what act.h asks for. */
static void incidents_add_acts(const struct incident_work *w, struct incident_store *store,
			       const json_t *generations, json_t *incident)
{
	const json_int_t since = json_integer_value(json_object_get(incident, "since"));
	unsigned int here, lately;

	incident_store_acts(store, incident, (int64_t)time(NULL) - ACTS_DAY, &here, &lately);
	json_object_set_new(incident, "acts_here", json_integer(here));
	json_object_set_new(incident, "acts_lately", json_integer(lately));
	json_object_set_new(incident, "back_to",
			    json_integer((json_int_t)incidents_back_to(w, generations, since)));
}

static json_t *incidents_confirm(const struct incident_work *w, struct incident_store *store)
{
	_cleanup_free_ char *bundle = incidents_bundle(w);
	json_t *incident = incident_make(w->note.report, (int64_t)time(NULL)), *stored = NULL;
	json_t *generations = catalog_generations(&w->common->catalog, w->note.job);
	const size_t nr = json_array_size(generations);
	struct ckpt_error error = {};
	int err;

	json_object_set_new(incident, "uuid", json_string(w->uuid));
	if (nr)
		json_object_set(incident, "generation", json_array_get(generations, nr - 1));
	if (!bundle)
		json_object_set_new(incident, "result", json_string("no evidence could be kept"));
	err = incident ? incident_store_confirm(store, incident, bundle, &stored, &error) : -ENOMEM;
	if (!err && !strcmp(w->common->config.diagnose, "recover"))
		incidents_add_acts(w, store, generations, stored);
	json_decref(incident);
	json_decref(generations);
	return err ? outcome_error(err, "%s", error.text) : outcome_ok(stored);
}

static json_t *incidents_write(struct channel_reporter *reporter, void *arg)
{
	const struct incident_work *w = arg;
	struct incident_store *store;
	struct ckpt_error error = {};
	json_t *outcome;
	int err = incidents_open(w->common, true, &store, &error);

	if (err)
		return outcome_error(err, "%s", error.text);
	if (w->note.event == INCIDENT_CONFIRM) {
		outcome = incidents_confirm(w, store);
	} else {
		err = incident_store_move(store, w->note.job, w->uuid, w->note.event,
					  w->note.action, w->note.result ? w->result : NULL,
					  (int64_t)time(NULL),
					  &error);
		outcome = err ? outcome_error(err, "%s", error.text) : outcome_ok(json_object());
	}
	incident_store_close(store);
	return outcome;
}

static json_t *incidents_read_one(const struct incident_work *w, struct incident_store *store)
{
	json_t *bundle = NULL;
	json_t *incident = incident_store_get(store, w->incident, w->uid,
					      w->bundle ? &bundle : NULL);

	if (!incident)
		return outcome_error(-ENOENT, "there is no incident i%lld on this node, or it is "
				     "another user's", (long long)w->incident);
	if (w->bundle && json_is_null(bundle)) {
		json_decref(incident);
		return outcome_error(-ENODATA, "no evidence of incident i%lld was kept",
				     (long long)w->incident);
	}
	return outcome_ok(json_pack("{s:o, s:o*}", "incident", incident, "bundle", bundle));
}

static json_t *incidents_read(struct channel_reporter *reporter, void *arg)
{
	const struct incident_work *w = arg;
	struct incident_store *store = NULL;
	struct ckpt_error error = {};
	json_t *outcome;
	int err = incidents_open(w->common, false, &store, &error);

	if (err && (err != -ENOENT || w->incident))
		return outcome_error(err, "%s", error.text);
	if (err)
		return outcome_ok(json_pack("{s:[]}", "incidents"));
	if (w->incident)
		outcome = incidents_read_one(w, store);
	else
		outcome = outcome_ok(json_pack("{s:o}", "incidents", incident_store_list(
			store, w->uid, w->job, !w->request)));
	incident_store_close(store);
	return outcome;
}

static const struct worker_kind write_work = {
	.name = "ckptd-incident", .run = incidents_write, .deadline_ms = INCIDENTS_MS,
};

static const struct worker_kind read_work = {
	.name = "ckptd-incident", .run = incidents_read, .deadline_ms = INCIDENTS_MS,
};

/* ------------------------------------------------------------ in the daemon */

static void incidents_on_progress(json_t *progress, void *arg)
{
}

static void incidents_on_outcome(json_t *outcome, void *arg)
{
	struct incident_work *w = arg;
	incident_fn fn = w->fn;
	void *fn_arg = w->arg;

	if (w->request) {
		request_on_abandon(w->request, NULL, NULL);
		request_answer(w->request, outcome);
	} else if (!fn) {
		json_decref(outcome);
	}
	json_decref(w->note.report);
	free(w);
	if (fn)
		fn(outcome, fn_arg);
}

static const struct channel_ops incidents_ops = { incidents_on_progress, incidents_on_outcome };

/* Start a worker that does @what, which is copied. */
static int incidents_start(const struct incident_work *what, const struct worker_kind *kind,
			   struct incident_work **ret_work)
{
	struct incident_work *w = malloc(sizeof(*w));
	const struct worker_spec spec = { .kind = kind, .arg = w };
	int err;

	if (!w)
		return -ENOMEM;
	*w = *what;
	json_incref(w->note.report);
	err = worker_start(&w->common->workers, &spec, &incidents_ops, w, &w->worker);
	if (err) {
		json_decref(w->note.report);
		free(w);
		return err;
	}
	*ret_work = w;
	return 0;
}

struct incident_work *incidents_note(struct common *common, const struct incident_note *note,
				     incident_fn fn, void *arg)
{
	struct incident_work what = { .common = common, .fn = fn, .arg = arg, .note = *note };
	struct incident_work *w = NULL;

	snprintf(what.uuid, sizeof(what.uuid), "%s", note->uuid);
	snprintf(what.result, sizeof(what.result), "%s", note->result ?: "");
	return incidents_start(&what, &write_work, &w) ? NULL : w;
}

struct incident_work *incidents_load(struct common *common, incident_fn fn, void *arg)
{
	struct incident_work what = { .common = common, .fn = fn, .arg = arg }, *w = NULL;

	return incidents_start(&what, &read_work, &w) ? NULL : w;
}

void incidents_forget(struct incident_work *w)
{
	if (w)
		w->fn = NULL;
}

void incidents_answer(struct request *request, int64_t job, int64_t incident, bool bundle)
{
	const struct incident_work what = {
		.common = request->common, .request = request, .uid = request->uid, .job = job,
		.incident = incident, .bundle = bundle,
	};
	struct incident_work *w = NULL;
	int err = incidents_start(&what, &read_work, &w);

	if (err)
		request_answer(request, outcome_error(err, "no worker: %s", strerror(-err)));
	else
		request_on_abandon(request, worker_on_abandon, w->worker);
}
