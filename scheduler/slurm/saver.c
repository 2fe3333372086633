// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests to ckptd about the job of a launch; see saver.h.
 *
 * Each request has a connection of its own, so that a ckptd that was restarted in between is no
 * failure. ckptd decides whether this user may ask.
 */
#include "scheduler/slurm/saver.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libckptctl/ckptctl.h"

static int saver_connect(struct ckpt **ret_ckpt, char *why, unsigned int size)
{
	int err = ckpt_connect(NULL, ret_ckpt);

	if (err)
		snprintf(why, size, "ckptd of this node is not there: %s", strerror(-err));
	return err;
}

/* Make a request; *@ret_result: a new reference, {} without one. */
static int saver_call(const char *verb, const char *args, json_t **ret_result, char *why,
		      unsigned int size)
{
	struct ckpt *ckpt = NULL;
	json_t *answer = NULL;
	int err = saver_connect(&ckpt, why, size);

	if (!err) {
		err = ckpt_call(ckpt, verb, args, NULL, 0);
		if (err)
			snprintf(why, size, "%s", ckpt_error_text(ckpt));
	}
	if (!err && ret_result) {
		answer = json_loads(ckpt_answer(ckpt), 0, NULL);
		*ret_result = json_incref(json_object_get(answer, "result"));
		json_decref(answer);
	}
	ckpt_disconnect(ckpt);
	return err;
}

int64_t saver_generation(int64_t job, int64_t than)
{
	json_t *result = NULL, *generations, *row;
	char args[64], why[64];
	int64_t newest = 0;
	size_t i;

	snprintf(args, sizeof(args), "{\"job\": %lld}", (long long)job);
	if (saver_call("list", args, &result, why, sizeof(why)))
		return 0;
	row = json_array_get(json_object_get(result, "jobs"), 0);
	generations = json_object_get(row, "generations");
	json_array_foreach(generations, i, row) {
		int64_t number = json_integer_value(json_object_get(row, "generation"));

		if (number < than && number > newest && !json_object_get(row, "error"))
			newest = number;
	}
	json_decref(result);
	return newest;
}

int saver_find(const char *name, struct saver_job *ret)
{
	json_t *result = NULL, *job;
	struct saver_job found = { 0 };
	char why[64];
	size_t i;
	int err = saver_call("ps", "{\"all\": true}", &result, why, sizeof(why));

	if (err)
		return err;
	json_array_foreach(json_object_get(result, "jobs"), i, job) {
		const char *called = json_string_value(json_object_get(job, "name")),
			   *state = json_string_value(json_object_get(job, "state"));
		int64_t number = json_integer_value(json_object_get(job, "job"));

		if (!called || strcmp(called, name) || number <= found.job ||
		    json_integer_value(json_object_get(job, "uid")) != (json_int_t)geteuid())
			continue;
		found.job = number;
		found.saved = state && !strcmp(state, "saved");
		found.lost = state && !strcmp(state, "lost");
		found.runs = state && strcmp(state, "ended") && !found.saved && !found.lost;
		found.ranks = json_object_get(job, "nr_ranks");
		found.status = json_integer_value(json_object_get(job, "exit_status"));
		snprintf(found.state, sizeof(found.state), "%s", state ? state : "unknown");
	}
	json_decref(result);
	if (found.job)
		found.newest = saver_generation(found.job, INT64_MAX);
	*ret = found;
	return 0;
}

/* Are all reasons against a checkpoint pipes that lead out of the job? */
static bool saver_only_pipes(const struct ckpt *ckpt)
{
	struct ckpt_refusal refusal = { .size = sizeof(refusal) };
	unsigned int i, n = ckpt_refusal_count(ckpt);

	for (i = 0; i < n; i++) {
		if (ckpt_refusal_get(ckpt, i, &refusal) || strcmp(refusal.name, "PIPE_EXTERNAL"))
			return false;
	}
	return n > 0;
}

int saver_check(int64_t job, bool pipes, char *why, unsigned int size)
{
	struct ckpt *ckpt = NULL;
	char args[64];
	int err = saver_connect(&ckpt, why, size);

	if (err)
		return err;
	snprintf(args, sizeof(args), "{\"job\": %lld, \"dry_run\": true}", (long long)job);
	err = ckpt_call(ckpt, "checkpoint", args, NULL, 0);
	if (err && pipes && saver_only_pipes(ckpt))
		err = 0;
	if (err)
		snprintf(why, size, "%s", ckpt_error_text(ckpt));
	ckpt_disconnect(ckpt);
	return err;
}

int saver_save(int64_t job, char *why, unsigned int size)
{
	char args[64];

	snprintf(args, sizeof(args), "{\"job\": %lld, \"kill\": true}", (long long)job);
	return saver_call("checkpoint", args, NULL, why, size);
}

int saver_remove(int64_t job, char *why, unsigned int size)
{
	char args[64];

	snprintf(args, sizeof(args), "{\"job\": %lld, \"force\": true}", (long long)job);
	return saver_call("rm", args, NULL, why, size);
}
