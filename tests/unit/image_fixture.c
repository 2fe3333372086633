// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tests of image/ share.
 *
 * Everything is made from seeds, so a failure can be had again.  The model knows
 * what must come back without asking the code under test: contents of a page are
 * a function of its seed, layout a sorted array.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/image_fixture.h"

/* --------------------------------------------------------------- scratch */

int scratch_setup(void **state)
{
	static const uint8_t key[IMAGE_KEY_BYTES] = "a key for tests, thirty-two long";
	struct scratch *s = calloc(1, sizeof(*s));
	const char *tmp = getenv("TMPDIR");

	snprintf(s->root, sizeof(s->root), "%s/image-test.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(s->root))
		return -1;
	if (image_key_from_bytes(key, &s->key))
		return -1;
	*state = s;
	return 0;
}

void scratch_secret(const struct scratch *s)
{
	static const uint8_t secret[IMAGE_KEY_BYTES] = "a secret of tests, thirty-two as";

	image_key_secret_from_bytes(s->key, secret, "a test");
}

int scratch_setup_secret(void **state)
{
	if (scratch_setup(state))
		return -1;
	scratch_secret(*state);
	return 0;
}

static void remove_tree(const char *path)
{
	_cleanup_dir_ DIR *d = opendir(path);
	struct dirent *e;
	char sub[512];

	while (d && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(sub, sizeof(sub), "%s/%s", path, e->d_name);
		if (unlink(sub) < 0)
			remove_tree(sub);
	}
	rmdir(path);
}

int scratch_teardown(void **state)
{
	struct scratch *s = *state;

	remove_tree(s->root);
	image_key_destroy(s->key);
	free(s);
	return 0;
}

const char *scratch_path(const struct scratch *s, const char *name)
{
	static char paths[8][256];
	static unsigned int turn;
	char *p = paths[turn++ % 8];

	snprintf(p, sizeof(paths[0]), "%s/%s", s->root, name);
	return p;
}

const char *scratch_generation(const struct scratch *s, unsigned int generation)
{
	char name[32];

	snprintf(name, sizeof(name), "gen-%u", generation);
	return scratch_path(s, name);
}

int path_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

int count_entries(const char *path)
{
	_cleanup_dir_ DIR *d = opendir(path);
	struct dirent *e;
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			n++;
	return n;
}

void *load_file(const char *path, size_t *ret_len)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *buf;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	buf = malloc((size_t)st.st_size + 1);
	assert_non_null(buf);
	assert_int_equal(read(fd, buf, (size_t)st.st_size), st.st_size);
	*ret_len = (size_t)st.st_size;
	return buf;
}

void store_file(const char *path, const void *data, size_t len)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
}

static const char *const names[] = {
	"manifest", "state", "index", "pages", "blobs",
};

void copy_image(const char *from, const char *to)
{
	char a[512], b[512];
	size_t i, len;

	assert_int_equal(mkdir(to, 0700), 0);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ void *buf = NULL;

		snprintf(a, sizeof(a), "%s/%s", from, names[i]);
		snprintf(b, sizeof(b), "%s/%s", to, names[i]);
		if (!path_exists(a))
			continue;
		buf = load_file(a, &len);
		store_file(b, buf, len);
	}
}

void remove_image(const char *dir)
{
	remove_tree(dir);
}

/* ------------------------------------------------------------------ data */

uint64_t rng_next(uint64_t *rng)
{
	*rng ^= *rng >> 12;
	*rng ^= *rng << 25;
	*rng ^= *rng >> 27;
	return *rng * 0x2545f4914f6cdd1dULL;
}

/* Contents of three kinds: random, text, almost zero. */
void fill_page(uint8_t *page, uint64_t seed)
{
	uint64_t rng = seed;
	unsigned int i;

	memset(page, 0, PAGE);
	if (!seed)
		return;
	switch (seed % 3) {
	case 0:
		for (i = 0; i < PAGE; i += 8) {
			uint64_t x = rng_next(&rng);

			memcpy(page + i, &x, 8);
		}
		break;
	case 1:
		for (i = 0; i < PAGE; i++)
			page[i] =
				(uint8_t)("0123456789 the quick brown fox\n"[(i * (seed % 7 + 1)) %
									     31]);
		memcpy(page, &seed, 8);
		break;
	default:
		page[seed % PAGE] = 1;
		memcpy(page + 4088, &seed, 8);
		break;
	}
}

