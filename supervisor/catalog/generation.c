// SPDX-License-Identifier: GPL-2.0-only
/*
 * A generation as a whole; see generation.h.
 *
 * Nothing here knows an image's format: each part is an operation of its own (op.h), and
 * the answers are combined. parts.json, which the key authenticates, says which images
 * belong together; each image's manifest proves which image it is, by job, generation, and
 * the node in its note. An image without a node in its note is of an older version.
 */
#include "supervisor/catalog/generation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outcome.h"

static const char *part_node(const json_t *part)
{
	return json_string_value(json_object_get(part, "node"));
}

json_t *generation_parts(const struct catalog *catalog, int64_t job, int64_t generation,
			 json_t **ret_parts)
{
	json_t *record = NULL, *parts, *names;
	struct ckpt_error error = {};
	size_t i;
	int err;

	*ret_parts = NULL;
	err = catalog_generation_parts(catalog, job, generation, &record, &error);
	if (err == -ENOENT)
		return NULL;
	if (err)
		return outcome_error(err,
				     "generation %lld of job %lld: its list of images "
				     "(parts.json) cannot be read: %s",
				     (long long)generation, (long long)job, error.text);
	parts = json_array();
	names = json_object_get(record, "nodes");
	for (i = 0; i < json_array_size(names); i++) {
		char *dir = catalog_part_dir(catalog, job, generation, (unsigned int)i);
		json_t *part = json_pack("{s:O, s:i, s:s}", "node", json_array_get(names, i),
					 "number",
					 (int)i, "dir", dir ? dir : "");

		/* "apart" as in job/rank_record.h: image directories are not shared */
		if (json_is_true(json_object_get(record, "apart")) && dir &&
		    access(dir, F_OK) && errno == ENOENT)
			json_object_set_new(part, "away", json_true());
		json_array_append_new(parts, part);
		free(dir);
	}
	json_decref(record);
	*ret_parts = parts;
	return NULL;
}

json_t *generation_check_part(const char *dir, const json_t *note, unsigned int number)
{
	const json_t *node = json_object_get(note, "node");

	if (!node || json_integer_value(node) == number)
		return NULL;
	return outcome_error(-ESTALE, "%s: this is the image of the node with number %lld, not %u",
			     dir, (long long)json_integer_value(node), number);
}

/* True if the part is in another node's image directory, so that nothing is known of it here. */
static bool generation_is_away(const json_t *part)
{
	return json_is_true(json_object_get(part, "away"));
}

#define AWAY_TEXT	"the image of node %s is in that node's own directory: ask there"

/* The text for a part that was not looked at. */
static json_t *text_away(const json_t *part)
{
	return json_sprintf(AWAY_TEXT, part_node(part));
}

static json_t *all_away(const json_t *parts, const json_t *generation)
{
	size_t i;

	if (json_array_size(parts) == 1 && generation_is_away(json_array_get(parts, 0)))
		return outcome_error(-ENOENT, AWAY_TEXT, part_node(json_array_get(parts, 0)));

	for (i = 0; i < json_array_size(parts); i++) {
		if (!generation_is_away(json_array_get(parts, i)))
			return NULL;
	}
	return outcome_error(-ENOENT, "generation %lld: no image of it is on this node",
			     (long long)json_integer_value(generation));
}

/* Describe the image of @part by its manifest, if it is that very image. */
static json_t *describe_part(const struct op_env *env, const json_t *part, const json_t *generation,
			     const json_t *label)
{
	const char *dir = json_string_value(json_object_get(part, "dir"));
	json_t *args = json_pack("{s:s, s:O, s:O}", "dir", dir, "generation", generation,
				 "job", label);
	json_t *outcome = op_describe(env, args), *failure = NULL;
	const json_t *result = json_object_get(outcome, "result");

	json_decref(args);
	if (result && !json_object_get(result, "locked"))
		failure = generation_check_part(dir, json_object_get(result, "note"),
				(unsigned int)json_integer_value(json_object_get(part, "number")));
	else if (!result && outcome_errno(outcome) == -ENOENT)
		failure = outcome_error(-ENOENT, "%s: there is no image", dir);
	if (!failure)
		return outcome;
	json_decref(outcome);
	return failure;
}

/* -------------------------------------------------------------- describe */

/* Add up a figure; one that some node's image lacks (of an older version) is dropped. */
static void generation_add(json_t *sum, const json_t *row, const char *name)
{
	/* a sum over some of the nodes only would be wrong */
	if (!json_object_get(row, name) ||
	    (json_array_size(json_object_get(sum, "parts")) && !json_object_get(sum, name))) {
		json_object_del(sum, name);
		return;
	}
	json_object_set_new(sum, name,
			    json_integer(json_integer_value(json_object_get(sum, name)) +
					 json_integer_value(json_object_get(row, name))));
}

static void raise_to(json_t *top, const json_t *row, const char *name)
{
	if (!json_object_get(top, name) ||
	    json_integer_value(json_object_get(row, name)) >
	    json_integer_value(json_object_get(top, name)))
		json_object_set(top, name, json_object_get(row, name));
}

