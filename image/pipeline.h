/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Chunks encoded on several CPUs, handed on in the order in which they came.
 *
 * One thread uses a pipeline; the workers are its own.  A chunk's buffer is exchanged
 * for an empty one, or none; it comes back through stream_take() of its stream, from a
 * later call on the pipeline.  Memory: at most 4 MiB for each worker, and 8 MiB.
 */
#ifndef STILLPOINT_IMAGE_PIPELINE_H
#define STILLPOINT_IMAGE_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

struct chunk_keys;
struct pipeline;
struct stream;

/*
 * @keys: must live as long as the pipeline
 * @level: of zstd; 0: chosen by measurement (pace.h)
 */
int pipeline_create(const struct chunk_keys *keys, int level, struct pipeline **ret_pipeline);
/* Chunks that were not handed on are forgotten.  NULL is fine. */
void pipeline_destroy(struct pipeline *p);

/* @raw: a chunk_buffer() with @raw_len bytes of payload; afterwards another one, or NULL */
int pipeline_put(struct pipeline *p, struct stream *s, uint64_t seq, uint8_t **raw,
		 uint32_t raw_len);
/* Hand on everything; returns the first failure. */
int pipeline_drain(struct pipeline *p);

/* How long a write took: part of the decision whether compressing pays. */
void pipeline_written(struct pipeline *p, uint64_t bytes, uint64_t ns);

#endif /* STILLPOINT_IMAGE_PIPELINE_H */