/* ----------------------------------------------------------------- model */

static void add_page(struct model *m, uint64_t mm, uint64_t addr, uint64_t seed,
		     int ref)
{
	m->pages = realloc(m->pages, sizeof(*m->pages) * (size_t)(m->nr_pages + 1));
	assert_non_null(m->pages);
	m->pages[m->nr_pages++] = (struct model_page){
		.mm = mm, .addr = addr, .seed = seed, .ref = ref,
	};
}

static uint64_t page_seed(uint64_t *rng, const struct model_size *size)
{
	uint64_t x = rng_next(rng) >> 8;

	return size->incompressible ? (x | 1) * 3 : x + 1;
}

void model_init(struct model *m, uint64_t seed, const struct model_size *size)
{
	uint64_t rng = seed * 2 + 1;
	int mm, i;

	*m = (struct model){
		.seed = seed,
		.nr_records = size->records,
		.nr_blobs = size->blobs,
	};
	for (mm = 1; mm <= size->mms; mm++) {
		uint64_t addr = 0x400000;
		int left = size->pages;

		while (left > 0) {
			int run = (int)(rng_next(&rng) % 40) + 1;
			unsigned int kind = (unsigned int)(rng_next(&rng) >> 32) % 8;
			/* a run that is the same as the first map's */
			int ref = mm > 1 && kind < 3 && m->nr_pages > 0 ?
				  (int)(rng_next(&rng) % (unsigned int)m->nr_pages) : -1;

			if (rng_next(&rng) % 3 == 0)
				addr += PAGE * (rng_next(&rng) % 100000);
			for (i = 0; i < run && left > 0; i++, left--) {
				if (ref >= 0 && (ref >= m->nr_pages || m->pages[ref].mm != 1))
					ref = -1;
				if (ref >= 0)
					add_page(m, (uint64_t)mm, addr, m->pages[ref].seed, ref);
				else
					add_page(m, (uint64_t)mm, addr,
						 kind == 7 ? 0 : page_seed(&rng, size), -1);
				if (ref >= 0)
					ref++;
				addr += PAGE;
			}
		}
	}
}

void model_done(struct model *m)
{
	free(m->pages);
}

static size_t record_len(const struct model *m, int i)
{
	uint64_t rng = m->seed + (uint64_t)i * 77 + 1;
	uint64_t x = rng_next(&rng) >> 16;

	/* mostly small, some larger than a chunk */
	return x % 50 == 0 ? x % 3000000 : x % 500;
}

static uint8_t *record_payload(const struct model *m, int i, size_t len)
{
	uint64_t rng = m->seed * 3 + (uint64_t)i + 1;
	uint8_t *p = malloc(len + 8);
	size_t k;

	assert_non_null(p);
	for (k = 0; k < len; k++)
		p[k] = (uint8_t)(rng_next(&rng) >> 40);
	return p;
}

/* The one at @i and those that follow it in memory and are written alike. */
static int run_len(const struct model *m, int i)
{
	const struct model_page *p = &m->pages[i];
	int n = 1;

	while (i + n < m->nr_pages && n < 600) {
		const struct model_page *q = &m->pages[i + n];

		if (q->mm != p->mm || q->addr != p->addr + PAGE * (uint64_t)n ||
		    (q->ref < 0) != (p->ref < 0))
			break;
		if (p->ref >= 0 && (q->ref != p->ref + n ||
				    m->pages[q->ref].addr !=
				    m->pages[p->ref].addr + PAGE * (uint64_t)n))
			break;
		n++;
	}
	return n;
}

static int write_run(const struct model *m, struct image *img, int i, int n)
{
	const struct model_page *p = &m->pages[i];
	_cleanup_free_ uint8_t *buf = NULL;
	int k;

	if (p->ref >= 0)
		return image_pages_ref(img, p->mm, p->addr, (uint64_t)n,
				       m->pages[p->ref].mm, m->pages[p->ref].addr);
	buf = malloc((size_t)n * PAGE);
	assert_non_null(buf);
	for (k = 0; k < n; k++)
		fill_page(buf + (size_t)k * PAGE, m->pages[i + k].seed);
	return image_pages_add(img, p->mm, p->addr, (uint64_t)n, buf);
}

