/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Growing byte buffer in which records are built.  The first failure sticks in
 * err, so a series of puts is checked once.
 */
#ifndef STILLPOINT_IMAGE_BUFFER_H
#define STILLPOINT_IMAGE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *p;
	size_t len;
	size_t room;
	int err;
};

void buffer_put(struct buffer *b, const void *data, size_t len);

/*
 * A record: its fixed part (a structure that begins with an image_rec_hdr, which
 * is filled in), then @var, then padding.
 */
void buffer_put_record(struct buffer *b, uint16_t type, void *fixed,
		       size_t fixed_len, const void *var, size_t var_len);

void buffer_done(struct buffer *b);

#endif /* STILLPOINT_IMAGE_BUFFER_H */
