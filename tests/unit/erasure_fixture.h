/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A group of images and its parity (levels/erasure.h): what is lost of it comes back to the
 * last bit.
 */
#ifndef STILLPOINT_TESTS_ERASURE_FIXTURE_H
#define STILLPOINT_TESTS_ERASURE_FIXTURE_H

#include "base/error.h"
#include "levels/erasure.h"
#include "tests/unit/image_fixture.h"

#define GROUP_MAX	10		/* members and files of parity */

/* k images in member-N, m files of parity in parity-N. */
struct group {
	struct scratch *s;
	unsigned int k, m;
	char nodes[GROUP_MAX][16], images[GROUP_MAX][160], parities[GROUP_MAX][160];
	struct erasure_member members[GROUP_MAX];
	struct erasure_output outputs[GROUP_MAX];
	struct erasure_figures figures;
	struct erasure_options options;
	struct ckpt_error error;
	char notes[2000];
};

/* Pages of four members, up to 20 units of parity. */
extern const int four[4];

/* @pages: of each member's image; with 0 it has a state and an index only */
void group_init(struct group *g, struct scratch *s, unsigned int k, unsigned int m,
		const int *pages);
/* An image as a member's: the same @seed, the same contents, and another id. */
void group_store(struct group *g, const char *dir, uint64_t seed, int pages,
		 uint64_t generation);

int group_try_encode(struct group *g);
void group_encode(struct group *g);

/*
 * Rows are the images, then the parity.  The rows of @lost are made in again-N, of the others.
 * -ENODATA: no parity is left.
 */
int group_rebuild(struct group *g, const unsigned int *lost, unsigned int nr_lost);
/* They are what they were, and go. */
void group_check_again(struct group *g, const unsigned int *lost, unsigned int nr_lost);
/* Both; nothing else is wrong, so it works, unless all that is lost is all the parity. */
void group_lose(struct group *g, const unsigned int *lost, unsigned int nr_lost);

#endif /* STILLPOINT_TESTS_ERASURE_FIXTURE_H */
