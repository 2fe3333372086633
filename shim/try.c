// SPDX-License-Identifier: GPL-2.0-only
/*
 * A dry run of a restore; see try.h.
 *
 * Each image is tried in turn, as the worker of a real restore would do it. Owns no state of a
 * job: no directory, no log, no socket.
 */
#include "shim/try.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/atomic_json.h"
#include "base/outcome.h"
#include "engine/op/op.h"
#include "libckptctl/wire.h"

static void try_tell(int report, const json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);

	/* Ignore errors: whoever wanted to know has gone. */
	if (text)
		wire_send(report, text, strlen(text), NULL, 0);
	free(text);
}

static void try_on_progress(const struct engine_progress *progress, void *arg)
{
	const int *report = arg;
	json_t *json = json_pack("{s:{s:s, s:I, s:I}}", "progress", "phase", progress->phase,
				 "done", (json_int_t)progress->done,
				 "total", (json_int_t)progress->total);

	try_tell(*report, json);
	json_decref(json);
}

static json_t *try_images(const json_t *spec, const struct op_env *env)
{
	json_t *tried = json_array(), *outcome, *args;
	pid_t roots[OP_ROOTS_MAX];
	unsigned int nr_roots;
	size_t i;

	json_array_foreach(json_object_get(spec, "try"), i, args) {
		/* The pids are free in the new namespace that the job would get. */
		if (!json_is_true(json_object_get(spec, "host_ns")))
			json_object_set_new(args, "pidns", json_string("new"));
		json_object_set_new(args, "dry_run", json_true());
		outcome = op_restore(env, args, roots, &nr_roots);
		if (!outcome_is_ok(outcome)) {
			json_decref(tried);
			return outcome;
		}
		json_array_append(tried, json_object_get(outcome, "result"));
		json_decref(outcome);
	}
	return outcome_ok(json_pack("{s:o}", "tried", tried));
}

bool try_run(int spec_fd, int report)
{
	json_error_t wrong;
	json_t *spec = NULL, *outcome;
	struct op_env env = { .progress = try_on_progress, .progress_arg = &report };

	if (atomic_json_load(spec_fd, 0, &spec, &wrong) || !json_object_get(spec, "try")) {
		json_decref(spec);
		lseek(spec_fd, 0, SEEK_SET);
		return false;	/* spec_load() complains, if it is bad */
	}
	prctl(PR_SET_NAME, "ckpt-try");
	signal(SIGPIPE, SIG_IGN);
	env.key = json_string_value(json_object_get(spec, "key"));
	env.secret = json_string_value(json_object_get(spec, "encryption_key"));
	env.any_rights = json_is_true(json_object_get(spec, "any_rights"));
	env.asker = json_object_get(spec, "asker");
	outcome = try_images(spec, &env);
	try_tell(report, outcome);
	json_decref(outcome);
	json_decref(spec);
	return true;
}
