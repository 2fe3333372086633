// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is written into an image comes back: random layouts in random order,
 * plain and encrypted, and the corners (empty, sparse, one page, huge zeros,
 * references, a chunk filled to the byte).  All of it with each writer.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "tests/unit/image_fixture.h"

/* what the tests of this group write with */
static int (*create_writer)(const char *dir, struct image_writer **ret_writer,
			    struct ckpt_error *error);

static struct image *create(const struct scratch *s, const char *dir)
{
	struct image_options options = { .generation = 7, .job = "job" };
	struct ckpt_error error;
	struct image_writer *w;
	struct image *img;

	assert_int_equal(create_writer(dir, &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	return img;
}

static struct image_reader *open_ok(const struct scratch *s, const char *dir)
{
	struct ckpt_error error;
	struct image_reader *r;

	if (image_open(dir, s->key, NULL, &r, &error))
		fail_msg("open: %s", error.text);
	return r;
}

static void finish(struct image *img)
{
	struct ckpt_error error;

	if (image_commit(img, &error))
		fail_msg("commit: %s", error.text);
	image_destroy(img);
}

static void roundtrip(const struct scratch *s, uint64_t seed,
		      const struct model_size *size, int encrypt)
{
	const char *dir = scratch_path(s, "image");
	struct ckpt_error error;
	struct image_reader *r;
	struct model m;

	model_init(&m, seed, size);
	model_store(&m, s, dir, seed, "job", encrypt);
	r = open_ok(s, dir);
	model_compare(&m, r);
	assert_int_equal(image_manifest(r)->generation, seed);
	assert_string_equal(image_manifest(r)->job, "job");
	assert_int_equal(image_manifest(r)->encrypted, encrypt);
	image_close(r);
	if (image_verify(dir, s->key, NULL, true, NULL, NULL, &error))
		fail_msg("verify: %s", error.text);
	assert_int_equal(image_remove(dir, &error), 0);
	assert_int_equal(count_entries(s->root), 0);
	model_done(&m);
}

static void random_layouts(void **state)
{
	uint64_t seed;

	for (seed = 1; seed <= 12; seed++) {
		struct model_size size = {
			.mms = (int)(seed % 5),
			.pages = (int)(seed * 97 % 900),
			.records = (int)(seed * 31 % 200),
			.blobs = (int)(seed % 4),
			.incompressible = seed % 3 == 0,
		};

		roundtrip(*state, seed, &size, seed % 2);
	}
}

/* Odd pages through a clone, chunk by chunk, the others through the original. */
static void clones(void **state)
{
	const struct model_size size = { .mms = 3, .pages = 900, .incompressible = 1 };
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "clones");
	struct image_reader *r, *clone;
	uint8_t page[PAGE], want[PAGE];
	uint64_t chunk, most = 0;
	struct model m;

	model_init(&m, 7, &size);
	model_store(&m, s, dir, 1, "job", 1);
	r = open_ok(s, dir);
	assert_int_equal(image_clone(r, &clone), 0);
	for (int i = 0; i < m.nr_pages; i++) {
		const struct model_page *p = &m.pages[i];
		struct image_reader *from = i % 2 ? clone : r;
		uint64_t nr = 1;

		assert_int_equal(image_pages_chunk(r, p->mm, p->addr, &nr, &chunk), 0);
		assert_int_equal(chunk == IMAGE_NO_CHUNK, p->seed == 0);
		if (chunk != IMAGE_NO_CHUNK && chunk > most)
			most = chunk;
		image_pages_until(clone, chunk, false);
		assert_int_equal(image_pages_read(from, p->mm, p->addr, 1, page), 0);
		fill_page(want, p->seed);
		assert_memory_equal(page, want, PAGE);
	}
	assert_true(most > 2);
	assert_int_equal(image_pages_read(clone, 99, 0, 1, page), -ENOENT);
	assert_string_equal(image_reader_error(r), "");
	image_close(clone);
	assert_int_equal(image_pages_read(r, m.pages[0].mm, m.pages[0].addr, 1, page), 0);
	image_close(r);
	model_done(&m);
}

static void empty_image(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "empty");
	struct image_record rec;
	struct image_reader *r;
	uint64_t id = 0, size;

	finish(create(s, dir));
	assert_int_equal(count_entries(dir), 3);	/* manifest, state, index */
	r = open_ok(s, dir);
	assert_int_equal(image_state_next(r, &rec), 0);
	assert_int_equal(image_mm_next(r, &id), 0);
	assert_int_equal(image_blob_next(r, &id, &size), 0);
	assert_int_equal(walk_image(r), 0);
	image_close(r);
	assert_int_equal(image_verify(dir, s->key, NULL, true, NULL, NULL, NULL), 0);
}

