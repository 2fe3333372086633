// SPDX-License-Identifier: GPL-2.0-only
/*
 * Images as operations: show, verify, diff, describe.
 *
 * image/ does all the work; this file handles the arguments, the key and the outcome.
 * Nothing of an image is believed or printed before it is authenticated.
 */
#include "base/error.h"
#include "engine/op/op_args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/foreign.h"
#include "image/key.h"
#include "image/reader.h"
#include "image/show.h"
#include "base/outcome.h"

#define PAGE	4096

static json_t *op_image_failed(const char *dir, int err, const struct ckpt_error *error)
{
	if (err == -ENOENT && (!error->text[0] || access(dir, F_OK)))
		return outcome_error(err, "%s: there is no image", dir);
	return outcome_error(err, "%s", error->text[0] ? error->text : strerror(-err));
}

json_t *op_image_expect(const char *dir, const struct image_key *key,
			const char *job, uint64_t generation)
{
	struct image_expect expect = { .generation = generation, .job = job };
	struct ckpt_error error = {};
	struct image_reader *reader;
	int err;

	if (!job && !generation)
		return NULL;
	err = image_open(dir, key, &expect, &reader, &error);
	if (err)
		return op_image_failed(dir, err, &error);
	image_close(reader);
	return NULL;
}

static json_t *op_image_describe(const struct image_reader *reader)
{
	const struct image_manifest *m = image_manifest(reader);
	const struct image_counts *c = &m->counts;
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "generation", m->generation },
		{ "created", m->identity.created_ns / 1000000000 },
		{ "pause_ns", m->timing.pause_ns }, { "freeze_ns", m->timing.freeze_ns },
		{ "collect_ns", m->timing.collect_ns }, { "clone_ns", m->timing.clone_ns },
		{ "bytes_stored", c->bytes_stored }, { "bytes_raw", c->bytes_raw },
		{ "bytes_mapped", (c->pages_data + c->pages_zero + c->pages_ref) * PAGE },
		{ "pages_data", c->pages_data },
		{ "pages_zero", c->pages_zero }, { "pages_shared", c->pages_ref },
		{ "pages_same", c->pages_same }, { "pages_base", c->pages_base },
		{ "processes", m->identity.nr_procs }, { "threads", m->identity.nr_threads },
	};
	const char *note = image_get(reader, "note"), *phases = image_get(reader, "phases");
	const char *excluded = image_get(reader, "pages.excluded");
	const char *skipped = image_get(reader, IMAGE_KEY_SKIPPED);
	const char *scrubbed = image_get(reader, IMAGE_KEY_SCRUB);
	json_t *scrub = scrubbed ? json_loads(scrubbed, 0, NULL) : NULL;
	json_t *json = json_pack("{s:s?, s:b}", "hostname", m->identity.hostname,
				 "encrypted", m->encrypted);
	json_t *parsed = note ? json_loads(note, 0, NULL) : NULL;
	json_t *took = phases ? json_loads(phases, 0, NULL) : NULL;
	json_t *left = skipped ? json_loads(skipped, 0, NULL) : NULL;
	uint64_t held = 0;
	size_t i;

	for (i = 0; i < m->nr_bases; i++)
		held += m->files[IMAGE_FILE_BASE + i].len;
	if (m->nr_bases) {
		json_object_set_new(json, "base", json_integer((json_int_t)m->bases[0].generation));
		json_object_set_new(json, "bytes_base", json_integer((json_int_t)held));
	}
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		json_object_set_new(json, numbers[i].name,
				    json_integer((json_int_t)numbers[i].value));
	json_object_set_new(json, "pages_excluded", json_integer(excluded ? atoll(excluded) : 0));
	if (parsed)
		json_object_set_new(json, "note", parsed);
	json_object_update_missing(json, took);
	json_decref(took);
	if (left) {
		json_object_set(json, "pages_untouched", json_object_get(left, "untouched"));
		json_object_set(json, "pages_file", json_object_get(left, "file"));
	}
	json_decref(left);
	if (scrub)
		json_object_set_new(json, "scrub", scrub);
	return json;
}

/* Describe the readable part of an encrypted image whose secret is missing; @why says so. */
static json_t *describe_locked(const char *dir, const struct image_key *key,
			       const struct image_expect *expect, const char *why)
{
	struct ckpt_error error = {};
	struct image_reader *reader;
	json_t *json;
	int err = image_open_locked(dir, key, expect, &reader, &error);

	if (err)
		return op_image_failed(dir, err, &error);
	json = op_image_describe(reader);
	json_object_set_new(json, "locked", json_string(why));
	image_close(reader);
	return outcome_ok(json);
}

json_t *op_describe(const struct op_env *env, json_t *json)
{
	struct image_expect expect = { 0 };
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	struct image_reader *reader;
	json_int_t generation = 0;
	json_t *outcome = NULL;
	json_error_t why;
	const char *dir;
	int err;

	if (json_unpack_ex(json, &why, 0, "{s:s, s?I, s?s !}", "dir", &dir,
			   "generation", &generation, "job", &expect.job))
		return outcome_error(-EINVAL, "bad arguments: %s", why.text);
	if (op_key_load(env, false, &key, &outcome))
		return outcome;
	expect.generation = (uint64_t)generation;
	err = image_open(dir, key, &expect, &reader, &error);
	if (err == -ENOKEY)
		outcome = describe_locked(dir, key, &expect, error.text);
	else if (err)
		outcome = op_image_failed(dir, err, &error);
	else
		outcome = outcome_ok(op_image_describe(reader));
	if (!err)
		image_close(reader);
	image_key_destroy(key);
	return outcome;
}

