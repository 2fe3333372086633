/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A committed image, or a committed file of parity, as a stream to be read (layout.h).
 *
 * Opening checks the manifest's authenticity and every file's length, and holds a
 * shared lock on the directory, so that nobody deletes the image meanwhile.  Chunks
 * are not looked at: whoever makes something of the bytes checks that.
 */
#ifndef STILLPOINT_LEVELS_SOURCE_H
#define STILLPOINT_LEVELS_SOURCE_H

#include "base/error.h"
#include "image/reader.h"
#include "levels/layout.h"

struct source {
	const char *dir;	/* the caller's */
	struct layout layout;
	uint8_t id[32];
	uint64_t generation;
	uint64_t created_ns;
	char job[64];
	uint8_t *header;	/* of parity (parity.h), header_len bytes; NULL: it is an image */
	size_t header_len;
	int dirfd;
	int fds[LAYOUT_FILES];
};

/* Errors as image_open(); @dir must stay.  On failure there is nothing to close. */
int source_open(struct source *s, const char *dir, const struct image_key *key,
		const struct image_expect *expect, struct ckpt_error *error);
/* As source_open(), for an image or parity; with parity the id is that of the piece. */
int source_open_any(struct source *s, const char *dir, const struct image_key *key,
		    const struct image_expect *expect, struct ckpt_error *error);
/* Check either kind where it lies; @deep: every chunk or frame. */
int source_verify_any(const char *dir, const struct image_key *key,
		      const struct image_expect *expect, bool deep, struct ckpt_error *error);
void source_close(struct source *s);	/* a zeroed or closed one is fine */

/*
 * source_read() - bytes of the stream
 * @offset: a multiple of LAYOUT_ALIGN, as are @buf and @len
 *
 * What lies between the files and behind the last are zeros that are never read.
 */
int source_read(const struct source *s, uint64_t offset, void *buf, size_t len,
		struct ckpt_error *error);

#endif /* STILLPOINT_LEVELS_SOURCE_H */
