/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stretch of one file in memory, read past the page cache where the file system
 * allows that: an image is read once, and each page of it would cost a page of
 * the cache, its clearing and a copy.
 */
#ifndef STILLPOINT_IMAGE_WINDOW_H
#define STILLPOINT_IMAGE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct window {
	uint8_t *buf;		/* WINDOW_BYTES, aligned to WINDOW_ALIGN */
	uint8_t *ahead;		/* WINDOW_AHEAD of huge pages, had when it is needed first */
	uint8_t *data;		/* the one of both that was read into last */
	uint64_t reads;		/* changes whenever @data does, or what is in it */
	bool in_order;		/* see window_limit() */
	int fd;			/* whose bytes these are; -1: none */
	uint64_t base;		/* offset of data[0] in the file */
	uint64_t start, end;	/* what may still be taken */
	uint64_t limit;		/* nothing is wanted from there on */
	uint64_t hint;		/* nor, for the next read, from there on; 0: not known */
};

/* WINDOW_BYTES, more than IMAGE_CHUNK_MAX; free() takes it back. */
uint8_t *window_buffer(void);

int window_init(struct window *w);
void window_done(struct window *w);

/* Read @fd directly from now on, if it can be: -EINVAL of the file system is no error. */
void window_direct(int fd);

/*
 * @len bytes (at most CHUNK_BOUND) at @offset of @fd, in @ret_data until the next
 * call.  -ENODATA: the file ends before.
 */
int window_get(struct window *w, int fd, uint64_t offset, size_t len, uint8_t **ret_data);

/*
 * What lies at @offset and behind it will not be asked for soon: do not read it.
 * @in_order: all before it will, one after the other, so that much of it may be read at once.
 */
void window_limit(struct window *w, uint64_t offset, bool in_order);

/* The same for the next read alone. */
void window_hint(struct window *w, uint64_t offset);

/* How far a read reaches that begins at @offset. */
uint64_t window_reach(const struct window *w, uint64_t offset);

/*
 * What window_get() gave last is the caller's now, in the buffer that is returned; the
 * window goes on with @other, a window_buffer().  NULL: much was read at once, and what was
 * given stays where it is while @reads is what it was.
 */
uint8_t *window_swap(struct window *w, uint8_t *other);

/* The caller changed what lies before @offset: it is not given out again. */
void window_drop(struct window *w, uint64_t offset);

#endif /* STILLPOINT_IMAGE_WINDOW_H */
