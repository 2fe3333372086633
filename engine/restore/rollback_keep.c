// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that a rollback leaves as it is; see rollback_keep.h.
 *
 * Owns the rules by which a map stays. In doubt it does not: then it is mapped and read anew.
 * Shared mappings that somebody may write, huge pages of hugetlbfs and rings of asynchronous I/O
 * have contents that no soft-dirty bit tells of, so their maps do not stay.
 */
#include "engine/restore/rollback_keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/restore/rollback_compare.h"

#define PAGE		4096ULL
#define NR_RUNS		4096U		/* runs per read of the page map */
#define RECENT_NS	2000000000ULL	/* file systems keep times in steps of up to two seconds */
#define READ_IN_PAUSE	(256ULL << 20)	/* most that is read while the tree stands still */
/* The kernel sets this flag by what a mapping has held. */
#define FLAGS_IGNORED	CKPT_VM_HAS_ANON

/* ---------------------------------------------------------------- mappings */

static bool same_file(const struct state_file *a, const struct state_file *b, uint64_t image_ns)
{
	if (!a || !b)
		return a == b;
	return a->rec->dev == b->rec->dev && a->rec->ino == b->rec->ino &&
	       a->rec->size == b->rec->size && a->rec->mtime_ns == b->rec->mtime_ns &&
	       a->rec->ctime_ns == b->rec->ctime_ns && a->rec->ctime_ns + RECENT_NS < image_ns &&
	       !state_file_deleted(a) && !state_file_deleted(b) && !a->external && !a->mapped;
}

static bool may_stay(const struct ckpt_rec_vma *rec)
{
	switch (rec->kind) {
	case CKPT_VMA_ANON:
	case CKPT_VMA_FILE_PRIVATE:
	case CKPT_VMA_VDSO:
	case CKPT_VMA_VVAR:
		return true;
	case CKPT_VMA_FILE_SHARED:
		return !(rec->flags & (CKPT_VM_WRITE | CKPT_VM_MAYWRITE));
	default:
		return false;
	}
}

/* Is @now, which covers @image, as @image is there? */
static bool same_vma(const struct state_vma *image, const struct state_vma *now, uint64_t image_ns)
{
	const struct ckpt_rec_vma *a = image->rec, *b = now->rec;

	if (a->kind != b->kind || (a->flags ^ b->flags) & ~FLAGS_IGNORED ||
	    a->hugepage_shift != b->hugepage_shift || strncmp(a->name, b->name, sizeof(a->name)))
		return false;
	if (a->kind == CKPT_VMA_VDSO || a->kind == CKPT_VMA_VVAR)
		return a->start == b->start && a->end == b->end;
	return a->pgoff == b->pgoff + (a->start - b->start) / PAGE &&
	       rollback_same_policy(image->mempolicy, now->mempolicy) &&
	       same_file(image->file, now->file, image_ns);
}

/* One mapping must cover it: mremap(2) does not move several as one. */
static bool vma_stays(const struct state_vma *vma, const struct state_mm *now, unsigned int *at,
		      uint64_t image_ns)
{
	while (*at < now->nr_vmas && now->vmas[*at].rec->end <= vma->rec->start)
		(*at)++;
	return *at < now->nr_vmas && now->vmas[*at].rec->start <= vma->rec->start &&
	       now->vmas[*at].rec->end >= vma->rec->end &&
	       same_vma(vma, &now->vmas[*at], image_ns);
}

/*
 * A mapping keeps its open description, and with it a lock on that (flock, F_OFD_SETLK), although
 * all descriptors are closed: a lock of the image could not be taken, and a later one stayed.
 */
static bool maps_locked_file(const struct state *now, const struct state_mm *mm)
{
	for (unsigned int k = 0; k < now->nr_locks; k++)
		for (unsigned int i = 0; !now->locks[k].table && i < mm->nr_vmas; i++)
			if (mm->vmas[i].file && mm->vmas[i].file == now->locks[k].file)
				return true;
	return false;
}

bool rollback_keep_fits(const struct state_mm *image, const struct state_mm *now,
			uint64_t image_ns)
{
	unsigned int at = 0;

	if (image->nr_aios || now->nr_aios ||
	    (image->pkeys ? image->pkeys->keys : 0) != (now->pkeys ? now->pkeys->keys : 0) ||
	    !image->exe || !same_file(image->exe, now->exe, image_ns))
		return false;
	for (unsigned int i = 0; i < image->nr_vmas; i++)
		if (!may_stay(image->vmas[i].rec) ||
		    !vma_stays(&image->vmas[i], now, &at, image_ns))
			return false;
	return image->nr_vmas;
}

bool rollback_keep_can(const struct state_mm *image, uint64_t image_ns)
{
	return rollback_keep_fits(image, image, image_ns);
}

/* ------------------------------------------------------------------- pages */

