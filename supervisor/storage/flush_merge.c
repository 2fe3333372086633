// SPDX-License-Identifier: GPL-2.0-only
/*
 * Images of L1 that stand on earlier ones: levels take whole ones, so such an image is merged, in its
 * place, before it is first copied.  So what levels get and what L1 has is the same image.
 *
 * A merge that fails says nothing of any level.  One that another process is at is copied when that
 * is done: who merges has the promoter look again.
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

static void merged(struct flush_run *r, const struct flush_item *item,
		   const struct image_merged *merged, int64_t took_ms)
{
	flush_tell(r, json_pack("{s:b, s:I, s:I, s:I, s:I}", "merged", true, "job",
				    (json_int_t)item->job, "generation",
				    (json_int_t)item->generation, "bytes",
				    (json_int_t)merged->bytes_is, "total_ns",
				    (json_int_t)took_ms * 1000000));
}

/* Not by this run.  Only what is wrong with the image for good is remembered. */
static void failed(struct flush_run *r, size_t at, int err, const struct ckpt_error *error)
{
	char name[LEVEL_NAME_MAX + 1];

	r->items[at].failed = ~0u;
	if (err == -EBUSY || err == -ENOENT)
		return;
	if (!flush_is_lasting(err) ||
	    level_image_name(r->places[at].label, r->items[at].generation, r->places[at].part, name))
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

	/* Copies do not need it; what is not encrypted does not, either. */
	if (r->p->secret && !image_key_has_secret(r->key))
		image_key_secret(r->key, r->p->secret, &error);
	err = merge_generation(&request, &result, &error);

	if (!err)
		err = flush_look_unmerged(r, item, &r->places[at], &expect, &error);
	if (!err && r->places[at].unmerged)
		err = error_set(&error, -EOPNOTSUPP, "%.150s: stands on earlier ones, and cannot be merged",
				      r->places[at].dir);
	if (err)
		failed(r, at, err, &error);
	else
		merged(r, item, &result, clock_monotonic_ms() - began);
	return !err;
}
