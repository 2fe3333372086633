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

/* Make a request; *@ret_result: a new reference, {} without one. */
static int saver_call(const char *verb, const char *args, json_t **ret_result, char *why,
		      unsigned int size)
{
	struct ckpt *ckpt = NULL;
	json_t *answer = NULL;
	int err = ckpt_connect(NULL, &ckpt);

	if (err)
		snprintf(why, size, "ckptd of this node is not there: %s", strerror(-err));
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

int saver_find(const char *name, int64_t *ret_job, bool *ret_saved)
{
	json_t *result = NULL, *job;
	int64_t newest = 0;
	bool saved = false;
	char why[64];
	size_t i;
	int err = saver_call("ps", "{\"all\": true}", &result, why, sizeof(why));

	if (err)
		return err;
	json_array_foreach(json_object_get(result, "jobs"), i, job) {
		const char *called = json_string_value(json_object_get(job, "name")),
			   *state = json_string_value(json_object_get(job, "state"));
		int64_t number = json_integer_value(json_object_get(job, "job"));

		if (!called || strcmp(called, name) || number <= newest ||
		    json_integer_value(json_object_get(job, "uid")) != (json_int_t)geteuid())
			continue;
		newest = number;
		saved = state && !strcmp(state, "saved");
	}
	json_decref(result);
	*ret_job = newest;
	*ret_saved = saved;
	return 0;
}

int saver_save(int64_t job, char *why, unsigned int size)
{
	char args[64];

	snprintf(args, sizeof(args), "{\"job\": %lld, \"kill\": true}", (long long)job);
	return saver_call("checkpoint", args, NULL, why, size);
}
