/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The image under construction; shared by writer.c and writer_data.c only.
 */
#ifndef STILLPOINT_IMAGE_WRITER_PRIV_H
#define STILLPOINT_IMAGE_WRITER_PRIV_H

#include "base/error.h"
#include "image/chunk_pool.h"
#include "image/index.h"
#include "image/manifest.h"
#include "image/pipeline.h"
#include "image/same.h"
#include "image/stream.h"
#include "image/writer.h"

struct image {
	struct image_writer *writer;		/* owned */
	const struct image_key *key;		/* the caller's, or @own */
	struct image_key *own;			/* of the job; NULL: it has none */
	struct chunk_keys *chunk_keys;
	struct chunk_pool pool;
	struct pipeline *pipeline;
	struct stream streams[IMAGE_FILE__COUNT];	/* opened when needed */
	struct same *same;			/* NULL: pages are not compared */
	struct index index;
	struct image_reader *base;		/* NULL: a full image */
	unsigned int base_shift;		/* added to the numbers that bases have in @base */
	struct image_manifest manifest;
	char *job, *hostname, *release, *machine;	/* owned; manifest points to them */
	int32_t *roots;
	char **keys;
	char **values;
	unsigned int nr_keyvals;

	bool blob_open;
	bool blob_paged;
	uint64_t blob_id;
	uint64_t blob_end;			/* end of the current blob's data so far */

	int err;				/* first failure */
	struct ckpt_error error;
	bool committed;
	bool aborted;
};

/* Record the first failure; returns it. */
__attribute__((format(printf, 3, 4)))
int image_fail(struct image *img, int err, const char *fmt, ...);

int image_stream_failed(struct image *img, enum image_file file, int err);

/* Parts of writer_data.c that base.c needs. */
int image_check_range(struct image *img, uint64_t mm_id, uint64_t addr, uint64_t nr_pages);
int image_add_extent(struct image *img, const struct extent *e);

/* At the commit: drop the bases that no extent refers to. */
int image_bases_settle(struct image *img);

/* Can another image be based on this one?  -EMLINK, -EFBIG as of image_base(). */
int image_base_fits(const struct image_manifest *m, unsigned int max, struct ckpt_error *error);

/* The stream of @file, opened if it was not; NULL: img->err says why. */
struct stream *image_stream(struct image *img, enum image_file file);

#endif /* STILLPOINT_IMAGE_WRITER_PRIV_H */
