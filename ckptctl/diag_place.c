// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names and prints places of a diagnosis; see diag_place.h. Owns nothing beyond a call. Opens the
 * files that places name, with the rights of the user who asks; ckptd opens none of them. Must not
 * name a function by a file of another build.
 */
#include "ckptctl/diag_place.h"

#include <stdio.h>
#include <string.h>

#include "ckptctl/cli.h"
#include "ckptctl/symbol.h"

/* Add "name" to a place, where a file here has the symbols. */
static void diag_name_place(json_t *place)
{
	char name[512];

	if (place &&
	    !symbol_name(cli_str(place, "path"), cli_str(place, "build_id"),
			 (uint64_t)cli_int(place, "address"), name, sizeof(name)) &&
	    cli_is_utf8(name))
		json_object_set_new(place, "name", json_string(name));
}

void diag_name_places(const json_t *result)
{
	const json_t *row;
	json_t *frame;
	size_t i, k;

	json_array_foreach(json_object_get(result, "mpi_ranks"), i, row) {
		const json_t *thread = json_object_get(row, "thread");

		diag_name_place(json_object_get(thread, "place"));
		json_array_foreach(json_object_get(thread, "frames"), k, frame)
			diag_name_place(frame);
	}
}

const char *diag_place(const json_t *place, bool exact, char *buf, size_t size)
{
	const char *path = cli_str(place, "path"), *base = strrchr(path, '/');
	const char *name = cli_str(place, "name");

	base = base ? base + 1 : path;
	if (!place)
		snprintf(buf, size, "-");
	else if (*name)
		snprintf(buf, size, "%.*s (%s)",
			 exact ? (int)strlen(name) : (int)strcspn(name, "+"), name, base);
	else
		snprintf(buf, size, "%s+0x%llx", base,
			 (unsigned long long)cli_int(place, exact || !cli_int(place, "function") ?
						     "address" : "function"));
	return buf;
}
