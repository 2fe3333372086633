/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Storing pages: as data in the image, as a reference to the base, or as a reference to a
 * page that another process shares and that was stored before.
 *
 * The caller (dump_pages.c) decides which pages are stored, and reads them.
 */
#ifndef STILLPOINT_DUMP_STORE_H
#define STILLPOINT_DUMP_STORE_H

#include "engine/dump/dump_run.h"

struct page_place;
struct page_table;

struct page_store {
	struct dump *d;
	struct content *to;
	struct page_table *stored;	/* shared pages stored so far; NULL: do not share */
	struct page_place *places;	/* if @stored: room for each page of a batch */
	char *again;			/* if @stored: room for pages to compare */
	bool once;			/* the map's pages cannot be read again */
	uint32_t mm_id;
	uint64_t base_mm;		/* the map's number in the base; 0: the base lacks it */
	struct {			/* a reference that may still grow */
		uint64_t addr, nr, src_mm, src_addr;
	} ref;
};

void page_store_init(struct page_store *s, struct dump *d, struct content *to);
/* Store pages that several processes share only once; -ENOMEM. */
int page_store_share(struct page_store *s);
void page_store_done(struct page_store *s);

/* The following pages are of this map; @once: its pages cannot be read again. */
void page_store_map(struct page_store *s, uint32_t mm_id, bool once);
/* The pages that the kernel calls clean are as in the image with this @token. */
void page_store_token(struct page_store *s, uint64_t token);

/* Refer to the base for pages from @addr on, up to @len bytes; *ret_done: bytes that it has. */
int page_store_base(struct page_store *s, uint64_t addr, uint64_t len, uint64_t *ret_done);

/*
 * page_store_put() - store pages that were read
 * @cookie: of the first page; 0: no other process shares the pages
 * @clean: the pages are as in the base, if the base has them
 */
int page_store_put(struct page_store *s, const struct ckpt_iovec *iov, uint64_t cookie,
		   const char *data, bool clean);

/* Write the reference that could still grow: call before another map, and at the end. */
int page_store_flush(struct page_store *s);

int page_store_failed(struct page_store *s, int err);	/* describe a failure of @to; returns err */

#endif /* STILLPOINT_DUMP_STORE_H */
