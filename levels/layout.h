/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files of an image as one stream of bytes: state, index, pages, blobs, then
 * the manifest, as that is the order in which they become durable.  Each begins at
 * a multiple of 4096 of the stream; what is between them are zeros that no file
 * holds.
 *
 * Parity (parity.h) that is moved about is a stream, too, of its one file.
 */
#ifndef STILLPOINT_LEVELS_LAYOUT_H
#define STILLPOINT_LEVELS_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define LAYOUT_FILES	5
#define LAYOUT_MANIFEST	(LAYOUT_FILES - 1)
#define LAYOUT_ALIGN	4096U

struct layout {
	uint64_t len[LAYOUT_FILES];	/* bytes; 0: the image has no such file */
	uint64_t start[LAYOUT_FILES];	/* in the stream */
	uint64_t total;			/* of the stream, a multiple of LAYOUT_ALIGN */
	uint64_t bytes;			/* of the files */
	/* 1: parity, with the first file only. 64 bits, as padding would break memcmp(). */
	uint64_t parity;
};

/* The file's name in the image's directory, or in a directory of parity. */
const char *layout_name(const struct layout *l, unsigned int file);

/* -EFBIG: no file system holds files of these lengths. */
int layout_init(struct layout *l, const uint64_t len[LAYOUT_FILES]);
/* -EFBIG; -EINVAL: an image without a manifest, or parity with more than one file. */
int layout_init_kind(struct layout *l, const uint64_t len[LAYOUT_FILES], bool parity);

static inline uint64_t layout_end(const struct layout *l, unsigned int file)
{
	return l->start[file] + l->len[file];
}

#endif /* STILLPOINT_LEVELS_LAYOUT_H */
