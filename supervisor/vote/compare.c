// SPDX-License-Identifier: GPL-2.0-only
/*
 * Comparing the memory of replicas by their images; see compare.h.
 *
 * Memory is walked by stretches of STRETCH bytes, in the same order in all images. Each stretch
 * has a digest for each member; only where the digests differ pages are compared. The digest of
 * all memory is the digest of these, so that members on several nodes could compare from the root
 * down. A stretch of zeros counts for nothing, as an image may hold zeros in several ways.
 */
#include "supervisor/vote/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/ckpt.h>
#include <linux/ckpt_records.h>
#include <xxhash.h>

#include "image/describe.h"
#include "image/reader.h"
#include "supervisor/vote/excluded.h"

#define PAGE		4096ULL
#define STRETCH		(256ULL << 10)
#define MAPS_MAX	1024U

struct compare_side {
	struct image_reader *r;
	unsigned int nr_maps;
	struct {
		int32_t pid;
		uint64_t mm_id;
	} maps[MAPS_MAX];
	struct excluded *excluded;
	XXH3_state_t *root;
	uint8_t *buf;		/* STRETCH */
	XXH128_hash_t digest;	/* of it */
};

struct compare {
	struct compare_side sides[TALLY_MEMBERS];
	struct compared *out;
	struct ckpt_error *error;
};

static int compare_failed(struct compare *c, unsigned int i, int err)
{
	c->out->culprit = i;
	return error_set(c->error, err, "%s", image_reader_error(c->sides[i].r));
}

/* Note the memory maps, and what does not count. */
static int compare_collect(struct compare *c, unsigned int i)
{
	struct compare_side *s = &c->sides[i];
	struct image_record rec;
	int ret;

	image_state_rewind(s->r);
	while ((ret = image_state_next(s->r, &rec)) == 1) {
		const struct ckpt_rec_mm *mm = describe_as(&rec, CKPT_REC_MM, struct ckpt_rec_mm);

		if (mm && s->nr_maps == MAPS_MAX)
			return error_set(c->error, -E2BIG, "too many processes");
		if (mm) {
			s->maps[s->nr_maps].pid = mm->pid;
			s->maps[s->nr_maps++].mm_id = mm->mm_id;
		}
	}
	ret = ret ? ret : excluded_collect(s->r, &s->excluded);
	if (ret == -ENOMEM || ret == -E2BIG)
		return error_set(c->error, ret, "too many mappings or threads to compare");
	if (ret)
		return compare_failed(c, i, ret);
	c->out->tally.choices |= excluded_choices(s->excluded);
	return 0;
}

static bool compare_same_maps(const struct compare *c, unsigned int nr)
{
	for (unsigned int i = 1; i < nr; i++) {
		if (c->sides[i].nr_maps != c->sides[0].nr_maps)
			return false;
		for (unsigned int k = 0; k < c->sides[0].nr_maps; k++)
			if (c->sides[i].maps[k].pid != c->sides[0].maps[k].pid)
				return false;
	}
	return true;
}

/* The first page from @from on that some member has, in the @k-th map; UINT64_MAX: none. */
static int compare_next(struct compare *c, unsigned int k, uint64_t from, uint64_t *ret_addr)
{
	*ret_addr = UINT64_MAX;
	for (unsigned int i = 0; i < c->out->tally.nr; i++) {
		const struct compare_side *s = &c->sides[i];
		struct image_run run;
		uint64_t cursor = from;
		int ret = image_pages_next(s->r, s->maps[k].mm_id, &cursor, &run);

		if (ret < 0)
			return compare_failed(c, i, ret);
		if (ret && run.addr < *ret_addr)
			*ret_addr = run.addr;
	}
	return 0;
}

/* Read the stretch at @base of the @k-th map of one member. */
static int compare_read(struct compare_side *s, unsigned int k, uint64_t base)
{
	uint64_t cursor = base, mm_id = s->maps[k].mm_id, end;
	struct image_run run;
	int ret;

	memset(s->buf, 0, STRETCH);
	while ((ret = image_pages_next(s->r, mm_id, &cursor, &run)) == 1 &&
	       run.addr < base + STRETCH) {
		end = run.addr + run.nr_pages * PAGE;
		end = end > base + STRETCH ? base + STRETCH : end;
		if (run.kind != IMAGE_RUN_ZERO)
			ret = image_pages_read(s->r, mm_id, run.addr, (end - run.addr) / PAGE,
					       s->buf + (run.addr - base));
		if (ret < 0)
			return ret;
		cursor = end;
	}
	if (ret < 0)
		return ret;
	excluded_mask(s->excluded, s->maps[k].pid, base, s->buf, STRETCH);
	return 0;
}

static bool compare_is_zero(const uint8_t *buf)
{
	return !buf[0] && !memcmp(buf, buf + 1, STRETCH - 1);
}

