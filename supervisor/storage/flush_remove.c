// SPDX-License-Identifier: GPL-2.0-only
/*
 * Removing from the levels what must not be there; see flush.h.
 *
 * Runs after all possible copies were made, so that it is known what stays. Removed are
 * images that flush_plan.c names, images that users have removed (tombstones), and parity
 * from which nothing can be rebuilt.
 */
#include "supervisor/storage/flush_priv.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "supervisor/storage/image_name.h"
#include "supervisor/storage/level_config_group.h"

static void flush_remove_one(struct flush_run *r, size_t at, unsigned int t)
{
	struct ckpt_error error = {};
	char name[LEVEL_NAME_MAX + 1];
	int err;

	if (flush_name(r, at, t, name))
		return;
	err = flush_open(r, t, &error);
	if (!err)
		err = level_delete(r->level[t], name, &error);
	flush_leave(r, t);
	if (err == -EBUSY)
		return;
	if (err) {
		flush_put_off(r, t, err, &error);
		return;
	}
	r->items[at].here &= ~(1u << t);
	r->freed |= 1u << t;
	flush_tell(r,
		   json_pack("{s:b, s:I, s:I, s:s}", "removed", true, "job",
			     (json_int_t)r->items[at].job, "generation",
			     (json_int_t)r->items[at].generation, "level", flush_level_name(r, t)));
}

/* True if the job could be restarted from it, even after all tombstones are carried out. */
static bool stays_good(const struct flush_run *r, size_t at)
{
	unsigned int t;

	if (r->items[at].source)
		return true;
	for (t = 0; t < r->p->levels->nr; t++) {
		if (!(r->places[at].tombstones & 1u << t) && flush_is_whole(r, at, t))
			return true;
	}
	return false;
}

/* Levels that have the image, good or damaged. */
static unsigned int flush_remove_there(const struct flush_run *r, size_t at)
{
	return r->items[at].here | r->places[at].damaged;
}

/* Remove images whose removal failed when a user asked for it. */
static void remove_buried(struct flush_run *r, size_t from, size_t end)
{
	bool good = false, any = false;
	unsigned int t;
	size_t i;

	for (i = from; i < end; i++)
		any = any || r->places[i].tombstones & flush_remove_there(r, i) & r->usable;
	for (i = end; any && !good && i-- > from; )
		good = stays_good(r, i);
	for (i = from; good && i < end; i++) {
		for (t = 0; t < r->p->levels->nr; t++) {
			if (!r->items[i].pinned && r->places[i].tombstones &
							   flush_remove_there(r, i) & r->usable &
							   1u << t)
				flush_remove_one(r, i, t);
		}
	}
}

/*
 * Ask whether any image of this generation could be rebuilt from its parity; 0, or why not.
 * It is not known which image was lost, so all parts up to the last are asked for: -ENOENT
 * if none can be rebuilt.
 */
static int ask_parity(struct flush_run *r, size_t at, unsigned int t)
{
	const int last = r->places[at].last;
	struct ckpt_error error = {};
	char name[LEVEL_NAME_MAX + 1];
	int part, err = -ENOENT;

	for (part = last < 0 ? -1 : 0; part <= last && err == -ENOENT; part++) {
		err = level_image_name(r->places[at].label, r->items[at].generation, part, name);
		if (!err)
			err = flush_open(r, t, &error);
		if (!err)
			err = level_verify(r->level[t], name, false, NULL, &error);
		flush_leave(r, t);
	}
	return err;
}

/*
 * Remove parity whose images have gone from all nodes' L1. Parity older than a good image
 * here stays if something can be rebuilt from it: then the image was lost, not removed.
 */
static void remove_useless(struct flush_run *r, unsigned int t, size_t from, size_t end)
{
	bool newer = false;
	size_t i;

	for (i = end; i-- > from && r->usable & 1u << t; ) {
		if (newer && !r->places[i].dir && !r->items[i].pinned &&
		    flush_remove_there(r, i) & 1u << t && ask_parity(r, i, t) == -ENOENT)
			flush_remove_one(r, i, t);
		newer = newer || r->items[i].source;
	}
}

static void flush_remove_prune_job(struct flush_run *r, unsigned int t, size_t from, size_t end)
{
	_cleanup_free_ bool *goes = calloc(end - from + 1, sizeof(*goes));
	size_t i;

	/*
	 * Ask again which are whole, as the copies may have taken long: removal depends on
	 * the answer.
	 */
	flush_mark_whole(r, t, from, end, false);
	if (!goes || flush_plan_goes(r->p->levels, t, r->items + from, end - from, goes))
		return;
	for (i = from; i < end && r->usable & 1u << t; i++) {
		if (goes[i - from])
			flush_remove_one(r, i, t);
	}
}

void flush_prune_all(struct flush_run *r)
{
	unsigned int t;
	size_t i, end;

	for (i = 0; i < r->nr; i = end) {
		end = flush_job_end(r, i);
		remove_buried(r, i, end);
	}
	for (t = 0; t < r->p->levels->nr; t++) {
		for (i = 0; level_config_is_group(&r->p->levels->conf[t]) && i < r->nr; i = end) {
			end = flush_job_end(r, i);
			remove_useless(r, t, i, end);
		}
		if (!retention_is_rule(&r->p->levels->conf[t].retain))
			continue;
		for (i = 0; i < r->nr && r->usable & 1u << t; i = end) {
			end = flush_job_end(r, i);
			flush_remove_prune_job(r, t, i, end);
		}
	}
}
