// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finding and reading the tables of excluded memory; see dump_exclude.h.
 *
 * A table is found by the shape of its mapping and by its magic bytes.  A process may have
 * several, as libraries may have their own.  A table is read from the snapshot like any
 * memory, so it is of the same instant.  The process may have written anything into it:
 * lengths and counts are checked, ranges are sorted and merged.
 *
 * A page is excluded only if its mapping says so, too (MADV_DONTDUMP): dump_pages.c asks
 * about such mappings only.
 */
#include "engine/dump/dump_exclude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define PAGE	4096ULL

static const uint8_t magic[EXCLUDE_MAGIC_BYTES] = EXCLUDE_MAGIC;

static bool may_be_table(const struct ckpt_rec_vma *vma)
{
	return vma->kind == CKPT_VMA_ANON && vma->end - vma->start == EXCLUDE_TABLE_SIZE &&
	       vma->flags & CKPT_VM_DONTDUMP && vma->flags & CKPT_VM_WRITE;
}

/* False if the memory cannot be read: then it is no table, as a table's pages were written. */
static bool read_at(struct dump *d, const struct state_mm *mm, unsigned int flags, uint64_t addr,
		    uint64_t len, void *buf)
{
	struct ckpt_iovec iov = { .addr = addr, .len = len };
	struct ckpt_pages pages = {
		.flags = flags, .mm_id = mm->rec->mm_id, .nr_iov = 1,
		.iov = (uintptr_t)&iov, .buf = (uintptr_t)buf,
	};

	return !kdev_pages_read(d->cap.dev, &pages);
}

static int dump_exclude_add(struct dump_exclude *u, const struct exclude_table *table, uint64_t nr)
{
	struct exclude_range *more = reallocarray(u->range, u->nr + nr + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	u->range = more;
	for (uint64_t i = 0; i < nr; i++) {
		const struct exclude_range *range = &table->range[i];

		if (!range->len || range->len == EXCLUDE_TAKEN ||
		    range->start + range->len < range->start ||
		    (range->start | range->len) & (PAGE - 1))
			continue;
		u->range[u->nr++] = *range;
	}
	return 0;
}

static int read_table(struct dump *d, const struct state_mm *mm, unsigned int flags,
		      const struct ckpt_rec_vma *vma, struct dump_exclude *u)
{
	_cleanup_free_ char *buf = aligned_alloc(PAGE, EXCLUDE_TABLE_SIZE);
	const struct exclude_table *table = (const void *)buf;
	uint64_t len;

	if (!buf)
		return -ENOMEM;
	if (!read_at(d, mm, flags, vma->start, PAGE, buf) ||
	    memcmp(table->magic, magic, sizeof(magic)) || table->version != EXCLUDE_VERSION ||
	    table->nr > EXCLUDE_MAX)
		return 0;
	len = sizeof(*table) + table->nr * sizeof(table->range[0]);
	len = (len + PAGE - 1) & ~(PAGE - 1);
	if (len > PAGE && !read_at(d, mm, flags, vma->start + PAGE, len - PAGE, buf + PAGE))
		return 0;
	return dump_exclude_add(u, table, table->nr);
}

static int by_start(const void *a, const void *b)
{
	const struct exclude_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void dump_exclude_merge(struct dump_exclude *u)
{
	unsigned int nr = 0;

	qsort(u->range, u->nr, sizeof(*u->range), by_start);
	for (unsigned int i = 0; i < u->nr; i++) {
		struct exclude_range *last = nr ? &u->range[nr - 1] : NULL;
		uint64_t end = u->range[i].start + u->range[i].len;

		if (!last || u->range[i].start > last->start + last->len)
			u->range[nr++] = u->range[i];
		else if (end > last->start + last->len)
			last->len = end - last->start;
	}
	u->nr = nr;
}

int dump_exclude_find(struct dump *d, const struct state_mm *mm, unsigned int flags,
		       struct dump_exclude *ret_excluded)
{
	struct dump_exclude u = { 0 };
	int ret = 0;

	for (unsigned int i = 0; i < mm->nr_vmas && !ret; i++) {
		if (may_be_table(mm->vmas[i].rec))
			ret = read_table(d, mm, flags, mm->vmas[i].rec, &u);
	}
	if (ret) {
		dump_exclude_done(&u);
		return ret;
	}
	if (u.nr)
		dump_exclude_merge(&u);
	*ret_excluded = u;
	return 0;
}

void dump_exclude_done(struct dump_exclude *u)
{
	free(u->range);
	*u = (struct dump_exclude){ 0 };
}

bool dump_exclude_cut(struct dump_exclude *u, uint64_t addr, uint64_t *stop)
{
	const struct exclude_range *range;

	while (u->at < u->nr && u->range[u->at].start + u->range[u->at].len <= addr)
		u->at++;
	if (u->at == u->nr)
		return false;
	range = &u->range[u->at];
	if (range->start > addr) {
		if (range->start < *stop)
			*stop = range->start;
		return false;
	}
	if (range->start + range->len < *stop)
		*stop = range->start + range->len;
	return true;
}
