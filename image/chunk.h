/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One chunk: compress, authenticate, encrypt, and back.  Pure functions of
 * their arguments and a scratch context: several encoders may run side by side
 * (pipeline.h).
 */
#ifndef STILLPOINT_IMAGE_CHUNK_H
#define STILLPOINT_IMAGE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/format.h"
#include "image/key.h"

/* room that an encoded chunk may need */
#define CHUNK_BOUND	(sizeof(struct image_chunk_hdr) + IMAGE_CHUNK_MAX + \
			 IMAGE_SEAL_BYTES + IMAGE_TAG_BYTES)

/*
 * A buffer for one chunk: raw bytes are collected at the payload's place, so that a chunk that
 * is stored raw only needs header and tag around them.
 */
uint8_t *chunk_buffer(void);
void chunk_buffer_free(uint8_t *buffer);	/* NULL is fine */
static inline uint8_t *chunk_payload(uint8_t *buffer)
{
	return buffer + sizeof(struct image_chunk_hdr);
}
static inline uint8_t *chunk_of_payload(void *payload)
{
	return (uint8_t *)payload - sizeof(struct image_chunk_hdr);
}

struct chunk_encoder;
struct chunk_decoder;

/* @keys must live as long as the encoder, and not be blind. */
int chunk_encoder_create(const struct chunk_keys *keys, int level,
			 struct chunk_encoder **ret_encoder);
void chunk_encoder_destroy(struct chunk_encoder *enc);

/*
 * @pack: compress, if that saves anything
 * @raw: a chunk_buffer() with @raw_len bytes of payload; may be changed
 * @out: another chunk_buffer(), for the compressed payload
 * @ret_chunk: the chunk, in @raw or @out; the tag is its last IMAGE_TAG_BYTES
 */
int chunk_encode(struct chunk_encoder *enc, enum image_file file, uint64_t seq,
		 bool pack, uint8_t *raw, uint32_t raw_len, uint8_t *out,
		 uint8_t **ret_chunk, size_t *ret_len);

/* @keys must live as long as the decoder. */
int chunk_decoder_create(const struct chunk_keys *keys, struct chunk_decoder **ret_decoder);
void chunk_decoder_destroy(struct chunk_decoder *dec);
/* Another decoder with the same keys. */
int chunk_decoder_clone(const struct chunk_decoder *dec, struct chunk_decoder **ret_decoder);

/* Parse a header, which must be that of chunk @seq of @file; bounds are checked. */
int chunk_parse(const struct chunk_decoder *dec, const struct image_chunk_hdr *hdr,
		enum image_file file, uint64_t seq, uint32_t *ret_raw_len,
		uint32_t *ret_stored_len, const char **ret_why);

/*
 * @chunk: all of it, header to tag; may be changed (decrypted in place)
 * @room: IMAGE_CHUNK_MAX bytes to decompress into; NULL: authenticate, and decode nothing
 *	(all that can be done with blind keys)
 * @ret_raw: the raw bytes, in @room or, if they are stored raw, in @chunk; NULL without @room
 * @ret_why: what is wrong, if -EBADMSG
 */
int chunk_decode(struct chunk_decoder *dec, enum image_file file, uint64_t seq,
		 uint8_t *chunk, size_t len, void *room, const uint8_t **ret_raw,
		 uint32_t *ret_raw_len, const char **ret_why);

#endif /* STILLPOINT_IMAGE_CHUNK_H */
