// SPDX-License-Identifier: GPL-2.0-only
/*
 * The record of a job, from and to JSON; see job_record.h.
 *
 * Decoding goes through the fields of the JSON one by one: a table names the fields of one kind
 * and where each is stored. A field that no table names is kept as it is.
 */
#include "supervisor/job/job_record.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "supervisor/catalog/private.h"

static const char *const state_names[] = {
	[JOB_STARTING] = "starting",
	[JOB_RUNNING] = "running",
	[JOB_ENDED] = "ended",
	[JOB_SAVED] = "saved",
	[JOB_LOST] = "lost",
	[JOB_ELSEWHERE] = "elsewhere",
};

const char *job_state_name(enum job_state state)
{
	return state_names[state];
}

bool job_state_parse(const char *name, enum job_state *ret_state)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(state_names); i++) {
		if (!strcmp(name, state_names[i])) {
			*ret_state = (enum job_state)i;
			return true;
		}
	}
	return false;
}

/* Integers that are absent from the JSON while they are 0. */
static const struct {
	const char *name;
	size_t offset;
} number_fields[] = {
	{ "job", offsetof(struct job_record, id) },
	{ "created", offsetof(struct job_record, created) },
	{ "since", offsetof(struct job_record, change.since) },
	{ "floor", offsetof(struct job_record, floor) },
	{ "generation", offsetof(struct job_record, generation) },
	{ "tainted", offsetof(struct job_record, tainted) },
	{ "run", offsetof(struct job_record, run) },
	{ "keep", offsetof(struct job_record, keep) },
};

/* Integers of a smaller range, each with a case of its own. */
enum { SMALL_UID, SMALL_GID, SMALL_STATUS, SMALL_RANK, SMALL_KILL };

static const struct {
	const char *name;
	json_int_t low, high;
} small_fields[] = {
	[SMALL_UID] = { "uid", 0, UINT32_MAX - 1LL },
	[SMALL_GID] = { "gid", 0, UINT32_MAX - 1LL },
	[SMALL_STATUS] = { "status", INT_MIN, INT_MAX },
	[SMALL_RANK] = { "failed_rank", 0, INT_MAX },
	[SMALL_KILL] = { "kill_signal", 0, 64 },
};

static const struct {
	const char *name;
	size_t offset;
} string_fields[] = {
	{ "uuid", offsetof(struct job_record, uuid) },
	{ "name", offsetof(struct job_record, name) },
	{ "user", offsetof(struct job_record, user) },
};

/* Strings that have room in struct job_change. */
static const struct {
	const char *name;
	size_t offset, size;
} text_fields[] = {
	{ "node", offsetof(struct job_record, change.node), JOB_NODE_MAX },
	{ "boot", offsetof(struct job_record, change.boot), JOB_BOOT_MAX },
};

/* @element: type of the elements of a list; @wanted: for people */
static const struct {
	const char *name;
	json_type type, element;
	const char *wanted;
} launch_fields[] = {
	{ "argv", JSON_ARRAY, JSON_STRING, "a list of strings" },
	{ "env", JSON_ARRAY, JSON_STRING, "a list of strings" },
	{ "cwd", JSON_STRING, JSON_NULL, "a string" },
	{ "umask", JSON_INTEGER, JSON_NULL, "an integer" },
	{ "limits", JSON_ARRAY, JSON_INTEGER, "a list of integers" },
	{ "groups", JSON_ARRAY, JSON_INTEGER, "a list of integers" },
	{ "stdio", JSON_ARRAY, JSON_STRING, "a list of three strings" },
	{ "window", JSON_INTEGER, JSON_NULL, "an integer" },
	{ "sched", JSON_OBJECT, JSON_NULL, "an object" },
};

static const struct {
	const char *name;
	size_t offset;
} json_fields[] = {
	{ "ranks", offsetof(struct job_record, ranks) },
	{ "unwanted", offsetof(struct job_record, tombstones) },
};

