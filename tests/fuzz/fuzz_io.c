// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target: a node's part of a report on a job's I/O, as another node may send it.  Held to: a
 * part that is taken comes back the same from its own JSON, is bounded, and makes a report without
 * negative numbers, also together with itself.
 */
#include <stdlib.h>
#include <string.h>

#include "supervisor/iotrace/io_merge.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_corpus = "tests/fuzz/corpus/io";

/* Inodes have all 64 bits, and phases may lie before 1970 once they are moved. */
static void io_check_numbers(const json_t *json)
{
	const char *name;
	json_t *value;
	size_t i;

	if (json_is_integer(json) && json_integer_value(json) < 0)
		abort();
	json_array_foreach(json, i, value)
		io_check_numbers(value);
	json_object_foreach((json_t *)json, name, value) {
		if (strcmp(name, "inode") && strcmp(name, "began"))
			io_check_numbers(value);
	}
}

static void io_check_report(const struct io_part *part)
{
	struct io_merge *merge = io_merge_new();
	json_t *json;

	if (!merge || io_merge_add(merge, "n1", part, 0) ||
	    io_merge_add(merge, "n2", part, -5000) || io_merge_add(merge, "n3", part, 5000))
		abort();
	json = io_merge_json(merge);
	if (!json)
		abort();
	io_check_numbers(json);
	json_decref(json);
	io_merge_free(merge);
}

static void io_check_part(const struct io_part *part)
{
	json_t *json = io_part_encode(part), *second;
	struct io_part *again = calloc(1, sizeof(*again));
	char *text;

	if (!again || io_part_decode(json, again))
		abort();
	second = io_part_encode(again);
	if (!json_equal(json, second))
		abort();
	text = json_dumps(json, JSON_COMPACT);
	if (!text || strlen(text) > 2 << 20)
		abort();
	free(text);
	json_decref(second);
	json_decref(json);
	io_part_done(again);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *json = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	struct io_part *part = calloc(1, sizeof(*part));

	if (json && part && !io_part_decode(json, part)) {
		io_check_part(part);
		io_check_report(part);
		io_part_done(part);
	}
	free(part);
	json_decref(json);
	return 0;
}
