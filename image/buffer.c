// SPDX-License-Identifier: GPL-2.0-only
/*
 * Growing byte buffer in which records are built.
 *
 * Owns its memory; whoever takes p takes it over by clearing it.  Lengths come
 * from our own code, but the sum is checked all the same: a record that is
 * longer than the format allows is an error here, not in the reader.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/buffer.h"
#include "image/format.h"

static int buffer_grow(struct buffer *b, size_t len)
{
	size_t room = b->room ? b->room : 4096;
	uint8_t *p;

	if (b->len + len < len)
		return -EOVERFLOW;
	while (room < b->len + len)
		room *= 2;
	if (room == b->room)
		return 0;
	p = realloc(b->p, room);
	if (!p)
		return -ENOMEM;
	b->p = p;
	b->room = room;
	return 0;
}

void buffer_put(struct buffer *b, const void *data, size_t len)
{
	if (b->err || !len)
		return;
	b->err = buffer_grow(b, len);
	if (b->err)
		return;
	memcpy(b->p + b->len, data, len);
	b->len += len;
}

void buffer_put_record(struct buffer *b, uint16_t type, void *fixed,
		       size_t fixed_len, const void *var, size_t var_len)
{
	static const uint8_t zeros[8];
	struct image_rec_hdr *hdr = fixed;
	size_t len = fixed_len + var_len;
	size_t padding = -len & 7;

	if (!b->err && (len < var_len || len + padding > IMAGE_RECORD_MAX))
		b->err = -EMSGSIZE;
	hdr->type = htole16(type);
	hdr->version = htole16(1);
	hdr->len = htole32((uint32_t)(len + padding));
	buffer_put(b, fixed, fixed_len);
	buffer_put(b, var, var_len);
	buffer_put(b, zeros, padding);
}

void buffer_done(struct buffer *b)
{
	free(b->p);
	*b = (struct buffer){};
}
