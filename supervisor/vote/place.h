/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a page of an image is, in words for people: its rank and its mapping.
 */
#ifndef STILLPOINT_VOTE_PLACE_H
#define STILLPOINT_VOTE_PLACE_H

#include <stdint.h>

#include "image/reader.h"

struct place {
	int rank;		/* -1: the process is no rank */
	uint64_t start, end;	/* of the mapping; 0: not found */
	char mapping[128];	/* the end of the file's path, "heap", "stack" or "anonymous" */
};

/* Name the page at @addr of the memory map @mm_id, of @pid. Rewinds the image's records. */
void place_find(struct image_reader *r, uint64_t mm_id, int32_t pid, uint64_t addr,
		struct place *ret_place);

#endif /* STILLPOINT_VOTE_PLACE_H */