int rollback_keep_add(struct keep_run **runs, unsigned int *nr, unsigned int *room,
		      const struct ckpt_page_run *run)
{
	uint64_t end = run->start + run->nr_pages * PAGE;
	bool clean = run->flags & CKPT_RUN_CLEAN;
	struct keep_run *last = *nr ? &(*runs)[*nr - 1] : NULL;

	if (last && last->end == run->start && last->clean == clean) {
		last->end = end;
		return 0;
	}
	if (*nr == *room) {
		unsigned int want = *room ? *room * 2 : 64;
		struct keep_run *more = realloc(*runs, want * sizeof(*more));

		if (!more)
			return -ENOMEM;
		*runs = more;
		*room = want;
	}
	(*runs)[(*nr)++] = (struct keep_run){ run->start, end, clean };
	return 0;
}

/*
 * Read which pages the map has. 1: the kernel tells since which snapshot, and it is @image_id's;
 * @map->token is that snapshot's.
 */
static int look_at_pages(struct keep_map *map, const struct state_mm *now, uint64_t image_id,
			 const struct image_reader *reader, struct kdev *dev,
			 struct ckpt_page_run *runs)
{
	struct ckpt_pagemap arg = {
		.flags = CKPT_PAGES_LIVE, .mm_id = now->rec->mm_id,
		.start = now->vmas[0].rec->start, .end = now->vmas[now->nr_vmas - 1].rec->end,
		.runs = (uintptr_t)runs,
	};
	int ret = 0;

	while (!ret && arg.start < arg.end) {
		uint64_t from = arg.start;

		arg.nr_runs = NR_RUNS;
		ret = kdev_pagemap(dev, &arg);
		if (!ret && (!arg.base || image_tracked(reader, arg.base) != image_id))
			return 0;
		for (unsigned int i = 0; !ret && i < arg.nr_runs; i++)
			ret = rollback_keep_add(&map->runs, &map->nr, &map->room, &runs[i]);
		if (!ret && arg.start <= from)
			ret = -EIO;
	}
	map->token = arg.base;
	return ret ? ret : 1;
}

static int look_at_map(struct rollback_keep *keep, unsigned int index, const struct state *image,
		       const struct state *now, const struct image_reader *reader,
		       struct kdev *dev, struct ckpt_page_run *runs)
{
	const struct state_mm *mm = &image->mms[index];
	const struct state_proc *owner = state_proc_find(now, mm->owner->rec->pid);
	struct keep_map *map = &keep->maps[index];
	int ret;

	if (!owner || !owner->mm || maps_locked_file(now, owner->mm) ||
	    !rollback_keep_fits(mm, owner->mm, image->system->realtime_ns))
		return 0;
	ret = look_at_pages(map, owner->mm, mm->rec->mm_id, reader, dev, runs);
	if (ret <= 0)
		return ret;
	map->now_id = owner->mm->rec->mm_id;
	return 0;
}

/*
 * Pages that two maps have in common in the image: both maps stay, or none does. The kernel shares
 * pages of a map that stays only with mappings as old as its own, so they would become copies.
 */
static int keep_apart(struct rollback_keep *keep, const struct state *image,
		      struct image_reader *reader, bool *ret_changed)
{
	struct image_run run;
	int ret = 0;

	*ret_changed = false;
	for (unsigned int i = 0; i < image->nr_mms; i++) {
		uint64_t cursor = 0, id = image->mms[i].rec->mm_id;

		while ((ret = image_pages_next(reader, id, &cursor, &run)) > 0) {
			const struct state_mm *src = run.kind != IMAGE_RUN_REF ? NULL :
				state_mm_find(image, (uint32_t)run.src_mm_id);
			struct keep_map *a = &keep->maps[i];
			struct keep_map *b = src ? &keep->maps[src - image->mms] : a;

			if (!a->now_id != !b->now_id) {
				a->now_id = 0;
				b->now_id = 0;
				*ret_changed = true;
			}
		}
		if (ret)
			return ret;
	}
	return 0;
}

static int keep_settle(struct rollback_keep *keep, const struct state *image,
		       struct image_reader *reader)
{
	bool changed = true;
	int ret = 0;

	while (changed && !ret)
		ret = keep_apart(keep, image, reader, &changed);
	for (unsigned int m = 0; m < keep->nr_maps; m++)
		for (unsigned int i = 0; keep->maps[m].now_id && i < keep->maps[m].nr; i++)
			if (keep->maps[m].runs[i].clean)
				keep->clean += keep->maps[m].runs[i].end -
					       keep->maps[m].runs[i].start;
	return ret;
}

int rollback_keep_look(const struct state *image, const struct state *now,
		       struct image_reader *reader, struct kdev *dev, struct rollback_keep *keep,
		       struct ckpt_error *error)
{
	struct ckpt_page_run *runs;
	int ret = 0;

