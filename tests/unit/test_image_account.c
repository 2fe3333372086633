// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is shown of where bytes went adds up: of files to what a directory has, of memory to
 * what is mapped.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <linux/ckpt.h>
#include <linux/ckpt_records.h>

#include "base/error.h"
#include "image/base.h"
#include "image/format.h"
#include "image/show.h"
#include "tests/unit/image_fixture.h"

#define NR_PAGES	2000	/* 8 MiB: some chunks are written from where they were made */
#define HEAP		0x10000000ULL
#define CODE		0x70000000ULL
#define COPY		0x90000000ULL
#define TOKEN		7
#define EXCLUDED	3	/* pages of the heap */

static uint8_t memory[NR_PAGES][PAGE];

/* Of the heap of memory map 1, its copy, or the part that map 2 has. */
static int read_again(void *arg, uint64_t mm_id, uint64_t addr, uint64_t nr_pages, void *buf)
{
	uint64_t at = (addr - (addr < COPY ? HEAP : COPY)) / PAGE + (mm_id == 2 ? 100 : 0);

	assert_true(at + nr_pages <= NR_PAGES);
	memcpy(buf, memory[at], nr_pages * PAGE);
	return 0;
}

/* Half of it is random, the rest repeats itself. */
static void fill_memory(void)
{
	uint64_t rng = 1;

	for (size_t i = 0; i < sizeof(memory) / 8; i++)
		((uint64_t *)memory)[i] = i < sizeof(memory) / 16 ? rng_next(&rng) : i / 7 + 1;
}

static void add_vma(struct image *img, uint32_t mm_id, uint64_t start, uint64_t nr_pages,
		    uint32_t kind)
{
	struct ckpt_rec_vma vma = {
		.hdr = { CKPT_REC_VMA, 1, sizeof(vma) }, .mm_id = mm_id,
		.start = start, .end = start + nr_pages * PAGE, .kind = kind,
	};

	assert_int_equal(image_state_append(img, &vma, sizeof(vma)), 0);
}

/* What is mapped: 2 * NR_PAGES + 1400 pages. */
static void add_vmas(struct image *img)
{
	add_vma(img, 1, HEAP, NR_PAGES + 500, CKPT_VMA_ANON);
	add_vma(img, 1, CODE, 200, CKPT_VMA_FILE_PRIVATE);
	add_vma(img, 1, COPY, NR_PAGES, CKPT_VMA_ANON);
	add_vma(img, 2, HEAP, 300, CKPT_VMA_ANON);
	add_vma(img, 2, CODE, 200, CKPT_VMA_SHM);
	add_vma(img, 2, COPY, 100, CKPT_VMA_ANON);
	add_vma(img, 2, 2 * COPY, 100, CKPT_VMA_VDSO);
}

static void add_pages(struct image *img, bool on_base)
{
	uint64_t done = 0;

	if (on_base)
		assert_int_equal(image_pages_base(img, 1, HEAP, 700, 1, &done), 0);
	else	/* a part of what the heap has as well, with higher addresses */
		image_pages_add(img, 2, COPY, 99, memory[100]);
	assert_int_equal(done, on_base ? 700 : 0);
	image_pages_add(img, 1, HEAP + done * PAGE, NR_PAGES - done, memory[done]);
	image_pages_zero(img, 1, HEAP + NR_PAGES * PAGE, 40);
	image_pages_add(img, 1, CODE + 10 * PAGE, 5, memory[NR_PAGES - 5]);
	/* what the heap has, once more: of its own, or the base's */
	image_pages_add(img, 1, COPY, NR_PAGES, memory);
	image_pages_ref(img, 2, HEAP + 50 * PAGE, 20, 1, HEAP);
	image_blob_begin(img, 1);
	image_blob_append(img, 10 * PAGE, memory, 3000 * 512);
	image_blob_end(img, 1000 * PAGE);
}

/* @skipped: what the dump has counted; NULL: it did not */
static const char *make(const struct scratch *s, unsigned int generation, const char *skipped,
			bool plain)
{
	bool encrypt = image_key_has_secret(s->key);
	struct image_options options = {
		.generation = generation, .job = "job", .encrypt = encrypt, .reread = read_again,
	};
	const char *dir = scratch_generation(s, generation);
	struct ckpt_error error;
	struct image_writer *w;
	struct image *img;

	assert_int_equal((plain ? image_writer_posix_create : image_writer_create)(dir, &w, &error),
			 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	if (generation > 1)
		assert_int_equal(image_base(img, scratch_generation(s, generation - 1), 4, &error),
				 0);
	add_vmas(img);
	add_pages(img, generation > 1);
	image_track(img, 1, TOKEN);
	if (skipped)
		image_set(img, IMAGE_KEY_SKIPPED, skipped);
	if (image_commit(img, &error))
		fail_msg("%s", error.text);
	image_destroy(img);
	return dir;
}

static uint64_t number(const json_t *json, const char *key)
{
	json_t *value = json_object_get(json, key);

	if (!json_is_integer(value))
		fail_msg("%s is no number", key);
	return (uint64_t)json_integer_value(value);
}

static uint64_t sum(const json_t *json, const char *const *names)
{
	uint64_t all = 0;

	for (; *names; names++)
		all += number(json, *names);
	return all;
}

static uint64_t length_of(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	uint64_t all = 0;
	struct stat st;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		assert_int_equal(fstatat(dirfd(dir), entry->d_name, &st, 0), 0);
		all += S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	}
	closedir(dir);
	return all;
}

