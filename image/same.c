// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds pages that equal pages stored before.
 *
 * Ranks of a node have tables, meshes and libraries in common, in long stretches.
 * One page in eight is hashed and remembered with its address; the page's content
 * decides whether it is chosen, so that equal pages are both chosen.  If a later page
 * has the same hash, the pages around the remembered address are read again from the
 * process and compared byte by byte with the new ones, in both directions as far as
 * they agree.  The hash is only a hint.
 *
 * Only stretches of 32 pages or more are used, whose data are stored one behind the
 * other: a shorter stretch would cost the index more than it saves, and cost the
 * restore a whole chunk for a few pages.  Each failed comparison makes the next ones
 * rarer, so that memory that only looks alike costs next to nothing.
 *
 * Invariant: pages that were added can be read again unchanged until the image is
 * committed, or not at all (then no match is found).
 */
#include "image/same.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#define PAGE		((uint64_t)IMAGE_PAGE_SIZE)
#define WAYS		4U
#define BUCKETS		(SAME_ENTRIES / WAYS)
#define REACH		(8ULL << 20)	/* bytes; a longer match is found in pieces */
#define FAILURES_MAX	5U	/* the pause after a failure is doubled so many times at most */

struct entry {
	uint64_t hash;		/* 0: none */
	uint64_t mm_id;
	uint64_t addr;
};

struct same {
	image_reread_fn reread;
	void *arg;
	uint8_t *buf;			/* SAME_READ pages */
	struct entry *entries;		/* in buckets, the newest first */
	unsigned int failures;		/* in a row */
	uint64_t pause;			/* pages until the next attempt */
	struct {			/* end of the last match: in the new pages, in the source */
		uint64_t mm_id, addr, src_mm, src_addr;
	} last;
};

/* Stored pages whose data lie one behind the other, and an address among them. */
struct source {
	uint64_t mm_id;
	uint64_t addr;
	uint64_t where;		/* position of addr's data */
	uint64_t before, after;	/* pages before addr, from addr on */
};

struct same *same_create(image_reread_fn reread, void *arg)
{
	struct same *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->reread = reread;
	s->arg = arg;
	s->buf = aligned_alloc(PAGE, SAME_READ * PAGE);
	s->entries = calloc(SAME_ENTRIES, sizeof(*s->entries));
	if (!s->buf || !s->entries) {
		same_destroy(s);
		return NULL;
	}
	return s;
}

void same_destroy(struct same *s)
{
	if (!s)
		return;
	free(s->buf);
	free(s->entries);
	free(s);
}

/* ----------------------------------------------------------------- table */

/* Choose the page by a few of its words: equal pages are both chosen, or both not. */
static bool is_chosen(const uint8_t *page)
{
	static const unsigned int at[] = { 0, 85, 213, 341, 469 };
	uint64_t sum = 0, word;

	for (unsigned int i = 0; i < ARRAY_SIZE(at); i++) {
		memcpy(&word, page + at[i] * sizeof(word), sizeof(word));
		sum = sum * 31 + word;
	}
	return (sum * 0x9e3779b97f4a7c15ULL) >> 61 == 0;
}

/* An earlier page with this hash; NULL: none, and this page is remembered. */
static const struct entry *same_known(struct same *s, uint64_t hash, uint64_t mm_id, uint64_t addr)
{
	struct entry *bucket = &s->entries[hash % BUCKETS * WAYS];

	hash = hash ? hash : 1;
	for (unsigned int i = 0; i < WAYS; i++)
		if (bucket[i].hash == hash)
			return &bucket[i];
	memmove(bucket + 1, bucket, (WAYS - 1) * sizeof(*bucket));
	bucket[0] = (struct entry){ hash, mm_id, addr };
	return NULL;
}

/* --------------------------------------------------------------- compare */

/* Is @b stored right behind @a? */
static bool same_follows(const struct extent *a, const struct extent *b)
{
	return b->kind == IMAGE_EXTENT_DATA && a->src == b->src && extent_joins(a, b) &&
	       a->where + a->len == b->where;
}

/* Find the stored pages at @addr and around it; false: @addr is not stored in this image. */
static bool find_source(const struct extent_table *t, uint64_t mm_id, uint64_t addr,
			struct source *ret_source)
{
	const struct extent *e = extent_table_find_tail(t, mm_id, addr);
	const struct extent *first = e, *last = e;

