/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stretch of one file in memory, read around the page cache where the file system
 * allows that: an image is read only once, and each page read through the cache would
 * cost a page of the cache, clearing that page, and a copy.
 */
#ifndef STILLPOINT_IMAGE_WINDOW_H
#define STILLPOINT_IMAGE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct window {
	uint8_t *buf;		/* WINDOW_BYTES, aligned to WINDOW_ALIGN */
	uint8_t *ahead;		/* WINDOW_AHEAD of huge pages, allocated when first needed */
	uint8_t *data;		/* buf or ahead: the buffer of the last read */
	uint64_t reads;		/* changes whenever @data or its contents change */
	bool in_order;		/* see window_limit() */
	int fd;			/* the file whose bytes are in @data; -1: none */
	uint64_t base;		/* offset of data[0] in the file */
	uint64_t start, end;	/* offsets of the bytes that window_get() may still return */
	uint64_t limit;		/* offset from which on nothing is read */
	uint64_t hint;		/* limit for the next read only; 0: none */
};

/* Allocate a buffer of WINDOW_BYTES, more than IMAGE_CHUNK_MAX; release it with free(). */
uint8_t *window_buffer(void);

int window_init(struct window *w);
void window_done(struct window *w);

/* Read @fd with O_DIRECT from now on, if the file system allows it; else as before. */
void window_direct(int fd);

/*
 * Get @len bytes (at most CHUNK_BOUND) at @offset of @fd; *@ret_data is valid until the
 * next call.  -ENODATA: the file ends before offset + len.
 */
int window_get(struct window *w, int fd, uint64_t offset, size_t len, uint8_t **ret_data);

/*
 * Do not read bytes from @offset on: the caller will not ask for them soon.
 * @in_order: it will ask for all bytes before @offset in order, so many may be read at once.
 */
void window_limit(struct window *w, uint64_t offset, bool in_order);

/* As window_limit(), for the next read only. */
void window_hint(struct window *w, uint64_t offset);

/* Return the end of a read that begins at @offset. */
uint64_t window_reach(const struct window *w, uint64_t offset);

/*
 * Hand the caller the buffer with the bytes of the last window_get(); the window goes on with
 * @other, a window_buffer().  NULL: much was read at once, and the bytes stay in the window
 * until @reads changes.
 */
uint8_t *window_swap(struct window *w, uint8_t *other);

/* The caller changed the bytes before @offset: do not give them out again. */
void window_drop(struct window *w, uint64_t offset);

#endif /* STILLPOINT_IMAGE_WINDOW_H */
