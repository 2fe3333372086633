// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages that are the same as others: stored once, read back as what they were,
 * whoever looks for them and however wrong what is read again may be.
 */
#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/manifest.h"
#include "image/writer_priv.h"
#include "tests/unit/image_fixture.h"

#define MMS	3U
#define PAGES	2048U		/* of a map */
#define BASE	0x10000000ULL

/* Memory of a few maps: contents by seed (0: zeros), and how it is read again. */
struct memory {
	uint64_t seeds[MMS][PAGES];
	int fail;		/* errno of every reread */
	bool lie;		/* it gives something else */
	unsigned int reread;	/* pages */
};

static int reread(void *arg, uint64_t mm_id, uint64_t addr, uint64_t nr_pages, void *buf)
{
	struct memory *m = arg;
	uint64_t first = (addr - BASE) / PAGE;

	assert_true(mm_id >= 1 && mm_id <= MMS && first + nr_pages <= PAGES);
	m->reread += (unsigned int)nr_pages;
	if (m->fail)
		return m->fail;
	for (uint64_t i = 0; i < nr_pages; i++)
		fill_page((uint8_t *)buf + i * PAGE, m->seeds[mm_id - 1][first + i] + m->lie);
	return 0;
}

static struct memory *memory_new(void)
{
	struct memory *m = calloc(1, sizeof(*m));
	uint64_t seed = 1;

	assert_non_null(m);
	for (unsigned int mm = 0; mm < MMS; mm++)
		for (unsigned int i = 0; i < PAGES; i++)
			m->seeds[mm][i] = 1000 * seed++ + 1;
	return m;
}

static void copy(struct memory *m, unsigned int to, unsigned int at, unsigned int from,
		 unsigned int of, unsigned int nr)
{
	memmove(&m->seeds[to][at], &m->seeds[from][of], nr * sizeof(m->seeds[0][0]));
}

static struct image *begin(const struct scratch *s, struct memory *m)
{
	struct image_options options = { .generation = 1, .reread = reread, .reread_arg = m,
					 .encrypt = image_key_has_secret(s->key) };
	struct ckpt_error error = {};
	struct image_writer *w;
	struct image *img;

