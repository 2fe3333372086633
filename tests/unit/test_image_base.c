// SPDX-License-Identifier: GPL-2.0-only
/*
 * Images on top of earlier ones: each is whole by itself, has what was stored,
 * and says by name whose pages are damaged or missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "image/base.h"
#include "image/merge.h"
#include "tests/unit/chain_fixture.h"

static struct image_counts counts_of(const struct scratch *s, unsigned int generation,
				     unsigned int *ret_bases)
{
	struct image_counts counts;
	struct image_reader *r;

	assert_int_equal(image_open(scratch_generation(s, generation), s->key, NULL, &r, NULL), 0);
	counts = image_manifest(r)->counts;
	*ret_bases = image_manifest(r)->nr_bases;
	image_close(r);
	return counts;
}

/* Five in a row, each whole when all the earlier ones are gone. */
static void row(void **state)
{
	const struct scratch *s = *state;
	struct memory *m = memory_new();
	struct image_counts full, counts;
	unsigned int bases;

	chain_store(s, m, 1, false);
	full = counts_of(s, 1, &bases);
	assert_int_equal(bases, 0);
	for (unsigned int g = 2; g <= 6; g++) {
		memory_work(m, PAGES / 20);
		chain_store(s, m, g, true);
		chain_compare(s, m, g);
		counts = counts_of(s, g, &bases);
		assert_int_equal(bases, g - 1);
		assert_true(counts.pages_base > PAGES * 9 / 10 - 70);
		assert_true(counts.bytes_stored < full.bytes_stored / 10);
	}
	for (unsigned int g = 1; g <= 5; g++)
		assert_int_equal(image_remove(scratch_generation(s, g), NULL), 0);
	chain_compare(s, m, 6);
	assert_int_equal(image_remove(scratch_generation(s, 6), NULL), 0);
	assert_int_equal(count_entries(s->root), 0);
	free(m);
}

/* Pages of nobody's need go with the last name of their file. */
static void dropped(void **state)
{
	const struct scratch *s = *state;
	struct memory *m = memory_new();
	unsigned int bases;

	chain_store(s, m, 1, false);
	memory_work(m, 40);
	chain_store(s, m, 2, true);
	/* all that generation 2 stored is written again */
	chain_store(s, m, 3, true);
	counts_of(s, 3, &bases);
	assert_int_equal(bases, 1);
	chain_compare(s, m, 3);
	memset(m->dirty, 1, sizeof(m->dirty));
	chain_store(s, m, 4, true);
	counts_of(s, 4, &bases);
	assert_int_equal(bases, 0);
	chain_compare(s, m, 4);
	free(m);
}

/* Full again: too many, or too much that nobody needs. */
static void bounds(void **state)
{
	const struct scratch *s = *state;
	struct memory *m = memory_new();
	struct ckpt_error error = {};
	struct image *img;
	unsigned int g;

	chain_store(s, m, 1, false);
	for (g = 2; g <= IMAGE_BASES_MAX + 1; g++) {
		memory_work(m, 20);
		chain_store(s, m, g, true);
	}
	img = chain_begin(s, g);
	assert_int_equal(image_base(img, scratch_generation(s, g - 1), 100, &error), -EMLINK);
	assert_int_equal(image_base(img, scratch_generation(s, 3), 2, &error), -EMLINK);
	assert_null(image_base_reader(img));
	assert_int_equal(image_base(img, scratch_generation(s, 99), 2, &error), -ENOENT);
	chain_put(s, img, m, g, false);
	chain_finish(img);
	chain_compare(s, m, g);
	assert_int_equal(image_remove(scratch_generation(s, 1), NULL), 0);
	/* writes everything but a few pages, three times */
	for (unsigned int n = 0; n < 3; n++) {
		img = chain_begin(s, ++g);
		memset(m->dirty, 1, sizeof(m->dirty));
		memset(m->dirty + 100 * n, 0, 400);
		if (image_base(img, scratch_generation(s, g - 1), IMAGE_BASES_MAX, &error)) {
			assert_int_equal(error.text[0] != 0, 1);
			image_destroy(img);
			free(m);
			return;
		}
		chain_put(s, img, m, g, true);
		chain_finish(img);
		chain_compare(s, m, g);
	}
	fail_msg("it goes on for ever");
}

#define BLOB_PAGES	300	/* more than a chunk */
#define BLOB_SIZE	(BLOB_PAGES * PAGE + 100)	/* and a part of a page */

/* A blob of image @generation: page 2 is a hole, and page @changed has another content. */
static void blob_fill(uint8_t *blob, unsigned int changed)
{
	for (unsigned int i = 0; i < BLOB_PAGES; i++)
		fill_page(blob + (size_t)i * PAGE, i == changed ? 5000 + i : 1000 + i);
	memset(blob + 2 * PAGE, 0, PAGE);
	memset(blob + BLOB_PAGES * PAGE, 7, 100);
}

