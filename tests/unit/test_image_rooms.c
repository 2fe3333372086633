// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages that were read into an image's own memory: whatever is added of it, left out of
 * it or put between, the image has what was added.  More of it than the writer has
 * memory, in chunks that were made there and others, of files in turn.
 */
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/format.h"
#include "tests/unit/image_fixture.h"

#define NR_PAGES	10000	/* 39 MiB; the ring has 28 */
#define BASE		0x7f0000000000ULL
#define MM		3

enum kind { RANDOM, TEXT, ZERO, LEFT_OUT };

static uint8_t kinds[NR_PAGES];

static void fill(uint8_t *page, unsigned int i)
{
	uint64_t x = i * 0x9e3779b97f4a7c15ULL + 1, *words = (uint64_t *)page;

	memset(page, 0, PAGE);
	for (unsigned int w = 0; w < PAGE / 8 && kinds[i] != ZERO; w++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		words[w] = kinds[i] == TEXT ? i + (w & 7) : x;
	}
}

static void choose_kinds(uint64_t seed, bool mixed)
{
	uint64_t rng = seed;

	for (unsigned int i = 0, n; i < NR_PAGES; i += n) {
		enum kind kind = (enum kind)(rng_next(&rng) % 4);

		n = 1 + (unsigned int)(rng_next(&rng) % (mixed ? 300 : 3));
		if (!mixed && rng_next(&rng) % 8)
			kind = RANDOM, n *= 400;
		if (n > NR_PAGES - i)
			n = NR_PAGES - i;
		memset(kinds + i, kind, n);
	}
}

/* Pages from @i on that are alike, at most @nr. */
static unsigned int alike(unsigned int i, unsigned int nr)
{
	unsigned int n = 1;

	while (n < nr && kinds[i + n] == kinds[i])
		n++;
	return n;
}

static void add(struct image *img, unsigned int first, unsigned int nr, const uint8_t *data)
{
	for (unsigned int at = 0, n; at < nr; at += n) {
		n = alike(first + at, nr - at);
		if (kinds[first + at] != LEFT_OUT)
			assert_int_equal(image_pages_add(img, MM,
							 BASE + (uint64_t)(first + at) * PAGE, n,
							 data + (size_t)at * PAGE),
					 0);
	}
}

/* Room, and the pages from @first on in it. */
static unsigned int read_into(struct image *img, struct image_room *room, unsigned int first,
			      uint64_t *rng)
{
	unsigned int nr;

	if (!room->p)
		assert_int_equal(image_room_get(img, room), 0);
	assert_true(room->len % PAGE == 0 && room->len >= PAGE);
	nr = (unsigned int)(room->len / PAGE);
	if (rng_next(rng) % 4 == 0)
		nr = 1 + (unsigned int)(rng_next(rng) % nr);
	if (nr > NR_PAGES - first)
		nr = NR_PAGES - first;
	for (unsigned int i = 0; i < nr; i++)
		fill((uint8_t *)room->p + (size_t)i * PAGE, first + i);
	return nr;
}

/* Contents of a file, pages of which are made like ours. */
static void add_blob(struct image *img, uint64_t id, unsigned int nr)
{
	uint8_t page[PAGE];

	assert_int_equal(image_blob_begin(img, id), 0);
	for (unsigned int i = 0; i < nr; i++) {
		fill(page, i);
		assert_int_equal(image_blob_append(img, (uint64_t)i * PAGE, page, PAGE), 0);
	}
	assert_int_equal(image_blob_end(img, (uint64_t)nr * PAGE), 0);
}

/* As a dump does it: the next batch is read while one is stored. */
static unsigned int write_all(struct image *img, uint64_t seed)
{
	uint8_t *other = malloc((size_t)NR_PAGES * PAGE);
	struct image_room rooms[2] = {};
	unsigned int at = 0, nr, ahead, turn = 0, blobs = 0;
	uint64_t rng = seed;

	assert_non_null(other);
	nr = read_into(img, &rooms[0], 0, &rng);
	while (nr) {
		struct image_room *room = &rooms[turn++ % 2];
		const uint8_t *data = room->p;

		ahead = at + nr < NR_PAGES ? read_into(img, &rooms[turn % 2], at + nr, &rng) : 0;
		if (rng_next(&rng) % 8 == 0)
			memcpy(other, data, (size_t)nr * PAGE), data = other;
		else
			assert_int_equal(image_room_use(img, room), 0);
		if (rng_next(&rng) % 8 == 0)
			add_blob(img, ++blobs, 300);
		add(img, at, nr, data);
		at += nr;
		nr = ahead;
	}
	image_room_put(img, &rooms[0]);
	image_room_put(img, &rooms[1]);
	free(other);
	return blobs;
}