/* NULL, or a refusal: the image tells addresses of a process that is not the viewer's. */
static json_t *op_image_check_viewer(const struct op_env *env, struct image_reader *reader,
				     const char *dir)
{
	struct ckpt_error error = {};
	pid_t pid = 0;
	int ret = env->viewer ? image_foreign(reader, env->viewer, &pid) : 0;

	if (ret < 0) {
		error_set(&error, ret, "%s: %s", error_path_tail(dir), image_reader_error(reader));
		return op_image_failed(dir, ret, &error);
	}
	if (!ret)
		return NULL;
	return outcome_error(-EACCES, "%s: process %d is not yours alone, and its addresses are "
			     "shown to root only", error_path_tail(dir), (int)pid);
}

static json_t *op_image_show(const struct op_env *env, const char *dir,
			     const struct image_key *key, unsigned int flags)
{
	json_t *refused = NULL;
	struct ckpt_error error = {};
	struct image_reader *reader;
	json_t *result = NULL;
	int err;

	err = image_open_locked(dir, key, NULL, &reader, &error);
	if (err)
		return op_image_failed(dir, err, &error);
	if (flags)
		refused = op_image_check_viewer(env, reader, dir);
	if (!refused)
		err = image_show_json(reader, flags, &result, &error);
	image_close(reader);
	if (refused)
		return refused;
	/* only ckptd needs the record, which holds the job's environment: long, perhaps private */
	json_object_del(json_object_get(result, "properties"), "record");
	return err ? op_image_failed(dir, err, &error) : outcome_ok(result);
}

json_t *op_show(const struct op_env *env, json_t *json)
{
	struct image_key *key = NULL;
	int records = 0, runs = 0;
	json_t *outcome = NULL;
	json_error_t why;
	const char *dir;

	if (json_unpack_ex(json, &why, 0, "{s:s, s?b, s?b !}", "dir", &dir,
			   "records", &records, "runs", &runs))
		return outcome_error(-EINVAL, "show: bad arguments: %s", why.text);
	if (op_key_load(env, false, &key, &outcome))
		return outcome;
	outcome = op_image_show(env, dir, key, (records ? IMAGE_SHOW_RECORDS : 0) |
				 (runs ? IMAGE_SHOW_RUNS : 0));
	image_key_destroy(key);
	return outcome;
}

static const char *first_finding(const json_t *found)
{
	const json_t *first = json_array_get(json_object_get(found, "findings"), 0);

	return json_string_value(json_object_get(first, "text")) ?: "another image";
}

json_t *op_verify(const struct op_env *env, json_t *json)
{
	struct image_key *key = NULL;
	json_t *outcome = NULL, *found = NULL;
	json_error_t why;
	struct image_expect expect = {};
	json_int_t generation = 0;
	const char *dir;
	int deep = 0;
	int err;

	if (json_unpack_ex(json, &why, 0, "{s:s, s?b, s?I, s?s !}", "dir", &dir, "deep", &deep,
			   "generation", &generation, "job", &expect.job))
		return outcome_error(-EINVAL, "verify: bad arguments: %s", why.text);
	expect.generation = (uint64_t)generation;
	if (op_key_load(env, false, &key, &outcome))
		return outcome;
	err = image_verify_json(dir, key, &expect, deep, &found);
	image_key_destroy(key);
	if (!found)
		return outcome_error(err ? err : -ENOMEM, "%s: %s", dir,
				     strerror(err ? -err : ENOMEM));
	if (err == -ESTALE)
		outcome = outcome_error(err, "%s: %s", dir, first_finding(found));
	else
		outcome = err ? outcome_error(err, "%s is damaged or not ours: %s", dir,
					      strerror(-err)) : outcome_ok(NULL);
	json_object_set_new(outcome, "result", found);
	return outcome;
}

json_t *op_diff(const struct op_env *env, json_t *json)
{
	struct image_reader *a = NULL, *b = NULL;
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	const char *dir, *other, *where;
	json_t *outcome = NULL, *result = NULL;
	json_error_t why;
	int err;

	if (json_unpack_ex(json, &why, 0, "{s:s, s:s !}", "dir", &dir,
			   "other", &other))
		return outcome_error(-EINVAL, "diff: bad arguments: %s", why.text);
	if (op_key_load(env, false, &key, &outcome))
		return outcome;
	where = dir;
	err = image_open(dir, key, NULL, &a, &error);
	if (!err) {
		where = other;
		err = image_open(other, key, NULL, &b, &error);
	}
	if (!err)
		outcome = op_image_check_viewer(env, a, dir) ?:
			  op_image_check_viewer(env, b, other);
	if (!err && !outcome) {
		err = image_diff_json(a, b, &result, &error);
		where = image_reader_error(a)[0] ? dir : other;
		if (err && (image_reader_error(a)[0] || image_reader_error(b)[0]))
			error_set(&error, err, "%s: %.170s", error_path_tail(where),
					image_reader_error(where == dir ? a : b));
	}
	if (!outcome)
		outcome = err ? op_image_failed(where, err, &error) : outcome_ok(result);
	image_close(b);
	image_close(a);
	image_key_destroy(key);
	return outcome;
}
