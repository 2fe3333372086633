// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory: which pages hold data, and the data.
 *
 * The page map of a memory map is walked once, together with the list of mappings.  A
 * run of pages belongs to the mapping that it lies in, which decides whether its pages
 * are stored at all.  Data is read in large batches.  In the pause a batch is read into
 * the hold, or, when the hold is full, through a buffer into the image.  After the pause
 * a thread reads batches straight into memory of the image writer, while the batch
 * before is stored.
 *
 * Pages that the kernel calls clean, and that the base of this image has, are not read, unless
 * dump_scrub.c wants to compare them.
 * dump_store.c decides how a page is stored: as data or as a reference.
 */
#include "base/error.h"
#include "engine/dump/dump_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/base.h"
#include "engine/dump/dump_exclude.h"
#include "engine/dump/dump_scrub.h"
#include "engine/dump/page_fetch.h"

#define PAGE		4096ULL
#define NR_RUNS		4096U		/* runs per read of the page map */
#define NR_IOV		1024U		/* the module's limit */
#define NR_BATCHES	(PAGE_FETCH_AHEAD + 1)
#define PROGRESS	(64ULL << 20)	/* bytes between two reports */

struct batch {
	struct ckpt_iovec *iov;		/* NR_IOV */
	uint64_t *cookies;		/* per iov: of its first page; 0: not shared */
	bool *clean;			/* per iov: its pages are as in the base */
	unsigned int nr_iov;
	uint64_t wanted;		/* bytes of all iovs */
	struct image_room room;		/* the thread reads into it; unused in the pause */
};

struct page_reader {
	struct dump *d;
	struct content *to;
	bool in_pause;			/* read only pages that the snapshot lacks */
	struct page_store store;
	struct state_mm *mm;
	struct dump_exclude excluded;	/* of mm */
	unsigned int flags;		/* CKPT_PAGES_LIVE or 0 */
	uint64_t token;			/* of mm's snapshot; 0: not tracked */
	struct ckpt_page_run *runs;
	struct batch batches[NR_BATCHES];
	struct batch *b;		/* the batch that is being filled with wanted ranges */
	struct page_fetch *fetch;	/* reads the batches before it; NULL: in the pause */
	unsigned int nr_fetching;	/* batches under way in @fetch */
	uint64_t reported;		/* bytes at the last report of progress */
};

static int read_failed(struct page_reader *r, int err)
{
	return capture_failed(&r->d->cap, err, "cannot read the tree's memory", r->d->error);
}

/* Store the pages of a batch that was read. */
static int store_batch(struct page_reader *r, struct batch *b, const char *data)
{
	int ret = 0;

	for (unsigned int i = 0; i < b->nr_iov && !ret; i++) {
		ret = page_store_put(&r->store, &b->iov[i], b->cookies[i], data, b->clean[i]);
		data += b->iov[i].len;
	}
	r->d->bytes_mapped += b->wanted;
	b->nr_iov = 0;
	b->wanted = 0;
	if (r->d->bytes_mapped - r->reported >= PROGRESS) {
		r->reported = r->d->bytes_mapped;
		dump_progress(r->d, "dump");
	}
	return ret;
}

/* Wait for the oldest batch under way, and store it. */
static int store_fetched(struct page_reader *r)
{
	size_t at = (size_t)(r->b - r->batches) + NR_BATCHES - r->nr_fetching--;
	struct batch *b = &r->batches[at % NR_BATCHES];
	const char *data = b->room.p;	/* stays valid when the image takes the room over */
	int ret = page_fetch_wait(r->fetch);

	if (ret)
		return read_failed(r, ret);
	ret = image_room_use(r->d->img, &b->room);
	return ret ? dump_image_failed(r->d, ret) : store_batch(r, b, data);
}

static int finish_fetch(struct page_reader *r)
{
	int ret = 0;

	while (r->nr_fetching && !ret)
		ret = store_fetched(r);
	return ret;
}

/* Hand this batch to the thread; if too many are under way, store the oldest first. */
static int dump_pages_fetch(struct page_reader *r, struct ckpt_pages *pages)
{
	pages->buf = (uintptr_t)r->b->room.p;
	page_fetch_start(r->fetch, pages);
	r->nr_fetching++;
	r->b = r->b + 1 == r->batches + NR_BATCHES ? r->batches : r->b + 1;
	return r->nr_fetching == PAGE_FETCH_AHEAD ? store_fetched(r) : 0;
}

/* If this batch would exceed the hold's limit, pages go into the image from now on. */
static void choose_place(struct page_reader *r)
{
	if (r->to == r->d->hold && r->d->hold->bytes + r->b->wanted > r->d->hold_limit) {
		r->to = r->d->image;
		r->store.to = r->d->image;
	}
}

