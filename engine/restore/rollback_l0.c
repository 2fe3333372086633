// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's snapshot of the image's memory, for a rollback; see rollback_l0.h.
 *
 * Owns the decision, map by map, whether the snapshot is used. The kernel holds what was found
 * until the end of the rollback, and nothing watches over the memory meanwhile. So it is told how
 * much the rollback fills that is not there now, and gives all snapshots of the tree up if that has
 * no room beside them.
 */
#include "engine/restore/rollback_l0.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define NR_RUNS		4096U		/* runs per read of the page map */

/* -------------------------------------------------------------------- room */

/* Bytes to be filled where the map has no page now. */
struct filling {
	const struct keep_map *map;
	unsigned int at;	/* runs before this one are behind the walk */
	uint64_t bytes;		/* of all maps */
};

static int filling_add(enum keep_what what, uint64_t start, uint64_t end, void *arg)
{
	struct filling *f = arg;

	while (what != KEEP_DROP && start < end) {
		const struct keep_run *r;
		uint64_t stop = end;

		while (f->at < f->map->nr && f->map->runs[f->at].end <= start)
			f->at++;
		r = f->at < f->map->nr ? &f->map->runs[f->at] : NULL;
		if (r && r->start <= start) {
			stop = r->end < end ? r->end : end;
		} else {
			if (r && r->start < end)
				stop = r->start;
			f->bytes += stop - start;
		}
		start = stop;
	}
	return 0;
}

static int l0_fill(const struct rollback_keep *keep, const struct state *image,
		   struct image_reader *reader, uint64_t *ret_bytes)
{
	struct filling f = { 0 };
	int ret = 0;

	for (unsigned int i = 0; !ret && i < keep->nr_maps; i++) {
		const struct state_mm *mm = &image->mms[i];

		if (!keep->maps[i].now_id)
			continue;
		f.map = &keep->maps[i];
		f.at = 0;
		for (unsigned int k = 0; !ret && k < mm->nr_vmas; k++)
			if (rollback_keep_has_pages(&mm->vmas[k]))
				ret = rollback_keep_walk(f.map, reader, &mm->vmas[k], filling_add,
							 &f);
	}
	*ret_bytes = f.bytes;
	return ret;
}

/* ------------------------------------------------------------------- pages */

/* Which pages has the snapshot? */
static int l0_pages(struct keep_map *map, const struct state_mm *mm, struct kdev *dev,
		    struct ckpt_page_run *runs)
{
	struct ckpt_pagemap arg = {
		.flags = CKPT_PAGES_KEPT, .mm_id = map->now_id,
		.start = mm->vmas[0].rec->start, .end = mm->vmas[mm->nr_vmas - 1].rec->end,
		.runs = (uintptr_t)runs,
	};
	int ret = 0;

	while (!ret && arg.start < arg.end) {
		uint64_t from = arg.start;

		arg.nr_runs = NR_RUNS;
		ret = kdev_pagemap(dev, &arg);
		for (unsigned int i = 0; !ret && i < arg.nr_runs; i++)
			ret = rollback_keep_add(&map->l0_runs, &map->nr_l0, &map->room_l0,
						&runs[i]);
		if (!ret && arg.start <= from)
			ret = -EIO;
	}
	return ret;
}

/* -------------------------------------------------------------------- find */

/* Hold the snapshots that the kernel has, or ask again for those, with @fill. */
static int l0_find(struct rollback_keep *keep, uint64_t fill, struct kdev *dev, bool again)
{
	int nr = 0;

	for (unsigned int i = 0; i < keep->nr_maps; i++) {
		struct keep_map *map = &keep->maps[i];
		struct ckpt_l0_find find = {
			.mm_id = map->now_id, .token = map->token, .fill = fill,
		};
		int ret = map->now_id && (map->l0 || !again) ? kdev_l0_find(dev, &find) : -ENODATA;

		if (ret == -ENOMEM)
			return ret;
		map->l0 = !ret;
		nr += !ret;
	}
	return nr;
}

void rollback_l0_look(struct rollback_keep *keep, const struct state *image,
		      struct image_reader *reader, struct kdev *dev)
{
	struct ckpt_page_run *runs = NULL;
	uint64_t fill = 0;
	int ret;

	if (!(dev->info.features & CKPT_FEAT_L0))
		return;
	ret = l0_find(keep, 0, dev, false);
	if (!ret)
		return;
	if (ret > 0)
		ret = l0_fill(keep, image, reader, &fill);
	if (!ret)
		ret = l0_find(keep, fill, dev, true);
	if (ret > 0)
		runs = calloc(NR_RUNS, sizeof(*runs));
	for (unsigned int i = 0; i < keep->nr_maps; i++)
		if (!runs || (keep->maps[i].l0 && l0_pages(&keep->maps[i], &image->mms[i], dev,
							    runs)))
			keep->maps[i].l0 = false;
	free(runs);
}
