/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages read from the kernel by a thread of their own, while its owner does
 * something with those that were read before.  A few reads are asked for ahead and done
 * in turn, so that neither waits for the other to wake up; the kernel's copy of a page
 * costs as much as all that is done with it later.
 */
#ifndef STILLPOINT_PAGE_FETCH_H
#define STILLPOINT_PAGE_FETCH_H

#include "engine/core/kdev.h"

#define PAGE_FETCH_AHEAD	3U

struct page_fetch;

/* Where no thread is to be had, page_fetch_wait() reads. */
int page_fetch_create(struct kdev *dev, struct page_fetch **ret_fetch);
/* Waits for the thread.  NULL is fine. */
void page_fetch_destroy(struct page_fetch *f);

/*
 * Begin to read; at most PAGE_FETCH_AHEAD may be under way.  @pages is copied, what it
 * points to must stay until page_fetch_wait().
 */
void page_fetch_start(struct page_fetch *f, const struct ckpt_pages *pages);
/* Until the oldest one is read: 0 or -errno, also if there is none. */
int page_fetch_wait(struct page_fetch *f);

#endif /* STILLPOINT_PAGE_FETCH_H */