/* Read the wanted ranges of the batch; there is room for them. */
static int dump_pages_flush(struct page_reader *r)
{
	struct batch *b = r->b;
	struct ckpt_pages pages = {
		.flags = r->flags,
		.mm_id = r->mm->rec->mm_id,
		.nr_iov = b->nr_iov,
		.iov = (uintptr_t)b->iov,
	};
	size_t room;
	void *buf;
	int ret;

	if (!b->nr_iov)
		return 0;
	if (r->fetch)
		return dump_pages_fetch(r, &pages);
	choose_place(r);
	ret = content_room(r->to, b->wanted, &buf, &room);
	if (ret)
		return page_store_failed(&r->store, ret);
	if (room < b->wanted)
		return error_fail(r->d->error, -ENOBUFS, "batch of pages larger than its room");
	pages.buf = (uintptr_t)buf;
	ret = kdev_pages_read(r->d->cap.dev, &pages);
	return ret ? read_failed(r, ret) : store_batch(r, b, buf);
}

/* How many bytes the batch can still take: it never exceeds the room that it is read into. */
static int room_left(struct page_reader *r, uint64_t *ret_left)
{
	struct image_room *to = &r->b->room;
	size_t room;
	void *buf;
	int ret = 0;

	if (!r->fetch)
		ret = content_room(r->to, CONTENT_ROOM, &buf, &room);
	else if (!to->p)
		ret = image_room_get(r->d->img, to);
	if (ret)
		return page_store_failed(&r->store, ret);
	*ret_left = ((r->fetch ? to->len : room) & ~(PAGE - 1)) - r->b->wanted;
	return 0;
}

/* Does the range continue the last one that is wanted? */
static bool dump_pages_continues(const struct batch *b, uint64_t addr, uint64_t cookie, bool clean)
{
	const struct ckpt_iovec *last;
	uint64_t before;

	if (!b->nr_iov)
		return false;
	last = &b->iov[b->nr_iov - 1];
	if (last->addr + last->len != addr || b->clean[b->nr_iov - 1] != clean)
		return false;
	before = b->cookies[b->nr_iov - 1];
	return cookie ? before && before + last->len / PAGE == cookie : !before;
}

