/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An io_uring with memory of its own, for writing: several writes on their way
 * while the next one is filled.  One thread at a time; the memory may be filled by
 * others.  RING_PIECES * RING_PIECE_BYTES, 28 MiB, or less, used as it is needed; a block of it
 * is registered with the kernel when it is written whole for the first time, where that
 * is permitted.
 */
#ifndef STILLPOINT_IMAGE_RING_H
#define STILLPOINT_IMAGE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_PIECES		28U
#define RING_PIECE_BYTES	(1U << 20)
#define RING_BLOCK_BYTES	(4U << 20)	/* most bytes of one write */
#define RING_FILES		8U	/* registered at a time; others go without */

struct ring;

/* The target of a write, and the owner that is told of its end. */
struct ring_target {
	int fd;
	int slot;		/* from ring_add_file(); -1: none */
	void *owner;
};

struct ring_write {
	const uint8_t *p;
	uint32_t len;
	uint64_t offset;	/* in the file */
};

/* A write ended: @res bytes or -errno.  Afterwards its pieces are free. */
typedef void (*ring_done_fn)(void *owner, const struct ring_write *w, int res);

/* -errno if this kernel, or its configuration, does not permit io_uring. */
int ring_create(ring_done_fn done, struct ring **ret_ring);
/* No write may be on its way.  NULL is fine. */
void ring_destroy(struct ring *r);

/* Limit the number of pieces, to whole blocks; call before the first ring_get(). */
void ring_limit(struct ring *r, unsigned int pieces);

/* About @bytes will be written: the ring's memory need not begin small. */
void ring_expect(struct ring *r, uint64_t bytes);

int ring_add_file(struct ring *r, int fd);	/* slot, or -1 */
void ring_remove_file(struct ring *r, int slot);

/*
 * Get a piece, page aligned, mostly the one after the last.  If none is free, wait for the
 * end of a write; -ENOBUFS if no write is on its way, either.
 */
int ring_get(struct ring *r, uint8_t **ret_piece);
/* How many are free, without waiting; is a write on its way? */
unsigned int ring_free(const struct ring *r);
bool ring_busy(const struct ring *r);
/* Give an unused piece back. */
void ring_put(struct ring *r, const uint8_t *p);
/* True for the last piece of a block: one write cannot go beyond it. */
bool ring_is_last(const struct ring *r, const uint8_t *p);

/*
 * Starts a write from the beginning of a piece, of that and others of its block behind
 * it; on failure nothing is begun and they are still the caller's.  What the kernel does
 * not take ends with -EAGAIN.
 */
int ring_write(struct ring *r, const struct ring_write *w, const struct ring_target *to);

/* If a write is on its way, wait until one ends (done is called). */
int ring_wait(struct ring *r);

/* fsync(2); no write to it is on its way. */
int ring_sync(struct ring *r, const struct ring_target *of);

/* Bytes written since the last call and the time that the device needed; 0: not known. */
void ring_written(struct ring *r, uint64_t *ret_bytes, uint64_t *ret_ns);

#endif /* STILLPOINT_IMAGE_RING_H */
