// SPDX-License-Identifier: GPL-2.0-only
/*
 * The images of a node's part of a job; see job_images.h.
 *
 * rank_sources.h chooses images and ranks by the maps. Here the manifests are read, each once,
 * and checked to be of the right job, generation and node; their notes are put together.
 */
#include "supervisor/job/job_images.h"
#include "supervisor/job/rank_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "supervisor/catalog/generation.h"
#include "base/outcome.h"
#include "supervisor/job/job_writes.h"
#include "supervisor/job/rank_sources.h"

struct gathering {
	const struct job *job;
	unsigned int node;
	const json_t *args;
	json_int_t generation;	/* of args */
	const struct op_env *env;
	json_t *was;		/* "ranks" of the generation; NULL: it has one image */
	json_t *notes;		/* {"K": note of part K}; a single image is part 0 */
	json_t *note;		/* of the answer */
	json_t *images;		/* of the answer */
};

static char *image_dir(const struct gathering *g, unsigned int part)
{
	const struct catalog *catalog = &jobs_common(g->job->jobs)->catalog;

	return g->was ? catalog_part_dir(catalog, g->job->id, g->generation, part) :
	       catalog_image_dir(catalog, g->job->id, g->generation);
}

/*
 * Read the note in the manifest of part @part; it stays @g's. NULL, or an outcome: the image is not
 * the right one, or cannot be read.
 */
static json_t *read_note(const struct gathering *g, unsigned int part, const json_t **ret_note)
{
	char *dir = image_dir(g, part), key[16];
	json_t *args, *outcome, *failure = NULL;
	const json_t *note, *locked;

	snprintf(key, sizeof(key), "%u", part);
	*ret_note = json_object_get(g->notes, key);
	if (*ret_note) {
		free(dir);
		return NULL;
	}
	args = json_pack("{s:s, s:O, s:O}", "dir", dir ? dir : "", "generation",
			 json_object_get(g->args, "generation"), "job",
			 json_object_get(g->args, "job"));
	outcome = op_describe(g->env, args);
	note = json_object_get(json_object_get(outcome, "result"), "note");
	locked = json_object_get(json_object_get(outcome, "result"), "locked");
	if (locked)
		failure = outcome_error(-ENOKEY, "%s", json_string_value(locked));
	else if (outcome_is_ok(outcome) && g->was)
		failure = generation_check_part(dir, note, part);
	if (outcome_is_ok(outcome) && !note && !failure)
		failure = outcome_error(-EBADMSG,
					"generation %lld was not taken of a job: use ckptctl "
					"restore",
					(long long)g->generation);
	free(dir);
	json_decref(args);
	if (failure || !outcome_is_ok(outcome)) {
		if (!failure)
			return outcome;
		json_decref(outcome);
		return failure;
	}
	json_object_set(g->notes, key, (json_t *)note);
	*ret_note = json_object_get(g->notes, key);
	json_decref(outcome);
	return NULL;
}

/*
 * Add part @part to the answer. @roots and @others: as in op_restore(), taken over; or NULL, if the
 * image is restored nowhere else.
 */
static void add_image(const struct gathering *g, unsigned int part, json_t *roots, json_t *others)
{
	size_t nodes = g->was ? json_array_size(rank_record_map(g->was)) : 1;
	json_t *args = json_copy((json_t *)g->args);
	char *dir = image_dir(g, part), path[4096];

	json_object_set_new(args, "dir", json_string(dir ? dir : ""));
	/* without a journal the restart says that, too */
	job_writes_path_since(g->job, part, (unsigned int)nodes, !roots && !others, path,
			      sizeof(path));
	json_object_set_new(args, "writes", json_string(path));
	if (roots)
		json_object_set_new(args, "roots", roots);
	if (others)
		json_object_set_new(args, "others", others);
	json_array_append_new(g->images, args);
	free(dir);
}

/* Read the lengths of the logs of node @node. NULL, or an outcome. */
static json_t *read_logs(const struct gathering *g, unsigned int node, json_t **ret_pair)
{
	size_t nr = g->was ? json_array_size(rank_record_map(g->was)) : 1;
	json_t *failure, *pair;
	const json_t *note;

	/* The home's note has the logs of nodes that the job did not have any more. */
	failure = read_note(g, node < nr ? node : 0, &note);
	if (failure)
		return failure;
	if (node < nr)
		*ret_pair = json_pack("[O, O]", json_object_get(note, "out"),
				      json_object_get(note, "err"));
	else
		*ret_pair = (pair = json_array_get(json_object_get(note, "logs"), node - nr)) ?
			    json_incref(pair) : json_pack("[i, i]", 0, 0);
	return NULL;
}

