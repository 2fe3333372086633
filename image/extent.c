// SPDX-License-Identifier: GPL-2.0-only
/*
 * Table of extents, sorted by (owner, start), without overlaps.
 *
 * Extents mostly arrive in order; a table remembers if one did not, and is sorted
 * once, when it is checked.  After extent_table_check() succeeded every extent
 * is safe to follow: no sum overflows, a position lies in one chunk that exists,
 * a reference leads to data or zeros in one step.
 *
 * A table must not be changed after the check.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "image/extent.h"

/* Can @b be joined to @a?  @b's data must lie right behind @a's, in the same chunk. */
static bool extent_continues(const struct extent *a, const struct extent *b)
{
	if (!extent_joins(a, b))
		return false;
	if (a->kind != IMAGE_EXTENT_DATA)
		return true;
	return a->src == b->src && a->where + a->len == b->where &&
	       a->where / IMAGE_CHUNK_MAX == b->where / IMAGE_CHUNK_MAX;
}

bool extent_joins(const struct extent *prev, const struct extent *next)
{
	if (prev->owner != next->owner || prev->kind != next->kind ||
	    prev->start + prev->len != next->start)
		return false;
	if (prev->kind != IMAGE_EXTENT_REF)
		return true;
	return prev->src == next->src && prev->where + prev->len == next->where;
}

static bool extent_before(const struct extent *a, const struct extent *b)
{
	if (a->owner != b->owner)
		return a->owner < b->owner;
	return a->start < b->start;
}

int extent_table_add(struct extent_table *t, const struct extent *e)
{
	struct extent *last = t->nr ? &t->v[t->nr - 1] : NULL;

	if (last && extent_continues(last, e)) {
		last->len += e->len;
		return 0;
	}
	if (t->nr == t->room) {
		size_t room = t->room ? t->room * 2 : 256;
		struct extent *v = reallocarray(t->v, room, sizeof(*v));

		if (!v)
			return -ENOMEM;
		t->v = v;
		t->room = room;
		last = t->nr ? &v[t->nr - 1] : NULL;
	}
	if (last && !extent_before(last, e)) {
		t->unsorted = true;
		t->tail = t->nr;
	}
	t->v[t->nr++] = *e;
	return 0;
}

void extent_table_done(struct extent_table *t)
{
	free(t->v);
	memset(t, 0, sizeof(*t));
}

static int extent_compare(const void *a, const void *b)
{
	if (extent_before(a, b))
		return -1;
	return extent_before(b, a);
}

static int extent_describe(struct ckpt_error *error, int err, const struct extent *e,
			   const char *what)
{
	return error_set(error, err, "extent %llu:0x%llx+0x%llx: %s",
			       (unsigned long long)e->owner,
			       (unsigned long long)e->start,
			       (unsigned long long)e->len, what);
}

static int check_bounds(const struct extent *e, uint32_t granule,
			const struct extent_chunks *chunks,
			struct ckpt_error *error)
{
	uint64_t chunk = e->where / IMAGE_CHUNK_MAX;
	uint64_t offset = e->where % IMAGE_CHUNK_MAX;

	if (!e->owner || !e->len || e->start + e->len < e->start ||
	    e->start % granule || e->len % granule || e->where % granule)
		return extent_describe(error, -EINVAL, e, "impossible bounds");
	switch (e->kind) {
	case IMAGE_EXTENT_ZERO:
		return 0;
	case IMAGE_EXTENT_REF:
		if (granule == 1 || !e->src || e->where + e->len < e->where)
			return extent_describe(error, -EINVAL, e, "impossible reference");
		return 0;
	case IMAGE_EXTENT_DATA:
		if (e->src >= chunks->nr_files)
			return extent_describe(error, -EINVAL, e, "in a base that is not there");
		chunks += e->src;
		if (chunk >= chunks->nr ||
		    e->len > IMAGE_CHUNK_MAX - offset ||
		    offset + e->len > le32toh(chunks->v[chunk].raw_len))
			return extent_describe(error, -EINVAL, e, "outside of its chunk");
		return 0;
	default:
		return extent_describe(error, -EINVAL, e, "of unknown kind");
	}
}

/* All of a reference's source must be data or zeros. */
static int check_ref(const struct extent_table *t, const struct extent *ref,
		     struct ckpt_error *error)
{
	uint64_t pos = ref->where;
	uint64_t end = ref->where + ref->len;

	while (pos < end) {
		const struct extent *e = extent_table_find(t, ref->src, pos);

		if (!e || e->start > pos)
			return extent_describe(error, -ENOENT, ref,
					       "refers to pages that are not there");
		if (e->kind == IMAGE_EXTENT_REF)
			return extent_describe(error, -ENOENT, ref,
					       "refers to a reference");
		pos = e->start + e->len;
	}
	return 0;
}

int extent_table_check(struct extent_table *t, uint32_t granule,
		       const struct extent_chunks *chunks,
		       struct ckpt_error *error)
{
	size_t i;
	int err;

	for (i = 0; i < t->nr; i++) {
		err = check_bounds(&t->v[i], granule, chunks, error);
		if (err)
			return err;
	}
	if (t->unsorted)
		qsort(t->v, t->nr, sizeof(*t->v), extent_compare);
	t->unsorted = false;
	t->tail = 0;
	for (i = 1; i < t->nr; i++) {
		if (t->v[i].owner == t->v[i - 1].owner &&
		    t->v[i - 1].start + t->v[i - 1].len > t->v[i].start)
			return extent_describe(error, -EEXIST, &t->v[i],
					       "overlaps the one before it");
	}
	for (i = 0; i < t->nr; i++) {
		err = t->v[i].kind == IMAGE_EXTENT_REF ?
			check_ref(t, &t->v[i], error) : 0;
		if (err)
			return err;
	}
	return 0;
}

/* As extent_table_find(), among the extents from number @lo on, which must be sorted. */
static const struct extent *find_from(const struct extent_table *t, size_t lo,
				      uint64_t owner, uint64_t pos)
{
	size_t hi = t->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct extent *e = &t->v[mid];

		if (e->owner < owner ||
		    (e->owner == owner && e->start + e->len <= pos))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == t->nr || t->v[lo].owner != owner)
		return NULL;
	return &t->v[lo];
}

const struct extent *extent_table_find(const struct extent_table *t,
				       uint64_t owner, uint64_t pos)
{
	return find_from(t, 0, owner, pos);
}

const struct extent *extent_table_find_tail(const struct extent_table *t,
					    uint64_t owner, uint64_t pos)
{
	return find_from(t, t->tail, owner, pos);
}
