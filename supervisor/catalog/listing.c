// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generations of a job; see listing.h.
 *
 * Decides when the index is believed: its row must have been made of files that stat(2)
 * shows unchanged. An image's files are written once, before the rename that makes the
 * image, so a changed stamp means a removal, a replacement or damage, and the row is read
 * anew. Pins and trust are not indexed: they are looked up in the job's directory.
 */
#include "supervisor/catalog/listing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/catalog/generation.h"
#include "base/outcome.h"
#include "supervisor/catalog/pin.h"
#include "supervisor/catalog/trust.h"

/* A finding in the manifest holds also where the file is lost, as after a fetch from a level. */
static void add_trust(const struct listing *listing, int64_t generation, json_t *row)
{
	const json_t *wrong = json_object_get(json_object_get(row, "scrub"), "wrong");
	enum trust trust = trust_get(listing->catalog, listing->job, generation, NULL);

	if (trust == TRUST_UNVERIFIED && json_integer_value(wrong))
		trust = TRUST_SUSPECT;
	json_object_set_new(row, "trust", json_string(trust_name(trust)));
}

static void add_place(const struct listing *listing, int64_t generation, json_t *row)
{
	char *dir = catalog_image_dir(listing->catalog, listing->job, generation);

	json_object_set_new(row, "dir", json_string(dir ? dir : ""));
	free(dir);
	if (pin_has(listing->catalog, listing->job, generation))
		json_object_set_new(row, "pinned", json_true());
	add_trust(listing, generation, row);
}

/*
 * @stamp was taken before the reading, so a change meanwhile makes the row stale, not
 *	wrong.
 */
static json_t *read_row(const struct listing *listing, int64_t generation, uint64_t stamp)
{
	json_t *outcome = generation_describe(listing->env, listing->catalog, listing->job,
					      generation, listing->label);
	json_t *row = json_object_get(outcome, "result");

	if (row) {
		json_incref(row);
		/* A locked row is not indexed: it tells more once its key is there. */
		if (!json_object_get(row, "locked"))
			catalog_index_put(listing->index, listing->job, generation, listing->label,
					  stamp, row);
	} else {
		row = json_pack("{s:I, s:O*, s:i}", "generation", (json_int_t)generation, "error",
				json_object_get(json_object_get(outcome, "error"), "text"),
				"errno", -outcome_errno(outcome));
	}
	json_decref(outcome);
	return row;
}

json_t *listing_row(const struct listing *listing, int64_t generation)
{
	uint64_t stamp = catalog_index_stamp(listing->catalog, listing->job, generation);
	json_t *row = catalog_index_get(listing->index, listing->job, generation, listing->label,
					stamp);

	if (!row)
		row = read_row(listing, generation, stamp);
	add_place(listing, generation, row);
	return row;
}

json_t *listing_row_read(const struct listing *listing, int64_t generation)
{
	uint64_t stamp = catalog_index_stamp(listing->catalog, listing->job, generation);
	json_t *row = read_row(listing, generation, stamp);

	add_place(listing, generation, row);
	return row;
}

bool listing_is_foreign(const json_t *row)
{
	json_int_t err = json_integer_value(json_object_get(row, "errno"));

	return err == ESTALE || err == EKEYREJECTED || err == EPROTONOSUPPORT;
}

json_t *listing_check_own(const struct listing *listing, const json_t *generations, bool force)
{
	json_t *number, *outcome = NULL;
	size_t i;

	json_array_foreach((json_t *)generations, i, number) {
		json_t *row = outcome ? NULL :
			      listing_row_read(listing, json_integer_value(number));
		json_int_t err = json_integer_value(json_object_get(row, "errno"));
		const char *text = json_string_value(json_object_get(row, "error"));

		if (err == ESTALE)
			outcome = outcome_error(-ESTALE,
						"%s; it is no image of this job, and nothing was "
						"removed: move it away by hand, or mount the "
						"right file system on %s",
						text, listing->catalog->dir);
		else if (row && listing_is_foreign(row) && !force)
			outcome = outcome_error(-(int)err,
						"%s; nothing was removed: use --force if that is "
						"meant",
						text);
		json_decref(row);
	}
	return outcome;
}

json_t *listing_rows(const struct listing *listing, const json_t *generations)
{
	json_t *rows = json_array(), *number;
	size_t i;

	json_array_foreach(generations, i, number)
		json_array_append_new(rows, listing_row(listing, json_integer_value(number)));
	if (!listing->in_part)
		catalog_index_trim(listing->index, listing->job, generations);
	return rows;
}

char *listing_index_path(const char *state_dir)
{
	char *path;

	return asprintf(&path, "%s/" CATALOG_INDEX_FILE, state_dir) < 0 ? NULL : path;
}

struct catalog_index *listing_index_open(const char *state_dir, const struct catalog *catalog,
					 const struct log *log)
{
	char *path = listing_index_path(state_dir);
	struct catalog_index *index = NULL;
	char problem[512] = "";

	if (path)
		index = catalog_index_open(path, catalog, problem, sizeof(problem));
	if (problem[0])
		log_warning(log, "%s", problem);
	free(path);
	return index;
}

void listing_index_close(const struct log *log, struct catalog_index *index)
{
	char problem[512];

	catalog_index_close(index, problem, sizeof(problem));
	if (problem[0])
		log_warning(log, "%s", problem);
}