	assert_int_equal(image_writer_create(scratch_path(s, "image"), &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	return img;
}

static void add(struct image *img, const struct memory *m, unsigned int mm, unsigned int first,
		unsigned int nr)
{
	uint8_t *data = malloc((size_t)nr * PAGE);

	assert_non_null(data);
	for (unsigned int i = 0; i < nr; i++)
		fill_page(data + (size_t)i * PAGE, m->seeds[mm][first + i]);
	assert_int_equal(image_pages_add(img, mm + 1, BASE + (uint64_t)first * PAGE, nr, data), 0);
	free(data);
}

/* All of it, in calls of @step pages. */
static void add_all(struct image *img, const struct memory *m, unsigned int step)
{
	for (unsigned int mm = 0; mm < MMS; mm++)
		for (unsigned int i = 0; i < PAGES; i += step)
			add(img, m, mm, i, i + step < PAGES ? step : PAGES - i);
}

/* Commit, verify, and compare every page. */
static void check(const struct scratch *s, const struct memory *m, struct image *img,
		  struct image_counts *ret_counts)
{
	const char *dir = scratch_path(s, "image");
	struct ckpt_error error = {};
	uint8_t is[PAGE], want[PAGE];
	struct image_reader *r;

	if (image_commit(img, &error))
		fail_msg("%s", error.text);
	image_destroy(img);
	assert_int_equal(image_verify(dir, s->key, NULL, true, NULL, NULL, &error), 0);
	assert_int_equal(image_open(dir, s->key, NULL, &r, &error), 0);
	for (unsigned int mm = 0; mm < MMS; mm++) {
		struct image_run run;
		uint64_t cursor = 0;

		for (unsigned int i = 0; i < PAGES; i++) {
			fill_page(want, m->seeds[mm][i]);
			assert_int_equal(image_pages_read(r, mm + 1, BASE + i * PAGE, 1, is), 0);
			assert_memory_equal(is, want, PAGE);
		}
		while (image_pages_next(r, mm + 1, &cursor, &run) == 1)
			assert_int_not_equal(run.kind, IMAGE_RUN_REF);
	}
	*ret_counts = image_manifest(r)->counts;
	assert_int_equal(ret_counts->pages_data + ret_counts->pages_zero, MMS * PAGES);
	image_close(r);
	assert_int_equal(image_remove(dir, &error), 0);
}

/* Maps that have most in common, at other addresses. */
static void long_stretches(void **state)
{
	struct scratch *s = *state;
	struct memory *m = memory_new();
	struct image_counts c;
	struct image *img;

	copy(m, 1, 100, 0, 0, 1500);
	copy(m, 2, 3, 0, 700, 900);
	m->seeds[2][400] = 77;
	m->seeds[2][401] = 0;
	img = begin(s, m);
	add_all(img, m, 1024);
	check(s, m, img, &c);
	assert_true(c.pages_same <= 1500 + 898);
	assert_true(c.pages_same >= 1500 + 898 - 5 * 64);
	/* in small calls, and from within the same map */
	copy(m, 0, 1024, 0, 0, 1024);
	img = begin(s, m);
	add_all(img, m, 100);
	check(s, m, img, &c);
	assert_true(c.pages_same >= 3 * 1024 - 5 * 64);
	free(m);
}

/* What cannot be read again, or is not what was written, is no reason to share. */
static void no_proof(void **state)
{
	struct scratch *s = *state;
	struct memory *m = memory_new();
	struct image_counts c;
	struct image *img;

	copy(m, 1, 0, 0, 0, PAGES);
	m->fail = -EFAULT;
	img = begin(s, m);
	add_all(img, m, 512);
	check(s, m, img, &c);
	assert_int_equal(c.pages_same, 0);
	assert_true(m->reread > 0);
	m->fail = 0;
	m->lie = true;
	img = begin(s, m);
	add_all(img, m, 512);
	check(s, m, img, &c);
	assert_int_equal(c.pages_same, 0);
	free(m);
}

/* Short stretches stay where they are; attempts grow rare; the index stays small. */
static void alike_everywhere(void **state)
{
	struct scratch *s = *state;
	struct memory *m = memory_new();
	struct image_counts c;
	struct image *img;

	for (unsigned int i = 0; i < PAGES; i += 16)
		copy(m, 1, i, 0, (i * 7) % (PAGES - 16), 15);
	img = begin(s, m);
	add_all(img, m, 512);
	check(s, m, img, &c);
	assert_int_equal(c.pages_same, 0);
	assert_true(m->reread < PAGES / 2);
	/* one page, all over: a look at it may choose it or not */
	for (uint64_t seed = 1; seed < 20; seed++) {
		for (unsigned int i = 0; i < PAGES; i++)
			m->seeds[1][i] = m->seeds[2][i] = seed;
		img = begin(s, m);
		add_all(img, m, 512);
		assert_true(img->index.memory.nr < 3 * PAGES / 32 + 100);
		check(s, m, img, &c);
	}
	free(m);
}

/* Any order, any overlap. */
static void at_random(void **state)
{
	struct scratch *s = *state;
	struct memory *m = memory_new();
	uint64_t rng = 4711, same = 0;
	struct image_counts c;

	for (int round = 0; round < 12; round++) {
		struct image *img = begin(s, m);

		for (int i = 0; i < 20; i++) {
			unsigned int nr = (unsigned int)(rng_next(&rng) % 300 + 1);
			unsigned int at = (unsigned int)(rng_next(&rng) % (PAGES - nr));
			unsigned int of = (unsigned int)(rng_next(&rng) % (PAGES - nr));

			copy(m, (unsigned int)(rng_next(&rng) % MMS), at,
			     (unsigned int)(rng_next(&rng) % MMS), of, nr);
		}
		m->seeds[rng_next(&rng) % MMS][rng_next(&rng) % PAGES] = 0;
		for (unsigned int i = 0; i < MMS * 4; i++) {
			/* quarters of maps, in another order each time */
			unsigned int q = (i * 5 + (unsigned int)round) % (MMS * 4);

			add(img, m, q / 4, q % 4 * (PAGES / 4), PAGES / 4);
		}
		check(s, m, img, &c);
		same += c.pages_same;
	}
	assert_true(same > 0);
	free(m);
}

/* ---------------------------------------------------------------- manifest */

static void wrong_count(void **state)
{
	struct scratch *s = *state;
	struct memory *m = memory_new();
	struct image *img = begin(s, m);
	struct ckpt_error error = {};

	add_all(img, m, 512);
	img->manifest.counts.pages_same++;
	assert_int_equal(image_commit(img, &error), 0);
	image_destroy(img);
	assert_int_equal(image_verify(scratch_path(s, "image"), s->key, NULL, false, NULL, NULL,
				      &error), -EBADMSG);
	assert_non_null(strstr(error.text, "pages of data"));
	free(m);
}

static void mac(uint8_t *buf, size_t len, const struct image_key *key)
{
	const struct image_manifest_hdr *hdr = (const void *)buf;
	uint8_t subkey[IMAGE_SUBKEY_BYTES];

	image_key_manifest(key, hdr->id, subkey);
	crypto_generichash(buf + len - IMAGE_DIGEST_BYTES, IMAGE_DIGEST_BYTES, buf,
			   len - IMAGE_DIGEST_BYTES, subkey, sizeof(subkey));
}

/* A manifest as it was written before pages were counted that are the same. */
static void shorter_stats(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "image"), *path = scratch_path(s, "image/manifest");
	struct memory *m = memory_new();
	struct image *img = begin(s, m);
	struct image_manifest_hdr *hdr;
	struct ckpt_error error = {};
	struct image_rec_hdr *rec;
	size_t len, pos;
	uint8_t *buf;

	add_all(img, m, 512);
	assert_int_equal(image_commit(img, &error), 0);
	image_destroy(img);
	buf = load_file(path, &len);
	for (pos = sizeof(*hdr); ; pos += le32toh(rec->len)) {
		rec = (struct image_rec_hdr *)(buf + pos);
		if (le16toh(rec->type) == IMAGE_MAN_STATS)
			break;
	}
	assert_int_equal(le32toh(rec->len), sizeof(struct image_man_stats));
	pos += le32toh(rec->len);
	rec->len = htole32(le32toh(rec->len) - 8);
	memmove(buf + pos - 8, buf + pos, len - pos);
	len -= 8;
	hdr = (struct image_manifest_hdr *)buf;
	hdr->len = htole64(len);
	mac(buf, len, s->key);
	store_file(path, buf, len);
	if (image_verify(dir, s->key, NULL, true, NULL, NULL, &error))
		fail_msg("%s", error.text);
	free(buf);
	free(m);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
#define E(f) { #f ", encrypted", f, scratch_setup_secret, scratch_teardown, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(long_stretches),
		T(no_proof),
		T(alike_everywhere),
		T(at_random),
		T(wrong_count),
		T(shorter_stats),
		E(long_stretches),
		E(alike_everywhere),
		E(at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