	memset(keep, 0, sizeof(*keep));
	if (!(dev->info.features & CKPT_FEAT_KEEP))
		return 0;
	runs = calloc(NR_RUNS, sizeof(*runs));
	keep->maps = calloc(image->nr_mms + 1, sizeof(*keep->maps));
	if (!runs || !keep->maps)
		ret = -ENOMEM;
	else
		keep->nr_maps = image->nr_mms;
	for (unsigned int i = 0; !ret && i < image->nr_mms; i++)
		ret = look_at_map(keep, i, image, now, reader, dev, runs);
	if (!ret)
		ret = keep_settle(keep, image, reader);
	free(runs);
	return ret ? error_fail(error, ret, "cannot read the tree's page tables: %s",
				strerror(-ret)) : 0;
}

void rollback_keep_done(struct rollback_keep *keep)
{
	for (unsigned int i = 0; i < keep->nr_maps; i++) {
		free(keep->maps[i].runs);
		free(keep->maps[i].l0_runs);
	}
	free(keep->maps);
	free(keep->data);
	memset(keep, 0, sizeof(*keep));
}

/* -------------------------------------------------------------- difference */

enum now_page {
	NOW_ABSENT,
	NOW_CLEAN,
	NOW_CHANGED,
};

/* -1: nothing; else enum keep_what */
static int what_of(enum keep_page image, enum now_page now, bool zeros)
{
	if (image == KEEP_NONE)
		return now == NOW_ABSENT ? -1 : KEEP_DROP;
	if (now == NOW_CLEAN)
		return -1;
	if (image == KEEP_DATA || zeros)
		return KEEP_WRITE;
	return now == NOW_ABSENT ? -1 : KEEP_DROP;
}

/* The walk: equal answers side by side are one call. */
struct differing {
	keep_fn fn;
	void *arg;
	uint64_t start, end;
	int what;
};

static int differing_flush(struct differing *d)
{
	int what = d->what;

	d->what = -1;
	return what < 0 ? 0 : d->fn((enum keep_what)what, d->start, d->end, d->arg);
}

static int differing_add(struct differing *d, int what, uint64_t start, uint64_t end)
{
	int ret = 0;

	if (what == d->what && d->end == start) {
		d->end = end;
		return 0;
	}
	ret = differing_flush(d);
	d->what = what;
	d->start = start;
	d->end = end;
	return ret;
}

int rollback_keep_diff(const struct keep_map *map, const struct keep_piece *pieces,
		       unsigned int nr, uint64_t start, uint64_t end, bool zeros, keep_fn fn,
		       void *arg)
{
	struct differing d = { .fn = fn, .arg = arg, .what = -1 };
	unsigned int run = 0, piece = 0;
	int ret = 0;

	while (start < end && !ret) {
		enum keep_page page = KEEP_NONE;
		enum now_page now = NOW_ABSENT;
		uint64_t stop = end;

		while (run < map->nr && map->runs[run].end <= start)
			run++;
		while (piece < nr && pieces[piece].end <= start)
			piece++;
		if (run < map->nr) {
			const struct keep_run *r = &map->runs[run];
			uint64_t border = r->start > start ? r->start : r->end;

			if (r->start <= start)
				now = r->clean ? NOW_CLEAN : NOW_CHANGED;
			stop = border < stop ? border : stop;
		}
		if (piece < nr) {
			const struct keep_piece *p = &pieces[piece];
			uint64_t border = p->start > start ? p->start : p->end;

			if (p->start <= start)
				page = p->page;
			stop = border < stop ? border : stop;
		}
		ret = differing_add(&d, what_of(page, now, zeros), start, stop);
		start = stop;
	}
	return ret ? ret : differing_flush(&d);
}

/* ------------------------------------------------------------------ the image */

bool rollback_keep_has_pages(const struct state_vma *vma)
{
	return vma->rec->kind == CKPT_VMA_ANON || vma->rec->kind == CKPT_VMA_FILE_PRIVATE;
}

static bool in_l0(const struct keep_map *map, const struct state_vma *vma)
{
	return map->l0 && !(vma->rec->flags & (CKPT_VM_DONTCOPY | CKPT_VM_WIPEONFORK |
					   CKPT_VM_LIVE));
}

/* Tells apart the pages to write that the kernel's snapshot has, and those that it lacks. */
struct splitting {
	const struct keep_map *map;
	unsigned int at;	/* runs of L0 before this one are behind the walk */
	keep_fn fn;
	void *arg;
};

