// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory: which pages hold data, and the data.
 *
 * The page map of a memory map is walked once, beside its list of mappings; a
 * run belongs to the mapping it lies in, which says whether its pages are stored
 * at all.  Data is read in large batches straight into where it goes.
 *
 * A page that several processes share is stored once.  Its cookie says which
 * physical page it is, and the table remembers where each was stored.  A cookie
 * is a hint: while we read, a page may be swapped or moved and its frame used
 * for another one, so the contents must agree, too (by their hash).
 */
#include "supervisor/dump_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "supervisor/dump_unwanted.h"
#include "supervisor/page_table.h"

#define PAGE		4096ULL
#define NR_RUNS		4096U		/* runs per look at the page map */
#define NR_IOV		1024U		/* the module's limit */
#define PROGRESS	(64ULL << 20)	/* bytes between two reports */

struct page_reader {
	struct dump *d;
	struct content *to;
	struct page_table *stored;	/* shared pages stored so far; NULL: do not share */
	struct state_mm *mm;
	struct dump_unwanted unwanted;	/* of mm */
	unsigned int flags;		/* CKPT_PAGES_LIVE */
	struct ckpt_page_run *runs;
	struct ckpt_iovec *iov;		/* wanted, not read yet */
	uint64_t *cookies;		/* of the first page of each; 0: not shared */
	unsigned int nr_iov;
	uint64_t wanted;		/* bytes of iov */
	uint64_t reported;
	struct {			/* a reference that may still grow */
		uint64_t addr, nr, src_mm, src_addr;
	} ref;
};

static int sink_failed(struct page_reader *r, int err)
{
	if (r->to == r->d->image)
		return dump_image_failed(r->d, err);
	return engine_fail(r->d->error, err, "no memory to hold pages during the pause");
}

static int flush_ref(struct page_reader *r)
{
	int ret = 0;

	if (r->ref.nr)
		ret = image_pages_ref(r->d->img, r->mm->rec->mm_id, r->ref.addr, r->ref.nr,
				      r->ref.src_mm, r->ref.src_addr);
	r->ref.nr = 0;
	return ret ? dump_image_failed(r->d, ret) : 0;
}

static int refer(struct page_reader *r, uint64_t addr, uint64_t src_mm, uint64_t src_addr)
{
	int ret;

	r->d->stats.pages_shared++;
	if (r->ref.nr && r->ref.src_mm == src_mm &&
	    r->ref.addr + r->ref.nr * PAGE == addr &&
	    r->ref.src_addr + r->ref.nr * PAGE == src_addr) {
		r->ref.nr++;
		return 0;
	}
	ret = flush_ref(r);
	r->ref.addr = addr;
	r->ref.nr = 1;
	r->ref.src_mm = src_mm;
	r->ref.src_addr = src_addr;
	return ret;
}

static int store(struct page_reader *r, uint64_t addr, uint64_t len, const char *data)
{
	int ret = len ? content_pages(r->to, r->mm->rec->mm_id, addr, len / PAGE, data) : 0;

	return ret ? sink_failed(r, ret) : 0;
}

/* Pages with a cookie: those that are stored already become references. */
static int store_shared(struct page_reader *r, const struct ckpt_iovec *iov,
			uint64_t cookie, const char *data)
{
	uint64_t src_mm, src_addr, from = 0;
	int ret = 0;

	for (uint64_t at = 0; at < iov->len && !ret; at += PAGE, cookie++) {
		int known = page_table_put(r->stored, cookie, XXH3_64bits(data + at, PAGE),
					   r->mm->rec->mm_id, iov->addr + at,
					   &src_mm, &src_addr);

		if (known < 0)
			return engine_fail(r->d->error, known, "out of memory");
		if (!known)
			continue;
		ret = store(r, iov->addr + from, at - from, data + from);
		from = at + PAGE;
		if (!ret)
			ret = refer(r, iov->addr + at, src_mm, src_addr);
	}
	return ret ? ret : store(r, iov->addr + from, iov->len - from, data + from);
}

/* Read what is wanted; there is room for it. */
static int flush(struct page_reader *r)
{
	struct ckpt_pages pages = {
		.flags = r->flags,
		.mm_id = r->mm->rec->mm_id,
		.nr_iov = r->nr_iov,
		.iov = (uintptr_t)r->iov,
	};
	const char *data;
	size_t room;
	void *buf;
	int ret;

	if (!r->nr_iov)
		return 0;
	ret = content_room(r->to, r->wanted, &buf, &room);
	if (ret)
		return sink_failed(r, ret);
	if (room < r->wanted)
		return engine_fail(r->d->error, -ENOBUFS, "batch of pages larger than its room");
	pages.buf = (uintptr_t)buf;
	ret = kdev_pages_read(r->d->cap.dev, &pages);
	if (ret)
		return capture_failed(&r->d->cap, ret, "cannot read the tree's memory",
				      r->d->error);
	data = buf;
	for (unsigned int i = 0; i < r->nr_iov && !ret; i++) {
		if (r->cookies[i])
			ret = store_shared(r, &r->iov[i], r->cookies[i], data);
		else
			ret = store(r, r->iov[i].addr, r->iov[i].len, data);
		data += r->iov[i].len;
	}
	r->d->bytes_mapped += r->wanted;
	r->nr_iov = 0;
	r->wanted = 0;
	if (r->d->bytes_mapped - r->reported >= PROGRESS) {
		r->reported = r->d->bytes_mapped;
		dump_progress(r->d, "dump");
	}
	return ret;
}

