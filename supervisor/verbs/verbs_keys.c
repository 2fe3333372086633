// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request keys: which jobs' own keys this node has, and how a key gets to another node by hand.
 *
 * For root only, as each key opens all images of its job.  A wrap can be opened by the node that
 * it was made for, and by no other; a person carries it, so that root of both nodes has agreed.
 */
#include "supervisor/verbs/verbs.h"

#include <dirent.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "hosts/node_key.h"
#include "image/job_key.h"
#include "image/reader.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/key_of_job.h"

#define ID_TEXT	(2 * IMAGE_KEY_ID_BYTES + 1)

struct keys_request {
	struct request *request;
	struct worker *worker;
	const char *what;	/* these are the request's; NULL or 0: not given */
	json_int_t job;
	const char *node, *wrap, *image, *secret;
	int force;
};

static json_t *keys_row(const char *dir, int64_t job)
{
	uint8_t key[IMAGE_KEY_BYTES], id[IMAGE_KEY_ID_BYTES];
	struct ckpt_error error = {};
	char text[ID_TEXT] = "";
	int err = job_key_read(dir, job, key, &error);

	if (!err)
		err = job_key_id(key, id);
	explicit_bzero(key, sizeof(key));
	if (err)
		return json_pack("{s:I, s:s}", "job", (json_int_t)job, "problem", error.text);
	sodium_bin2hex(text, sizeof(text), id, sizeof(id));
	return json_pack("{s:I, s:s}", "job", (json_int_t)job, "key", text);
}

static int keys_compare(const void *a, const void *b)
{
	const json_int_t x = json_integer_value(json_object_get(*(json_t *const *)a, "job"));
	const json_int_t y = json_integer_value(json_object_get(*(json_t *const *)b, "job"));

	return x < y ? -1 : x > y;
}

/* The rows in the order of the jobs' numbers; takes over @rows. */
static json_t *keys_sort(json_t *rows)
{
	size_t i, nr = json_array_size(rows);
	json_t **row = calloc(nr + 1, sizeof(json_t *)), *sorted = json_array();

	for (i = 0; row && i < nr; i++)
		row[i] = json_array_get(rows, i);
	if (row)
		qsort(row, nr, sizeof(*row), keys_compare);
	for (i = 0; row && i < nr; i++)
		json_array_append(sorted, row[i]);
	free(row);
	json_decref(rows);
	return sorted;
}

static json_t *keys_list(const struct keys_request *k)
{
	const struct config *config = &k->request->common->config;
	_cleanup_dir_ DIR *dir = opendir(config->job_keys_dir);
	json_t *rows = json_array();
	struct dirent *entry;

	if (!dir && errno != ENOENT) {
		json_decref(rows);
		return outcome_error(-errno, "%s: %s", config->job_keys_dir, strerror(errno));
	}
	while (dir && (entry = readdir(dir))) {
		int64_t job = strchr(entry->d_name, '-') ? 0 : job_key_number(entry->d_name);

		if (job && (!k->job || job == k->job))
			json_array_append_new(rows, keys_row(config->job_keys_dir, job));
	}
	return outcome_ok(json_pack("{s:s, s:s, s:s, s:o}", "node", config->node, "dir",
				    config->job_keys_dir, "job_keys", config->job_keys, "keys",
				    keys_sort(rows)));
}

static json_t *keys_wrap(const struct keys_request *k)
{
	char wrap[WRAP_TEXT];
	json_t *outcome = key_of_job_wrap(k->request->common, k->job, k->node, wrap);

	return outcome ?: outcome_ok(json_pack("{s:I, s:s, s:s, s:s}", "job", k->job, "from",
					       k->request->common->config.node, "node", k->node,
					       "wrap", wrap));
}

/* The answer to a request after which the key is here. */
static json_t *keys_have(const struct keys_request *k)
{
	return outcome_ok(keys_row(k->request->common->config.job_keys_dir, k->job));
}

static json_t *keys_take(const struct keys_request *k)
{
	json_t *outcome = key_of_job_unwrap(k->request->common, k->job, k->node, k->wrap);

	return outcome ?: keys_have(k);
}

static json_t *keys_remove(const struct keys_request *k)
{
	const char *dir = k->request->common->config.job_keys_dir;
	json_t *row;
	int err;

	if (!k->force)
		return outcome_error(-EPERM,
				     "without its key no image of job %lld can be restarted from "
				     "here; --force removes it all the same",
				     (long long)k->job);
	row = keys_row(dir, k->job);
	err = job_key_remove(dir, k->job);
	if (!err)
		return outcome_ok(row);
	json_decref(row);
	return err == -ENOENT ? outcome_error(err, "node %s has no key of job %lld",
					      k->request->common->config.node, (long long)k->job) :
				outcome_error(err, "%s/%lld: %s", dir, (long long)k->job,
					      strerror(-err));
}