static void zeros_and_holes(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "zeros");
	uint8_t *pages = calloc(1000, PAGE);
	struct image *img = create(s, dir);
	uint64_t cursor = 0;
	struct image_reader *r;
	struct image_run run;
	uint8_t page[PAGE];

	assert_int_equal(image_pages_add(img, 1, 0x1000, 1000, pages), 0);
	assert_int_equal(image_pages_zero(img, 1, 0x1000 + 1000 * PAGE, 1ULL << 28), 0);
	assert_int_equal(image_pages_zero(img, 1, 0x7f0000000000, 1), 0);
	finish(img);
	assert_false(path_exists(scratch_path(s, "zeros/pages")));
	r = open_ok(s, dir);
	assert_int_equal(image_manifest(r)->counts.pages_zero, 1001 + (1ULL << 28));
	assert_int_equal(image_pages_next(r, 1, &cursor, &run), 1);
	assert_int_equal(run.addr, 0x1000);
	assert_int_equal(run.nr_pages, 1000 + (1ULL << 28));
	assert_int_equal(run.kind, IMAGE_RUN_ZERO);
	assert_int_equal(image_pages_next(r, 1, &cursor, &run), 1);
	assert_int_equal(run.addr, 0x7f0000000000);
	assert_int_equal(image_pages_next(r, 1, &cursor, &run), 0);
	memset(page, 1, PAGE);
	assert_int_equal(image_pages_read(r, 1, 0x100000000, 1, page), 0);
	assert_memory_equal(page, pages, PAGE);
	assert_int_equal(image_pages_read(r, 1, 0, 1, page), -ENOENT);
	assert_int_equal(image_pages_read(r, 2, 0x1000, 1, page), -ENOENT);
	/* a cursor in the middle of a run cuts it */
	cursor = 0x5000;
	assert_int_equal(image_pages_next(r, 1, &cursor, &run), 1);
	assert_int_equal(run.addr, 0x5000);
	image_close(r);
	free(pages);
}

/* A run over many chunks is one run to the reader. */
static void long_runs(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "long");
	const uint64_t nr = 1500;
	uint8_t *pages = malloc(nr * PAGE), *got = malloc(nr * PAGE);
	struct image *img = create(s, dir);
	uint64_t cursor = 0, i;
	struct image_reader *r;
	struct image_run run;

	for (i = 0; i < nr; i++)
		fill_page(pages + i * PAGE, i + 1);
	assert_int_equal(image_pages_add(img, 1, 0x10000, nr, pages), 0);
	assert_int_equal(image_pages_ref(img, 2, 0x50000, nr - 1, 1, 0x11000), 0);
	finish(img);
	r = open_ok(s, dir);
	assert_int_equal(image_pages_next(r, 1, &cursor, &run), 1);
	assert_int_equal(run.nr_pages, nr);
	assert_int_equal(run.kind, IMAGE_RUN_DATA);
	assert_int_equal(image_pages_read(r, 1, 0x10000, nr, got), 0);
	assert_memory_equal(pages, got, nr * PAGE);
	cursor = 0x51000;
	assert_int_equal(image_pages_next(r, 2, &cursor, &run), 1);
	assert_int_equal(run.kind, IMAGE_RUN_REF);
	assert_int_equal(run.addr, 0x51000);
	assert_int_equal(run.nr_pages, nr - 2);
	assert_int_equal(run.src_addr, 0x12000);
	assert_int_equal(run.src_mm_id, 1);
	assert_int_equal(image_pages_read(r, 2, 0x50000, nr - 1, got), 0);
	assert_memory_equal(pages + PAGE, got, (nr - 1) * PAGE);
	image_close(r);
	free(pages);
	free(got);
}

static void chunk_boundaries(void **state)
{
	struct scratch *s = *state;
	const uint64_t counts[] = { 255, 256, 257, 511, 512, 513 };
	uint8_t *pages = malloc(600 * PAGE), *got = malloc(600 * PAGE);
	uint64_t rng = 5;
	size_t i;

	for (i = 0; i < 600 * PAGE; i += 8) {
		uint64_t x = rng_next(&rng);

		memcpy(pages + i, &x, 8);
	}
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		const char *dir = scratch_path(s, "chunks");
		struct image *img = create(s, dir);
		struct image_reader *r;

		/* a page before, so that chunks and runs do not coincide */
		if (i % 2)
			assert_int_equal(image_pages_add(img, 1, 0, 1, pages), 0);
		assert_int_equal(image_pages_add(img, 2, PAGE, counts[i], pages), 0);
		finish(img);
		r = open_ok(s, dir);
		assert_int_equal(image_pages_read(r, 2, PAGE, counts[i], got), 0);
		assert_memory_equal(pages, got, counts[i] * PAGE);
		image_close(r);
		assert_int_equal(image_remove(dir, NULL), 0);
	}
	free(pages);
	free(got);
}

