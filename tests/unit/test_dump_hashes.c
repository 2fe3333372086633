// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kept files in a row of images: what has not changed is not stored again, each image has the
 * content of its freeze, and hashes that were read before the freeze are believed only while
 * nobody has written the file.
 */
#include "tests/unit/dump_fixture.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define HEAP	0x10000000ULL
#define NR	700U			/* pages of the file, more than two chunks */
#define MOST	((NR + 8) * PAGE)

enum { F_CWD = STREAM_CWD, F_FILE };

/* Write a page of the file; 0: zeros. */
static void page_put(int fd, unsigned int page, uint64_t seed)
{
	uint8_t data[PAGE] = { 0 };

	if (seed)
		fill_page(data, seed);
	assert_int_equal(pwrite(fd, data, PAGE, (off_t)page * PAGE), PAGE);
}

static void file_make(int fd)
{
	for (unsigned int i = 0; i < NR; i++)
		if (i != 5)			/* a hole */
			page_put(fd, i, i == 9 ? 0 : 1000 + i);
	assert_int_equal(ftruncate(fd, (off_t)NR * PAGE - 1000), 0);
}

static void hashes_dump(const struct scratch *s, int fd, unsigned int generation,
			struct dump_stats *ret_stats)
{
	static struct fake_page page;
	struct dump_options options = dump_options_for(s);
	char dir[256], base[256];

	page = (struct fake_page){ 1, HEAP, generation, CKPT_RUN_ANON, 0, false };
	strcpy(dir, scratch_generation(s, generation));
	strcpy(base, scratch_generation(s, generation - 1));
	fake_reset();
	fake.pages = &page;
	fake.nr_pages = 1;
	fake.features = CKPT_FEAT_TRACK;
	fake.base = 70 + generation - 1;
	fake.token = 70 + generation;
	stream_system(&fake.stream);
	stream_proc(&fake.stream, 100, 0, 1, 1, 1);
	stream_mm(&fake.stream, 1, 100, 1);
	stream_vma(&fake.stream, 1, HEAP, HEAP + 0x10000, CKPT_VMA_ANON, CKPT_VM_WRITE, 0);
	fake_file(F_CWD, CKPT_FILE_DIR, s->root, open(s->root, O_RDONLY | O_DIRECTORY));
	stream_fd(&fake.stream, 1, 5, F_FILE);
	fake_file_of(F_FILE, CKPT_FILE_REG, scratch_path(s, "field"), dup(fd), CKPT_FILE_OPEN,
		     O_RDWR, 0);
	options.dir = dir;
	options.base = generation > 1 ? base : NULL;
	options.chain_max = 8;
	options.track = true;
	options.files = ENGINE_FILES_KEEP;
	options.generation = generation;
	dump_ok(&options, ret_stats);
	fake_close_files();
}

/* The image has what the file has now. */
static void hashes_compare(const struct scratch *s, int fd, unsigned int generation)
{
	uint8_t *want = calloc(1, MOST), *got = malloc(MOST);
	const struct state_file *file;
	struct stream stream = { 0 };
	struct image_reader *r;
	struct state *state;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pread(fd, want, MOST, 0), st.st_size);
	assert_int_equal(image_verify(scratch_generation(s, generation), s->key, NULL, true, NULL,
				      NULL, NULL), 0);
	assert_int_equal(image_open(scratch_generation(s, generation), s->key, NULL, &r, NULL), 0);
	state = dump_load_state(r, &stream);
	file = state_file_find(state, F_FILE);
	assert_int_equal(file->blob->size, st.st_size);
	assert_int_equal(image_blob_read(r, file->blob->blob, 0, got, (size_t)st.st_size), 0);
	assert_memory_equal(got, want, (size_t)st.st_size);
	state_free(state);
	stream_done(&stream);
	image_close(r);
	free(want);
	free(got);
}

static void test_row(void **state)
{
	const struct scratch *s = *state;
	int fd = open(scratch_path(s, "field"), O_RDWR | O_CREAT, 0600);
	struct dump_stats stats;

	assert_true(fd >= 0);
	file_make(fd);
	hashes_dump(s, fd, 1, &stats);
	assert_int_equal(stats.pages_base, 0);
	hashes_compare(s, fd, 1);
	/* some pages, what was a hole, and what becomes zeros */
	page_put(fd, 0, 7);
	page_put(fd, 5, 8);
	page_put(fd, 300, 0);
	hashes_dump(s, fd, 2, &stats);
	assert_int_equal(stats.pages_base, NR - 4);
	assert_int_equal(stats.pages_data, NR - 2 + 1);
	hashes_compare(s, fd, 2);
	/* nothing at all */
	hashes_dump(s, fd, 3, &stats);
	assert_int_equal(stats.pages_base, NR - 2);
	hashes_compare(s, fd, 3);
	/* longer: of the last page a part was there */
	page_put(fd, NR, 9);
	hashes_dump(s, fd, 4, &stats);
	assert_int_equal(stats.pages_base, NR - 2);
	hashes_compare(s, fd, 4);
	/* shorter, within a page; images do not need each other */
	assert_int_equal(ftruncate(fd, 20 * PAGE + 10), 0);
	for (unsigned int g = 1; g <= 3; g++)
		assert_int_equal(image_remove(scratch_generation(s, g), NULL), 0);
	hashes_dump(s, fd, 5, &stats);
	hashes_compare(s, fd, 5);
	close(fd);
}