static const struct {
	const char *name;
	size_t offset;
} automatic_fields[] = {
	{ "every_ms", offsetof(struct job_automatic, every_ms) },
	{ "mtbf_ms", offsetof(struct job_automatic, mtbf_ms) },
	{ "node_mtbf_ms", offsetof(struct job_automatic, node_mtbf_ms) },
};

static const char *const needed_fields[] = { "uuid", "name", "uid", "host_ns", "state" };

#define MEMBER(record, offset, type)	((type *)((char *)(record) + (offset)))

/* ---------------------------------------------------------------- decode */

/* A decoder of one kind of field returns this for a field of another kind. */
#define NOT_MINE	1

static int job_record_bad(struct ckpt_error *error, const char *name, const char *wanted)
{
	return error_set(error, -EBADMSG, "its field \"%s\" is damaged: %s is expected", name,
			 wanted);
}

static int decode_number(struct job_record *record, const char *name, const json_t *value,
			 struct ckpt_error *error)
{
	json_int_t number = json_integer_value(value);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(number_fields); i++) {
		if (strcmp(name, number_fields[i].name))
			continue;
		if (!json_is_integer(value))
			return job_record_bad(error, name, "an integer");
		*MEMBER(record, number_fields[i].offset, int64_t) = number;
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(small_fields) && strcmp(name, small_fields[i].name);)
		i++;
	if (i == ARRAY_SIZE(small_fields))
		return NOT_MINE;
	if (!json_is_integer(value) || number < small_fields[i].low ||
	    number > small_fields[i].high)
		return job_record_bad(error, name, "an integer of its range");
	if (i == SMALL_UID)
		record->uid = (uid_t)number;
	else if (i == SMALL_GID)
		record->gid = (gid_t)number;
	else if (i == SMALL_STATUS)
		record->change.status = (int)number;
	else if (i == SMALL_RANK)
		record->change.failed_rank = (int)number;
	else
		record->change.kill_signal = (int)number;
	return 0;
}

static int decode_string(struct job_record *record, const char *name, const json_t *value,
			 struct ckpt_error *error)
{
	const char *text = json_string_value(value);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(string_fields); i++) {
		char **member = MEMBER(record, string_fields[i].offset, char *);

		if (strcmp(name, string_fields[i].name))
			continue;
		if (!text)
			return job_record_bad(error, name, "a string");
		*member = strdup(text);
		return *member ? 0 : error_set(error, -ENOMEM, "out of memory");
	}
	for (i = 0; i < ARRAY_SIZE(text_fields); i++) {
		if (strcmp(name, text_fields[i].name))
			continue;
		if (!text || strlen(text) >= text_fields[i].size)
			return job_record_bad(error, name, "a string of a name's length");
		memcpy(MEMBER(record, text_fields[i].offset, char), text, strlen(text) + 1);
		return 0;
	}
	if (strcmp(name, "state"))
		return NOT_MINE;
	if (!text || !job_state_parse(text, &record->change.state))
		return job_record_bad(error, name, "the name of a state");
	return 0;
}

static int decode_launch(struct job_record *record, const char *name, json_t *value,
			 struct ckpt_error *error)
{
	json_t *element;
	size_t i, at;

	for (i = 0; i < ARRAY_SIZE(launch_fields) && strcmp(name, launch_fields[i].name);)
		i++;
	if (i == ARRAY_SIZE(launch_fields))
		return NOT_MINE;
	if (json_typeof(value) != launch_fields[i].type)
		return job_record_bad(error, name, launch_fields[i].wanted);
	/* An object or a number has no elements: the loop is empty. */
	json_array_foreach(value, at, element)
		if (json_typeof(element) != launch_fields[i].element)
			return job_record_bad(error, name, launch_fields[i].wanted);
	if (!strcmp(name, "stdio") && json_array_size(value) != 3)
		return job_record_bad(error, name, launch_fields[i].wanted);
	if (json_object_set(record->launch, name, value))
		return error_set(error, -ENOMEM, "out of memory");
	return 0;
}