/* Note the lengths of this node's logs, and at home of the logs that no node continues. */
static json_t *gather_logs(const struct gathering *g)
{
	const json_t *is = rank_record_map(g->job->record.ranks);
	size_t nr = json_array_size(is), had = 1;
	json_t *pair = NULL, *old, *failure = read_logs(g, g->node, &pair);
	const json_t *note;

	if (failure)
		return failure;
	json_object_set(g->note, "out", json_array_get(pair, 0));
	json_object_set(g->note, "err", json_array_get(pair, 1));
	json_decref(pair);
	if (!is || g->node)
		return NULL;
	failure = read_note(g, 0, &note);
	if (g->was)
		had = json_array_size(rank_record_map(g->was));
	had += json_array_size(json_object_get(note, "logs"));
	old = json_array();
	for (; nr < had && !failure; nr++) {
		failure = read_logs(g, (unsigned int)nr, &pair);
		if (!failure)
			json_array_append_new(old, pair);
	}
	json_object_set_new(g->note, "logs", old);
	return failure;
}

/* Note the rank that had failed first in this image, if the rank is taken here. */
static void take_failed(const struct gathering *g, const json_t *source, const json_t *note)
{
	const json_t *failed = json_object_get(note, "failed"), *pair;
	size_t i;

	if (!failed || json_object_get(g->note, "failed"))
		return;
	json_array_foreach(json_object_get(source, "take"), i, pair) {
		if (json_equal(json_array_get(pair, 0), json_array_get(failed, 0)))
			json_object_set_new(g->note, "failed",
					    json_pack("[O, O]", json_array_get(pair, 1),
						      json_array_get(failed, 1)));
	}
}

static json_t *take_source(const struct gathering *g, const json_t *source, json_t *pids)
{
	unsigned int part = (unsigned int)json_integer_value(json_object_get(source, "part"));
	json_t *roots, *others, *failure;
	const json_t *note;
	int alive;

	failure = read_note(g, part, &note);
	if (failure)
		return failure;
	alive = rank_sources_pids(source, json_object_get(note, "pids"), pids, &roots, &others);
	if (alive < 0)
		return outcome_error(alive,
				     "generation %lld: the image of node %u does not say which "
				     "process is which rank",
				     (long long)g->generation, part);
	take_failed(g, source, note);
	if (!json_object_get(g->note, "main_pid"))
		json_object_set(g->note, "main_pid", json_object_get(note, "main_pid"));
	if (alive) {
		add_image(g, part, roots, others);
		return NULL;
	}
	json_decref(roots);
	json_decref(others);
	return NULL;
}

static json_t *check_pids(const struct gathering *g, const json_t *pids)
{
	int pid = rank_sources_clash(pids);

	if (pid)
		return outcome_error(-EEXIST,
				     "generation %lld: ranks that were on several nodes have one "
				     "process number, %d, and cannot be on one node: restart it on "
				     "as many nodes as it was on",
				     (long long)g->generation, pid);
	if (!json_array_size(g->images))
		return outcome_error(-ESRCH,
				     "generation %lld: all ranks that this node would have had "
				     "ended: restart it with another --map",
				     (long long)g->generation);
	return NULL;
}

static json_t *gather_ranks(const struct gathering *g, const json_t *is)
{
	json_t *sources = rank_sources(rank_record_map(g->was), is, g->node);
	json_t *pids = json_array(), *failure = NULL;
	const json_t *source;
	size_t i, k;

	if (!sources)
		failure = outcome_error(-EBADMSG,
					"the rank maps of job %lld and of its generation %lld are "
					"not of one job",
					(long long)g->job->id, (long long)g->generation);
	json_array_foreach(sources, i, source) {
		for (k = 0; k < json_array_size(json_object_get(source, "take")); k++)
			json_array_append_new(pids, json_integer(0));
	}
	for (i = 0; i < json_array_size(sources) && !failure; i++)
		failure = take_source(g, json_array_get(sources, i), pids);
	if (!failure)
		failure = check_pids(g, pids);
	json_object_set_new(g->note, "pids", pids);
	json_decref(sources);
	return failure;
}

static json_t *gather_alone(struct gathering *g)
{
	const json_t *note;
	json_t *failure = read_note(g, 0, &note);

	if (failure)
		return failure;
	json_object_set(g->note, "main_pid", json_object_get(note, "main_pid"));
	add_image(g, 0, NULL, NULL);
	return NULL;
}

json_t *job_images(const struct job *job, unsigned int node, const json_t *args,
		   const struct op_env *env)
{
	const json_t *is = rank_record_map(job->record.ranks);
	struct gathering g = {
		.job = job, .node = node, .args = args, .env = env, .notes = json_object(),
		.generation = json_integer_value(json_object_get(args, "generation")),
		.note = json_object(), .images = json_array(),
	};
	json_t *failure = NULL;
	struct ckpt_error error = {};
	int err;

	err = catalog_generation_parts(&jobs_common(job->jobs)->catalog, job->id, g.generation,
				       &g.was, &error);
	if (err && err != -ENOENT)
		failure = outcome_error(err, "%s", error.text);
	if (!failure)
		failure = is ? gather_ranks(&g, is) : gather_alone(&g);
	if (!failure)
		failure = gather_logs(&g);
	json_decref(g.was);
	json_decref(g.notes);
	if (!failure)
		return outcome_ok(json_pack("{s:o, s:o}", "note", g.note, "images", g.images));
	json_decref(g.note);
	json_decref(g.images);
	return failure;
}