static void check_stored(const char *dir, const json_t *json)
{
	static const char *const names[] = {
		"pages", "contents", "base", "state", "index", "manifest", "headers", "tags",
		"seals", "gaps", NULL,
	};
	const json_t *stored = json_object_get(json, "stored");

	assert_int_equal(number(stored, "total"), length_of(dir));
	assert_int_equal(sum(stored, names), length_of(dir));
}

static void check_maps(const json_t *json)
{
	static const char *const names[] = {
		"own", "same", "base", "zero", "shared", "untouched", "file", "elsewhere", "kernel",
		NULL,
	};
	const json_t *all = json_object_get(json, "address_space"), *map;
	const json_t *sizes = json_object_get(json, "sizes");
	uint64_t stored = 0;
	size_t i;

	json_array_foreach(json_object_get(json, "memory"), i, map) {
		assert_int_equal(sum(map, names), number(map, "mapped"));
		stored += number(map, "stored");
	}
	assert_int_equal(stored, number(json_object_get(json, "stored"), "pages"));
	assert_int_equal(stored, number(all, "stored"));
	assert_int_equal(sum(all, names) + number(all, "excluded"), number(all, "mapped"));
	assert_int_equal(number(all, "mapped"), (2 * NR_PAGES + 1400) * PAGE);
	assert_int_equal(number(all, "data"), number(sizes, "pages_data") * PAGE);
	assert_int_equal(number(all, "same"), number(sizes, "pages_same") * PAGE);
	assert_int_equal(number(all, "base"), number(sizes, "pages_base") * PAGE);
	assert_int_equal(number(all, "elsewhere"), 200 * PAGE);
	assert_int_equal(number(all, "kernel"), 100 * PAGE);
	assert_int_equal(number(all, "shared"), 20 * PAGE);
}

static json_t *show(const struct scratch *s, const char *dir)
{
	struct ckpt_error error;
	struct image_reader *r;
	json_t *json;

	if (image_open_locked(dir, s->key, NULL, &r, &error))
		fail_msg("%s", error.text);
	assert_int_equal(image_show_json(r, 0, &json, &error), 0);
	image_close(r);
	check_stored(dir, json);
	return json;
}

static void adds_up(const struct scratch *s, bool plain)
{
	const char *dir = make(s, 1, NULL, plain);
	json_t *json, *all, *stored;

	json = show(s, dir);
	check_maps(json);
	all = json_object_get(json, "address_space");
	assert_int_equal(number(all, "excluded"), 0);
	assert_int_equal(number(all, "untouched"), (460 + 280 + 1) * PAGE);
	assert_int_equal(number(all, "file"), 195 * PAGE);
	json_decref(json);

	/* on a base, and with pages that the dump has left out */
	dir = make(s, 2, "{\"untouched\": 837, \"file\": 195}", plain);
	json = show(s, dir);
	check_maps(json);
	all = json_object_get(json, "address_space");
	stored = json_object_get(json, "stored");
	assert_int_equal(number(all, "excluded"), EXCLUDED * PAGE);
	assert_int_equal(number(all, "base"), 700 * PAGE);
	assert_true(number(all, "same") > 500 * PAGE);
	assert_true(number(stored, "base") > 0);
	assert_int_equal(number(stored, "seals") > 0, image_key_has_secret(s->key));
	assert_true(!plain || !number(stored, "gaps"));
	json_decref(json);
}

static void files_and_memory(void **state)
{
	fill_memory();
	adds_up(*state, false);
}

static void plain_writer(void **state)
{
	fill_memory();
	adds_up(*state, true);
}

/* A count that cannot be is not taken for one. */
static void wrong_count(void **state)
{
	static const char *const wrong[] = {
		"", "{", "{\"untouched\": 1}", "{\"untouched\": 742, \"file\": 0}",
		"{\"untouched\": -1, \"file\": 0}", "{\"untouched\": 0, \"file\": 196}",
	};

	fill_memory();
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		const char *dir = make(*state, 1, wrong[i], false);
		json_t *json = show(*state, dir);

		check_maps(json);
		assert_int_equal(number(json_object_get(json, "address_space"), "excluded"), 0);
		json_decref(json);
		remove_image(dir);
	}
}

/* Without the secret gaps are not told from what is before them. */
static void locked(void **state)
{
	struct scratch *s = *state, blind = *s;
	const char *dir;
	json_t *json;
	void *other;

	fill_memory();
	scratch_secret(s);
	dir = make(s, 1, NULL, false);
	assert_int_equal(scratch_setup(&other), 0);
	blind.key = ((struct scratch *)other)->key;
	json = show(&blind, dir);
	assert_int_equal(number(json_object_get(json, "stored"), "gaps"), 0);
	assert_true(number(json_object_get(json, "stored"), "seals") > 0);
	assert_null(json_object_get(json, "address_space"));
	json_decref(json);
	scratch_teardown(&other);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(files_and_memory),
		{ "files_and_memory, encrypted", files_and_memory, scratch_setup_secret,
		  scratch_teardown, NULL },
		T(plain_writer),
		T(wrong_count),
		T(locked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