/* One field of "auto". */
static int decode_automatic(struct job_automatic *automatic, const char *name, json_t *value,
			    struct ckpt_error *error)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(automatic_fields); i++) {
		if (strcmp(name, automatic_fields[i].name))
			continue;
		if (!json_is_integer(value))
			return error_set(error, -EBADMSG,
					 "its field \"auto\" is damaged: its \"%s\" is no integer",
					 name);
		*MEMBER(automatic, automatic_fields[i].offset, int64_t) =
			json_integer_value(value);
		return 0;
	}
	if (!automatic->other)
		automatic->other = json_object();
	return json_object_set(automatic->other, name, value) ?
	       error_set(error, -ENOMEM, "out of memory") : 0;
}

int job_automatic_decode(const json_t *json, struct job_automatic *ret_automatic,
			 struct ckpt_error *error)
{
	struct job_automatic automatic = { .on = true };
	const char *name;
	json_t *value;
	int err;

	*ret_automatic = (struct job_automatic) { 0 };
	if (!json_is_object(json))
		return job_record_bad(error, "auto", "an object");
	json_object_foreach((json_t *)json, name, value) {
		err = decode_automatic(&automatic, name, value, error);
		if (err) {
			job_automatic_done(&automatic);
			return err;
		}
	}
	*ret_automatic = automatic;
	return 0;
}

static int decode_json(struct job_record *record, const char *name, json_t *value,
		       struct ckpt_error *error)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(json_fields); i++) {
		if (strcmp(name, json_fields[i].name))
			continue;
		if (!json_is_object(value))
			return job_record_bad(error, name, "an object");
		*MEMBER(record, json_fields[i].offset, json_t *) = json_incref(value);
		return 0;
	}
	return NOT_MINE;
}

static int decode_field(struct job_record *record, const char *name, json_t *value,
			struct ckpt_error *error)
{
	int err;

	if (!strcmp(name, "host_ns")) {
		record->host_ns = json_is_true(value);
		return json_is_boolean(value) ? 0 : job_record_bad(error, name, "true or false");
	}
	if (!strcmp(name, "auto"))
		return job_automatic_decode(value, &record->automatic, error);
	err = decode_number(record, name, value, error);
	if (err == NOT_MINE)
		err = decode_string(record, name, value, error);
	if (err == NOT_MINE)
		err = decode_launch(record, name, value, error);
	if (err == NOT_MINE)
		err = decode_json(record, name, value, error);
	if (err == NOT_MINE)
		err = json_object_set(record->other, name, value) ?
		      error_set(error, -ENOMEM, "out of memory") : 0;
	return err;
}

int job_record_decode(const json_t *json, struct job_record *ret_record, struct ckpt_error *error)
{
	struct job_record record = {
		.gid = (gid_t)-1, .change.failed_rank = -1,
		.launch = json_object(), .other = json_object(),
	};
	const char *name;
	json_t *value;
	int err = 0;
	size_t i;

	*ret_record = (struct job_record) { 0 };
	if (!record.launch || !record.other)
		err = error_set(error, -ENOMEM, "out of memory");
	for (i = 0; !err && i < ARRAY_SIZE(needed_fields); i++)
		if (!json_object_get(json, needed_fields[i]))
			err = error_set(error, -EBADMSG, "its field \"%s\" is missing",
					needed_fields[i]);
	if (!err)
		json_object_foreach((json_t *)json, name, value) {
			err = decode_field(&record, name, value, error);
			if (err)
				break;
		}
	if (err) {
		job_record_done(&record);
		return err;
	}
	record.hidden = !private_is_shown(json);
	*ret_record = record;
	return 0;
}

/* ---------------------------------------------------------------- encode */