	if (!e || e->start > addr || e->kind != IMAGE_EXTENT_DATA || e->src)
		return false;
	while (first > t->v + t->tail && addr - first->start < SAME_READ * PAGE &&
	       same_follows(first - 1, first))
		first--;
	while (last + 1 < t->v + t->nr && last->start + last->len - addr < REACH &&
	       same_follows(last, last + 1))
		last++;
	*ret_source = (struct source){
		.mm_id = mm_id,
		.addr = addr,
		.where = e->where + (addr - e->start),
		.before = (addr - first->start) / PAGE,
		.after = (last->start + last->len - addr) / PAGE,
	};
	return true;
}

/* Count how many of the @nr pages from @data on equal those from @src->addr on. */
static uint64_t count_forward(struct same *s, const struct source *src, const uint8_t *data,
			      uint64_t nr)
{
	uint64_t n = 0, step = SAME_READ / 8;

	while (n < nr) {
		if (step > nr - n)
			step = nr - n;
		if (s->reread(s->arg, src->mm_id, src->addr + n * PAGE, step, s->buf))
			return n;
		for (uint64_t i = 0; i < step; i++)
			if (memcmp(s->buf + i * PAGE, data + (n + i) * PAGE, PAGE))
				return n + i;
		n += step;
		step = SAME_READ;
	}
	return n;
}

/* Count how many of the @nr pages that end at @data equal those that end at @src->addr. */
static uint64_t count_backward(struct same *s, const struct source *src, const uint8_t *data,
			       uint64_t nr)
{
	uint64_t n = 0;

	if (nr > SAME_READ)
		nr = SAME_READ;
	if (!nr || s->reread(s->arg, src->mm_id, src->addr - nr * PAGE, nr, s->buf))
		return 0;
	while (n < nr && !memcmp(s->buf + (nr - n - 1) * PAGE, data - (n + 1) * PAGE, PAGE))
		n++;
	return n;
}

static uint64_t same_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void same_failed(struct same *s)
{
	s->pause = (uint64_t)SAME_MIN << s->failures;
	if (s->failures < FAILURES_MAX)
		s->failures++;
}

/* Page @at of @pages may equal the one at @addr: is there a match of at least @min pages? */
static bool try_match(struct same *s, const struct extent_table *t,
		      const struct same_pages *pages, uint64_t at, uint64_t mm_id, uint64_t addr,
		      uint64_t min, struct same_match *ret_match)
{
	const uint8_t *data = pages->data + at * PAGE;
	uint64_t most = pages->nr - at, before, after;
	struct source src;

	if (!find_source(t, mm_id, addr, &src))
		return false;
	/* @pages are not stored yet, so the source cannot include them */
	if (same_least(src.before, at) + same_least(src.after, most) < min)
		return false;
	after = count_forward(s, &src, data, same_least(src.after, most));
	before = after ? count_backward(s, &src, data, same_least(src.before, at)) : 0;
	if (before + after < min) {
		if (after < most)
			same_failed(s);
		return false;
	}
	ret_match->first = at - before;
	ret_match->nr = before + after;
	ret_match->where = src.where - before * PAGE;
	s->failures = 0;
	/* the next call may continue a match that did not end at pages that differ */
	s->last.mm_id = after == same_least(src.after, most) ? pages->mm_id : 0;
	s->last.addr = pages->addr + (at + after) * PAGE;
	s->last.src_mm = mm_id;
	s->last.src_addr = addr + after * PAGE;
	return true;
}

bool same_find(struct same *s, const struct extent_table *t, const struct same_pages *pages,
	       struct same_match *ret_match)
{
	/* a long stretch comes in many calls: continue the last match */
	if (s->last.mm_id == pages->mm_id && s->last.addr == pages->addr &&
	    try_match(s, t, pages, 0, s->last.src_mm, s->last.src_addr, 1, ret_match))
		return true;
	for (uint64_t i = 0; i < pages->nr; i++) {
		const uint8_t *page = pages->data + i * PAGE;
		const struct entry *e;

		if (s->pause)
			s->pause--;
		if (!is_chosen(page))
			continue;
		e = same_known(s, XXH64(page, PAGE, 0), pages->mm_id, pages->addr + i * PAGE);
		if (e && !s->pause &&
		    try_match(s, t, pages, i, e->mm_id, e->addr, SAME_MIN, ret_match))
			return true;
	}
	return false;
}
