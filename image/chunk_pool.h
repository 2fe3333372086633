/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buffers of chunks: memory that the writer lends, else the pool's own buffers, which are
 * kept for the next chunk.  One thread at a time.
 */
#ifndef STILLPOINT_IMAGE_CHUNK_POOL_H
#define STILLPOINT_IMAGE_CHUNK_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/chunk.h"
#include "image/writer.h"

#define CHUNK_POOL_SPARE	16U

/* A chunk_buffer(), or the writer's, in which a chunk of chunk_room_bytes() has room. */
struct chunk_room {
	uint8_t *p;		/* NULL: none */
	bool lent;
};

struct chunk_pool {
	struct image_writer *writer;
	uint8_t *spare[CHUNK_POOL_SPARE];
	unsigned int nr_spare;
};

void chunk_pool_init(struct chunk_pool *pool, struct image_writer *writer);
void chunk_pool_done(struct chunk_pool *pool);

/* @much: many such chunks will follow, so the writer's memory pays.  p is NULL: no memory. */
struct chunk_room chunk_pool_get(struct chunk_pool *pool, bool much);
/* Give a room back; its content is not needed any more.  An empty room is fine. */
void chunk_pool_put(struct chunk_pool *pool, struct chunk_room *room);

/* Bytes of payload: whole pages; a lent room has more room behind them, for the tag. */
static inline uint32_t chunk_room_bytes(const struct chunk_room *room)
{
	return room->lent ? IMAGE_LENT_BYTES - IMAGE_LENT_ALIGN : IMAGE_CHUNK_MAX;
}

#endif /* STILLPOINT_IMAGE_CHUNK_POOL_H */