/* Add a range to the batch. @cookie: of the first page; 0: no other process shares the pages */
static int dump_pages_want(struct page_reader *r, uint64_t addr, uint64_t len, uint64_t cookie,
			   bool clean)
{
	uint64_t left = 0, n;
	int ret;

	while (len) {
		struct batch *b = r->b;

		ret = room_left(r, &left);
		if (ret)
			return ret;
		n = len < left ? len : left;
		if (n && dump_pages_continues(b, addr, cookie, clean)) {
			b->iov[b->nr_iov - 1].len += n;
		} else if (n) {
			b->iov[b->nr_iov].addr = addr;
			b->iov[b->nr_iov].len = n;
			b->clean[b->nr_iov] = clean;
			b->cookies[b->nr_iov++] = cookie;
		}
		b->wanted += n;
		addr += n;
		len -= n;
		cookie = cookie ? cookie + n / PAGE : 0;
		if (n == left || b->nr_iov == NR_IOV) {
			ret = dump_pages_flush(r);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/* Refer to the base for clean pages, and read those that the base lacks. */
static int dump_pages_refer(struct page_reader *r, uint64_t addr, uint64_t end)
{
	uint64_t done;
	int ret = 0;

	for (; addr < end && !ret; addr += done ? done : PAGE) {
		ret = page_store_base(&r->store, addr, end - addr, &done);
		if (!ret && !done)
			ret = dump_pages_want(r, addr, PAGE, 0, false);
		r->d->bytes_mapped += ret ? 0 : done;
	}
	return ret;
}

/* Take pages of one run within one mapping: refer to the base for them, or want them read. */
static int dump_pages_take(struct page_reader *r, uint64_t addr, uint64_t end,
			   const struct ckpt_page_run *run)
{
	bool shared = r->store.stored && (run->flags & CKPT_RUN_SHARED);
	bool clean = r->store.base_mm && (run->flags & CKPT_RUN_CLEAN);
	uint64_t stop;
	int ret = 0;

	/* Shared pages are read also if they are clean: their contents must be compared. */
	if (!clean || shared)
		return dump_pages_want(r, addr, end - addr, shared ? run->cookie +
				       (addr - run->start) / PAGE : 0, clean);
	for (; addr < end && !ret; addr = stop) {
		if (dump_scrub_wants(r->d, addr, end, &stop))
			ret = dump_pages_want(r, addr, stop - addr, 0, true);
		else
			ret = dump_pages_refer(r, addr, stop);
	}
	return ret;
}

/* The same, without the pages that the process excluded. */
static int take_wanted(struct page_reader *r, uint64_t addr, uint64_t end,
		       const struct ckpt_page_run *run)
{
	int ret = 0;

	while (addr < end && !ret) {
		uint64_t stop = end;

		if (dump_exclude_cut(&r->excluded, addr, &stop))
			r->d->stats.pages_excluded += (stop - addr) / PAGE;
		else
			ret = dump_pages_take(r, addr, stop, run);
		addr = stop;
	}
	return ret;
}

static bool stored_in(const struct page_reader *r, const struct ckpt_rec_vma *vma)
{
	bool live = vma->flags & CKPT_VM_LIVE;

	if (vma->flags & CKPT_VM_DROPPABLE)
		return false;
	/* in the pause only live mappings; after it all others, and those of live maps */
	if (r->in_pause ? !live : live && !r->mm->rec->live)
		return false;
	switch (vma->kind) {
	case CKPT_VMA_ANON:
	case CKPT_VMA_HUGETLB_PRIVATE:
		return true;
	case CKPT_VMA_FILE_PRIVATE:
		return vma->flags & CKPT_VM_HAS_ANON;
	default:
		return false;	/* shared: the file's content; vDSO: the kernel's */
	}
}

/* Count the pages found in a mapping whose pages are stored, excluded ones too. */
static void count_found(struct dump *d, const struct ckpt_rec_vma *vma, uint64_t len)
{
	if (vma->kind == CKPT_VMA_FILE_PRIVATE)
		d->found_file += len / PAGE;
	else
		d->found_anon += len / PAGE;
}

/* Count the pages of private mappings that were not found: nothing was there to be read. */
static void count_skipped(struct dump *d)
{
	const struct state *state = d->cap.state;
	uint64_t anon = 0, file = 0;

	for (unsigned int i = 0; i < state->nr_vmas; i++) {
		const struct ckpt_rec_vma *vma = state->vmas[i].rec;

		if (vma->kind == CKPT_VMA_FILE_PRIVATE)
			file += (vma->end - vma->start) / PAGE;
		else if (vma->kind == CKPT_VMA_ANON || vma->kind == CKPT_VMA_HUGETLB_PRIVATE)
			anon += (vma->end - vma->start) / PAGE;
	}
	d->stats.pages_untouched = anon - d->found_anon;
	d->stats.pages_file = file - d->found_file;
}

/* Take a run of pages, cut at the borders of mappings; *vma moves on with the address. */
static int take_run(struct page_reader *r, const struct ckpt_page_run *run,
		    unsigned int *vma)
{
	uint64_t addr = run->start, end = run->start + run->nr_pages * PAGE, stop;
	int ret = 0;

	while (addr < end && !ret) {
		const struct ckpt_rec_vma *rec;

		while (*vma < r->mm->nr_vmas && r->mm->vmas[*vma].rec->end <= addr)
			(*vma)++;
		if (*vma == r->mm->nr_vmas)
			break;
		rec = r->mm->vmas[*vma].rec;
		if (rec->start > addr)
			addr = rec->start;
		stop = end < rec->end ? end : rec->end;
		if (addr < stop && stored_in(r, rec)) {
			count_found(r->d, rec, stop - addr);
			ret = rec->flags & CKPT_VM_DONTDUMP ? take_wanted(r, addr, stop, run) :
			      dump_pages_take(r, addr, stop, run);
		}
		addr = stop > addr ? stop : end;
	}
	return ret;
}

/* Read and store all of [start, end) of the reader's memory map. */
static int read_range(struct page_reader *r, uint64_t start, uint64_t end)
{
	struct ckpt_pagemap map = {
		.flags = r->flags,
		.mm_id = r->mm->rec->mm_id,
		.start = start,
		.end = end,
		.runs = (uintptr_t)r->runs,
	};
	unsigned int vma = 0;
	int ret = 0;

	while (!ret && map.start < map.end) {
		uint64_t from = map.start;

		map.nr_runs = NR_RUNS;
		ret = kdev_pagemap(r->d->cap.dev, &map);
		if (ret)
			return capture_failed(&r->d->cap, ret,
					      "cannot read the tree's page tables", r->d->error);
		if (!r->in_pause)	/* pages that the snapshot lacks are not tracked */
			page_store_token(&r->store, map.base);
		r->token = map.token;
		for (unsigned int i = 0; i < map.nr_runs && !ret; i++)
			ret = take_run(r, &r->runs[i], &vma);
		if (!ret && map.start <= from)
			return error_fail(r->d->error, -EIO, "the page map does not advance");
	}
	if (!ret)
		ret = dump_pages_flush(r);
	if (!ret)
		ret = finish_fetch(r);
	return ret ? ret : page_store_flush(&r->store);
}

static int reader_init(struct page_reader *r, struct dump *d, bool in_pause)
{
	struct content *to = in_pause ? d->hold : d->image;
	bool ok;

	memset(r, 0, sizeof(*r));
	r->d = d;
	r->to = to;
	r->in_pause = in_pause;
	page_store_init(&r->store, d, to);
	r->b = r->batches;
	r->runs = calloc(NR_RUNS, sizeof(*r->runs));
	ok = r->runs;
	for (unsigned int i = 0; i < NR_BATCHES; i++) {
		r->batches[i].iov = calloc(NR_IOV, sizeof(*r->batches[i].iov));
		r->batches[i].cookies = calloc(NR_IOV, sizeof(*r->batches[i].cookies));
		r->batches[i].clean = calloc(NR_IOV, sizeof(*r->batches[i].clean));
		ok = ok && r->batches[i].iov && r->batches[i].cookies && r->batches[i].clean;
	}
	ok = ok && (in_pause || !page_fetch_create(d->cap.dev, &r->fetch));
	return ok ? 0 : error_fail(d->error, -ENOMEM, "out of memory");
}

static void reader_done(struct page_reader *r)
{
	page_fetch_destroy(r->fetch);	/* first: it may still read into a batch */
	page_store_done(&r->store);
	dump_exclude_done(&r->excluded);
	free(r->runs);
	for (unsigned int i = 0; i < NR_BATCHES; i++) {
		free(r->batches[i].iov);
		free(r->batches[i].cookies);
		free(r->batches[i].clean);
		image_room_put(r->d->img, &r->batches[i].room);
	}
}

/*
 * Read pages a second time.  This gives the same content, as nothing changes in a snapshot,
 * nor in a tree that stands still to the end.  Pages that were held over the thaw cannot be
 * read again: the snapshot lacks them.
 */
int dump_pages_again(void *arg, uint64_t mm_id, uint64_t addr, uint64_t nr_pages, void *buf)
{
	struct dump *d = arg;
	const struct state *state = d->cap.state;
	struct ckpt_iovec iov = { .addr = addr, .len = nr_pages * PAGE };
	struct ckpt_pages pages = { .nr_iov = 1, .iov = (uintptr_t)&iov, .buf = (uintptr_t)buf };

	for (unsigned int i = 0; i < state->nr_mms; i++) {
		if (state->mms[i].rec->mm_id != mm_id)
			continue;
		if (state->mms[i].rec->live && !d->frozen_to_end)
			return -EOPNOTSUPP;
		pages.flags = state->mms[i].rec->live ? CKPT_PAGES_LIVE : 0;
		pages.mm_id = (__u32)mm_id;
		return kdev_pages_read(d->cap.dev, &pages);
	}
	return -ENOENT;
}

int dump_pages_live(struct dump *d)
{
	struct state *state = d->cap.state;
	struct page_reader r;
	int ret = reader_init(&r, d, true);

	r.flags = CKPT_PAGES_LIVE;
	for (unsigned int i = 0; i < state->nr_vmas && !ret; i++) {
		const struct ckpt_rec_vma *vma = state->vmas[i].rec;

		r.mm = state->vmas[i].mm;
		page_store_map(&r.store, r.mm->rec->mm_id, false);
		/* dump_pages() reads maps that are live as a whole */
		if (!r.mm->rec->live && (vma->flags & CKPT_VM_LIVE) && stored_in(&r, vma))
			ret = read_range(&r, vma->start, vma->end);
	}
	reader_done(&r);
	return ret;
}

int dump_pages(struct dump *d)
{
	struct state *state = d->cap.state;
	struct page_reader r;
	int ret = reader_init(&r, d, false);

	if (!ret && state->nr_mms > 1 && page_store_share(&r.store))
		ret = error_fail(d->error, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < state->nr_mms && !ret; i++) {
		r.mm = &state->mms[i];
		r.flags = r.mm->rec->live ? CKPT_PAGES_LIVE : 0;
		page_store_map(&r.store, r.mm->rec->mm_id, r.mm->rec->live && !d->frozen_to_end);
		r.token = 0;
		dump_exclude_done(&r.excluded);
		if (dump_exclude_find(d, r.mm, r.flags, &r.excluded))
			ret = error_fail(d->error, -ENOMEM, "out of memory");
		if (!ret && r.mm->nr_vmas)
			ret = read_range(&r, r.mm->vmas[0].rec->start,
					 r.mm->vmas[r.mm->nr_vmas - 1].rec->end);
		if (!ret && r.token && image_track(d->img, r.mm->rec->mm_id, r.token))
			ret = dump_image_failed(d, -ENOMEM);
	}
	count_skipped(d);
	reader_done(&r);
	return ret;
}