static int encode_numbers(const struct job_record *record, json_t *json)
{
	int err = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(number_fields); i++) {
		int64_t number = *MEMBER(record, number_fields[i].offset, const int64_t);

		if (number)
			err |= json_object_set_new(json, number_fields[i].name,
						   json_integer(number));
	}
	err |= json_object_set_new(json, "uid", json_integer(record->uid));
	if (record->gid != (gid_t)-1)
		err |= json_object_set_new(json, "gid", json_integer(record->gid));
	err |= json_object_set_new(json, "status", json_integer(record->change.status));
	if (record->change.failed_rank >= 0)
		err |= json_object_set_new(json, "failed_rank",
					   json_integer(record->change.failed_rank));
	if (record->change.kill_signal)
		err |= json_object_set_new(json, "kill_signal",
					   json_integer(record->change.kill_signal));
	return err;
}

static int encode_strings(const struct job_record *record, json_t *json)
{
	int err = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(string_fields); i++) {
		const char *text = *MEMBER(record, string_fields[i].offset, char *const);

		if (text)
			err |= json_object_set_new(json, string_fields[i].name, json_string(text));
	}
	for (i = 0; i < ARRAY_SIZE(text_fields); i++) {
		const char *text = MEMBER(record, text_fields[i].offset, const char);

		if (text[0])
			err |= json_object_set_new(json, text_fields[i].name, json_string(text));
	}
	return err | json_object_set_new(json, "state",
					 json_string(job_state_name(record->change.state)));
}

json_t *job_automatic_encode(const struct job_automatic *automatic)
{
	json_t *json = automatic->on ? json_object() : NULL;
	int err = 0;
	size_t i;

	for (i = 0; json && i < ARRAY_SIZE(automatic_fields); i++) {
		int64_t number = *MEMBER(automatic, automatic_fields[i].offset, const int64_t);

		if (number)
			err |= json_object_set_new(json, automatic_fields[i].name,
						   json_integer(number));
	}
	if (json && automatic->other)
		err |= json_object_update(json, automatic->other);
	if (err) {
		json_decref(json);
		return NULL;
	}
	return json;
}

json_t *job_record_encode(const struct job_record *record)
{
	json_t *json = json_object();
	int err = json ? 0 : -1;
	size_t i;

	if (!err)
		err = encode_numbers(record, json) | encode_strings(record, json) |
		      json_object_set_new(json, "host_ns", json_boolean(record->host_ns));
	for (i = 0; !err && i < ARRAY_SIZE(json_fields); i++) {
		json_t *value = *MEMBER(record, json_fields[i].offset, json_t *const);

		if (value)
			err = json_object_set(json, json_fields[i].name, value);
	}
	if (!err && record->automatic.on)
		err = json_object_set_new(json, "auto", job_automatic_encode(&record->automatic));
	if (!err && record->launch)
		err = json_object_update(json, record->launch);
	if (!err && record->other)
		err = json_object_update(json, record->other);
	if (err) {
		json_decref(json);
		return NULL;
	}
	return json;
}

/* --------------------------------------------------------------- members */

void job_automatic_done(struct job_automatic *automatic)
{
	json_decref(automatic->other);
	*automatic = (struct job_automatic) { 0 };
}

void job_record_done(struct job_record *record)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(string_fields); i++)
		free(*MEMBER(record, string_fields[i].offset, char *));
	for (i = 0; i < ARRAY_SIZE(json_fields); i++)
		json_decref(*MEMBER(record, json_fields[i].offset, json_t *));
	job_automatic_done(&record->automatic);
	json_decref(record->launch);
	json_decref(record->other);
	*record = (struct job_record) { 0 };
}

void job_record_replace(json_t **member, json_t *value)
{
	json_decref(*member);
	*member = value;
}

const char *job_record_node(const struct job_record *record)
{
	return record->change.node[0] ? record->change.node : NULL;
}
