// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory: which pages hold data, and the data.
 *
 * The page map of a memory map is walked once, beside its list of mappings; a
 * run belongs to the mapping it lies in, which says whether its pages are stored
 * at all.  Data is read in large batches: what must be held, straight into where it
 * is held; what goes into the image, by a thread that reads one batch while the one
 * before goes there.
 *
 * Pages that the kernel calls clean, relative to a snapshot whose image is the base of
 * this one, are in the image without being read, as far as the base has them.
 *
 * A page that several processes share is stored once.  Its cookie says which
 * physical page it is, and the table remembers where each was stored.  A cookie
 * is a hint: while we read, a page may be swapped or moved and its frame used
 * for another one, so the contents must agree, too: when a cookie comes again, what
 * had it first is read again and compared; from then on a hash of it will do.  Most
 * never come again.  In maps that cannot be read again all are hashed beforehand.
 */
#include "supervisor/dump_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xxhash.h>

#include "image/base.h"
#include "image/reader.h"
#include "supervisor/dump_unwanted.h"
#include "supervisor/page_fetch.h"
#include "supervisor/page_table.h"

#define PAGE		4096ULL
#define NR_RUNS		4096U		/* runs per look at the page map */
#define NR_IOV		1024U		/* the module's limit */
#define NR_AGAIN	64U		/* pages compared at once */
#define PROGRESS	(64ULL << 20)	/* bytes between two reports */

struct batch {
	struct ckpt_iovec *iov;		/* NR_IOV */
	uint64_t *cookies;		/* of the first page of each; 0: not shared */
	bool *clean;			/* each: as in the base */
	unsigned int nr_iov;
	uint64_t wanted;		/* bytes of iov */
	char *buf;			/* room bytes, mapped when it is read; NULL: where it goes */
	size_t room;
};