/* Another file of that name: nothing of it is the base's but what is the same. */
static void test_other_file(void **state)
{
	const struct scratch *s = *state;
	int fd = open(scratch_path(s, "field"), O_RDWR | O_CREAT, 0600), other;
	struct dump_stats stats;

	assert_true(fd >= 0);
	file_make(fd);
	hashes_dump(s, fd, 1, &stats);
	assert_int_equal(rename(scratch_path(s, "field"), scratch_path(s, "old")), 0);
	other = open(scratch_path(s, "field"), O_RDWR | O_CREAT, 0600);
	for (unsigned int i = 0; i < NR; i++)
		page_put(other, i, 50000 + i);
	hashes_dump(s, other, 2, &stats);
	assert_int_equal(stats.pages_base, 0);
	hashes_compare(s, other, 2);
	close(fd);
	close(other);
}

/* Read before the freeze, as dump_prepare.c does; fresh in the pause? */
static bool read_then(int fd, void (*then)(int fd), uint64_t *ret_differ)
{
	const struct dump_options options = { .track = true, .files = ENGINE_FILES_KEEP };
	const struct timespec tick = { .tv_nsec = 20000000 };
	struct dump d = { .options = &options };
	const struct file_hashes *h;
	uint64_t page = 0, nr;
	struct stat st;
	bool fresh;

	nanosleep(&tick, NULL);
	dump_hashes_open(&d);
	dump_hashes_read(&d, fd);
	if (then)
		then(fd);
	assert_int_equal(fstat(fd, &st), 0);
	h = dump_hashes_of(&d, fd, (uint64_t)st.st_size);
	assert_non_null(h);
	fresh = h->fresh;
	for (*ret_differ = 0; file_hashes_differ(h, &page, &nr); page += nr)
		*ret_differ += nr;
	dump_hashes_done(&d);
	return fresh;
}

static void then_write(int fd)
{
	page_put(fd, 3, 4711);
}

static void then_store(int fd)
{
	char *map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(map, MAP_FAILED);
	map[17]++;
	munmap(map, PAGE);
}

static char *mapped;

static void then_store_again(int fd)
{
	(void)fd;
	mapped[0]++;
}

static void then_cut(int fd)
{
	assert_int_equal(ftruncate(fd, (off_t)NR * PAGE - 1001), 0);
}

/* As the base has it: with hashes that no page has, so a read is noticed. */
static bool from_base(int fd, uint64_t mtime_off, uint64_t *ret_differ)
{
	const struct dump_options options = { .track = true, .files = ENGINE_FILES_KEEP };
	const struct timespec tick = { .tv_nsec = 20000000 };
	struct dump d = { .options = &options };
	struct file_hashes *h = calloc(1, sizeof(*h));
	uint64_t page = 0, nr;
	struct stat st;
	bool fresh;

	nanosleep(&tick, NULL);
	assert_int_equal(fstat(fd, &st), 0);
	*h = (struct file_hashes){ .dev = st.st_dev, .ino = st.st_ino, .nr_was = NR,
				   .was = malloc(NR * sizeof(*h->was)) };
	memset(h->was, 0x5a, NR * sizeof(*h->was));
	h->base.size = (uint64_t)st.st_size;
	h->base.mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000ULL +
			   (uint64_t)st.st_mtim.tv_nsec - mtime_off;
	h->base.ctime_ns = (uint64_t)st.st_ctim.tv_sec * 1000000000ULL +
			   (uint64_t)st.st_ctim.tv_nsec;
	d.hashes = h;
	dump_hashes_open(&d);
	dump_hashes_read(&d, fd);
	assert_ptr_equal(dump_hashes_of(&d, fd, (uint64_t)st.st_size), h);
	fresh = h->fresh;
	for (*ret_differ = 0; file_hashes_differ(h, &page, &nr); page += nr)
		*ret_differ += nr;
	dump_hashes_done(&d);
	return fresh;
}

static void test_unwritten(void **state)
{
	const struct scratch *s = *state;
	int fd = open(scratch_path(s, "field"), O_RDWR | O_CREAT, 0600);
	struct statfs fs;
	uint64_t differ;

	assert_true(fd >= 0);
	if (fstatfs(fd, &fs) || (fs.f_type != EXT4_SUPER_MAGIC && fs.f_type != XFS_SUPER_MAGIC))
		skip();
	file_make(fd);
	/* it is not read */
	assert_true(from_base(fd, 0, &differ));
	assert_int_equal(differ, 0);
	/* another time: it is */
	assert_true(from_base(fd, 1, &differ));
	assert_int_equal(differ, NR - 2);
	close(fd);
}

static void test_fresh(void **state)
{
	const struct scratch *s = *state;
	int fd = open(scratch_path(s, "field"), O_RDWR | O_CREAT, 0600);
	struct statfs fs;
	uint64_t differ;

	assert_true(fd >= 0);
	/* on other file systems hashes are never believed */
	if (fstatfs(fd, &fs) || (fs.f_type != EXT4_SUPER_MAGIC && fs.f_type != XFS_SUPER_MAGIC))
		skip();
	file_make(fd);
	assert_true(read_then(fd, NULL, &differ));
	assert_int_equal(differ, NR - 2);
	assert_false(read_then(fd, then_write, &differ));
	assert_false(read_then(fd, then_store, &differ));
	assert_false(read_then(fd, then_cut, &differ));
	/* without the write-back, a store to a page that is dirty already would go unnoticed */
	mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	mapped[0]++;
	assert_false(read_then(fd, then_store_again, &differ));
	assert_true(read_then(fd, NULL, &differ));
	munmap(mapped, PAGE);
	close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_row), TEST(test_other_file), TEST(test_fresh),
		TEST(test_unwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
