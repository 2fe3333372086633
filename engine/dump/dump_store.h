/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a page is stored: in the image, as what the base has, or as a reference to a page that
 * another process has as well and that was stored before.
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
	struct page_place *places;	/* with stored: for each page of a batch */
	char *again;			/* … and some pages to compare */
	bool once;			/* mm cannot be read again */
	uint32_t mm_id;
	uint64_t base_mm;		/* the map in the base; 0: nothing is known of it */
	struct {			/* a reference that may still grow */
		uint64_t addr, nr, src_mm, src_addr;
	} ref;
};

void page_store_init(struct page_store *s, struct dump *d, struct content *to);
/* Pages that several processes have are to be stored once; -ENOMEM. */
int page_store_share(struct page_store *s);
void page_store_done(struct page_store *s);

/* From now on pages are of this map, which may be readable only @once. */
void page_store_map(struct page_store *s, uint32_t mm_id, bool once);
/* What the kernel says of its clean pages: they are as in the image with this @token. */
void page_store_token(struct page_store *s, uint64_t token);

/* What is in the base from @addr on, up to @len bytes, need not be stored; *ret_done of them. */
int page_store_base(struct page_store *s, uint64_t addr, uint64_t len, uint64_t *ret_done);

/*
 * page_store_put() - pages that were read
 * @cookie: of the first one; 0: they are nobody else's
 * @clean: as in the base, as far as it has them
 */
int page_store_put(struct page_store *s, const struct ckpt_iovec *iov, uint64_t cookie,
		   const char *data, bool clean);

/* A reference that could grow does not any more: before another map, and at the end. */
int page_store_flush(struct page_store *s);

int page_store_failed(struct page_store *s, int err);	/* of @to; returns err */

#endif /* STILLPOINT_DUMP_STORE_H */