/* Add the row of a part to the whole; takes over @row. */
static void add_part(json_t *whole, const json_t *part, json_t *row)
{
	static const char *const sums[] = {
		"bytes_stored", "bytes_raw", "bytes_mapped", "pages_data", "pages_zero",
		"pages_shared",
		"pages_same", "pages_base", "pages_excluded", "pages_untouched", "pages_file",
		"processes", "threads",
	};
	static const char *const greatest[] = {
		"created", "pause_ns", "freeze_ns", "collect_ns", "clone_ns", "thaw_ns", "pages_ns",
		"contents_ns", "sync_ns",
	};
	size_t i;

	for (i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		generation_add(whole, row, sums[i]);
	for (i = 0; i < sizeof(greatest) / sizeof(greatest[0]); i++)
		raise_to(whole, row, greatest[i]);
	if (json_object_get(row, "locked"))
		json_object_set(whole, "locked", json_object_get(row, "locked"));
	if (json_is_true(json_object_get(row, "encrypted")))
		json_object_set_new(whole, "encrypted", json_true());
	if (!json_object_get(whole, "note"))
		json_object_set(whole, "note", json_object_get(row, "note"));
	json_array_append(json_object_get(whole, "nodes"), json_object_get(part, "node"));
	json_object_set(row, "node", json_object_get(part, "node"));
	json_object_set(row, "dir", json_object_get(part, "dir"));
	json_array_append_new(json_object_get(whole, "parts"), row);
}

static json_t *describe_parts(const struct op_env *env, const json_t *parts, int64_t generation,
			      const char *label)
{
	json_t *number = json_integer((json_int_t)generation), *job = json_string(label);
	json_t *whole = json_pack("{s:O, s:[], s:[]}", "generation", number, "nodes", "parts");
	json_t *outcome = all_away(parts, number);
	size_t i;

	for (i = 0; i < json_array_size(parts) && !outcome; i++) {
		const json_t *part = json_array_get(parts, i);
		json_t *said;

		if (generation_is_away(part)) {
			json_array_append(json_object_get(whole, "nodes"),
					  json_object_get(part, "node"));
			continue;
		}
		said = describe_part(env, part, number, job);
		if (outcome_is_ok(said))
			add_part(whole, part, json_incref(json_object_get(said, "result")));
		else
			outcome = outcome_of_node(said, part_node(part));
		json_decref(said);
	}
	json_decref(number);
	json_decref(job);
	if (!outcome)
		return outcome_ok(whole);
	json_decref(whole);
	return outcome;
}

json_t *generation_describe(const struct op_env *env, const struct catalog *catalog,
			    int64_t job, int64_t generation, const char *label)
{
	json_t *parts, *args;
	json_t *outcome = generation_parts(catalog, job, generation, &parts);
	char *dir;

	if (outcome)
		return outcome;
	if (parts) {
		outcome = describe_parts(env, parts, generation, label);
		json_decref(parts);
		return outcome;
	}
	dir = catalog_image_dir(catalog, job, generation);
	args = json_pack("{s:s, s:I, s:s}", "dir", dir ? dir : "", "generation",
			 (json_int_t)generation, "job", label);
	outcome = op_describe(env, args);
	json_decref(args);
	free(dir);
	return outcome;
}

/* ------------------------------------------------------ show, verify, diff */

/* @args for the image of @part, without the fields that only this file knows. */
static json_t *args_of(const json_t *args, const json_t *part)
{
	json_t *one = json_copy((json_t *)args);

	json_object_del(one, "parts");
	json_object_del(one, "other_parts");
	json_object_del(one, "generation");
	json_object_del(one, "other_generation");
	json_object_del(one, "job");
	json_object_set(one, "dir", json_object_get(part, "dir"));
	return one;
}

json_t *generation_show(const struct op_env *env, json_t *args)
{
	const json_t *parts = json_object_get(args, "parts");
	json_t *outcome = all_away(parts, json_object_get(args, "generation"));
	json_t *shown = json_array();
	size_t i;

	for (i = 0; i < json_array_size(parts) && !outcome; i++) {
		const json_t *part = json_array_get(parts, i);
		json_t *one, *said;

		if (generation_is_away(part))
			continue;
		one = args_of(args, part);
		said = op_show(env, one);
		if (outcome_is_ok(said))
			json_array_append_new(shown, json_pack("{s:O, s:O, s:O}", "node",
							       json_object_get(part, "node"),
							       "number",
							       json_object_get(part, "number"),
							       "image",
							       json_object_get(said, "result")));
		else
			outcome = outcome_of_node(said, part_node(part));
		json_decref(said);
		json_decref(one);
	}
	if (!outcome)
		return outcome_ok(json_pack("{s:o}", "parts", shown));
	json_decref(shown);
	return outcome;
}

static void generation_found(json_t *findings, const json_t *part, json_t *finding)
{
	json_object_set(finding, "node", json_object_get(part, "node"));
	json_array_append(findings, finding);
}

/* Verify a part; adds what is wrong to @findings; 0 or the first error. */
static int verify_part(const struct op_env *env, const json_t *part, json_t *args, json_t *findings,
		       json_t *unchecked)
{
	json_t *said = describe_part(env, part, json_object_get(args, "generation"),
				     json_object_get(args, "job"));
	int err = outcome_errno(said);
	json_t *one, *list, *finding;
	size_t i;

	/* damage is found below, with its place */
	if (err == -ENOENT || err == -ESTALE) {
		finding = json_pack("{s:s, s:i, s:i, s:O}", "file", "manifest", "offset", 0,
				    "errno", -err, "text",
				    json_object_get(json_object_get(said, "error"), "text"));
		generation_found(findings, part, finding);
		json_decref(finding);
		json_decref(said);
		return err;
	}
	json_decref(said);
	one = args_of(args, part);
	said = op_verify(env, one);
	json_decref(one);
	err = outcome_errno(said);
	list = json_object_get(json_object_get(said, "result"), "findings");
	json_array_foreach(list, i, finding)
		generation_found(findings, part, finding);
	json_array_extend(unchecked, json_object_get(json_object_get(said, "result"), "unchecked"));
	json_decref(said);
	return err;
}

json_t *generation_verify(const struct op_env *env, json_t *args)
{
	const json_t *parts = json_object_get(args, "parts");
	json_t *outcome = all_away(parts, json_object_get(args, "generation"));
	json_t *findings, *bad, *unchecked;
	char names[256] = "";
	size_t i, len = 0;
	int err = 0, ret;

	if (outcome)
		return outcome;
	findings = json_array();
	bad = json_array();
	unchecked = json_array();
	for (i = 0; i < json_array_size(parts); i++) {
		const json_t *part = json_array_get(parts, i);

		if (generation_is_away(part)) {
			json_array_append_new(unchecked, text_away(part));
			continue;
		}
		ret = verify_part(env, part, args, findings, unchecked);
		if (!ret)
			continue;
		err = err ? err : ret;
		json_array_append(bad, json_object_get(part, "node"));
		if (len < sizeof(names))
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
						len ? ", " : "", part_node(part));
	}
	outcome = err ? outcome_error(err,
				      "damaged, missing or foreign: of %zu images, that of node %s",
				      json_array_size(parts), names) : outcome_ok(NULL);
	json_object_set_new(outcome, "result",
			    json_pack("{s:b, s:o, s:o}", "ok", !err, "findings", findings,
				      "bad_nodes", bad));
	if (json_array_size(unchecked))
		json_object_set(json_object_get(outcome, "result"), "unchecked", unchecked);
	json_decref(unchecked);
	return outcome;
}