static void blob_compare(const struct scratch *s, unsigned int generation, uint64_t id,
			 const uint8_t *want)
{
	uint8_t *got = malloc(BLOB_SIZE);
	uint64_t size, cursor = 0, offset, len, sum = 0, mm = 0;
	struct image_reader *r;

	assert_int_equal(image_open(scratch_generation(s, generation), s->key, NULL, &r, NULL), 0);
	assert_true(image_blob_paged_in(r, id));
	assert_int_equal(image_blob_size(r, id, &size), 0);
	assert_int_equal(size, BLOB_SIZE);
	assert_int_equal(image_blob_read(r, id, 0, got, BLOB_SIZE), 0);
	assert_memory_equal(got, want, BLOB_SIZE);
	/* also from the middle of a page to the middle of another */
	assert_int_equal(image_blob_read(r, id, PAGE + 7, got, 2 * PAGE), 0);
	assert_memory_equal(got, want + PAGE + 7, 2 * PAGE);
	while (image_blob_extent(r, id, &cursor, &offset, &len) == 1)
		sum += len;
	assert_int_equal(sum, BLOB_SIZE - PAGE);
	/* no memory map is one */
	assert_int_equal(image_mm_next(r, &mm), 1);
	assert_int_equal(image_mm_next(r, &mm), 0);
	image_close(r);
	assert_int_equal(image_verify(scratch_generation(s, generation), s->key, NULL, true, NULL,
				      NULL, NULL), 0);
	free(got);
}

/* Pages of a file's content that have not changed are not stored again. */
static void blobs(void **state)
{
	const struct scratch *s = *state;
	uint8_t *blob = malloc(BLOB_SIZE), page[PAGE];
	struct image_counts counts;
	struct image *img = chain_begin(s, 1);
	struct image_merged merged;
	unsigned int bases;
	uint64_t nr;

	fill_page(page, 77);
	blob_fill(blob, BLOB_PAGES);
	assert_int_equal(image_pages_add(img, 1, BASE, 1, page), 0);
	assert_int_equal(image_blob_begin(img, 4), 0);
	assert_int_equal(image_blob_in_pages(img), 0);
	assert_int_equal(image_blob_append(img, 0, blob, BLOB_SIZE), 0);
	assert_int_equal(image_blob_end(img, BLOB_SIZE), 0);
	chain_finish(img);
	blob_compare(s, 1, 4, blob);
	img = chain_begin(s, 2);
	assert_int_equal(image_base(img, scratch_generation(s, 1), 4, NULL), 0);
	assert_int_equal(image_pages_add(img, 1, BASE, 1, page), 0);
	blob_fill(blob, 9);
	assert_int_equal(image_blob_begin(img, 5), 0);
	assert_int_equal(image_blob_in_pages(img), 0);
	assert_int_equal(image_blob_append(img, 9 * PAGE, blob + 9 * PAGE, PAGE), 0);
	assert_int_equal(image_blob_end(img, BLOB_SIZE), 0);
	/* the base has a hole at page 2 */
	assert_int_equal(image_blob_base(img, 5, 0, 9, 4, &nr), 0);
	assert_int_equal(nr, 2);
	assert_int_equal(image_blob_base(img, 5, 3 * PAGE, 6, 4, &nr), 0);
	assert_int_equal(nr, 6);
	assert_int_equal(image_blob_base(img, 5, 10 * PAGE, BLOB_PAGES - 9, 4, &nr), 0);
	assert_int_equal(nr, BLOB_PAGES - 9);
	chain_finish(img);
	counts = counts_of(s, 2, &bases);
	assert_int_equal(bases, 1);
	assert_int_equal(counts.pages_base, BLOB_PAGES - 1);
	assert_int_equal(image_remove(scratch_generation(s, 1), NULL), 0);
	blob_compare(s, 2, 5, blob);
	assert_int_equal(image_merge(scratch_generation(s, 2), s->key, NULL, NULL, &merged, NULL),
			 0);
	assert_int_equal(counts_of(s, 2, &bases).pages_base, 0);
	assert_int_equal(bases, 0);
	blob_compare(s, 2, 5, blob);
	free(blob);
}

/* In pages only from the beginning on, and only whole ones; beyond the end there is none. */
static void blobs_bad(void **state)
{
	const struct scratch *s = *state;
	static const uint8_t data[3 * PAGE] = { 1 };
	struct image *img = chain_begin(s, 1);

	assert_int_equal(image_blob_in_pages(img), -EINVAL);
	image_destroy(img);
	img = chain_begin(s, 1);
	assert_int_equal(image_blob_begin(img, 4), 0);
	assert_int_equal(image_blob_append(img, 0, data, PAGE), 0);
	assert_int_equal(image_blob_in_pages(img), -EINVAL);
	image_destroy(img);
	img = chain_begin(s, 1);
	assert_int_equal(image_blob_begin(img, 4), 0);
	assert_int_equal(image_blob_in_pages(img), 0);
	assert_int_equal(image_blob_append(img, 100, data + 1, 200), 0);	/* a hole */
	assert_int_equal(image_blob_append(img, 4000, data, 200), -EINVAL);
	image_destroy(img);
}