static void compare(struct image_reader *r, unsigned int blobs)
{
	uint8_t page[PAGE], want[PAGE];

	for (unsigned int i = 0; i < NR_PAGES; i++) {
		int err = image_pages_read(r, MM, BASE + (uint64_t)i * PAGE, 1, page);

		assert_int_equal(err, kinds[i] == LEFT_OUT ? -ENOENT : 0);
		fill(want, i);
		if (!err)
			assert_memory_equal(page, want, PAGE);
	}
	for (unsigned int id = 1; id <= blobs; id++) {
		for (unsigned int i = 0; i < 300; i++) {
			fill(want, i);
			assert_int_equal(image_blob_read(r, id, (uint64_t)i * PAGE, page, PAGE), 0);
			assert_memory_equal(page, want, PAGE);
		}
	}
}

static unsigned int oldest_reader(const struct scratch *s)
{
	struct image_manifest_hdr *hdr;
	unsigned int version;
	size_t len;

	hdr = load_file(scratch_path(s, "image/manifest"), &len);
	version = le16toh(hdr->version_reader);
	free(hdr);
	return version;
}

typedef int (*create_fn)(const char *dir, struct image_writer **ret_writer,
			 struct ckpt_error *error);

/* Written, read again, looked through; does it have gaps? */
static bool roundtrip(const struct scratch *s, create_fn create, int level, uint64_t seed)
{
	struct image_options options = {
		.generation = 1, .zstd_level = level, .encrypt = image_key_has_secret(s->key),
	};
	const char *dir = scratch_path(s, "image");
	struct ckpt_error error;
	struct image_writer *w;
	struct image_reader *r;
	unsigned int blobs;
	struct image *img;
	bool gaps;

	assert_int_equal(create(dir, &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	if (seed % 2)	/* a guess, which no image depends on */
		image_expect(img, 1ULL << 40);
	blobs = write_all(img, seed);
	if (image_commit(img, &error))
		fail_msg("commit: %s", error.text);
	image_destroy(img);
	if (image_open(dir, s->key, NULL, &r, &error))
		fail_msg("open: %s", error.text);
	compare(r, blobs);
	image_close(r);
	if (image_verify(dir, s->key, NULL, true, NULL, NULL, &error))
		fail_msg("verify: %s", error.text);
	gaps = oldest_reader(s) >= IMAGE_VERSION_GAPS;
	assert_int_equal(image_remove(dir, NULL), 0);
	return gaps;
}

/* Is there an io_uring here? */
static bool have_ring(void)
{
	struct image_writer *w;

	if (image_writer_uring_create("/tmp/x", &w, NULL))
		return false;
	w->ops->destroy(w);
	return true;
}

static void mostly_random(void **state)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		choose_kinds(seed, false);
		assert_int_equal(roundtrip(*state, image_writer_create, 0, seed), have_ring());
		assert_false(roundtrip(*state, image_writer_posix_create, 0, seed));
	}
}

static void mixed(void **state)
{
	for (uint64_t seed = 11; seed <= 14; seed++) {
		choose_kinds(seed, true);
		roundtrip(*state, image_writer_create, seed % 2 ? 0 : 1, seed);
		roundtrip(*state, image_writer_posix_create, 0, seed);
	}
}

/* What compresses is not written from where it was made. */
static void all_packed(void **state)
{
	memset(kinds, TEXT, sizeof(kinds));
	assert_false(roundtrip(*state, image_writer_create, 1, 21));
}

/* Nothing but zeros needs no file of pages, and rooms may be given up at any time. */
static void given_up(void **state)
{
	const struct scratch *s = *state;
	struct image_options options = { .generation = 1 };
	const char *dir = scratch_path(s, "image");
	uint64_t rng = 1;

	choose_kinds(31, false);
	for (unsigned int n = 0; n < 40; n++) {
		struct image_room rooms[40] = {};
		struct ckpt_error error;
		struct image_writer *w;
		struct image *img;

		assert_int_equal(image_writer_create(dir, &w, &error), 0);
		assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
		for (unsigned int i = 0, at = 0, nr; i < n; i++, at += nr) {
			const uint8_t *data;

			nr = read_into(img, &rooms[i], at, &rng);
			data = rooms[i].p;
			assert_int_equal(image_room_use(img, &rooms[i]), 0);
			add(img, at, nr, data);
			if (i % 3)	/* the others stay with us for a while */
				image_room_put(img, &rooms[i]);
		}
		for (unsigned int i = 0; i < n; i++)
			image_room_put(img, &rooms[i]);
		image_destroy(img);
		assert_int_equal(count_entries(s->root), 0);
	}
}

