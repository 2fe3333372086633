// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy-on-write sharing between two memory maps.
 *
 * Sharing is decided mapping by mapping, in the range that two mappings of one
 * kind have in common: the kernel copies page tables from one to the other.  So a
 * heap or a stack that has grown since the fork can still be shared with its parent's.
 * Pages that the destination does not have are then dropped, and pages that differ
 * are written over.
 */
#include "engine/restore/cow.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE	4096ULL

/* Flags that must be equal; the others (advice, locks) do not matter to pages. */
#define FLAGS_THAT_MATTER	(CKPT_VM_READ | CKPT_VM_WRITE | CKPT_VM_EXEC | CKPT_VM_SHARED | \
				 CKPT_VM_MAYWRITE | CKPT_VM_GROWSDOWN)

int cow_runs_add(struct cow_runs *runs, const struct cow_run *run)
{
	struct cow_run *more;

	if (runs->nr == runs->room) {
		unsigned int room = runs->room ? runs->room * 2 : 64;

		more = reallocarray(runs->runs, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		runs->runs = more;
		runs->room = room;
	}
	runs->runs[runs->nr++] = *run;
	return 0;
}

void cow_runs_done(struct cow_runs *runs)
{
	free(runs->runs);
	*runs = (struct cow_runs){ 0 };
}

/* The first run from *@next on that ends after @at; NULL: none. */
static const struct cow_run *run_at(const struct cow_runs *runs, unsigned int *next, uint64_t at)
{
	while (*next < runs->nr && runs->runs[*next].end <= at)
		(*next)++;
	return *next < runs->nr ? &runs->runs[*next] : NULL;
}

/* The next address after @at, up to @end, at which @run begins or ends. */
static uint64_t cow_boundary(const struct cow_run *run, uint64_t at, uint64_t end)
{
	uint64_t next = !run ? end : run->start <= at ? run->end : run->start;

	return next < end ? next : end;
}

static bool cow_is_same(const struct cow_run *a, const struct cow_run *b)
{
	return a->owner == b->owner && a->addr - a->start == b->addr - b->start;
}

int cow_compare(const struct cow_runs *dst, const struct cow_runs *src, uint64_t start,
		uint64_t end, cow_fn fn, void *arg)
{
	unsigned int next_dst = 0, next_src = 0;
	uint64_t at, next, other;
	int ret = 0;

	for (at = start; at < end && !ret; at = next) {
		const struct cow_run *d = run_at(dst, &next_dst, at);
		const struct cow_run *s = run_at(src, &next_src, at);

		next = cow_boundary(d, at, end);
		other = cow_boundary(s, at, end);
		if (other < next)
			next = other;
		if (d && d->start > at)
			d = NULL;
		if (s && s->start > at)
			s = NULL;
		if (d)
			ret = fn(s && cow_is_same(d, s) ? COW_SAME : COW_WRITE, at, next, arg);
		else if (s)
			ret = fn(COW_DROP, at, next, arg);
	}
	return ret;
}

static int count_same(enum cow_what what, uint64_t start, uint64_t end, void *arg)
{
	if (what == COW_SAME)
		*(uint64_t *)arg += end - start;
	return 0;
}

uint64_t cow_same(const struct cow_runs *dst, const struct cow_runs *src, uint64_t start,
		  uint64_t end)
{
	uint64_t same = 0;

	cow_compare(dst, src, start, end, count_same, &same);
	return same;
}

bool cow_can_share(const struct state_vma *vma)
{
	return (vma->rec->kind == CKPT_VMA_ANON || vma->rec->kind == CKPT_VMA_FILE_PRIVATE) &&
	       !(vma->rec->flags & (CKPT_VM_DONTCOPY | CKPT_VM_WIPEONFORK));
}

static bool same_file(const struct state_file *a, const struct state_file *b)
{
	if (!a || !b)
		return a == b;
	return a->rec->dev == b->rec->dev && a->rec->ino == b->rec->ino;
}

/* Page offset of address 0 in the file; may wrap. Equal for mappings with equal pages. */
static uint64_t base_of(const struct ckpt_rec_vma *rec)
{
	return rec->pgoff - rec->start / PAGE;
}

static bool is_twin(const struct state_vma *a, const struct state_vma *b)
{
	const struct ckpt_rec_vma *x = a->rec, *y = b->rec;

	return x->kind == y->kind && !((x->flags ^ y->flags) & FLAGS_THAT_MATTER) &&
	       (x->kind == CKPT_VMA_ANON || base_of(x) == base_of(y)) &&
	       same_file(a->file, b->file);
}

void cow_common(const struct state_vma *a, const struct state_vma *b, uint64_t *ret_start,
		uint64_t *ret_end)
{
	*ret_start = a->rec->start > b->rec->start ? a->rec->start : b->rec->start;
	*ret_end = a->rec->end < b->rec->end ? a->rec->end : b->rec->end;
}

const struct state_vma *cow_twin(const struct state_mm *mm, const struct state_vma *vma)
{
	unsigned int low = 0, high = mm->nr_vmas;
	const struct state_vma *best = NULL;
	uint64_t start, end, most = 0;

	while (low < high) {
		unsigned int mid = low + (high - low) / 2;

		if (mm->vmas[mid].rec->end <= vma->rec->start)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < mm->nr_vmas && mm->vmas[low].rec->start < vma->rec->end; low++) {
		if (!is_twin(&mm->vmas[low], vma) || !cow_can_share(&mm->vmas[low]))
			continue;
		cow_common(&mm->vmas[low], vma, &start, &end);
		if (end - start > most) {
			most = end - start;
			best = &mm->vmas[low];
		}
	}
	return best;
}