static int splitting_add(enum keep_what what, uint64_t start, uint64_t end, void *arg)
{
	struct splitting *s = arg;
	const struct keep_map *map = s->map;
	int ret = 0;

	if (what != KEEP_WRITE)
		return s->fn(what, start, end, s->arg);
	while (start < end && !ret) {
		const struct keep_run *r;
		uint64_t stop = end;
		bool has;

		while (s->at < map->nr_l0 && map->l0_runs[s->at].end <= start)
			s->at++;
		r = s->at < map->nr_l0 ? &map->l0_runs[s->at] : NULL;
		has = r && r->start <= start;
		if (has && r->end < stop)
			stop = r->end;
		else if (r && !has && r->start < stop)
			stop = r->start;
		ret = s->fn(has ? KEEP_COPY : KEEP_WRITE, start, stop, s->arg);
		start = stop;
	}
	return ret;
}

/* The first run of L0 that ends after @addr. */
static unsigned int splitting_first(const struct keep_map *map, uint64_t addr)
{
	unsigned int low = 0, high = map->nr_l0;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (map->l0_runs[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct pieces {
	struct keep_piece *pieces;	/* owned */
	unsigned int nr, room;
};

static int pieces_add(struct pieces *p, const struct image_run *run, uint64_t end)
{
	if (p->nr == p->room) {
		unsigned int room = p->room ? p->room * 2 : 64;
		struct keep_piece *more = realloc(p->pieces, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		p->pieces = more;
		p->room = room;
	}
	p->pieces[p->nr++] = (struct keep_piece){
		.start = run->addr, .end = end,
		.page = run->kind == IMAGE_RUN_ZERO ? KEEP_ZERO : KEEP_DATA,
	};
	return 0;
}

static int pieces_load(struct pieces *p, struct image_reader *reader, const struct state_vma *vma)
{
	uint64_t cursor = vma->rec->start;
	struct image_run run;
	int ret;

	while ((ret = image_pages_next(reader, vma->mm->rec->mm_id, &cursor, &run)) > 0) {
		uint64_t end = run.addr + run.nr_pages * PAGE;

		if (run.addr >= vma->rec->end)
			return 0;
		ret = pieces_add(p, &run, end < vma->rec->end ? end : vma->rec->end);
		if (ret)
			break;
	}
	return ret;
}

int rollback_keep_walk(const struct keep_map *map, struct image_reader *reader,
		       const struct state_vma *vma, keep_fn fn, void *arg)
{
	struct splitting split = { .map = map, .fn = fn, .arg = arg };
	struct pieces p = { 0 };
	int ret = pieces_load(&p, reader, vma);

	if (in_l0(map, vma)) {
		split.at = splitting_first(map, vma->rec->start);
		fn = splitting_add;
		arg = &split;
	}
	if (!ret)
		ret = rollback_keep_diff(map, p.pieces, p.nr, vma->rec->start, vma->rec->end,
					 vma->rec->kind == CKPT_VMA_FILE_PRIVATE, fn, arg);
	free(p.pieces);
	return ret;
}

struct reading {
	struct image_reader *reader;
	uint64_t mm_id;
	uint64_t bytes;		/* in all */
	char *to;		/* NULL: only count */
};

static int reading_page(enum keep_what what, uint64_t start, uint64_t end, void *arg)
{
	struct reading *r = arg;
	int ret;

	if (what != KEEP_WRITE)
		return 0;
	r->bytes += end - start;
	if (!r->to)
		return 0;
	ret = image_pages_read(r->reader, r->mm_id, start, (end - start) / PAGE, r->to);
	r->to += end - start;
	return ret;
}

static int reading_maps(struct reading *r, struct rollback_keep *keep, const struct state *image)
{
	int ret = 0;

	for (unsigned int i = 0; i < image->nr_mms; i++) {
		const struct state_mm *mm = &image->mms[i];

		r->mm_id = mm->rec->mm_id;
		keep->maps[i].data = r->to;
		for (unsigned int k = 0; !ret && k < mm->nr_vmas; k++)
			if (rollback_keep_has_pages(&mm->vmas[k]))
				ret = rollback_keep_walk(&keep->maps[i], r->reader, &mm->vmas[k],
							 reading_page, r);
	}
	return ret;
}

int rollback_keep_read(struct rollback_keep *keep, const struct state *image,
		       struct image_reader *reader)
{
	struct reading r = { .reader = reader };
	int ret;

	for (unsigned int i = 0; i < image->nr_mms; i++)
		if (i >= keep->nr_maps || !keep->maps[i].now_id)
			return 0;
	for (unsigned int i = 0; i < image->nr_blobs; i++)
		if (image_blob_paged_in(reader, image->blobs[i]->blob))
			return 0;
	ret = reading_maps(&r, keep, image);
	if (ret || r.bytes > READ_IN_PAUSE)
		return ret;
	keep->data = malloc(r.bytes + 1);
	if (!keep->data)
		return 0;
	r.to = keep->data;
	ret = image_verify_blobs(reader);
	if (!ret)
		ret = reading_maps(&r, keep, image);
	return ret ? ret : 1;
}