static void only_zeros(void **state)
{
	const struct scratch *s = *state;
	struct image_options options = { .generation = 1 };
	const char *dir = scratch_path(s, "image");
	struct image_room room = {};
	struct ckpt_error error;
	struct image_writer *w;
	struct image *img;
	uint64_t rng = 1;
	const void *data;
	unsigned int nr;

	memset(kinds, ZERO, sizeof(kinds));
	assert_int_equal(image_writer_create(dir, &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	nr = read_into(img, &room, 0, &rng);
	data = room.p;
	assert_int_equal(image_room_use(img, &room), 0);
	add(img, 0, nr, data);
	image_room_put(img, &room);
	assert_int_equal(image_commit(img, &error), 0);
	image_destroy(img);
	assert_int_equal(count_entries(dir), 3);	/* manifest, state, index */
	assert_int_equal(image_remove(dir, NULL), 0);
}

/* Where a chunk begins behind a gap; 0: nowhere. */
static size_t find_gap(const uint8_t *buf, size_t len)
{
	static const uint8_t zeros[64];

	for (size_t at = PAGE; at + 4 < len; at += PAGE)
		if (!memcmp(buf + at - sizeof(zeros), zeros, sizeof(zeros)) &&
		    !memcmp(buf + at, "CHNK", 4))
			return at;
	return 0;
}

/* Where the chunk ends that is before the one at @at: its tag may end in zeros, too. */
static size_t gap_before(const uint8_t *buf, size_t at)
{
	struct image_chunk_hdr hdr;

	for (size_t i = at - sizeof(hdr); i; i--) {
		size_t end;

		memcpy(&hdr, buf + i, sizeof(hdr));
		end = i + sizeof(hdr) + le32toh(hdr.stored_len) + IMAGE_TAG_BYTES;
		if (le32toh(hdr.magic) == IMAGE_MAGIC_CHUNK && end < at && at - end < PAGE)
			return end;
	}
	fail();
	return 0;
}

/* What lies in a gap is looked at, as parity is made of it, too; who restores does not mind. */
static void filled_gap(void **state)
{
	const struct scratch *s = *state;
	struct image_options options = { .generation = 1, .encrypt = image_key_has_secret(s->key) };
	const char *dir = scratch_path(s, "image");
	struct ckpt_error error;
	struct image_reader *r;
	struct image_writer *w;
	unsigned int blobs;
	struct image *img;
	uint8_t *pages;
	size_t len, at;

	if (!have_ring())
		skip();
	choose_kinds(2, false);
	assert_int_equal(image_writer_create(dir, &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	blobs = write_all(img, 2);
	assert_int_equal(image_commit(img, &error), 0);
	image_destroy(img);
	assert_int_equal(image_verify(dir, s->key, NULL, true, NULL, NULL, &error), 0);
	pages = load_file(scratch_path(s, "image/pages"), &len);
	at = find_gap(pages, len);
	assert_true(at);
	pages[at - 20] ^= 4;
	store_file(scratch_path(s, "image/pages"), pages, len);
	assert_int_equal(image_verify(dir, s->key, NULL, true, NULL, NULL, &error), -EBADMSG);
	assert_non_null(strstr(error.text, "a gap that is not empty"));
	/* from its first byte on, where without a gap a chunk would be */
	pages[at - 20] ^= 4;
	pages[gap_before(pages, at)] = 0x77;
	store_file(scratch_path(s, "image/pages"), pages, len);
	free(pages);
	assert_int_equal(image_verify(dir, s->key, NULL, true, NULL, NULL, &error), -EBADMSG);
	assert_non_null(strstr(error.text, "a gap that is not empty"));
	assert_int_equal(image_open(dir, s->key, NULL, &r, &error), 0);
	compare(r, blobs);
	image_close(r);
	assert_int_equal(image_remove(dir, NULL), 0);
}

#define ROOMS(f, setup) { #f, f, setup, scratch_teardown, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROOMS(mostly_random, scratch_setup),
		ROOMS(mixed, scratch_setup),
		ROOMS(all_packed, scratch_setup),
		ROOMS(given_up, scratch_setup),
		ROOMS(only_zeros, scratch_setup),
		ROOMS(filled_gap, scratch_setup),
		{ "filled_gap, encrypted", filled_gap, scratch_setup_secret, scratch_teardown,
		NULL },
		{ "mostly_random, encrypted", mostly_random, scratch_setup_secret,
		  scratch_teardown, NULL },
		{ "mixed, encrypted", mixed, scratch_setup_secret, scratch_teardown, NULL },
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
