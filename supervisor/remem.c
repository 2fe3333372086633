// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filling the memory maps of a tree from its image.
 *
 * Maps are filled in ascending order, each in address order, because the image
 * is laid out so and each chunk is then decoded once.  A mapping with pages that
 * a map filled before has at the same address (references in the image) is
 * shared from there copy on write; see cow.h.  Everything else is written in
 * large batches: runs of pages straight from the decoded chunk, single pages
 * gathered in a buffer.
 *
 * Pages of zeros are not written where an untouched page reads as zeros, too;
 * they are in private mappings of files.
 */
#include "supervisor/remem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "supervisor/cow.h"

#define PAGE		4096UL
#define BATCH		(4UL << 20)
#define DIRECT		(256UL << 10)	/* a run this long is written without a copy */
#define IOVS		1024U
#define SOURCES		8U

struct remem {
	const struct state *state;
	struct image_reader *reader;
	struct kdev *dev;
	struct engine_error *error;
	bool *filled;			/* by map */
	char *buf;			/* BATCH bytes */
	size_t used;
	struct ckpt_iovec *iov;		/* IOVS */
	unsigned int nr_iov;
	pid_t pid;			/* of the map being filled */
	const struct state_mm *mm;
	uint64_t bytes;
};

/* A thread that lives: the leader may be dead. */
static pid_t pid_of(const struct state_mm *mm)
{
	return mm->owner->threads[0].rec->tid;
}

static int image_failed(struct remem *m, int err)
{
	return engine_fail(m->error, err, "cannot read the image: %s",
			   image_reader_error(m->reader));
}

/* ---------------------------------------------------------------- writing */

static int write_pages(struct remem *m, const struct ckpt_iovec *iov, unsigned int nr,
		       const void *data)
{
	struct ckpt_pages arg = {
		.mm_id = (__u32)m->pid, .nr_iov = nr,
		.iov = (uintptr_t)iov, .buf = (uintptr_t)data,
	};
	int ret = kdev_pages_write(m->dev, &arg);

	if (ret)
		return engine_fail(m->error, ret,
				   "cannot fill the memory of process %d (%llu bytes into the batch at %#llx): %s",
				   m->pid, (unsigned long long)arg.done,
				   (unsigned long long)iov[0].addr, strerror(-ret));
	return 0;
}

static int flush(struct remem *m)
{
	int ret = m->nr_iov ? write_pages(m, m->iov, m->nr_iov, m->buf) : 0;

	m->nr_iov = 0;
	m->used = 0;
	return ret;
}

static int write_direct(struct remem *m, uint64_t start, uint64_t end)
{
	int ret = 0;

	while (start < end && !ret) {
		struct ckpt_iovec iov = { .addr = start };
		uint64_t nr = (end - start) / PAGE;
		const void *data;

		ret = image_pages_peek(m->reader, m->mm->rec->mm_id, start, &nr, &data);
		if (ret)
			return image_failed(m, ret);
		iov.len = nr * PAGE;
		ret = write_pages(m, &iov, 1, data);
		start += iov.len;
	}
	return ret;
}

static int write_gathered(struct remem *m, uint64_t start, uint64_t end)
{
	size_t len = (size_t)(end - start);
	int ret = 0;

	if (m->nr_iov == IOVS || len > BATCH - m->used)
		ret = flush(m);
	if (ret)
		return ret;
	ret = image_pages_read(m->reader, m->mm->rec->mm_id, start, len / PAGE,
			       m->buf + m->used);
	if (ret)
		return image_failed(m, ret);
	if (m->nr_iov && m->iov[m->nr_iov - 1].addr + m->iov[m->nr_iov - 1].len == start)
		m->iov[m->nr_iov - 1].len += len;
	else
		m->iov[m->nr_iov++] = (struct ckpt_iovec){ .addr = start, .len = len };
	m->used += len;
	return 0;
}

static int write_range(struct remem *m, uint64_t start, uint64_t end)
{
	m->bytes += end - start;
	if (end - start >= DIRECT)
		return write_direct(m, start, end);
	return write_gathered(m, start, end);
}

/* ---------------------------------------------------------------- runs */

static bool zero_counts(const struct state_vma *vma)
{
	return vma->rec->kind == CKPT_VMA_FILE_PRIVATE;
}

/* What @mm has between the ends of @vma, with identities. */
static int load_runs(struct remem *m, const struct state_mm *mm, const struct state_vma *vma,
		     struct cow_runs *runs)
{
	uint64_t cursor = vma->rec->start;
	struct image_run run;
	int ret;

	while ((ret = image_pages_next(m->reader, mm->rec->mm_id, &cursor, &run)) > 0) {
		struct cow_run add = { .start = run.addr, .end = run.addr + run.nr_pages * PAGE };

		if (run.addr >= vma->rec->end)
			return 0;
		if (run.kind == IMAGE_RUN_ZERO && !zero_counts(vma))
			continue;
		if (add.end > vma->rec->end)
			add.end = vma->rec->end;
		add.owner = run.kind == IMAGE_RUN_REF ? run.src_mm_id : mm->rec->mm_id;
		add.addr = run.kind == IMAGE_RUN_REF ? run.src_addr : run.addr;
		ret = cow_runs_add(runs, &add);
		if (ret)
			return engine_fail(m->error, ret, "out of memory");
	}
	return ret ? image_failed(m, ret) : 0;
}

/* ---------------------------------------------------------------- sharing */