static void raw_records(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "records");
	uint64_t records[6] = { 0 };
	struct image_rec_hdr hdr = { .type = 9, .version = 2, .len = 24 };
	struct image_record rec;
	struct image_reader *r;
	struct image *img = create(s, dir);

	memcpy(records, &hdr, 8);
	memcpy(records + 3, &hdr, 8);
	records[1] = 11;
	records[4] = 44;
	assert_int_equal(image_state_append(img, records, sizeof(records)), 0);
	finish(img);
	r = open_ok(s, dir);
	assert_int_equal(image_state_next(r, &rec), 1);
	assert_int_equal(rec.type, 9);
	assert_int_equal(((const uint64_t *)rec.data)[1], 11);
	assert_int_equal(image_state_next(r, &rec), 1);
	assert_int_equal(((const uint64_t *)rec.data)[1], 44);
	assert_int_equal(image_state_next(r, &rec), 0);
	image_state_rewind(r);
	assert_int_equal(image_state_next(r, &rec), 1);
	assert_int_equal(((const uint64_t *)rec.data)[1], 11);
	image_close(r);
	/* a torn one is refused, and the refusal sticks */
	img = create(s, scratch_path(s, "torn"));
	assert_int_equal(image_state_append(img, records, 32), -EINVAL);
	assert_int_equal(image_state_append(img, records, sizeof(records)), -EINVAL);
	assert_non_null(strstr(image_error_text(img), "impossible length"));
	assert_int_equal(image_commit(img, NULL), -EINVAL);
	image_destroy(img);
	assert_false(path_exists(scratch_path(s, "torn")));
}

static void manifest_comes_back(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "manifest");
	struct image_identity id = {
		.created_ns = 123, .xfeatures = 0x2e7, .xstate_size = 2696,
		.uid = 1000, .gid = 1001, .nr_procs = 3, .nr_threads = 9,
		.hostname = "node1", .release = "6.1.0", .machine = "x86_64",
	};
	struct image_timing timing = { 1, 2, 3, 4, 5 };
	struct image_counts counts;
	const struct image_manifest *m;
	struct image_reader *r;
	struct image *img = create(s, dir);
	uint8_t page[PAGE], image_id[32];

	fill_page(page, 3);
	assert_int_equal(image_set_identity(img, &id), 0);
	assert_int_equal(image_set_timing(img, &timing), 0);
	assert_int_equal(image_set(img, "a", "1"), 0);
	assert_int_equal(image_set(img, "b", ""), 0);
	assert_int_equal(image_set(img, "a", "2"), 0);
	assert_int_equal(image_pages_add(img, 1, 0, 1, page), 0);
	image_get_id(img, image_id);
	image_get_counts(img, &counts);
	assert_int_equal(counts.bytes_raw, PAGE);
	finish(img);
	r = open_ok(s, dir);
	m = image_manifest(r);
	assert_memory_equal(m->id, image_id, 32);
	assert_int_equal(m->identity.created_ns, 123);
	assert_int_equal(m->identity.xfeatures, 0x2e7);
	assert_int_equal(m->identity.uid, 1000);
	assert_int_equal(m->identity.nr_threads, 9);
	assert_string_equal(m->identity.hostname, "node1");
	assert_string_equal(m->identity.machine, "x86_64");
	assert_int_equal(m->timing.dump_ns, 5);
	assert_int_equal(m->nr_keyvals, 3);	/* and the writer's */
	assert_non_null(image_get(r, "writer"));
	assert_string_equal(image_get(r, "a"), "2");
	assert_string_equal(image_get(r, "b"), "");
	assert_null(image_get(r, "c"));
	assert_int_equal(m->counts.pages_data, 1);
	assert_int_equal(m->nr_runs, 1);
	assert_int_equal(m->counts.bytes_raw, PAGE);
	image_close(r);
}