/* The site's copy of the key of job k->job, out of the manifest of one of its images. */
static json_t *keys_copy(const struct keys_request *k, struct image_recovery *ret_copy)
{
	struct image_reader *reader = NULL;
	struct image_key *key = NULL;
	struct ckpt_error error = {};
	json_t *outcome = NULL;
	int err = image_key_load(k->request->common->config.key, &key, &error);

	if (!err)
		err = image_open_locked(k->image, key, NULL, &reader, &error);
	image_key_destroy(key);
	if (err)
		return outcome_error(err, "%s", error.text);
	*ret_copy = image_manifest(reader)->recovery;
	if (job_key_number(image_manifest(reader)->job) != k->job)
		outcome = outcome_error(-ESTALE, "%s: an image of job %s, not of job %lld",
					k->image, image_manifest(reader)->job, (long long)k->job);
	else if (sodium_is_zero(ret_copy->public, sizeof(ret_copy->public)))
		outcome = outcome_error(-ENODATA,
					"%s: without a copy of the job's key for the site: "
					"job_keys_recovery was not set when it was made", k->image);
	image_close(reader);
	return outcome;
}

static json_t *keys_recover(const struct keys_request *k)
{
	const char *dir = k->request->common->config.job_keys_dir;
	uint8_t bytes[IMAGE_KEY_BYTES];
	struct image_recovery copy;
	struct ckpt_error error = {};
	struct node_key site;
	json_t *outcome = keys_copy(k, &copy);
	int err;

	if (outcome)
		return outcome;
	if (!config_has_job_keys(&k->request->common->config))
		return outcome_error(-EPERM, "this node keeps no keys of jobs: set job_keys = on");
	err = node_key_load(k->secret, &site, &error);
	if (err)
		return outcome_error(err, "%s", error.text);
	err = job_key_recover(&copy, site.secret, bytes);
	node_key_wipe(&site);
	if (err)
		return outcome_error(err, err == -EKEYREJECTED ?
				     "%s: made for another key of the site than that of %s" :
				     "%s: its copy of the job's key does not open with %s",
				     k->image, k->secret);
	err = job_key_put(dir, k->job, bytes, &error);
	explicit_bzero(bytes, sizeof(bytes));
	return err ? outcome_error(err, "%s", error.text) : keys_have(k);
}

static const struct {
	const char *name;
	json_t *(*run)(const struct keys_request *k);
} keys_actions[] = {
	{ "list", keys_list }, { "wrap", keys_wrap }, { "take", keys_take },
	{ "remove", keys_remove }, { "recover", keys_recover },
};

static json_t *keys_run(struct channel_reporter *reporter, void *arg)
{
	const struct keys_request *k = arg;
	size_t i = 0;

	while (strcmp(keys_actions[i].name, k->what))
		i++;
	return keys_actions[i].run(k);
}

static void verb_keys_on_progress(json_t *progress, void *arg)
{
}

static void verb_keys_on_outcome(json_t *outcome, void *arg)
{
	struct keys_request *k = arg;
	struct request *request = k->request;

	if (outcome_is_ok(outcome) && strcmp(k->what, "list"))
		log_info(&request->common->log, "key of job %lld: %s %s", (long long)k->job,
			 k->what, k->node ? k->node : "");
	request_answer(request, outcome);
	free(k);
}

static const struct channel_ops keys_ops = { verb_keys_on_progress, verb_keys_on_outcome };

static const struct worker_kind keys_work = { .name = "ckptd-keys", .run = keys_run };

/* NULL, or an outcome. */
static json_t *verb_keys_parse(struct request *request, struct keys_request *k)
{
	const struct job *job;
	json_error_t why;
	bool whole;
	size_t i = 0;

	if (request->uid)
		return outcome_error(-EPERM, "keys of jobs are for root");
	if (json_unpack_ex(request->args, &why, 0,
			   "{s:s, s?I, s?s, s?s, s?s, s?s, s?b !}", "what", &k->what, "job",
			   &k->job, "node", &k->node, "wrap", &k->wrap, "image", &k->image,
			   "secret", &k->secret, "force", &k->force))
		return outcome_usage("keys: bad arguments: %s", why.text);
	while (i < ARRAY_SIZE(keys_actions) && strcmp(keys_actions[i].name, k->what))
		i++;
	whole = i == 0 || (k->job > 0 && (i != 1 || k->node) && (i != 2 || (k->node && k->wrap)) &&
			   (i != 4 || (k->image && k->secret)));
	if (i == ARRAY_SIZE(keys_actions) || !whole)
		return outcome_usage("keys: bad arguments: %s", k->what);
	job = i == 3 ? jobs_lookup(request->jobs, k->job) : NULL;
	return job && job_is_alive(job) ?
	       outcome_error(-EBUSY, "job %lld runs, and could not be checkpointed without its key",
			     (long long)k->job) : NULL;
}

void verb_keys(struct request *request)
{
	struct worker_spec spec = { .kind = &keys_work };
	struct keys_request *k = calloc(1, sizeof(*k));
	json_t *outcome;
	int err;

	if (!k) {
		request_answer(request, NULL);
		return;
	}
	k->request = request;
	spec.arg = k;
	outcome = verb_keys_parse(request, k);
	if (!outcome) {
		err = worker_start(&request->common->workers, &spec, &keys_ops, k, &k->worker);
		if (!err)
			return;
		outcome = outcome_error(err, "no worker: %s", strerror(-err));
	}
	free(k);
	request_answer(request, outcome);
}
