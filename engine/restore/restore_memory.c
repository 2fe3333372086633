// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filling the memory maps of a tree from its image.
 *
 * Maps are filled in ascending order, each in address order, because the image is laid
 * out so.  A mapping with pages that earlier maps have at the same address (references
 * in the image) shares them copy on write; see cow.h.  All other pages are left to the
 * threads of a filler, which may be some maps behind: pages to be shared must have been
 * written, so the source map is waited for.  Within one map, the pages that the threads
 * write and the pages that are shared or dropped here are distinct, except pages that
 * are shared first and then written over.
 *
 * Pages of zeros are not written where an untouched page reads as zeros, too.  They are
 * written in private mappings of files, also of files of huge pages.
 *
 * A map that a rollback keeps has pages already: those that differ from the image are written or
 * dropped. It shares none anew. The kernel copies them from the image's snapshot where it has kept
 * that; what it cannot copy is read from the image.
 */
#include "engine/restore/restore_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/restore/cow.h"
#include "engine/restore/filler.h"
#include "engine/restore/rollback_keep.h"

#define PAGE		4096UL
#define SOURCES		8U
#define PUT_RANGES	1024U	/* the most that the kernel takes in one call */

struct restore_memory {
	const struct state *state;
	struct image_reader *reader;
	struct kdev *dev;
	struct ckpt_error *error;
	struct filler *filler;		/* NULL until a range is to be written */
	bool *filled;			/* by map: all of it was put, if not yet written */
	const struct state_mm *mm;	/* the map that is being filled */
	struct filler_map map;		/* the same, for the filler */
	uint64_t shared;		/* bytes shared so far */
	uint64_t put;			/* bytes written so far from memory */
	uint64_t copied;		/* bytes that the kernel has copied from its snapshot */
};

/* The tid of a living thread of the map's process: the leader may be dead. */
static pid_t pid_of(const struct state_mm *mm)
{
	return mm->owner->threads[0].rec->tid;
}

static int restore_memory_image_failed(struct restore_memory *m, int err)
{
	return error_fail(m->error, err, "cannot read the image: %s",
			   image_reader_error(m->reader));
}

static int write_range(struct restore_memory *m, uint64_t start, uint64_t end)
{
	int ret = m->filler ? 0 : filler_create(m->reader, m->dev, m->state->nr_mms, m->error,
						&m->filler);

	return ret ? ret : filler_put(m->filler, &m->map, start, end);
}

/* ---------------------------------------------------------------- runs */

/* May the file behind the mapping hold data? Anonymous huge pages have a file, too. */
static bool file_has_data(const struct restore_memory *m, const struct state_vma *vma)
{
	const struct engine_rec_blob *blob = vma->file ? vma->file->blob : NULL;
	uint64_t cursor = 0, offset, len;

	if (!blob)
		return vma->file;
	return blob->blob && image_blob_extent(m->reader, blob->blob, &cursor, &offset, &len);
}

static bool zero_counts(const struct restore_memory *m, const struct state_vma *vma)
{
	return vma->rec->kind == CKPT_VMA_FILE_PRIVATE ||
	       (vma->rec->kind == CKPT_VMA_HUGETLB_PRIVATE && file_has_data(m, vma));
}

/* Load the runs of pages, with identities, that @mm has in a range of a mapping like @vma. */
static int load_runs(struct restore_memory *m, const struct state_mm *mm,
		     const struct state_vma *vma, uint64_t start, uint64_t end,
		     struct cow_runs *runs)
{
	bool zeros = zero_counts(m, vma);
	uint64_t cursor = start;
	struct image_run run;
	int ret;

	while ((ret = image_pages_next(m->reader, mm->rec->mm_id, &cursor, &run)) > 0) {
		struct cow_run add = { .start = run.addr, .end = run.addr + run.nr_pages * PAGE };

		if (run.addr >= end)
			return 0;
		if (run.kind == IMAGE_RUN_ZERO && !zeros)
			continue;
		if (add.end > end)
			add.end = end;
		add.owner = run.kind == IMAGE_RUN_REF ? run.src_mm_id : mm->rec->mm_id;
		add.addr = run.kind == IMAGE_RUN_REF ? run.src_addr : run.addr;
		ret = cow_runs_add(runs, &add);
		if (ret)
			return error_fail(m->error, ret, "out of memory");
	}
	return ret ? restore_memory_image_failed(m, ret) : 0;
}

/* ---------------------------------------------------------------- sharing */