/* A reference's pages are found, whatever becomes of what it referred to. */
static void references(void **state)
{
	const struct scratch *s = *state;
	uint8_t page[PAGE], got[PAGE];
	struct image_reader *r;
	struct image *img = chain_begin(s, 1);
	uint64_t nr;

	fill_page(page, 77);
	assert_int_equal(image_pages_add(img, 1, BASE, 1, page), 0);
	assert_int_equal(image_pages_zero(img, 1, BASE + PAGE, 1), 0);
	assert_int_equal(image_pages_ref(img, 2, BASE, 2, 1, BASE), 0);
	chain_finish(img);
	img = chain_begin(s, 2);
	assert_int_equal(image_base(img, scratch_generation(s, 1), 4, NULL), 0);
	fill_page(page, 78);
	assert_int_equal(image_pages_add(img, 1, BASE, 1, page), 0);
	assert_int_equal(image_pages_base(img, 5, BASE, 10, 2, &nr), 0);
	assert_int_equal(nr, 2);
	assert_int_equal(image_pages_ref(img, 6, BASE, 2, 5, BASE), 0);
	chain_finish(img);
	assert_int_equal(image_verify(scratch_generation(s, 2), s->key, NULL, true, NULL, NULL,
				      NULL),
			 0);
	assert_int_equal(image_open(scratch_generation(s, 2), s->key, NULL, &r, NULL), 0);
	fill_page(page, 77);
	for (uint64_t mm = 5; mm <= 6; mm++) {
		assert_int_equal(image_pages_read(r, mm, BASE, 1, got), 0);
		assert_memory_equal(got, page, PAGE);
	}
	image_close(r);
}

static void expect_bad(const struct scratch *s, unsigned int generation, const char *what)
{
	struct ckpt_error error = {};

	assert_int_equal(image_verify(scratch_generation(s, generation), s->key, NULL, true, NULL,
				      NULL, &error),
			 -EBADMSG);
	if (!strstr(error.text, what))
		fail_msg("'%s' does not say '%s'", error.text, what);
}

/* What is wrong with a base is named by the generation it is of. */
static void damage(void **state)
{
	const struct scratch *s = *state;
	struct memory *m = memory_new();
	char path[256], other[256];
	size_t len;
	uint8_t *buf;

	chain_store(s, m, 1, false);
	chain_store(s, m, 2, true);
	memory_work(m, 100);
	chain_store(s, m, 3, true);
	snprintf(path, sizeof(path), "%s/base1", scratch_generation(s, 3));
	buf = load_file(path, &len);
	/* not in place: the file has other names */
	assert_int_equal(unlink(path), 0);
	expect_bad(s, 3, "missing: the pages of generation 1");
	buf[len / 2] ^= 4;
	store_file(path, buf, len);
	expect_bad(s, 3, "of the pages of generation 1");
	buf[len / 2] ^= 4;
	store_file(path, buf, len - 4096);
	expect_bad(s, 3, "truncated: ");
	store_file(path, buf, len);
	chain_compare(s, m, 3);		/* a copy is as good as a link */
	free(buf);
	snprintf(other, sizeof(other), "%s/pages", scratch_generation(s, 3));
	buf = load_file(other, &len);
	assert_int_equal(unlink(path), 0);
	store_file(path, buf, len);
	expect_bad(s, 3, "base1");
	free(buf);
	/* of the same length, and of another image */
	chain_store(s, m, 4, false);
	assert_int_equal(image_remove(scratch_generation(s, 1), NULL), 0);
	memset(m->dirty, 0, sizeof(m->dirty));
	chain_store(s, m, 5, true);
	chain_store(s, m, 6, false);
	snprintf(path, sizeof(path), "%s/base1", scratch_generation(s, 5));
	snprintf(other, sizeof(other), "%s/pages", scratch_generation(s, 6));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(link(other, path), 0);
	expect_bad(s, 5, "base1");
	free(m);
}

/* A base that cannot be used leaves no trace, and another job's is none. */
static void refused(void **state)
{
	const struct scratch *s = *state;
	struct image_options options = { .generation = 2, .job = "other" };
	struct memory *m = memory_new();
	struct image_writer *w;
	struct image *img;

	chain_store(s, m, 1, false);
	assert_int_equal(image_writer_create(scratch_generation(s, 2), &w, NULL), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, NULL), 0);
	assert_int_equal(image_base(img, scratch_generation(s, 1), 4, NULL), -EINVAL);
	image_destroy(img);
	img = chain_begin(s, 2);
	assert_int_equal(image_base(img, scratch_generation(s, 1), 4, NULL), 0);
	/* it is held until then */
	assert_int_equal(image_remove(scratch_generation(s, 1), NULL), -EBUSY);
	image_destroy(img);
	assert_int_equal(image_remove(scratch_generation(s, 1), NULL), 0);
	assert_int_equal(count_entries(s->root), 0);
	free(m);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(row),
		T(dropped),
		T(bounds),
		T(blobs),
		T(blobs_bad),
		T(references),
		T(damage),
		T(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
