// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers of chunks.
 *
 * The user of a room gives it back here in any case, or to the writer that lent it.
 * The pool keeps its own buffers: pages touched once cost no fault again.
 *
 * Must not know what the buffers hold, nor whose turn it is.
 */
#include "image/chunk_pool.h"

_Static_assert(IMAGE_LENT_ALIGN == IMAGE_ALIGN && IMAGE_ALIGN % IMAGE_PAGE_SIZE == 0 &&
	       IMAGE_LENT_ALIGN >= CHUNK_BOUND - IMAGE_CHUNK_MAX, "header, seal and tag");
_Static_assert(IMAGE_LENT_BYTES <= IMAGE_CHUNK_MAX, "a chunk");

void chunk_pool_init(struct chunk_pool *pool, struct image_writer *writer)
{
	*pool = (struct chunk_pool){ .writer = writer };
}

void chunk_pool_done(struct chunk_pool *pool)
{
	while (pool->nr_spare)
		chunk_buffer_free(pool->spare[--pool->nr_spare]);
}

static uint8_t *chunk_pool_lend(struct image_writer *w)
{
	return w->ops->lend ? w->ops->lend(w) : NULL;
}

struct chunk_room chunk_pool_get(struct chunk_pool *pool, bool much)
{
	uint8_t *p = much ? chunk_pool_lend(pool->writer) : NULL;

	if (p)
		return (struct chunk_room){ p, true };
	p = pool->nr_spare ? pool->spare[--pool->nr_spare] : chunk_buffer();
	return (struct chunk_room){ p, false };
}

void chunk_pool_put(struct chunk_pool *pool, struct chunk_room *room)
{
	uint8_t *p = take_ptr(room->p);

	if (p && room->lent)
		pool->writer->ops->reclaim(pool->writer, p);
	else if (p && pool->nr_spare < CHUNK_POOL_SPARE)
		pool->spare[pool->nr_spare++] = p;
	else
		chunk_buffer_free(p);
}
