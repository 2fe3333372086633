/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Comparing the memory of replicas by their images; for workers.
 */
#ifndef STILLPOINT_VOTE_COMPARE_H
#define STILLPOINT_VOTE_COMPARE_H

#include "base/error.h"
#include "image/key.h"
#include "supervisor/vote/place.h"
#include "supervisor/vote/tally.h"

#define COMPARE_TOLD	16	/* pages that struct compared names */

struct compare_member {
	const char *dir;		/* of the image */
	const char *label;		/* of its job */
	uint64_t generation;
};

struct compared_page {
	int member;			/* as tally_page() returns it */
	int32_t pid;
	uint64_t addr, byte;		/* of the page, and of the first byte that differs */
	struct place place;
};

struct compared {
	struct tally tally;
	char digest[TALLY_MEMBERS][33];	/* of all memory, in hexadecimal digits */
	unsigned int nr_told;
	struct compared_page told[COMPARE_TOLD];
	unsigned int culprit;		/* after an error: the member whose image it is about */
};

/*
 * compare_images() - compare the memory of two or three images
 *
 * A page that an image lacks counts as zeros. Not compared: registers, and what excluded.h names,
 * as they differ between equal replicas.
 * -EPROTO: the images have not the same processes.
 */
int compare_images(const struct compare_member *members, unsigned int nr,
		   const struct image_key *key, struct compared *ret_compared,
		   struct ckpt_error *error);

#endif /* STILLPOINT_VOTE_COMPARE_H */