/* Find filled maps that may have the same pages: the parent's, and those that @runs refer to. */
static unsigned int find_sources(const struct restore_memory *m, const struct cow_runs *runs,
				 const struct state_mm **sources)
{
	const struct state_proc *parent = m->mm->owner->parent;
	unsigned int nr = 0;

	if (parent && parent->mm && parent->mm != m->mm &&
	    m->filled[parent->mm - m->state->mms])
		sources[nr++] = parent->mm;
	for (unsigned int i = 0; i < runs->nr && nr < SOURCES; i++) {
		const struct state_mm *mm;
		bool known = runs->runs[i].owner == m->mm->rec->mm_id ||
			     runs->runs[i].addr != runs->runs[i].start;

		for (unsigned int j = 0; j < nr && !known; j++)
			known = sources[j]->rec->mm_id == runs->runs[i].owner;
		if (known)
			continue;
		mm = state_mm_find(m->state, (uint32_t)runs->runs[i].owner);
		if (mm && m->filled[mm - m->state->mms])
			sources[nr++] = mm;
	}
	return nr;
}

static bool has_reference(const struct restore_memory *m, const struct cow_runs *runs)
{
	for (unsigned int i = 0; i < runs->nr; i++)
		if (runs->runs[i].owner != m->mm->rec->mm_id)
			return true;
	return false;
}

/* One mapping, and the mappings of other maps with which it shares pages. */
struct sharing {
	struct restore_memory *m;
	const struct cow_runs *runs;
	struct source {
		const struct state_mm *mm;
		uint64_t start, end;	/* range of both mappings */
		struct cow_runs runs;
		uint64_t same;		/* bytes of the same pages */
	} sources[SOURCES];
	unsigned int nr;
	unsigned int level;	/* index of the source that is being compared with */
};

/*
 * The first source is shared as a whole, the others piece by piece.  The kernel ties a
 * mapping to its first source, and to the sources that this one is tied to.  So the source
 * that was filled last goes first, unless it has few pages in common.
 */
static void order_sources(struct sharing *s)
{
	uint64_t best = 0;

	for (unsigned int i = 0; i < s->nr; i++)
		if (s->sources[i].same > best)
			best = s->sources[i].same;
	for (unsigned int i = 1; i < s->nr; i++)
		for (unsigned int j = i; j > 0; j--) {
			struct source *a = &s->sources[j - 1], *b = &s->sources[j], c;
			bool a_little = a->same < best / 8, b_little = b->same < best / 8;

			if (a_little == b_little ? a->mm > b->mm : b_little)
				break;
			c = *a;
			*a = *b;
			*b = c;
		}
}

static int load_sources(struct restore_memory *m, const struct state_vma *vma, struct sharing *s)
{
	const struct state_mm *mms[SOURCES];
	unsigned int nr = find_sources(m, s->runs, mms);
	int ret = 0;

	for (unsigned int i = 0; i < nr && !ret; i++) {
		const struct state_vma *twin = cow_twin(mms[i], vma);
		struct source source = { .mm = mms[i] };

		if (!twin)
			continue;
		cow_common(twin, vma, &source.start, &source.end);
		ret = load_runs(m, mms[i], vma, source.start, source.end, &source.runs);
		if (!ret)
			source.same = cow_same(s->runs, &source.runs, vma->rec->start,
					       vma->rec->end);
		if (source.same)
			s->sources[s->nr++] = source;
		else
			cow_runs_done(&source.runs);
	}
	order_sources(s);
	return ret;
}

static int share_range(struct restore_memory *m, const struct state_mm *from, uint64_t start,
		       uint64_t end)
{
	struct ckpt_pages_share arg = {
		.src_pid = pid_of(from), .dst_pid = m->map.pid, .start = start, .end = end,
	};
	int ret = m->filler ? filler_wait(m->filler, (unsigned int)(from - m->state->mms)) : 0;

	return ret ? ret : kdev_pages_share(m->dev, &arg);
}

static int drop_range(struct restore_memory *m, uint64_t start, uint64_t end)
{
	struct ckpt_pages_drop arg = { .pid = m->map.pid, .start = start, .end = end };
	int ret = kdev_pages_drop(m->dev, &arg);

	return ret ? error_fail(m->error, ret, "cannot drop pages of process %d: %s", m->map.pid,
				 strerror(-ret)) : 0;
}

static int restore_memory_apply(enum cow_what what, uint64_t start, uint64_t end, void *arg);

/* Pages that this source does not have: share them from the next source, or write them. */
static int apply_rest(struct sharing *s, uint64_t start, uint64_t end)
{
	int ret;

	if (s->level + 1 == s->nr)
		return write_range(s->m, start, end);
	s->level++;
	ret = cow_compare(s->runs, &s->sources[s->level].runs, start, end, restore_memory_apply, s);
	s->level--;
	return ret;
}