static void compare_digest(struct compare_side *s, unsigned int k, uint64_t base)
{
	const uint64_t place[] = { (uint64_t)s->maps[k].pid, base };

	s->digest = XXH3_128bits(s->buf, STRETCH);
	if (compare_is_zero(s->buf))
		return;
	XXH3_128bits_update(s->root, place, sizeof(place));
	XXH3_128bits_update(s->root, &s->digest, sizeof(s->digest));
}

/* Name the page at @at of the stretch at @base, in which @odd differs. */
static void compare_tell(struct compare *c, unsigned int k, int odd, uint64_t base, uint64_t at)
{
	struct compared_page *told = &c->out->told[c->out->nr_told++];
	const struct compare_side *s = &c->sides[0];
	bool same = true;
	uint64_t byte;

	for (byte = at; same && byte < at + PAGE; byte++)
		for (unsigned int i = 1; i < c->out->tally.nr; i++)
			same = same && c->sides[i].buf[byte] == s->buf[byte];
	*told = (struct compared_page) {
		.member = odd, .pid = s->maps[k].pid, .addr = base + at, .byte = base + byte - 1,
	};
	place_find(s->r, s->maps[k].mm_id, told->pid, told->addr, &told->place);
}

/* Compare the pages of a stretch, one by one. */
static void compare_pages(struct compare *c, unsigned int k, uint64_t base)
{
	struct compared *out = c->out;

	for (uint64_t at = 0; at < STRETCH; at += PAGE) {
		unsigned int kinds[TALLY_MEMBERS] = { 0 };
		int odd;

		for (unsigned int i = 1; i < out->tally.nr; i++) {
			kinds[i] = i;
			for (unsigned int j = 0; j < i && kinds[i] == i; j++)
				if (!memcmp(c->sides[i].buf + at, c->sides[j].buf + at, PAGE))
					kinds[i] = kinds[j];
		}
		odd = tally_page(&out->tally, kinds);
		if (odd == TALLY_EQUAL || out->nr_told == COMPARE_TOLD)
			continue;
		compare_tell(c, k, odd, base, at);
	}
}

static int compare_stretch(struct compare *c, unsigned int k, uint64_t base)
{
	bool equal = true;

	for (unsigned int i = 0; i < c->out->tally.nr; i++) {
		int err = compare_read(&c->sides[i], k, base);

		if (err)
			return compare_failed(c, i, err);
		compare_digest(&c->sides[i], k, base);
		equal = equal && XXH128_isEqual(c->sides[i].digest, c->sides[0].digest);
	}
	if (equal)
		c->out->tally.pages += STRETCH / PAGE;
	else
		compare_pages(c, k, base);
	return 0;
}

static int compare_map(struct compare *c, unsigned int k)
{
	uint64_t addr, from = 0;
	int err;

	for (;;) {
		err = compare_next(c, k, from, &addr);
		if (err || addr == UINT64_MAX)
			return err;
		err = compare_stretch(c, k, addr & ~(STRETCH - 1));
		if (err)
			return err;
		from = (addr & ~(STRETCH - 1)) + STRETCH;
	}
}

static int compare_open(struct compare *c, const struct compare_member *members,
			const struct image_key *key)
{
	for (unsigned int i = 0; i < c->out->tally.nr; i++) {
		const struct image_expect expect = {
			.generation = members[i].generation, .job = members[i].label,
		};
		struct compare_side *s = &c->sides[i];
		int err;

		c->out->culprit = i;
		s->root = XXH3_createState();
		s->buf = malloc(STRETCH);
		if (!s->root || !s->buf)
			return error_set(c->error, -ENOMEM, "out of memory");
		XXH3_128bits_reset(s->root);
		err = image_open(members[i].dir, key, &expect, &s->r, c->error);
		if (!err)
			err = compare_collect(c, i);
		if (err)
			return err;
	}
	return 0;
}

static void compare_done(struct compare *c)
{
	for (unsigned int i = 0; i < TALLY_MEMBERS; i++) {
		struct compare_side *s = &c->sides[i];
		XXH128_hash_t root = { 0 };

		if (s->root)
			root = XXH3_128bits_digest(s->root);
		snprintf(c->out->digest[i], sizeof(c->out->digest[i]), "%016" PRIx64 "%016" PRIx64,
			 (uint64_t)root.high64, (uint64_t)root.low64);
		image_close(s->r);
		excluded_free(s->excluded);
		XXH3_freeState(s->root);
		free(s->buf);
	}
}

int compare_images(const struct compare_member *members, unsigned int nr,
		   const struct image_key *key, struct compared *ret_compared,
		   struct ckpt_error *error)
{
	struct compare *c = calloc(1, sizeof(*c));
	int err;

	*ret_compared = (struct compared) { .tally.nr = nr };
	if (!c)
		return error_set(error, -ENOMEM, "out of memory");
	c->out = ret_compared;
	c->error = error;
	err = compare_open(c, members, key);
	if (!err && !compare_same_maps(c, nr))
		err = error_set(error, -EPROTO, "the replicas have not the same processes");
	for (unsigned int k = 0; !err && k < c->sides[0].nr_maps; k++)
		err = compare_map(c, k);
	compare_done(c);
	free(c);
	return err;
}
