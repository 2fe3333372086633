/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Chunks encoded on several CPUs, handed on in the order in which they came.
 *
 * One thread uses a pipeline; the workers are its own.  A chunk comes back through
 * stream_take() of its stream, from a later call on the pipeline, and its room goes back
 * to the pool.  Memory: at most two rooms and 2 MiB for each worker, and four of both.
 */
#ifndef STILLPOINT_IMAGE_PIPELINE_H
#define STILLPOINT_IMAGE_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#define PIPELINE_WORKERS	4U

struct chunk_keys;
struct chunk_pool;
struct chunk_room;
struct pipeline;
struct stream;

/*
 * @keys, @pool: must live as long as the pipeline
 * @level: of zstd; 0: chosen by measurement (pace.h)
 * @workers: at most, 1 to PIPELINE_WORKERS; fewer where there are fewer CPUs
 */
int pipeline_create(const struct chunk_keys *keys, struct chunk_pool *pool, int level,
		    unsigned int workers, struct pipeline **ret_pipeline);
/* Drop chunks that were not handed on, and free.  NULL is fine. */
void pipeline_destroy(struct pipeline *p);

/* @raw: has @raw_len bytes of payload; the pipeline takes it in any case and empties @raw */
int pipeline_put(struct pipeline *p, struct stream *s, uint64_t seq, struct chunk_room *raw,
		 uint32_t raw_len);
/* Hand on everything; returns the first failure. */
int pipeline_drain(struct pipeline *p);

/* How long a write took: part of the decision whether compressing pays. */
void pipeline_written(struct pipeline *p, uint64_t bytes, uint64_t ns);

#endif /* STILLPOINT_IMAGE_PIPELINE_H */