static int restore_memory_apply(enum cow_what what, uint64_t start, uint64_t end, void *arg)
{
	struct sharing *s = arg;
	int ret;

	if (what == COW_WRITE)
		return apply_rest(s, start, end);
	if (what == COW_DROP)
		return s->level ? 0 : drop_range(s->m, start, end);
	if (s->level) {
		ret = share_range(s->m, s->sources[s->level].mm, start, end);
		if (ret == -EINVAL)	/* tied to another source: write a copy instead */
			return write_range(s->m, start, end);
		if (ret)
			return error_fail(s->m->error, ret, "cannot share memory: %s",
					   strerror(-ret));
	}
	s->m->shared += end - start;
	return 0;
}

static int write_runs(struct restore_memory *m, const struct cow_runs *runs)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < runs->nr; i++)
		ret = write_range(m, runs->runs[i].start, runs->runs[i].end);
	return ret;
}

static int restore_memory_share(struct sharing *s, const struct state_vma *vma)
{
	const struct source *first = &s->sources[0];
	int ret = share_range(s->m, first->mm, first->start, first->end);

	if (ret == -EINVAL)	/* fork(2) does not share this kind, either: locked memory */
		return write_runs(s->m, s->runs);
	if (ret)
		return error_fail(s->m->error, ret,
				   "cannot share memory %#llx-%#llx of process %d with %d: %s",
				   (unsigned long long)first->start,
				   (unsigned long long)first->end,
				   pid_of(first->mm), s->m->map.pid, strerror(-ret));
	return cow_compare(s->runs, &first->runs, vma->rec->start, vma->rec->end,
			   restore_memory_apply, s);
}

/* ---------------------------------------------------------------- maps */

static bool has_pages(const struct state_vma *vma)
{
	return vma->rec->kind == CKPT_VMA_ANON || vma->rec->kind == CKPT_VMA_FILE_PRIVATE ||
	       vma->rec->kind == CKPT_VMA_HUGETLB_PRIVATE;
}

static int fill_vma(struct restore_memory *m, const struct state_vma *vma)
{
	struct cow_runs runs = { 0 };
	struct sharing s = { .m = m, .runs = &runs };
	int ret = load_runs(m, m->mm, vma, vma->rec->start, vma->rec->end, &runs);

	if (!ret && cow_can_share(vma) && has_reference(m, &runs))
		ret = load_sources(m, vma, &s);
	if (!ret)
		ret = s.nr ? restore_memory_share(&s, vma) : write_runs(m, &runs);
	for (unsigned int i = 0; i < s.nr; i++)
		cow_runs_done(&s.sources[i].runs);
	cow_runs_done(&runs);
	return ret;
}

/* ------------------------------------------------------- maps of a rollback */

/* Ranges of a kept map: many of them in one call. */
struct ranges {
	struct ckpt_iovec iov[PUT_RANGES];
	unsigned int nr;
	uint64_t bytes;
};

/* Pages of a kept map whose contents are in memory. */
struct putting {
	struct restore_memory *m;
	struct ranges copy;	/* the kernel has the contents */
	struct ranges write;	/* the contents are at @data */
	const char *data;	/* NULL: the filler reads them */
};

static void ranges_add(struct ranges *r, uint64_t start, uint64_t end)
{
	r->iov[r->nr++] = (struct ckpt_iovec){ .addr = start, .len = end - start };
	r->bytes += end - start;
}

/* Take @bytes away from the beginning; with @m, read them from the image. */
static int ranges_skip(struct ranges *r, uint64_t bytes, struct restore_memory *m)
{
	unsigned int i = 0;
	int ret = 0;

	for (; !ret && i < r->nr && bytes; i += !r->iov[i].len) {
		uint64_t addr = r->iov[i].addr, len = r->iov[i].len;
		uint64_t part = len < bytes ? len : bytes;

		if (m)
			ret = write_range(m, addr, addr + part);
		r->iov[i] = (struct ckpt_iovec){ .addr = addr + part, .len = len - part };
		r->bytes -= part;
		bytes -= part;
	}
	r->nr -= i;
	memmove(r->iov, r->iov + i, r->nr * sizeof(r->iov[0]));
	return ret;
}

/*
 * Copy from the kernel's snapshot. It told which pages it has, so one that it cannot copy is an
 * exception: that page is read from the image, and if it is not the only one, twice as many.
 */