/* Room is asked for when the batch is full: a batch never exceeds what is left. */
static int room_left(struct page_reader *r, uint64_t *ret_left)
{
	size_t room;
	void *buf;
	int ret = content_room(r->to, CONTENT_ROOM, &buf, &room);

	if (ret)
		return sink_failed(r, ret);
	*ret_left = (room & ~(PAGE - 1)) - r->wanted;
	return 0;
}

/* Does the range continue the last one that is wanted? */
static bool continues(const struct page_reader *r, uint64_t addr, uint64_t cookie)
{
	const struct ckpt_iovec *last;
	uint64_t before;

	if (!r->nr_iov)
		return false;
	last = &r->iov[r->nr_iov - 1];
	if (last->addr + last->len != addr)
		return false;
	before = r->cookies[r->nr_iov - 1];
	return cookie ? before && before + last->len / PAGE == cookie : !before;
}

/* @cookie: of the first page; 0: the pages are nobody else's */
static int want(struct page_reader *r, uint64_t addr, uint64_t len, uint64_t cookie)
{
	uint64_t left = 0, n;
	int ret;

	while (len) {
		ret = room_left(r, &left);
		if (ret)
			return ret;
		n = len < left ? len : left;
		if (n && continues(r, addr, cookie)) {
			r->iov[r->nr_iov - 1].len += n;
		} else if (n) {
			r->iov[r->nr_iov].addr = addr;
			r->iov[r->nr_iov].len = n;
			r->cookies[r->nr_iov++] = cookie;
		}
		r->wanted += n;
		addr += n;
		len -= n;
		cookie = cookie ? cookie + n / PAGE : 0;
		if (n == left || r->nr_iov == NR_IOV) {
			ret = flush(r);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/* Pages of one kind within one mapping. */
static int take(struct page_reader *r, uint64_t addr, uint64_t end,
		const struct ckpt_page_run *run)
{
	bool shared = r->stored && (run->flags & CKPT_RUN_SHARED);

	return want(r, addr, end - addr,
		    shared ? run->cookie + (addr - run->start) / PAGE : 0);
}

/* The same, but for what the process does not want saved. */
static int take_wanted(struct page_reader *r, uint64_t addr, uint64_t end,
		       const struct ckpt_page_run *run)
{
	int ret = 0;

	while (addr < end && !ret) {
		uint64_t stop = end;

		if (dump_unwanted_cut(&r->unwanted, addr, &stop))
			r->d->stats.pages_excluded += (stop - addr) / PAGE;
		else
			ret = take(r, addr, stop, run);
		addr = stop;
	}
	return ret;
}

static bool stored_in(const struct page_reader *r, const struct ckpt_rec_vma *vma)
{
	bool live = vma->flags & CKPT_VM_LIVE;

	if (vma->flags & CKPT_VM_DROPPABLE)
		return false;
	/* in the pause only these, after it all but these */
	if (r->to == r->d->hold ? !live : live && !r->mm->rec->live)
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

/* Cut a run at the mappings; *vma moves on with the address. */
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
		if (addr < stop && stored_in(r, rec))
			ret = rec->flags & CKPT_VM_DONTDUMP ? take_wanted(r, addr, stop, run) :
			      take(r, addr, stop, run);
		addr = stop > addr ? stop : end;
	}
	return ret;
}

/* All of [start, end) of the reader's memory map. */
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
		for (unsigned int i = 0; i < map.nr_runs && !ret; i++)
			ret = take_run(r, &r->runs[i], &vma);
		if (!ret && map.start <= from)
			return engine_fail(r->d->error, -EIO, "the page map does not advance");
	}
	if (!ret)
		ret = flush(r);
	return ret ? ret : flush_ref(r);
}

static int reader_init(struct page_reader *r, struct dump *d, struct content *to)
{
	memset(r, 0, sizeof(*r));
	r->d = d;
	r->to = to;
	r->runs = calloc(NR_RUNS, sizeof(*r->runs));
	r->iov = calloc(NR_IOV, sizeof(*r->iov));
	r->cookies = calloc(NR_IOV, sizeof(*r->cookies));
	return r->runs && r->iov && r->cookies ? 0 : engine_fail(d->error, -ENOMEM, "out of memory");
}

static void reader_done(struct page_reader *r)
{
	page_table_destroy(r->stored);
	dump_unwanted_done(&r->unwanted);
	free(r->runs);
	free(r->iov);
	free(r->cookies);
}

/*
 * Nothing changes in a snapshot, nor in a tree that stands still to the end.  What
 * was held over the thaw cannot be had again: the snapshot has no such pages.
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
	int ret = reader_init(&r, d, d->hold);

	r.flags = CKPT_PAGES_LIVE;
	for (unsigned int i = 0; i < state->nr_vmas && !ret; i++) {
		const struct ckpt_rec_vma *vma = state->vmas[i].rec;

		r.mm = state->vmas[i].mm;
		/* a map that is read in place anyway needs no hurry */
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
	int ret = reader_init(&r, d, d->image);

	if (!ret && state->nr_mms > 1) {
		r.stored = page_table_create();
		if (!r.stored)
			ret = engine_fail(d->error, -ENOMEM, "out of memory");
	}
	for (unsigned int i = 0; i < state->nr_mms && !ret; i++) {
		r.mm = &state->mms[i];
		r.flags = r.mm->rec->live ? CKPT_PAGES_LIVE : 0;
		dump_unwanted_done(&r.unwanted);
		if (dump_unwanted_find(d, r.mm, r.flags, &r.unwanted))
			ret = engine_fail(d->error, -ENOMEM, "out of memory");
		if (!ret && r.mm->nr_vmas)
			ret = read_range(&r, r.mm->vmas[0].rec->start,
					 r.mm->vmas[r.mm->nr_vmas - 1].rec->end);
	}
	reader_done(&r);
	return ret;
}
