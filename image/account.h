/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accounts for every byte of an image's files and every byte of mapped memory; in bytes.
 *
 * Only for a reader that is not locked: the index of a locked image is not known.
 */
#ifndef STILLPOINT_IMAGE_ACCOUNT_H
#define STILLPOINT_IMAGE_ACCOUNT_H

#include "image/reader.h"

struct ckpt_rec_vma;

/* The fields before total add up to total, which is the length of all files together. */
struct account_files {
	uint64_t pages, contents, state, index;	/* payloads of chunks, maybe compressed */
	uint64_t base;		/* pages that earlier images have stored */
	uint64_t manifest;
	uint64_t headers, tags, seals;	/* of files and chunks */
	uint64_t gaps;		/* of a locked image: counted in pages, contents and base */
	uint64_t total;
};

void account_files(const struct image_reader *r, struct account_files *ret_sums);

/* The memory of one memory map: the fields from own on add up to mapped. */
struct account_map {
	uint64_t mm_id;
	uint64_t mapped, nr_vmas;
	uint64_t stored;	/* size of own in the file; all maps: account_files.pages */
	uint64_t own;		/* data stored in this image for this map */
	uint64_t same;		/* equal to other data stored in this image */
	uint64_t base;		/* data stored in an earlier image */
	uint64_t zero;
	uint64_t shared;	/* pages shared with a map that accounts for them */
	uint64_t untouched;	/* no page, and nothing it could come from */
	uint64_t file;		/* no page but that of the mapped file */
	uint64_t elsewhere;	/* shared mappings: the file or object has the data */
	uint64_t kernel;	/* vDSO and its data */
};

struct account_maps {
	struct account_map *v;	/* by mm_id */
	size_t nr, room;
};

/* Make the maps from the index of an unlocked reader. 0 or -ENOMEM. */
int account_pages(const struct image_reader *r, struct account_maps *ret_maps);
/* Account for a mapping and its part of the index. */
int account_vma(const struct image_reader *r, struct account_maps *maps,
		const struct ckpt_rec_vma *vma);
/* Find the map, or add it. Valid until the next call; NULL: out of memory. */
struct account_map *account_find(struct account_maps *maps, uint64_t mm_id);
/* The sum over all maps; its mm_id is 0. */
struct account_map account_sum(const struct account_maps *maps);
void account_maps_done(struct account_maps *maps);

#endif /* STILLPOINT_IMAGE_ACCOUNT_H */