static int write_pages(const struct model *m, struct image *img, int shuffle)
{
	int *starts = calloc((size_t)m->nr_pages + 1, sizeof(*starts));
	uint64_t rng = m->seed + 99;
	int i, nr = 0, err = 0;

	assert_non_null(starts);
	for (i = 0; i < m->nr_pages; i += run_len(m, i))
		starts[nr++] = i;
	for (i = nr - 1; shuffle && i > 0; i--) {
		int j = (int)(rng_next(&rng) % (unsigned int)(i + 1));
		int t = starts[i];

		starts[i] = starts[j];
		starts[j] = t;
	}
	for (i = 0; !err && i < nr; i++)
		err = write_run(m, img, starts[i], run_len(m, starts[i]));
	free(starts);
	return err;
}

static int write_records(const struct model *m, struct image *img)
{
	int i, err = 0;

	for (i = 0; !err && i < m->nr_records; i++) {
		size_t len = record_len(m, i);
		_cleanup_free_ uint8_t *p = record_payload(m, i, len);

		err = image_state_add(img, (uint16_t)(i % 4000), 3, p, len);
	}
	return err;
}

/* Blob @i: pieces of 10000 bytes every 50000, pages of zeros among them. */
static uint64_t blob_size(int i)
{
	return (uint64_t)i * 333333 + (uint64_t)(i % 2) * 7;
}

static void blob_bytes(const struct model *m, int blob, uint64_t offset,
		       uint8_t *buf, size_t len)
{
	size_t k;

	for (k = 0; k < len; k++) {
		uint64_t o = offset + k;

		buf[k] = o % 50000 < 10000 && o / PAGE % 2 ?
			 (uint8_t)(o * 31 + m->seed + (unsigned int)blob + o / 256) : 0;
	}
}

static int write_blobs(const struct model *m, struct image *img)
{
	uint8_t buf[10000];
	uint64_t offset;
	int i, err = 0;

	for (i = m->nr_blobs; !err && i >= 1; i--) {
		err = image_blob_begin(img, (uint64_t)i * 10);
		for (offset = 0; !err && offset < blob_size(i); offset += 50000) {
			size_t len = sizeof(buf);

			if (len > blob_size(i) - offset)
				len = blob_size(i) - offset;
			blob_bytes(m, i, offset, buf, len);
			err = image_blob_append(img, offset, buf, len);
		}
		if (!err)
			err = image_blob_end(img, blob_size(i));
	}
	return err;
}

int model_write(const struct model *m, struct image *img, int shuffle)
{
	int32_t roots[] = { 41, 42 };
	int err;

	err = write_records(m, img);
	if (!err)
		err = write_pages(m, img, shuffle);
	if (!err)
		err = write_blobs(m, img);
	if (!err)
		err = image_set_roots(img, roots, 2);
	if (!err)
		err = image_set(img, "command", "sleep 1000");
	return err;
}

