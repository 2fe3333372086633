/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where every byte of an image went, and what became of every byte of memory; in bytes.
 */
#ifndef STILLPOINT_IMAGE_ACCOUNT_H
#define STILLPOINT_IMAGE_ACCOUNT_H

#include "image/reader.h"

struct ckpt_rec_vma;

/* All but total add up to it, and that is the length of all files together. */
struct account_files {
	uint64_t pages, contents, state, index;	/* payloads of chunks, compressed if that pays */
	uint64_t base;		/* pages that earlier images have stored */
	uint64_t manifest;
	uint64_t headers, tags, seals;	/* of files and chunks */
	uint64_t gaps;		/* of one that is locked among pages, contents and base */
	uint64_t total;
};

void account_files(const struct image_reader *r, struct account_files *ret_sums);

/* What a memory map has: all from own on add up to mapped. */
struct account_map {
	uint64_t mm_id;
	uint64_t mapped, nr_vmas;
	uint64_t stored;	/* what own takes in the file; all maps together: account_files.pages */
	uint64_t own;		/* data that is in this image, */
	uint64_t same;		/* as other data there, */
	uint64_t base;		/* in an earlier image */
	uint64_t zero;
	uint64_t shared;	/* with another map, that has it */
	uint64_t untouched;	/* no page, and nothing it could come from */
	uint64_t file;		/* no page but that of the mapped file */
	uint64_t elsewhere;	/* of shared mappings: the file or object has it */
	uint64_t kernel;	/* vDSO and its data */
};

struct account_maps {
	struct account_map *v;	/* by mm_id */
	size_t nr, room;
};

/* From the index; of a reader that is not locked. 0 or -ENOMEM. */
int account_pages(const struct image_reader *r, struct account_maps *ret_maps);
/* A mapping, and what of it is in the index. */
int account_vma(const struct image_reader *r, struct account_maps *maps,
		const struct ckpt_rec_vma *vma);
/* The map; one more if it is not there. NULL without memory, and until the next call. */
struct account_map *account_find(struct account_maps *maps, uint64_t mm_id);
/* All together; mm_id stays 0. */
struct account_map account_sum(const struct account_maps *maps);
void account_maps_done(struct account_maps *maps);

#endif /* STILLPOINT_IMAGE_ACCOUNT_H */