static int putting_copy(struct putting *p)
{
	struct ranges *r = &p->copy;
	uint64_t skip = 0;
	int ret = 0;

	while (r->nr && !ret) {
		struct ckpt_l0_copy arg = {
			.pid = p->m->map.pid, .nr_iov = r->nr, .iov = (uintptr_t)r->iov,
		};
		int failed = kdev_l0_copy(p->m->dev, &arg);

		if (failed && failed != -ENODATA)
			return error_fail(p->m->error, failed,
					  "cannot copy the memory of process %d: %s",
					  p->m->map.pid, strerror(-failed));
		p->m->copied += arg.done;
		ranges_skip(r, failed ? arg.done : r->bytes, NULL);
		skip = arg.done || !skip ? PAGE : skip * 2;
		if (failed)
			ret = ranges_skip(r, skip, p->m);
	}
	return ret;
}

static int putting_write(struct putting *p)
{
	struct ranges *r = &p->write;
	struct ckpt_pages arg = {
		.mm_id = (__u32)p->m->map.pid, .nr_iov = r->nr, .iov = (uintptr_t)r->iov,
		.buf = (uintptr_t)p->data,
	};
	int ret = r->nr ? kdev_pages_write(p->m->dev, &arg) : 0;

	if (ret)
		return error_fail(p->m->error, ret, "cannot fill the memory of process %d: %s",
				  p->m->map.pid, strerror(-ret));
	p->m->put += r->bytes;
	p->data += r->bytes;
	r->bytes = 0;
	r->nr = 0;
	return 0;
}

static int restore_memory_differs(enum keep_what what, uint64_t start, uint64_t end, void *arg)
{
	struct putting *p = arg;

	if (what == KEEP_DROP)
		return drop_range(p->m, start, end);
	if (what == KEEP_COPY) {
		ranges_add(&p->copy, start, end);
		return p->copy.nr == PUT_RANGES ? putting_copy(p) : 0;
	}
	if (!p->data)
		return write_range(p->m, start, end);
	ranges_add(&p->write, start, end);
	return p->write.nr == PUT_RANGES ? putting_write(p) : 0;
}

static int fill_kept(struct restore_memory *m, const struct state_mm *mm,
		     const struct keep_map *kept)
{
	struct putting *p = calloc(1, sizeof(*p));
	int ret = 0;

	if (!p)
		return error_fail(m->error, -ENOMEM, "out of memory");
	p->m = m;
	p->data = kept->data;
	for (unsigned int i = 0; !ret && i < mm->nr_vmas; i++)
		if (rollback_keep_has_pages(&mm->vmas[i]))
			ret = rollback_keep_walk(kept, m->reader, &mm->vmas[i],
						 restore_memory_differs, p);
	if (!ret)
		ret = putting_copy(p);
	if (!ret)
		ret = putting_write(p);
	free(p);
	return ret;
}

int restore_memory_fill(struct restore_memory *m, const struct state_mm *mm,
			const struct keep_map *kept)
{
	unsigned int index = (unsigned int)(mm - m->state->mms);
	int ret = 0;

	m->mm = mm;
	m->map = (struct filler_map){
		.index = index, .mm_id = mm->rec->mm_id, .pid = pid_of(mm),
		.placement = placement_of(mm),
	};
	if (kept)
		ret = fill_kept(m, mm, kept);
	for (unsigned int i = 0; !kept && !ret && i < mm->nr_vmas; i++)
		if (has_pages(&mm->vmas[i]))
			ret = fill_vma(m, &mm->vmas[i]);
	m->filled[index] = true;
	return ret;
}

int restore_memory_finish(struct restore_memory *m)
{
	return m->filler ? filler_wait_all(m->filler) : 0;
}

uint64_t restore_memory_bytes(const struct restore_memory *m)
{
	return m->shared + m->put + (m->filler ? filler_bytes(m->filler) : 0);
}

uint64_t restore_memory_copied(const struct restore_memory *m)
{
	return m->copied;
}

int restore_memory_create(const struct state *state, struct image_reader *reader, struct kdev *dev,
		 struct ckpt_error *error, struct restore_memory **ret_m, uint64_t *ret_total)
{
	const struct image_counts *counts = &image_manifest(reader)->counts;
	struct restore_memory *m = calloc(1, sizeof(*m));

	if (!m)
		return error_fail(error, -ENOMEM, "out of memory");
	m->state = state;
	m->reader = reader;
	m->dev = dev;
	m->error = error;
	m->filled = calloc(state->nr_mms + 1, sizeof(*m->filled));
	if (!m->filled) {
		restore_memory_destroy(m);
		return error_fail(error, -ENOMEM, "out of memory");
	}
	*ret_total = (counts->pages_data + counts->pages_zero + counts->pages_ref) * PAGE;
	*ret_m = m;
	return 0;
}

void restore_memory_destroy(struct restore_memory *m)
{
	if (!m)
		return;
	filler_destroy(m->filler);
	free(m->filled);
	free(m);
}
