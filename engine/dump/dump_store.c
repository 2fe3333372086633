// SPDX-License-Identifier: GPL-2.0-only
/*
 * Storing pages; see dump_store.h.
 *
 * Pages that the kernel calls clean, relative to a snapshot whose image is the base of
 * this one, are stored as references to the base, if the base has them.
 *
 * A page that several processes share is stored once.  Its cookie says which physical
 * page it is, and the table remembers where each page was stored.  A cookie is a hint:
 * while we read, a page may be swapped or moved and its frame used for another page.
 * So the contents must agree, too.  When a cookie comes again, the page that had it
 * first is read again and compared; from then on its hash suffices.  Most cookies never
 * come again.  In maps that cannot be read again all shared pages are hashed at once.
 *
 * Must not decide which pages are wanted, nor read pages except for that comparison;
 * both is dump_pages.c's.
 */
#include "engine/dump/dump_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/error.h"
#include "image/base.h"
#include "image/reader.h"
#include "engine/dump/dump_scrub.h"
#include "engine/dump/page_table.h"

#define PAGE		4096ULL
#define NR_AGAIN	64U		/* pages compared at once */

void page_store_init(struct page_store *s, struct dump *d, struct content *to)
{
	*s = (struct page_store){ .d = d, .to = to };
}

int page_store_share(struct page_store *s)
{
	s->stored = page_table_create();
	s->places = calloc(CONTENT_ROOM / PAGE, sizeof(*s->places));
	s->again = malloc(NR_AGAIN * PAGE);
	return s->stored && s->places && s->again ? 0 : -ENOMEM;
}

void page_store_done(struct page_store *s)
{
	page_table_destroy(s->stored);
	free(s->places);
	free(s->again);
}

void page_store_map(struct page_store *s, uint32_t mm_id, bool once)
{
	s->mm_id = mm_id;
	s->once = once;
	s->base_mm = 0;
}

void page_store_token(struct page_store *s, uint64_t token)
{
	const struct image_reader *base = image_base_reader(s->d->img);

	s->base_mm = base && s->to == s->d->image ? image_tracked(base, token) : 0;
}

int page_store_failed(struct page_store *s, int err)
{
	if (s->to == s->d->image)
		return dump_image_failed(s->d, err);
	return error_fail(s->d->error, err, "no memory to hold pages during the pause");
}

int page_store_flush(struct page_store *s)
{
	int ret = 0;

	if (s->ref.nr)
		ret = image_pages_ref(s->d->img, s->mm_id, s->ref.addr, s->ref.nr,
				      s->ref.src_mm, s->ref.src_addr);
	s->ref.nr = 0;
	return ret ? dump_image_failed(s->d, ret) : 0;
}

static int dump_store_refer(struct page_store *s, uint64_t addr, uint64_t src_mm, uint64_t src_addr)
{
	int ret;

	s->d->stats.pages_shared++;
	if (s->ref.nr && s->ref.src_mm == src_mm &&
	    s->ref.addr + s->ref.nr * PAGE == addr &&
	    s->ref.src_addr + s->ref.nr * PAGE == src_addr) {
		s->ref.nr++;
		return 0;
	}
	ret = page_store_flush(s);
	s->ref.addr = addr;
	s->ref.nr = 1;
	s->ref.src_mm = src_mm;
	s->ref.src_addr = src_addr;
	return ret;
}

int page_store_base(struct page_store *s, uint64_t addr, uint64_t len, uint64_t *ret_done)
{
	uint64_t nr = 0;
	int ret = image_pages_base(s->d->img, s->mm_id, addr, len / PAGE, s->base_mm, &nr);

	*ret_done = nr * PAGE;
	return ret ? dump_image_failed(s->d, ret) : 0;
}

static int dump_store_pages(struct page_store *s, uint64_t addr, uint64_t len, const char *data,
			    bool clean)
{
	uint64_t done;
	int ret = 0;

	if (clean)
		ret = dump_scrub(s->d, s->mm_id, s->base_mm, addr, len, data);
	for (; clean && len && !ret; addr += done, data += done, len -= done) {
		ret = page_store_base(s, addr, len, &done);
		if (ret || done)
			continue;
		done = PAGE;
		ret = content_pages(s->to, s->mm_id, addr, 1, data);
		if (ret)
			return page_store_failed(s, ret);
	}
	if (ret || !len)
		return ret;
	ret = content_pages(s->to, s->mm_id, addr, len / PAGE, data);
	return ret ? page_store_failed(s, ret) : 0;
}

/* Hash of a page; never 0, which means "no hash". */
static uint64_t hash_page(const char *page)
{
	return XXH64(page, PAGE, 0) | 1;
}

/* Look up where pages with these cookies were stored, into s->places; mm_id 0: not stored. */
static int find_stored(struct page_store *s, const struct ckpt_iovec *iov, uint64_t cookie,
		       const char *data)
{
	for (uint64_t i = 0; i < iov->len / PAGE; i++, data += PAGE) {
		struct page_place *known = &s->places[i];
		struct page_place here = {
			.mm_id = s->mm_id,
			.addr = iov->addr + i * PAGE,
			.hash = s->once ? hash_page(data) : 0,
		};
		int ret = page_table_put(s->stored, cookie + i, &here, known);

		if (ret < 0)
			return error_fail(s->d->error, ret, "out of memory");
		if (!ret || (known->hash && known->hash != hash_page(data)))
			known->mm_id = 0;
	}
	return 0;
}

/* Read known pages without a hash again; pages with another content count as not stored. */
static void compare_stored(struct page_store *s, uint64_t nr, uint64_t cookie,
			   const char *data)
{
	struct page_place *p = s->places;
	uint64_t n;

	for (uint64_t i = 0; i < nr; i += n) {
		int ret;

		n = 1;
		if (!p[i].mm_id || p[i].hash)
			continue;
		while (n < NR_AGAIN && i + n < nr && p[i + n].mm_id == p[i].mm_id &&
		       !p[i + n].hash && p[i + n].addr == p[i].addr + n * PAGE)
			n++;
		ret = dump_pages_again(s->d, p[i].mm_id, p[i].addr, n, s->again);
		for (uint64_t j = i; j < i + n; j++) {
			if (ret || memcmp(s->again + (j - i) * PAGE, data + j * PAGE, PAGE))
				p[j].mm_id = 0;
			else
				page_table_note(s->stored, cookie + j, hash_page(data + j * PAGE));
		}
	}
}

/* Store pages with a cookie; pages that are stored already become references. */
static int store_shared(struct page_store *s, const struct ckpt_iovec *iov,
			uint64_t cookie, const char *data, bool clean)
{
	uint64_t from = 0;
	int ret = find_stored(s, iov, cookie, data);

	if (ret)
		return ret;
	compare_stored(s, iov->len / PAGE, cookie, data);
	for (uint64_t at = 0; at < iov->len && !ret; at += PAGE) {
		const struct page_place *known = &s->places[at / PAGE];

		if (!known->mm_id)
			continue;
		ret = dump_store_pages(s, iov->addr + from, at - from, data + from, clean);
		from = at + PAGE;
		if (!ret)
			ret = dump_store_refer(s, iov->addr + at, known->mm_id, known->addr);
	}
	return ret ? ret
		   : dump_store_pages(s, iov->addr + from, iov->len - from, data + from, clean);
}

int page_store_put(struct page_store *s, const struct ckpt_iovec *iov, uint64_t cookie,
		   const char *data, bool clean)
{
	if (cookie)
		return store_shared(s, iov, cookie, data, clean);
	return dump_store_pages(s, iov->addr, iov->len, data, clean);
}
