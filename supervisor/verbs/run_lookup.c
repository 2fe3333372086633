// SPDX-License-Identifier: GPL-2.0-only
/*
 * Looks up for `run` what may hang; see run_lookup.h.
 *
 * A directory server may be away, and a path may lead to a file system that does not answer: the
 * worker waits for them, and its deadline ends that. Must not look at anything in the event loop.
 */
#include "supervisor/verbs/run_lookup.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/control/worker.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/storage/common.h"

struct lookup {
	struct request *request;
	request_fn go;
};

/* ---------------------------------------------------------------- the worker */

static json_t *lookup_user(uid_t uid)
{
	struct passwd pw, *found = NULL;
	char text[4096], number[24];

	if (!getpwuid_r(uid, &pw, text, sizeof(text), &found) && found)
		return json_string(found->pw_name);
	snprintf(number, sizeof(number), "%u", (unsigned int)uid);
	return json_string(number);
}

static json_t *lookup_run(struct channel_reporter *reporter, void *arg)
{
	const struct lookup *lookup = arg;
	const json_t *args = lookup->request->args, *ranks = json_object_get(args, "ranks");
	json_t *record = json_pack("{s:O?, s:O?}", "mpi", json_object_get(ranks, "mpi"), "direct",
				   json_object_get(ranks, "direct"));
	json_t *outcome;

	outcome = rank_record_library(record, json_string_value(json_object_get(ranks, "library")),
				      json_object_get(args, "env"));
	if (outcome)
		return outcome;
	return outcome_ok(json_pack("{s:o, s:O*}", "user", lookup_user(lookup->request->uid),
				    "library", json_object_get(record, "library")));
}

/* ------------------------------------------------------------ the event loop */

static void lookup_on_progress(json_t *progress, void *arg)
{
}

static void lookup_on_outcome(json_t *outcome, void *arg)
{
	struct lookup lookup = *(struct lookup *)arg;

	free(arg);
	request_on_abandon(lookup.request, NULL, NULL);
	if (!outcome_is_ok(outcome) || request_abandoned(lookup.request)) {
		request_answer(lookup.request, outcome);
		return;
	}
	lookup.request->found = json_incref(json_object_get(outcome, "result"));
	json_decref(outcome);
	lookup.go(lookup.request);
}

static const struct worker_kind lookup_work = {
	.name = "ckptd-lookup",
	.run = lookup_run,
	.deadline_ms = RUN_LOOKUP_MS,
};

void run_lookup(struct request *request, request_fn go)
{
	static const struct channel_ops ops = { lookup_on_progress, lookup_on_outcome };
	struct worker_spec spec = { .kind = &lookup_work };
	struct lookup *lookup = malloc(sizeof(*lookup));
	struct worker *worker;
	int err = -ENOMEM;

	if (lookup) {
		*lookup = (struct lookup) { .request = request, .go = go };
		spec.arg = lookup;
		err = worker_start(&request->common->workers, &spec, &ops, lookup, &worker);
	}
	if (!err) {
		request_on_abandon(request, worker_on_abandon, worker);
		return;
	}
	free(lookup);
	request_answer(request, outcome_error(err, "the user and the library cannot be looked up: "
					      "no worker: %s", strerror(-err)));
}
