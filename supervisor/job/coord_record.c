// SPDX-License-Identifier: GPL-2.0-only
/*
 * A coordinator's record, to and from its file; see coord_record.h.
 *
 * The record is small and written a few times in each checkpoint, always as a whole (new file,
 * fsync, rename, fsync of the directory): a reader gets the old or the new one. Numbers are
 * strings of decimal digits, as JSON's are signed. A file that cannot be read is not taken for
 * an empty one: that would forget a commit.
 */
#include "supervisor/job/coord_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/atomic_json.h"

static json_t *coord_record_number(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return json_string(text);
}

static int parse_number(const json_t *json, uint64_t *ret_value)
{
	const char *text = json_string_value(json);
	char *end;

	if (!text || !*text)
		return -EBADMSG;
	errno = 0;
	*ret_value = strtoull(text, &end, 10);
	return errno || *end ? -EBADMSG : 0;
}

static json_t *id_json(struct coord_id id)
{
	return json_pack("[o, o]", coord_record_number(id.generation),
			 coord_record_number(id.attempt));
}

static int parse_id(const json_t *json, struct coord_id *ret_id)
{
	int err = parse_number(json_array_get(json, 0), &ret_id->generation);

	return err ? err : parse_number(json_array_get(json, 1), &ret_id->attempt);
}

static const struct {
	const char *name;
	size_t offset;
} ids[] = {
	{ "committed", offsetof(struct coord_record, committed) },
	{ "previous", offsetof(struct coord_record, previous) },
	{ "prepared", offsetof(struct coord_record, prepared) },
	{ "live", offsetof(struct coord_record, live) },
};

static struct coord_id *id_at(const struct coord_record *record, size_t i)
{
	return (struct coord_id *)((char *)(uintptr_t)record + ids[i].offset);
}

int coord_record_write(const char *dir, const struct coord_record *record)
{
	json_t *json = json_pack("{s:o}", "epoch", coord_record_number(record->epoch));
	json_t *dead = json_array();
	unsigned int node;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(ids); i++)
		json_object_set_new(json, ids[i].name, id_json(*id_at(record, i)));
	for (node = 0; node < COORD_NODES_MAX; node++) {
		if (record->dead.bits[node / 64] >> (node % 64) & 1)
			json_array_append_new(dead, json_integer(node));
	}
	json_object_set_new(json, "dead", dead);
	err = json ? atomic_json_write(dir, COORD_RECORD_FILE, json) : -ENOMEM;
	json_decref(json);
	return err;
}

static int parse_dead(const json_t *json, struct coord_nodes *ret_nodes)
{
	size_t i;

	for (i = 0; i < json_array_size(json); i++) {
		json_int_t node = json_integer_value(json_array_get(json, i));

		if (node < 0 || node >= COORD_NODES_MAX)
			return -EBADMSG;
		ret_nodes->bits[node / 64] |= 1ull << (node % 64);
	}
	return 0;
}

int coord_record_read(const char *dir, struct coord_record *ret_record)
{
	json_t *json;
	size_t i;
	int err;

	memset(ret_record, 0, sizeof(*ret_record));
	err = atomic_json_read(dir, COORD_RECORD_FILE, &json);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = parse_number(json_object_get(json, "epoch"), &ret_record->epoch);
	for (i = 0; i < ARRAY_SIZE(ids) && !err; i++)
		err = parse_id(json_object_get(json, ids[i].name), id_at(ret_record, i));
	if (!err)
		err = parse_dead(json_object_get(json, "dead"), &ret_record->dead);
	json_decref(json);
	return err;
}
