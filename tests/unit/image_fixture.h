/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of image/ share: a scratch directory, a key, pages and records
 * made from seeds, and a model image that is written and compared.
 */
#ifndef STILLPOINT_TESTS_IMAGE_FIXTURE_H
#define STILLPOINT_TESTS_IMAGE_FIXTURE_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "image/reader.h"
#include "image/writer.h"

#define PAGE	4096U

struct scratch {
	char root[128];		/* holds everything of one test */
	struct image_key *key;
};

int scratch_setup(void **state);	/* cmocka fixtures; state: struct scratch */
int scratch_teardown(void **state);
/* Give the key a secret, always the same; whatever is dumped with it is encrypted. */
void scratch_secret(const struct scratch *s);
int scratch_setup_secret(void **state);
/* root/name, in a static buffer of eight in turn */
const char *scratch_path(const struct scratch *s, const char *name);
/* the same for gen-N */
const char *scratch_generation(const struct scratch *s, unsigned int generation);
/* does anything of this name exist? */
int path_exists(const char *path);
/* entries of a directory, without . and .. */
int count_entries(const char *path);

void *load_file(const char *path, size_t *ret_len);
void store_file(const char *path, const void *data, size_t len);
void copy_image(const char *from, const char *to);	/* all files of it */
void remove_image(const char *dir);

uint64_t rng_next(uint64_t *rng);
/* one page; seed 0 is zeros, others never all zero */
void fill_page(uint8_t *page, uint64_t seed);

/* A model: pages (or references), records, blobs, derived from one seed. */
struct model_page {
	uint64_t mm, addr;
	uint64_t seed;		/* of its contents */
	int ref;		/* index of the page it is the same as, or -1 */
};

struct model {
	uint64_t seed;
	struct model_page *pages;	/* sorted by (mm, addr) */
	int nr_pages;
	int nr_records;
	int nr_blobs;
};

struct model_size {
	int mms;
	int pages;		/* per memory map, about */
	int records;
	int blobs;
	int incompressible;	/* all pages random */
};

void model_init(struct model *m, uint64_t seed, const struct model_size *size);
void model_done(struct model *m);
/* write all of it (random order if @shuffle); errno of the first failure */
int model_write(const struct model *m, struct image *img, int shuffle);
/* assert that the reader gives exactly the model */
void model_compare(const struct model *m, struct image_reader *r);
/* create, write and commit; asserts success */
void model_store(const struct model *m, const struct scratch *s, const char *dir,
		 uint64_t generation, const char *job, int encrypt);
/* read all there is to read, without asserting; first errno */
int walk_image(struct image_reader *r);

#endif /* STILLPOINT_TESTS_IMAGE_FIXTURE_H */
