/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of images on top of earlier ones share: memory that is written to, and its
 * generations, gen-N in the scratch directory.
 */
#ifndef STILLPOINT_TESTS_CHAIN_FIXTURE_H
#define STILLPOINT_TESTS_CHAIN_FIXTURE_H

#include "tests/unit/image_fixture.h"

#include <stdbool.h>

#define BASE	0x10000000ULL
#define PAGES	3000U
#define MM	7ULL

/* What the memory holds, and which pages were written since the last image. */
struct memory {
	uint64_t seeds[PAGES];	/* 0: zeros; ~0: no page */
	char dirty[PAGES];
	uint64_t rng;
};

struct memory *memory_new(void);	/* to be freed */
/* Write to @nr pages, let some go, and bring some back. */
void memory_work(struct memory *m, unsigned int nr);

/*
 * An image, what goes into it, and its commit; the map is another number in each, MM +
 * generation.
 */
struct image *chain_begin(const struct scratch *s, unsigned int generation);
/* @base: what was not written is as in the image before */
void chain_put(const struct scratch *s, struct image *img, const struct memory *m,
	       unsigned int generation, bool base);
void chain_finish(struct image *img);
/* All of that, on top of the generation before if @base. */
void chain_store(const struct scratch *s, const struct memory *m, unsigned int generation,
		 bool base);
/* Asserts that it verifies and holds just that, also for a clone. */
void chain_compare(const struct scratch *s, const struct memory *m, unsigned int generation);

#endif /* STILLPOINT_TESTS_CHAIN_FIXTURE_H */
