// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chunks that stay where they were read, beside others that were unpacked or copied: in
 * whatever order they are read, each has its own bytes, and what comes after a damaged one
 * is not worse for it.  Nor does it matter what was said about the order before.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/format.h"
#include "tests/unit/image_fixture.h"

#define CHUNKS	12U
#define PAGES	(IMAGE_CHUNK_MAX / PAGE)	/* of a chunk */
#define BASE	0x10000000ULL
#define SMALL	9U		/* pages of the last chunk, which is copied */
#define READS	400U

/* Each other chunk does not compress. */
static uint64_t seed_of(unsigned int page)
{
	unsigned int chunk = page / PAGES;

	return chunk % 2 || chunk == CHUNKS ? 1000 * page + 1 : chunk + 1;
}

static void store(const struct scratch *s)
{
	struct image_options options = { .generation = 1,
					 .encrypt = image_key_has_secret(s->key) };
	const unsigned int nr = CHUNKS * PAGES + SMALL;
	uint8_t *data = malloc((size_t)nr * PAGE);
	struct ckpt_error error = {};
	struct image_writer *w;
	struct image *img;

	assert_non_null(data);
	for (unsigned int i = 0; i < nr; i++)
		fill_page(data + (size_t)i * PAGE, seed_of(i));
	/* its chunks are all of CHUNK_MAX bytes */
	assert_int_equal(image_writer_posix_create(scratch_path(s, "image"), &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	assert_int_equal(image_pages_add(img, 1, BASE, nr, data), 0);
	if (image_commit(img, &error))
		fail_msg("%s", error.text);
	image_destroy(img);
	free(data);
}

/* A few pages somewhere in chunk @chunk. */
static int look(struct image_reader *r, unsigned int chunk, uint64_t *rng)
{
	unsigned int last = chunk == CHUNKS ? SMALL : PAGES;
	unsigned int page = chunk * PAGES + (unsigned int)(rng_next(rng) % last);
	uint8_t want[PAGE];
	const void *data;
	uint64_t nr = 3;
	int err = image_pages_peek(r, 1, BASE + (uint64_t)page * PAGE, &nr, &data);

	for (uint64_t i = 0; i < nr && !err; i++) {
		fill_page(want, seed_of(page + (unsigned int)i));
		assert_memory_equal((const uint8_t *)data + i * PAGE, want, PAGE);
	}
	return err;
}

static void test_any_order(void **state)
{
	const struct scratch *s = *state;
	struct ckpt_error error = {};
	struct image_reader *r;
	uint64_t rng = 7;

	store(s);
	assert_int_equal(image_open(scratch_path(s, "image"), s->key, NULL, &r, &error), 0);
	for (unsigned int i = 0; i <= CHUNKS; i++)
		assert_int_equal(look(r, i, &rng), 0);
	for (unsigned int i = 0; i < READS; i++)
		assert_int_equal(look(r, (unsigned int)(rng_next(&rng) % (CHUNKS + 1)), &rng), 0);
	image_close(r);
}

/* Several are read at once; then others than what was announced are asked for. */
static void test_ahead(void **state)
{
	const struct scratch *s = *state;
	struct ckpt_error error = {};
	struct image_reader *r;
	uint64_t rng = 9;

	store(s);
	assert_int_equal(image_open(scratch_path(s, "image"), s->key, NULL, &r, &error), 0);
	for (unsigned int i = 0; i < READS; i++) {
		unsigned int first = (unsigned int)(rng_next(&rng) % (CHUNKS + 1));
		unsigned int last = first + (unsigned int)(rng_next(&rng) % 6);

		image_pages_until(r, last, true);
		for (unsigned int j = first; j <= last && j <= CHUNKS; j++)
			assert_int_equal(look(r, j, &rng), 0);
		assert_int_equal(look(r, (unsigned int)(rng_next(&rng) % (CHUNKS + 1)), &rng), 0);
		assert_int_equal(look(r, first, &rng), 0);
	}
	image_close(r);
}

/* Chunk 3, which does not compress, is changed; the others are read before and after it. */
static void test_damaged(void **state)
{
	const struct scratch *s = *state;
	struct ckpt_error error = {};
	struct image_reader *r;
	uint64_t rng = 8;
	uint8_t want[PAGE], *pages, *hit;
	size_t len;

	store(s);
	pages = load_file(scratch_path(s, "image/pages"), &len);
	fill_page(want, seed_of(3 * PAGES + 5));
	hit = memmem(pages, len, want, PAGE);
	assert_true(image_key_has_secret(s->key) == !hit);
	if (!hit)	/* encrypted: chunk 0 and 2 are small, so it is in the third MiB */
		hit = pages + 2 * IMAGE_CHUNK_MAX;
	hit[100] ^= 1;
	store_file(scratch_path(s, "image/pages"), pages, len);
	free(pages);
	assert_int_equal(image_open(scratch_path(s, "image"), s->key, NULL, &r, &error), 0);
	for (unsigned int i = 0; i < READS; i++) {
		unsigned int chunk = (unsigned int)(rng_next(&rng) % (CHUNKS + 1));
		int err;

		image_pages_until(r, chunk + i % 4, i % 2);
		err = look(r, chunk, &rng);

		if (!image_key_has_secret(s->key))
			assert_int_equal(err, chunk == 3 ? -EBADMSG : 0);
		else
			assert_true(!err || err == -EBADMSG);
	}
	image_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_any_order, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_ahead, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_damaged, scratch_setup, scratch_teardown),
		{ "test_any_order (encrypted)", test_any_order, scratch_setup_secret,
		  scratch_teardown, NULL },
		{ "test_ahead (encrypted)", test_ahead, scratch_setup_secret, scratch_teardown,
		  NULL },
		{ "test_damaged (encrypted)", test_damaged, scratch_setup_secret,
		  scratch_teardown, NULL },
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