/* Maps filled before that may have the same pages: those the image refers to. */
static unsigned int find_sources(const struct remem *m, const struct cow_runs *runs,
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

static bool has_reference(const struct remem *m, const struct cow_runs *runs)
{
	for (unsigned int i = 0; i < runs->nr; i++)
		if (runs->runs[i].owner != m->mm->rec->mm_id)
			return true;
	return false;
}

/* The best source for @vma and its runs there; NULL: share with nobody. */
static int choose_source(struct remem *m, const struct state_vma *vma,
			 const struct cow_runs *runs, const struct state_mm **ret_mm,
			 struct cow_runs *ret_runs)
{
	const struct state_mm *sources[SOURCES];
	unsigned int nr = find_sources(m, runs, sources);
	uint64_t best = 0;

	*ret_mm = NULL;
	for (unsigned int i = 0; i < nr; i++) {
		struct cow_runs theirs = { 0 };
		uint64_t same = 0;
		int ret;

		if (!cow_twin(sources[i], vma))
			continue;
		ret = load_runs(m, sources[i], vma, &theirs);
		if (!ret)
			same = cow_same(runs, &theirs, vma->rec->start, vma->rec->end);
		if (!ret && same > best) {
			cow_runs_done(ret_runs);
			*ret_runs = theirs;
			*ret_mm = sources[i];
			best = same;
			continue;
		}
		cow_runs_done(&theirs);
		if (ret)
			return ret;
	}
	return 0;
}

static int apply(enum cow_what what, uint64_t start, uint64_t end, void *arg)
{
	struct remem *m = arg;
	struct ckpt_pages_drop drop = { .pid = m->pid, .start = start, .end = end };
	int ret;

	switch (what) {
	case COW_SAME:
		m->bytes += end - start;
		return 0;
	case COW_WRITE:
		return write_range(m, start, end);
	default:
		ret = kdev_pages_drop(m->dev, &drop);
		return ret ? engine_fail(m->error, ret,
					 "cannot take pages from process %d: %s", m->pid,
					 strerror(-ret)) : 0;
	}
}

static int share(struct remem *m, const struct state_vma *vma, const struct cow_runs *runs,
		 const struct state_mm *from, const struct cow_runs *theirs)
{
	struct ckpt_pages_share arg = {
		.src_pid = pid_of(from), .dst_pid = m->pid,
		.start = vma->rec->start, .end = vma->rec->end,
	};
	int ret = kdev_pages_share(m->dev, &arg);

	if (ret)
		return engine_fail(m->error, ret,
				   "cannot share memory %#llx-%#llx of process %d with %d: %s",
				   (unsigned long long)arg.start, (unsigned long long)arg.end,
				   arg.src_pid, arg.dst_pid, strerror(-ret));
	return cow_compare(runs, theirs, vma->rec->start, vma->rec->end, apply, m);
}

/* ---------------------------------------------------------------- maps */

static bool has_pages(const struct state_vma *vma)
{
	return vma->rec->kind == CKPT_VMA_ANON || vma->rec->kind == CKPT_VMA_FILE_PRIVATE ||
	       vma->rec->kind == CKPT_VMA_HUGETLB_PRIVATE;
}

static int fill_vma(struct remem *m, const struct state_vma *vma)
{
	struct cow_runs runs = { 0 }, theirs = { 0 };
	const struct state_mm *from = NULL;
	int ret = load_runs(m, m->mm, vma, &runs);

	if (!ret && cow_can_share(vma) && has_reference(m, &runs))
		ret = choose_source(m, vma, &runs, &from, &theirs);
	if (!ret && from)
		ret = share(m, vma, &runs, from, &theirs);
	for (unsigned int i = 0; !ret && !from && i < runs.nr; i++)
		ret = write_range(m, runs.runs[i].start, runs.runs[i].end);
	cow_runs_done(&runs);
	cow_runs_done(&theirs);
	return ret;
}

int remem_fill(struct remem *m, const struct state_mm *mm)
{
	int ret = 0;

	m->mm = mm;
	m->pid = pid_of(mm);
	for (unsigned int i = 0; !ret && i < mm->nr_vmas; i++)
		if (has_pages(&mm->vmas[i]))
			ret = fill_vma(m, &mm->vmas[i]);
	if (!ret)
		ret = flush(m);
	m->filled[mm - m->state->mms] = true;
	return ret;
}

uint64_t remem_bytes(const struct remem *m)
{
	return m->bytes;
}

int remem_create(const struct state *state, struct image_reader *reader, struct kdev *dev,
		 struct engine_error *error, struct remem **ret_m, uint64_t *ret_total)
{
	const struct image_counts *counts = &image_manifest(reader)->counts;
	struct remem *m = calloc(1, sizeof(*m));

	if (!m)
		return engine_fail(error, -ENOMEM, "out of memory");
	m->state = state;
	m->reader = reader;
	m->dev = dev;
	m->error = error;
	m->filled = calloc(state->nr_mms + 1, sizeof(*m->filled));
	m->iov = calloc(IOVS, sizeof(*m->iov));
	m->buf = mmap(NULL, BATCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->buf == MAP_FAILED)
		m->buf = NULL;
	if (!m->filled || !m->iov || !m->buf) {
		remem_destroy(m);
		return engine_fail(error, -ENOMEM, "out of memory");
	}
	*ret_total = (counts->pages_data + counts->pages_ref) * PAGE;
	*ret_m = m;
	return 0;
}

void remem_destroy(struct remem *m)
{
	if (!m)
		return;
	if (m->buf)
		munmap(m->buf, BATCH);
	free(m->iov);
	free(m->filled);
	free(m);
}
