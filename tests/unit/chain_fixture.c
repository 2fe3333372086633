// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that is written to, and its generations; see chain_fixture.h.
 */
#include "tests/unit/chain_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/base.h"

struct memory *memory_new(void)
{
	struct memory *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->rng = 42;
	for (unsigned int i = 0; i < PAGES; i++)
		m->seeds[i] = i % 50 == 3 ? 0 : 1000 + i;
	return m;
}

void memory_work(struct memory *m, unsigned int nr)
{
	memset(m->dirty, 0, sizeof(m->dirty));
	while (nr--) {
		unsigned int i = rng_next(&m->rng) % PAGES;

		m->seeds[i] = rng_next(&m->rng) % 20 ? rng_next(&m->rng) | 1 : 0;
		if (nr % 16 == 0)
			m->seeds[i] = ~0ULL;
		m->dirty[i] = 1;
	}
}

struct image *chain_begin(const struct scratch *s, unsigned int generation)
{
	struct image_options options = { .generation = generation, .job = "j",
					 .encrypt = image_key_has_secret(s->key) };
	struct ckpt_error error = {};
	struct image_writer *w;
	struct image *img;

	assert_int_equal(image_writer_create(scratch_generation(s, generation), &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	return img;
}

void chain_put(const struct scratch *s, struct image *img, const struct memory *m,
		unsigned int generation, bool base)
{
	uint64_t mm = MM + generation;
	uint8_t page[PAGE];

	assert_int_equal(image_track(img, mm, 5000 + generation), 0);
	for (unsigned int i = 0; i < PAGES; i++) {
		uint64_t addr = BASE + i * (uint64_t)PAGE, nr = 0;

		if (m->seeds[i] == ~0ULL)
			continue;
		if (base && !m->dirty[i])
			assert_int_equal(image_pages_base(img, mm, addr, 1, mm - 1, &nr), 0);
		if (nr)
			continue;
		fill_page(page, m->seeds[i]);
		assert_int_equal(image_pages_add(img, mm, addr, 1, page), 0);
	}
}

void chain_finish(struct image *img)
{
	struct ckpt_error error = {};

	if (image_commit(img, &error))
		fail_msg("%s", error.text);
	image_destroy(img);
}

void chain_store(const struct scratch *s, const struct memory *m, unsigned int generation,
		  bool base)
{
	struct image *img = chain_begin(s, generation);
	struct ckpt_error error = {};

	if (base && image_base(img, scratch_generation(s, generation - 1), IMAGE_BASES_MAX, &error))
		fail_msg("%s", error.text);
	chain_put(s, img, m, generation, base);
	chain_finish(img);
}

static void chain_compare_with(struct image_reader *r, const struct memory *m,
			       unsigned int generation)
{
	uint8_t want[PAGE], got[PAGE];

	for (unsigned int i = 0; i < PAGES; i++) {
		uint64_t addr = BASE + i * (uint64_t)PAGE;
		int err = image_pages_read(r, MM + generation, addr, 1, got);

		if (m->seeds[i] == ~0ULL) {
			assert_int_equal(err, -ENOENT);
			continue;
		}
		if (err)
			fail_msg("%s", image_reader_error(r));
		fill_page(want, m->seeds[i]);
		assert_memory_equal(got, want, PAGE);
	}
}

void chain_compare(const struct scratch *s, const struct memory *m, unsigned int generation)
{
	struct image_reader *r, *clone;
	struct ckpt_error error = {};

	if (image_verify(scratch_generation(s, generation), s->key, NULL, true, NULL, NULL,
			 &error) ||
	    image_open(scratch_generation(s, generation), s->key, NULL, &r, &error))
		fail_msg("%s", error.text);
	assert_int_equal(image_tracked(r, 5000 + generation), MM + generation);
	assert_int_equal(image_tracked(r, 5000 + generation - 1), 0);
	assert_int_equal(image_tracked(r, 0), 0);
	chain_compare_with(r, m, generation);
	assert_int_equal(image_clone(r, &clone), 0);
	chain_compare_with(clone, m, generation);
	image_close(clone);
	image_close(r);
}