/* Mistakes of the caller are errors at the latest when it commits. */
static void misuse(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "misuse");
	struct ckpt_error error;
	uint8_t page[2 * PAGE];
	struct image *img;
	int i;

	fill_page(page, 1);
	fill_page(page + PAGE, 4);
	for (i = 0; i < 10; i++) {
		int want = -EINVAL;

		img = create(s, dir);
		switch (i) {
		case 0:		/* the same page twice */
			image_pages_add(img, 1, 0x1000, 2, page);
			image_pages_add(img, 1, 0x2000, 1, page);
			want = -EEXIST;
			break;
		case 1:		/* reference to nothing */
			image_pages_ref(img, 1, 0x1000, 1, 2, 0x1000);
			break;
		case 2:		/* reference that is half there */
			image_pages_add(img, 2, 0x1000, 1, page);
			image_pages_ref(img, 1, 0x1000, 2, 2, 0x1000);
			break;
		case 3:		/* reference to a reference */
			image_pages_add(img, 2, 0x1000, 1, page);
			image_pages_ref(img, 1, 0x1000, 1, 2, 0x1000);
			image_pages_ref(img, 3, 0x1000, 1, 1, 0x1000);
			break;
		case 4:
			image_pages_add(img, 1, 0x1001, 1, page);
			break;
		case 5:
			image_pages_zero(img, 1, 0x1000, UINT64_MAX);
			break;
		case 6:
			image_pages_add(img, 0, 0x1000, 1, page);
			break;
		case 7:		/* blob not ended */
			image_blob_begin(img, 1);
			break;
		case 8:		/* offsets going back */
			image_blob_begin(img, 1);
			image_blob_append(img, 100, page, 10);
			image_blob_append(img, 50, page, 10);
			image_blob_end(img, 110);
			break;
		default:	/* the same blob twice */
			image_blob_begin(img, 1);
			image_blob_end(img, 1);
			image_blob_begin(img, 1);
			image_blob_end(img, 1);
			want = -EEXIST;
			break;
		}
		error.text[0] = '\0';
		assert_int_equal(image_commit(img, &error), want);
		assert_true(error.text[0]);
		image_destroy(img);
		assert_int_equal(count_entries(s->root), 0);
	}
}

static void places(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "place");
	struct image_options options = { .generation = 1 };
	struct ckpt_error error;
	struct image_writer *w;
	struct image *img, *other;

	/* an empty directory is replaced */
	assert_int_equal(mkdir(dir, 0755), 0);
	img = create(s, dir);
	/* a second writer for the same place is refused meanwhile */
	assert_int_equal(create_writer(dir, &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &other, &error), -EBUSY);
	/* and sweeping leaves it alone */
	assert_int_equal(image_sweep(s->root, &error), 0);
	finish(img);
	assert_int_equal(count_entries(s->root), 1);
	/* an image is not */
	assert_int_equal(create_writer(dir, &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &other, &error), -EEXIST);
	assert_non_null(strstr(error.text, "exists"));
	/* no parent, no name */
	assert_int_equal(create_writer(scratch_path(s, "no/where"), &w, &error), -ENOENT);
	assert_int_equal(create_writer("/", &w, &error), -EINVAL);
	assert_int_equal(create_writer("..", &w, &error), -EINVAL);
	/* trailing slashes are fine */
	img = create(s, scratch_path(s, "slash///"));
	finish(img);
	assert_true(path_exists(scratch_path(s, "slash/manifest")));
	/* remove refuses what is not an image's */
	store_file(scratch_path(s, "slash/precious"), "x", 1);
	assert_int_equal(image_remove(scratch_path(s, "slash"), &error), -ENOTEMPTY);
	assert_int_equal(image_remove(scratch_path(s, "nothing"), &error), -ENOENT);
	assert_int_equal(image_remove(dir, &error), 0);
	assert_false(path_exists(dir));
}

static void same_text_fits_less(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "small");
	uint8_t *pages = malloc(256 * PAGE);
	struct image *img = create(s, dir);
	struct image_reader *r;
	unsigned int i;

	for (i = 0; i < 256; i++)
		fill_page(pages + i * PAGE, 1 + 3 * i);
	assert_int_equal(image_pages_add(img, 1, 0, 256, pages), 0);
	finish(img);
	r = open_ok(s, dir);
	assert_true(image_manifest(r)->files[IMAGE_FILE_PAGES].len < 256 * PAGE / 4);
	image_close(r);
	free(pages);
}

static int plain_setup(void **state)
{
	create_writer = image_writer_posix_create;
	return scratch_setup(state);
}

static int best_setup(void **state)
{
	create_writer = image_writer_create;
	return scratch_setup(state);
}

/* With the plain writer, and with the one that is chosen here. */
#define BOTH(f)									\
	{ #f ", plain", f, plain_setup, scratch_teardown, NULL },		\
	{ #f ", chosen", f, best_setup, scratch_teardown, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(random_layouts),
		BOTH(clones),
		BOTH(empty_image),
		BOTH(zeros_and_holes),
		BOTH(long_runs),
		BOTH(chunk_boundaries),
		BOTH(raw_records),
		BOTH(manifest_comes_back),
		BOTH(misuse),
		BOTH(places),
		BOTH(same_text_fits_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
