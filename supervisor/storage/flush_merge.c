// SPDX-License-Identifier: GPL-2.0-only
/*
 * Merging images of L1 that are based on earlier ones. Levels take whole images, so such an
 * image is merged in place before it is first copied; levels and L1 then have the same
 * image.
 *
 * A failed merge says nothing about any level. An image that another process is merging is
 * copied after that merge: whoever merges has the flusher look again.
 */
#include "base/clock.h"
#include "base/error.h"
#include "supervisor/storage/flush_priv.h"

#include <errno.h>
#include <string.h>

#include "image/reader.h"
#include "supervisor/catalog/merge.h"
#include "supervisor/storage/image_name.h"

int flush_look_unmerged(struct flush_run *r, struct flush_item *item,
			    struct flush_place *place, const struct image_expect *expect,
			    struct ckpt_error *error)
{
	struct image_reader *reader;
	const struct image_manifest *m;
	int err = image_open_locked(place->dir, r->key, expect, &reader, error);

	if (err)
		return err;
	m = image_manifest(reader);
	item->source = true;
	item->taken_ns = m->identity.created_ns;
	item->bytes = m->counts.bytes_stored;
	memcpy(place->id, m->id, sizeof(place->id));
	place->unmerged = m->nr_bases != 0;
	image_close(reader);
	return 0;
}

static void flush_merge_merged(struct flush_run *r, const struct flush_item *item,
			       const struct image_merged *merged, int64_t took_ms)
{
	flush_tell(r, json_pack("{s:b, s:I, s:I, s:I, s:I}", "merged", true, "job",
				    (json_int_t)item->job, "generation",
				    (json_int_t)item->generation, "bytes",
				    (json_int_t)merged->bytes_is, "total_ns",
				    (json_int_t)took_ms * 1000000));
}

/* Give up in this run. Only lasting errors of the image are remembered. */
static void flush_merge_failed(struct flush_run *r, size_t at, int err,
			       const struct ckpt_error *error)
{
	char name[LEVEL_NAME_MAX + 1];

	r->items[at].failed = ~0u;
	if (err == -EBUSY || err == -ENOENT)
		return;
	if (!flush_is_lasting(err) || level_image_name(r->places[at].label, r->items[at].generation,
						       r->places[at].part, name))
		name[0] = '\0';
	flush_cannot_copy(r, &r->items[at], name[0] ? name : NULL, NULL, error->text,
			      err == -EBADMSG || image_is_unreadable(err));
}

bool flush_merge(struct flush_run *r, size_t at)
{
	struct flush_item *item = &r->items[at];
	const struct merge_request request = {
		.catalog = r->p->catalog, .key = r->key, .node = r->p->node, .job = item->job,
		.generation = item->generation, .label = r->places[at].label,
		.limit = r->p->merge_limit, .progress = r->p->progress, .arg = r->p->arg,
		.memory = r->p->merge_memory,
	};
	const struct image_expect expect = {
		.generation = (uint64_t)item->generation, .job = r->places[at].label,
	};
	struct ckpt_error error = {};
	int64_t began = clock_monotonic_ms();
	struct image_merged result;
	int err;

	/* Copying needs no secret, and merging an unencrypted image does not need it, either. */
	if (r->p->secret && !image_key_has_secret(r->key))
		image_key_secret(r->key, r->p->secret, &error);
	err = merge_generation(&request, &result, &error);

	if (!err)
		err = flush_look_unmerged(r, item, &r->places[at], &expect, &error);
	if (!err && r->places[at].unmerged)
		err = error_set(&error, -EOPNOTSUPP,
				"%.150s: stands on earlier ones, and cannot be merged",
				r->places[at].dir);
	if (err)
		flush_merge_failed(r, at, err, &error);
	else
		flush_merge_merged(r, item, &result, clock_monotonic_ms() - began);
	return !err;
}
