/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An io_uring with buffers of its own, for writing: several writes on their way
 * while the next buffer is filled.  One thread at a time.  Memory: RING_BUFFERS *
 * RING_BUFFER_BYTES, 8 MiB, used as it is needed; a buffer is registered with the
 * kernel when it is written full for the first time, where that is permitted.
 */
#ifndef STILLPOINT_IMAGE_RING_H
#define STILLPOINT_IMAGE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_BUFFERS		8U
#define RING_BUFFER_BYTES	(1U << 20)
#define RING_FILES		8U	/* registered at a time; others go without */

struct ring;
struct io_uring_sqe;

/* Where a write goes and who is told of its end. */
struct ring_target {
	int fd;
	int slot;		/* from ring_add_file(); -1: none */
	void *owner;
};

struct ring_buffer {
	uint8_t *p;		/* RING_BUFFER_BYTES, page aligned */
	uint32_t len;		/* in use */
	uint64_t offset;	/* in the file */
	/* the ring's */
	void *owner;
	struct io_uring_sqe *sqe;
	uint16_t index;
	bool fixed;		/* registered */
};

/* A write ended: @res bytes or -errno.  Afterwards the buffer is free. */
typedef void (*ring_done_fn)(void *owner, const struct ring_buffer *b, int res);

/* -errno if this kernel, or who set it up, does not permit it. */
int ring_create(ring_done_fn done, struct ring **ret_ring);
/* Nothing may be on its way.  NULL is fine. */
void ring_destroy(struct ring *r);

int ring_add_file(struct ring *r, int fd);	/* slot, or -1 */
void ring_remove_file(struct ring *r, int slot);

/* An empty buffer; waits for the end of a write if there is none. */
int ring_get(struct ring *r, struct ring_buffer **ret_buffer);
void ring_put(struct ring *r, struct ring_buffer *b);	/* unused after all */

/*
 * Starts the write of @b, at the next ring_wait() at the latest; on failure nothing is
 * begun and @b still the caller's.  What the kernel does not take ends with -EAGAIN.
 */
int ring_write(struct ring *r, struct ring_buffer *b, const struct ring_target *to);

/* Until a write ends (done is called), if one is on its way. */
int ring_wait(struct ring *r);

/* fsync(2); no write to it is on its way. */
int ring_sync(struct ring *r, const struct ring_target *of);

/* Bytes written since the last call and the time that the device needed; 0: not known. */
void ring_written(struct ring *r, uint64_t *ret_bytes, uint64_t *ret_ns);

#endif /* STILLPOINT_IMAGE_RING_H */