void model_store(const struct model *m, const struct scratch *s, const char *dir,
		 uint64_t generation, const char *job, int encrypt)
{
	struct image_options options = {
		.generation = generation, .job = job, .encrypt = encrypt,
	};
	struct image_writer *w;
	struct ckpt_error error;
	struct image *img;

	/* one like the other: what is made of a seed is always made alike */
	if (encrypt)
		scratch_secret(s);
	assert_int_equal(m->seed % 2 ? image_writer_posix_create(dir, &w, &error) :
				       image_writer_create(dir, &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	assert_int_equal(model_write(m, img, 1), 0);
	if (image_commit(img, &error))
		fail_msg("commit: %s", error.text);
	image_destroy(img);
}

/* --------------------------------------------------------------- compare */

static void compare_pages(const struct model *m, struct image_reader *r)
{
	uint8_t want[PAGE], got[PAGE];
	uint64_t mm = 0;
	int i = 0;

	while (image_mm_next(r, &mm) == 1) {
		uint64_t cursor = 0, k;
		struct image_run run;

		while (image_pages_next(r, mm, &cursor, &run) == 1) {
			for (k = 0; k < run.nr_pages; k++, i++) {
				const struct model_page *p = &m->pages[i];

				assert_true(i < m->nr_pages);
				assert_int_equal(p->mm, mm);
				assert_int_equal(p->addr, run.addr + k * PAGE);
				assert_int_equal(run.kind,
						 p->ref >= 0 ? IMAGE_RUN_REF :
						 p->seed ? IMAGE_RUN_DATA : IMAGE_RUN_ZERO);
				if (p->ref >= 0)
					assert_int_equal(m->pages[p->ref].addr,
							 run.src_addr + k * PAGE);
				fill_page(want, p->seed);
				assert_int_equal(image_pages_read(r, mm, p->addr, 1, got), 0);
				assert_memory_equal(want, got, PAGE);
			}
		}
	}
	assert_int_equal(i, m->nr_pages);
}

static void compare_records(const struct model *m, struct image_reader *r)
{
	struct image_record rec;
	int i;

	image_state_rewind(r);
	for (i = 0; i < m->nr_records; i++) {
		size_t len = record_len(m, i);
		_cleanup_free_ uint8_t *p = record_payload(m, i, len);

		assert_int_equal(image_state_next(r, &rec), 1);
		assert_int_equal(rec.type, i % 4000);
		assert_int_equal(rec.version, 3);
		assert_int_equal(rec.len, (8 + len + 7) & ~(size_t)7);
		assert_memory_equal((const uint8_t *)rec.data + 8, p, len);
	}
	assert_int_equal(image_state_next(r, &rec), 0);
}

static void compare_blobs(const struct model *m, struct image_reader *r)
{
	_cleanup_free_ uint8_t *want = malloc(blob_size(m->nr_blobs + 1) + 1);
	_cleanup_free_ uint8_t *got = malloc(blob_size(m->nr_blobs + 1) + 1);
	uint64_t id = 0, size;
	int i;

	for (i = 1; i <= m->nr_blobs; i++) {
		uint64_t cursor = 0, offset, len;
		size_t data = 0, k;

		assert_int_equal(image_blob_next(r, &id, &size), 1);
		assert_int_equal(id, i * 10);
		assert_int_equal(size, blob_size(i));
		blob_bytes(m, i, 0, want, size);
		assert_int_equal(image_blob_read(r, id, 0, got, size), 0);
		assert_memory_equal(want, got, size);
		/* what no extent covers is zero */
		while (image_blob_extent(r, id, &cursor, &offset, &len) == 1) {
			for (k = data; k < offset; k++)
				assert_int_equal(want[k], 0);
			data = offset + len;
		}
		for (k = data; k < size; k++)
			assert_int_equal(want[k], 0);
		assert_int_equal(image_blob_read(r, id, size, got, 1), -ERANGE);
	}
	assert_int_equal(image_blob_next(r, &id, &size), 0);
}

void model_compare(const struct model *m, struct image_reader *r)
{
	compare_records(m, r);
	compare_pages(m, r);
	compare_blobs(m, r);
	assert_string_equal(image_get(r, "command"), "sleep 1000");
	assert_int_equal(image_manifest(r)->nr_roots, 2);
	assert_int_equal(image_manifest(r)->roots[1], 42);
}

static int walk_memory(struct image_reader *r)
{
	uint64_t mm = 0;
	int first = 0;

	while (image_mm_next(r, &mm) == 1) {
		uint64_t cursor = 0;
		struct image_run run;

		while (image_pages_next(r, mm, &cursor, &run) == 1) {
			uint64_t n = run.nr_pages;
			uint64_t addr = run.addr;

			/* a hostile index may claim exabytes of zeros */
			while (n && addr < run.addr + (4096ULL << 12)) {
				uint64_t piece = n;
				const volatile uint8_t *data;
				const void *p;
				int err = image_pages_peek(r, mm, addr, &piece, &p);

				if (err) {
					first = first ? first : err;
					break;
				}
				data = p;
				(void)data[piece * PAGE - 1];
				addr += piece * PAGE;
				n -= piece;
			}
		}
	}
	return first;
}

static int walk_blobs(struct image_reader *r)
{
	uint64_t id = 0, size;
	uint8_t buf[8192];
	int first = 0;

	while (image_blob_next(r, &id, &size) == 1) {
		uint64_t cursor = 0, offset, len;

		while (image_blob_extent(r, id, &cursor, &offset, &len) == 1) {
			size_t n = len < sizeof(buf) ? len : sizeof(buf);
			int err = image_blob_read(r, id, offset, buf, n);

			first = first ? first : err;
		}
	}
	return first;
}

int walk_image(struct image_reader *r)
{
	struct image_record rec;
	int err, other;

	image_state_rewind(r);
	while ((err = image_state_next(r, &rec)) == 1)
		;
	other = walk_memory(r);
	err = err ? err : other;
	other = walk_blobs(r);
	return err ? err : other;
}
