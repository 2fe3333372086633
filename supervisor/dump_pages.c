// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory: which pages hold data, and the data.
 *
 * The page map of a memory map is walked once, beside its list of mappings; a
 * run belongs to the mapping it lies in, which says whether its pages are stored
 * at all.  Data is read in large batches straight into where it goes.
 *
 * A page that several processes share is stored once.  Its cookie says which
 * physical page it is; the table remembers where each was stored.
 */
#include "supervisor/dump_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	unsigned int flags;		/* CKPT_PAGES_LIVE */
	struct ckpt_page_run *runs;
	struct ckpt_iovec *iov;		/* wanted, not read yet */
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

/* Read what is wanted, as much at a time as there is room for. */
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
	for (unsigned int i = 0; i < r->nr_iov; i++) {
		ret = content_pages(r->to, r->mm->rec->mm_id, r->iov[i].addr,
				    r->iov[i].len / PAGE, data);
		if (ret)
			return sink_failed(r, ret);
		data += r->iov[i].len;
	}
	r->d->bytes_mapped += r->wanted;
	r->nr_iov = 0;
	r->wanted = 0;
	if (r->d->bytes_mapped - r->reported >= PROGRESS) {
		r->reported = r->d->bytes_mapped;
		dump_progress(r->d, "dump");
	}
	return 0;
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

static int want(struct page_reader *r, uint64_t addr, uint64_t len)
{
	uint64_t left = 0, n;
	int ret;

	while (len) {
		ret = room_left(r, &left);
		if (ret)
			return ret;
		n = len < left ? len : left;
		if (n && r->nr_iov && r->iov[r->nr_iov - 1].addr +
				      r->iov[r->nr_iov - 1].len == addr) {
			r->iov[r->nr_iov - 1].len += n;
		} else if (n) {
			r->iov[r->nr_iov].addr = addr;
			r->iov[r->nr_iov++].len = n;
		}
		r->wanted += n;
		addr += n;
		len -= n;
		if (n == left || r->nr_iov == NR_IOV) {
			ret = flush(r);
			if (ret)
				return ret;
		}
	}
	return 0;
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

	r->d->bytes_mapped += PAGE;
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

/* Pages of one kind within one mapping. */
static int take(struct page_reader *r, uint64_t addr, uint64_t end,
		const struct ckpt_page_run *run)
{
	uint64_t cookie = run->cookie + (addr - run->start) / PAGE;
	uint64_t src_mm, src_addr;
	int ret = 0;

	if (!r->stored || !(run->flags & CKPT_RUN_SHARED))
		return want(r, addr, end - addr);
	for (; addr < end && !ret; addr += PAGE, cookie++) {
		ret = page_table_put(r->stored, cookie, r->mm->rec->mm_id, addr,
				     &src_mm, &src_addr);
		if (ret < 0)
			return engine_fail(r->d->error, ret, "out of memory");
		ret = ret ? refer(r, addr, src_mm, src_addr) : want(r, addr, PAGE);
	}
	return ret;
}

static bool stored_in(const struct page_reader *r, const struct ckpt_rec_vma *vma)
{
	bool live = vma->flags & CKPT_VM_LIVE;

	if (vma->flags & CKPT_VM_EXCLUDED)
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
			ret = take(r, addr, stop, run);
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
	return r->runs && r->iov ? 0 : engine_fail(d->error, -ENOMEM, "out of memory");
}

static void reader_done(struct page_reader *r)
{
	page_table_destroy(r->stored);
	free(r->runs);
	free(r->iov);
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
		if (r.mm->nr_vmas)
			ret = read_range(&r, r.mm->vmas[0].rec->start,
					 r.mm->vmas[r.mm->nr_vmas - 1].rec->end);
	}
	reader_done(&r);
	return ret;
}