struct page_reader {
	struct dump *d;
	struct content *to;
	struct page_table *stored;	/* shared pages stored so far; NULL: do not share */
	struct page_place *places;	/* with stored: for each page of a batch */
	char *again;			/* … and NR_AGAIN pages */
	bool once;			/* mm cannot be read again */
	struct state_mm *mm;
	struct dump_unwanted unwanted;	/* of mm */
	unsigned int flags;		/* CKPT_PAGES_LIVE */
	uint64_t base_mm;		/* the map in the base; 0: nothing is known of it */
	uint64_t token;			/* of mm's snapshot; 0: not tracked */
	struct ckpt_page_run *runs;
	struct batch batches[2];
	struct batch *b;		/* wanted, not read yet */
	struct page_fetch *fetch;	/* reads the other one; NULL: into d->hold */
	bool fetching;
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

/* What is in the base from @addr on, up to @len bytes, need not be stored; *ret_done of them. */
static int store_base(struct page_reader *r, uint64_t addr, uint64_t len, uint64_t *ret_done)
{
	uint64_t nr = 0;
	int ret = image_pages_base(r->d->img, r->mm->rec->mm_id, addr, len / PAGE, r->base_mm, &nr);

	*ret_done = nr * PAGE;
	return ret ? dump_image_failed(r->d, ret) : 0;
}

/* Was it really not written? If the base has such pages at all. */
static int verify_base(struct page_reader *r, uint64_t addr, uint64_t len, const char *data)
{
	struct image_reader *base = image_base_reader(r->d->img);
	char was[PAGE];

	for (uint64_t at = 0; at < len; at += PAGE) {
		int ret = image_pages_read(base, r->base_mm, addr + at, 1, was);

		if (ret == -ENOENT)
			continue;
		if (ret)
			return engine_fail(r->d->error, ret, "the image before cannot be read: %s",
					   image_reader_error(base));
		if (memcmp(was, data + at, PAGE))
			return engine_fail(r->d->error, -EUCLEAN,
					   "page 0x%llx of memory map %u is not what it was in the image before, although the kernel says that it was not written",
					   (unsigned long long)(addr + at), r->mm->rec->mm_id);
	}
	return 0;
}

static int store(struct page_reader *r, uint64_t addr, uint64_t len, const char *data, bool clean)
{
	uint64_t done;
	int ret = 0;

	if (clean && r->d->options->verify_base)
		ret = verify_base(r, addr, len, data);
	for (; clean && len && !ret; addr += done, data += done, len -= done) {
		ret = store_base(r, addr, len, &done);
		if (ret || done)
			continue;
		done = PAGE;
		ret = content_pages(r->to, r->mm->rec->mm_id, addr, 1, data);
		if (ret)
			return sink_failed(r, ret);
	}
	if (ret || !len)
		return ret;
	ret = content_pages(r->to, r->mm->rec->mm_id, addr, len / PAGE, data);
	return ret ? sink_failed(r, ret) : 0;
}

/* Never 0, which is none. */
static uint64_t hash_page(const char *page)
{
	return XXH3_64bits(page, PAGE) | 1;
}

/* Where pages with these cookies were stored, into r->places; mm_id 0: they were not. */
static int find_stored(struct page_reader *r, const struct ckpt_iovec *iov, uint64_t cookie,
		       const char *data)
{
	for (uint64_t i = 0; i < iov->len / PAGE; i++, data += PAGE) {
		struct page_place *known = &r->places[i];
		struct page_place here = {
			.mm_id = r->mm->rec->mm_id,
			.addr = iov->addr + i * PAGE,
			.hash = r->once ? hash_page(data) : 0,
		};
		int ret = page_table_put(r->stored, cookie + i, &here, known);

		if (ret < 0)
			return engine_fail(r->d->error, ret, "out of memory");
		if (!ret || (known->hash && known->hash != hash_page(data)))
			known->mm_id = 0;
	}
	return 0;
}

/* Those without a hash are read again; what is not the same was not stored. */
static void compare_stored(struct page_reader *r, uint64_t nr, uint64_t cookie,
			   const char *data)
{
	struct page_place *p = r->places;
	uint64_t n;

	for (uint64_t i = 0; i < nr; i += n) {
		int ret;

		n = 1;
		if (!p[i].mm_id || p[i].hash)
			continue;
		while (n < NR_AGAIN && i + n < nr && p[i + n].mm_id == p[i].mm_id &&
		       !p[i + n].hash && p[i + n].addr == p[i].addr + n * PAGE)
			n++;
		ret = dump_pages_again(r->d, p[i].mm_id, p[i].addr, n, r->again);
		for (uint64_t j = i; j < i + n; j++) {
			if (ret || memcmp(r->again + (j - i) * PAGE, data + j * PAGE, PAGE))
				p[j].mm_id = 0;
			else
				page_table_note(r->stored, cookie + j, hash_page(data + j * PAGE));
		}
	}
}

/* Pages with a cookie: those that are stored already become references. */
static int store_shared(struct page_reader *r, const struct ckpt_iovec *iov,
			uint64_t cookie, const char *data, bool clean)
{
	uint64_t from = 0;
	int ret = find_stored(r, iov, cookie, data);

	if (ret)
		return ret;
	compare_stored(r, iov->len / PAGE, cookie, data);
	for (uint64_t at = 0; at < iov->len && !ret; at += PAGE) {
		const struct page_place *known = &r->places[at / PAGE];

		if (!known->mm_id)
			continue;
		ret = store(r, iov->addr + from, at - from, data + from, clean);
		from = at + PAGE;
		if (!ret)
			ret = refer(r, iov->addr + at, known->mm_id, known->addr);
	}
	return ret ? ret : store(r, iov->addr + from, iov->len - from, data + from, clean);
}

static int read_failed(struct page_reader *r, int err)
{
	return capture_failed(&r->d->cap, err, "cannot read the tree's memory", r->d->error);
}

/* What a batch brought goes where it belongs. */
static int store_batch(struct page_reader *r, struct batch *b, const char *data)
{
	int ret = 0;

	for (unsigned int i = 0; i < b->nr_iov && !ret; i++) {
		if (b->cookies[i])
			ret = store_shared(r, &b->iov[i], b->cookies[i], data, b->clean[i]);
		else
			ret = store(r, b->iov[i].addr, b->iov[i].len, data, b->clean[i]);
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

/* The batch that is being read, if there is one. */
static int finish_fetch(struct page_reader *r)
{
	struct batch *other = &r->batches[r->b == r->batches];
	int ret;

	if (!r->fetching)
		return 0;
	r->fetching = false;
	ret = page_fetch_wait(r->fetch);
	return ret ? read_failed(r, ret) : store_batch(r, other, other->buf);
}

/* Both begin little; after a full one there is more. */
static int batch_map(struct batch *b)
{
	if (!b->buf)
		b->buf = content_map(b->room);
	return b->buf ? 0 : -ENOMEM;
}

static void batch_unmap(struct batch *b)
{
	if (b->buf)
		munmap(b->buf, b->room);
	b->buf = NULL;
}

static void batch_grow(struct batch *b)
{
	if (b->room == CONTENT_ROOM)
		return;
	batch_unmap(b);
	b->room = CONTENT_ROOM;
}

/* Begin to read this batch as soon as the other one is there, and store that. */
static int fetch(struct page_reader *r, struct ckpt_pages *pages)
{
	struct batch *other = &r->batches[r->b == r->batches];
	bool full = r->b->wanted == r->b->room;
	int ret = r->fetching ? page_fetch_wait(r->fetch) : 0;
	bool stored = !r->fetching;

	r->fetching = false;
	if (ret)
		return read_failed(r, ret);
	ret = batch_map(r->b);
	if (ret)
		return engine_fail(r->d->error, ret, "out of memory");
	pages->buf = (uintptr_t)r->b->buf;
	page_fetch_start(r->fetch, pages);
	r->fetching = true;
	if (!stored)
		ret = store_batch(r, other, other->buf);
	if (full)
		batch_grow(other);
	r->b = other;
	return ret;
}

/* Read what is wanted; there is room for it. */
static int flush(struct page_reader *r)
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
		return fetch(r, &pages);
	ret = content_room(r->to, b->wanted, &buf, &room);
	if (ret)
		return sink_failed(r, ret);
	if (room < b->wanted)
		return engine_fail(r->d->error, -ENOBUFS, "batch of pages larger than its room");
	pages.buf = (uintptr_t)buf;
	ret = kdev_pages_read(r->d->cap.dev, &pages);
	return ret ? read_failed(r, ret) : store_batch(r, b, buf);
}

/* Room is asked for when the batch is full: a batch never exceeds what is left. */
static int room_left(struct page_reader *r, uint64_t *ret_left)
{
	size_t room = r->b->room;
	void *buf;
	int ret = r->fetch ? 0 : content_room(r->to, CONTENT_ROOM, &buf, &room);

	if (ret)
		return sink_failed(r, ret);
	*ret_left = (room & ~(PAGE - 1)) - r->b->wanted;
	return 0;
}

/* Does the range continue the last one that is wanted? */
static bool continues(const struct batch *b, uint64_t addr, uint64_t cookie, bool clean)
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

/* @cookie: of the first page; 0: the pages are nobody else's */
static int want(struct page_reader *r, uint64_t addr, uint64_t len, uint64_t cookie, bool clean)
{
	uint64_t left = 0, n;
	int ret;

	while (len) {
		struct batch *b = r->b;

		ret = room_left(r, &left);
		if (ret)
			return ret;
		n = len < left ? len : left;
		if (n && continues(b, addr, cookie, clean)) {
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
	bool clean = r->base_mm && (run->flags & CKPT_RUN_CLEAN);
	uint64_t done;
	int ret;

	/* Of what several processes have, the contents tell which is which. */
	while (clean && !shared && !r->d->options->verify_base && addr < end) {
		ret = store_base(r, addr, end - addr, &done);
		if (!ret && !done)
			ret = want(r, addr, PAGE, 0, false);
		if (ret)
			return ret;
		r->d->bytes_mapped += done;
		addr += done ? done : PAGE;
	}
	return addr == end ? 0 : want(r, addr, end - addr,
				      shared ? run->cookie + (addr - run->start) / PAGE : 0, clean);
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

/* The map whose pages, if they are clean, are as in the base: the kernel's token says which. */
static uint64_t base_map(const struct page_reader *r, uint64_t token)
{
	const struct image_reader *base = image_base_reader(r->d->img);

	return base && r->to == r->d->image ? image_tracked(base, token) : 0;
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
		r->base_mm = base_map(r, map.base);
		r->token = map.token;
		for (unsigned int i = 0; i < map.nr_runs && !ret; i++)
			ret = take_run(r, &r->runs[i], &vma);
		if (!ret && map.start <= from)
			return engine_fail(r->d->error, -EIO, "the page map does not advance");
	}
	if (!ret)
		ret = flush(r);
	if (!ret)
		ret = finish_fetch(r);
	return ret ? ret : flush_ref(r);
}

/* A thread and buffers for what goes into the image. */
static int fetch_init(struct page_reader *r)
{
	for (unsigned int i = 0; i < 2; i++)
		r->batches[i].room = CONTENT_LITTLE;
	return page_fetch_create(r->d->cap.dev, &r->fetch);
}

static int reader_init(struct page_reader *r, struct dump *d, struct content *to)
{
	bool ok;

	memset(r, 0, sizeof(*r));
	r->d = d;
	r->to = to;
	r->b = r->batches;
	r->runs = calloc(NR_RUNS, sizeof(*r->runs));
	ok = r->runs;
	for (unsigned int i = 0; i < 2; i++) {
		r->batches[i].iov = calloc(NR_IOV, sizeof(*r->batches[i].iov));
		r->batches[i].cookies = calloc(NR_IOV, sizeof(*r->batches[i].cookies));
		r->batches[i].clean = calloc(NR_IOV, sizeof(*r->batches[i].clean));
		ok = ok && r->batches[i].iov && r->batches[i].cookies && r->batches[i].clean;
	}
	ok = ok && (to != d->image || !fetch_init(r));
	return ok ? 0 : engine_fail(d->error, -ENOMEM, "out of memory");
}

static void reader_done(struct page_reader *r)
{
	page_fetch_destroy(r->fetch);	/* first: it may still read into a batch */
	page_table_destroy(r->stored);
	free(r->places);
	free(r->again);
	dump_unwanted_done(&r->unwanted);
	free(r->runs);
	for (unsigned int i = 0; i < 2; i++) {
		free(r->batches[i].iov);
		free(r->batches[i].cookies);
		free(r->batches[i].clean);
		batch_unmap(&r->batches[i]);
	}
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
		r.places = calloc(CONTENT_ROOM / PAGE, sizeof(*r.places));
		r.again = malloc(NR_AGAIN * PAGE);
		if (!r.stored || !r.places || !r.again)
			ret = engine_fail(d->error, -ENOMEM, "out of memory");
	}
	for (unsigned int i = 0; i < state->nr_mms && !ret; i++) {
		r.mm = &state->mms[i];
		r.flags = r.mm->rec->live ? CKPT_PAGES_LIVE : 0;
		r.once = r.mm->rec->live && !d->frozen_to_end;
		r.token = 0;
		dump_unwanted_done(&r.unwanted);
		if (dump_unwanted_find(d, r.mm, r.flags, &r.unwanted))
			ret = engine_fail(d->error, -ENOMEM, "out of memory");
		if (!ret && r.mm->nr_vmas)
			ret = read_range(&r, r.mm->vmas[0].rec->start,
					 r.mm->vmas[r.mm->nr_vmas - 1].rec->end);
		if (!ret && r.token && image_track(d->img, r.mm->rec->mm_id, r.token))
			ret = dump_image_failed(d, -ENOMEM);
	}
	reader_done(&r);
	return ret;
}