json_t *generation_diff(const struct op_env *env, json_t *args)
{
	const json_t *parts = json_object_get(args, "parts");
	const json_t *others = json_object_get(args, "other_parts");
	json_t *outcome = all_away(parts, json_object_get(args, "generation"));
	json_t *differ = json_array(), *unchecked = json_array();
	size_t i, nr = json_array_size(parts);
	bool equal = true;

	if (nr != json_array_size(others)) {
		json_decref(outcome);
		json_decref(differ);
		json_decref(unchecked);
		return outcome_error(-EINVAL,
				     "one generation has images of %zu nodes, the other of %zu: "
				     "name one image of each as JOB:GENERATION/NODE",
				     nr ? nr : 1, others ? json_array_size(others) : 1);
	}
	if (!outcome)
		outcome = all_away(others, json_object_get(args, "other_generation"));
	for (i = 0; i < nr && !outcome; i++) {
		const json_t *part = json_array_get(parts, i), *other = json_array_get(others, i);
		json_t *one, *said, *result;

		if (generation_is_away(part) || generation_is_away(other)) {
			json_array_append_new(unchecked,
					      text_away(generation_is_away(part) ? part : other));
			equal = false;	/* unknown */
			continue;
		}
		one = args_of(args, part);
		json_object_set(one, "other", json_object_get(other, "dir"));
		said = op_diff(env, one);
		result = json_object_get(said, "result");
		json_decref(one);
		if (outcome_is_ok(said))
			json_array_append_new(differ, json_pack("{s:O, s:O, s:O}", "node",
								json_object_get(part, "node"),
								"other_node",
								json_object_get(other, "node"),
								"differs", result));
		else
			outcome = outcome_of_node(said, part_node(part));
		equal = equal && json_is_true(json_object_get(result, "equal"));
		json_decref(said);
	}
	if (outcome) {
		json_decref(differ);
	} else {
		outcome = outcome_ok(json_pack("{s:b, s:o}", "equal", equal, "parts", differ));
		if (json_array_size(unchecked))
			json_object_set(json_object_get(outcome, "result"), "unchecked", unchecked);
	}
	json_decref(unchecked);
	return outcome;
}
