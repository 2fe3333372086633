/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that reads pages from the kernel while its owner stores pages read before.
 *
 * A few reads are requested ahead and done in turn, so that neither side waits for the
 * other to wake up.  Copying a page out of the kernel costs as much as all that is done
 * with it later, so the two run at the same time.
 */
#ifndef STILLPOINT_PAGE_FETCH_H
#define STILLPOINT_PAGE_FETCH_H

#include "engine/core/kdev.h"

#define PAGE_FETCH_AHEAD	3U

struct page_fetch;

/* If no thread can be started, page_fetch_wait() itself reads. */
int page_fetch_create(struct kdev *dev, struct page_fetch **ret_fetch);
/* Waits for the thread.  NULL is fine. */
void page_fetch_destroy(struct page_fetch *f);

/*
 * Begin to read; at most PAGE_FETCH_AHEAD reads may be under way.  @pages is copied; the
 * memory that it points to must stay until page_fetch_wait().
 */
void page_fetch_start(struct page_fetch *f, const struct ckpt_pages *pages);
/* Wait for the oldest read: its result, 0 or -errno; 0 if none is under way. */
int page_fetch_wait(struct page_fetch *f);

#endif /* STILLPOINT_PAGE_FETCH_H */
