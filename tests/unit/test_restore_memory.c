// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filling memory maps from an image, against a made-up kernel that keeps pages as
 * cells with owners: afterwards every page holds what the image says, pages that
 * were one cell are one cell again, and nothing else is there.  Writes come from
 * several threads; the kernel is one, and says so if others come beside a write.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/restore/restore_memory.h"
#include "engine/restore/rollback_keep.h"
#include "tests/unit/image_fixture.h"
#include "tests/unit/stream.h"

#define BASE	0x10000000ULL
#define OTHER	0x20000000ULL	/* a private mapping of a file */
#define MAPS	3
#define PAGES	600		/* per mapping */

struct cell {
	unsigned int owners;
	uint8_t data[PAGE];
};

struct page {
	struct cell *cell;
	bool in_image;
	uint64_t seed;		/* wanted content; 0: zeros */
	int identity;		/* pages with one identity are one page; 0: none */
};

/* [map][mapping][page] */
struct fake {
	struct kdev dev;
	struct page pages[MAPS][2][PAGES];
	unsigned int shares, writes, drops;
	pthread_mutex_t lock;		/* protects all of it */
	pthread_cond_t come;
	unsigned int inside, most;	/* writers at a time */
	unsigned int meet;		/* the first writer waits for so many */
	int fail_pid, fail;		/* writes to that process fail so */
	unsigned int copies;
	unsigned int all;		/* pages of the image, of all maps */
	uint64_t kept;			/* pages that the kernel's snapshot has, of all copies */
	uint64_t lacks;			/* a page that it has not */
};

static struct fake *kernel;

static struct page *page_at(int pid, uint64_t addr)
{
	int mapping = addr >= OTHER;
	uint64_t index = (addr - (mapping ? OTHER : BASE)) / PAGE;

	if (pid < 100 || pid >= 100 + MAPS || index >= PAGES)
		abort();	/* a thread cannot fail a test */
	return &kernel->pages[pid - 100][mapping][index];
}

static void put_cell(struct page *page)
{
	if (page->cell && --page->cell->owners == 0)
		free(page->cell);
	page->cell = NULL;
}

static int fake_write(struct ckpt_pages *arg)
{
	const struct ckpt_iovec *iov = (const void *)(uintptr_t)arg->iov;
	const uint8_t *data = (const void *)(uintptr_t)arg->buf;

	kernel->writes++;
	if (!arg->nr_iov || arg->nr_iov > 1024)
		abort();
	if ((int)arg->mm_id == kernel->fail_pid)
		return kernel->fail;
	for (unsigned int i = 0; i < arg->nr_iov; i++)
		for (uint64_t at = 0; at < iov[i].len; at += PAGE, data += PAGE) {
			struct page *page = page_at((int)arg->mm_id, iov[i].addr + at);

			put_cell(page);		/* copy on write */
			page->cell = calloc(1, sizeof(*page->cell));
			page->cell->owners = 1;
			memcpy(page->cell->data, data, PAGE);
		}
	return 0;
}

/* Others may come in meanwhile; not for ever. */
static void meet_others(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	if (++kernel->inside > kernel->most)
		kernel->most = kernel->inside;
	pthread_cond_broadcast(&kernel->come);
	while (kernel->most < kernel->meet &&
	       !pthread_cond_timedwait(&kernel->come, &kernel->lock, &until))
		;
	kernel->inside--;
}

static int fake_share(const struct ckpt_pages_share *arg)
{
	kernel->shares++;
	for (uint64_t at = arg->start; at < arg->end; at += PAGE) {
		struct page *src = page_at(arg->src_pid, at), *dst = page_at(arg->dst_pid, at);

		put_cell(dst);
		dst->cell = src->cell;
		if (dst->cell)
			dst->cell->owners++;
	}
	return 0;
}

/* The snapshot has what the image has, as far as it has pages. */
static int fake_copy(struct ckpt_l0_copy *arg)
{
	const struct ckpt_iovec *iov = (const void *)(uintptr_t)arg->iov;

	kernel->copies++;
	if (!arg->nr_iov || arg->nr_iov > 1024)
		abort();
	if (arg->pid == kernel->fail_pid)
		return kernel->fail;
	for (unsigned int i = 0; i < arg->nr_iov; i++)
		for (uint64_t at = 0; at < iov[i].len; at += PAGE, arg->done += PAGE) {
			struct page *page = page_at(arg->pid, iov[i].addr + at);

			if (!kernel->kept || iov[i].addr + at == kernel->lacks)
				return -ENODATA;
			kernel->kept--;
			put_cell(page);
			page->cell = calloc(1, sizeof(*page->cell));
			page->cell->owners = 1;
			fill_page(page->cell->data, page->seed);
		}
	return 0;
}

static int locked_command(unsigned long command, void *arg)
{
	const struct ckpt_pages_drop *drop = arg;

	switch (command) {
	case CKPT_IOC_PAGES_WRITE:
		meet_others();
		return fake_write(arg);
	case CKPT_IOC_PAGES_SHARE:
		return fake_share(arg);
	case CKPT_IOC_L0_COPY:
		return fake_copy(arg);
	case CKPT_IOC_PAGES_DROP:
		kernel->drops++;
		for (uint64_t at = drop->start; at < drop->end; at += PAGE)
			put_cell(page_at(drop->pid, at));
		return 0;
	default:
		return -ENOTTY;
	}
}

static int fake_command(struct kdev *dev, unsigned long command, void *arg)
{
	int ret;

	(void)dev;
	pthread_mutex_lock(&kernel->lock);
	ret = locked_command(command, arg);
	pthread_mutex_unlock(&kernel->lock);
	return ret;
}

static const struct kdev_ops fake_ops = { .command = fake_command };

/* ---------------------------------------------------------------- image */

static uint64_t addr_of(int mapping, int index)
{
	return (mapping ? OTHER : BASE) + (uint64_t)index * PAGE;
}

/* Where the page with that identity was stored first: always a lower map. */
static bool find_first(int map, int mapping, int index, int *ret_map)
{
	int identity = kernel->pages[map][mapping][index].identity;

	for (int m = 0; identity && m < map; m++)
		if (kernel->pages[m][mapping][index].identity == identity) {
			*ret_map = m;
			return true;
		}
	return false;
}

static void store_page(struct image *img, int map, int mapping, int index)
{
	const struct page *page = &kernel->pages[map][mapping][index];
	uint64_t addr = addr_of(mapping, index);
	uint8_t data[PAGE];
	int first;

	if (!page->in_image)
		return;
	fill_page(data, page->seed);
	if (find_first(map, mapping, index, &first))
		assert_int_equal(image_pages_ref(img, (uint64_t)map + 1, addr, 1,
						 (uint64_t)first + 1, addr), 0);
	else
		assert_int_equal(image_pages_add(img, (uint64_t)map + 1, addr, 1, data), 0);
}

/* The heap of a child has grown further, the mapping of the file was cut in front. */
static int first_of(int map, int mapping)
{
	return mapping ? 13 * map : 0;
}

static int end_of(int map, int mapping)
{
	return mapping ? PAGES : PAGES - 40 * (MAPS - 1 - map);
}

static void clip(void)
{
	for (int m = 0; m < MAPS; m++)
		for (int v = 0; v < 2; v++)
			for (int i = 0; i < PAGES; i++)
				if (i < first_of(m, v) || i >= end_of(m, v))
					memset(&kernel->pages[m][v][i], 0, sizeof(struct page));
}

static void store(const struct scratch *s, const char *dir)
{
	const struct image_options options = { 0 };
	struct image_writer *writer;
	struct ckpt_error error;
	struct image *img;

	clip();
	assert_int_equal(image_writer_posix_create(dir, &writer, &error), 0);
	assert_int_equal(image_create(writer, s->key, &options, &img, &error), 0);
	for (int m = 0; m < MAPS; m++)
		for (int v = 0; v < 2; v++)
			for (int i = 0; i < PAGES; i++)
				store_page(img, m, v, i);
	if (image_commit(img, &error))
		fail_msg("%s", error.text);
	image_destroy(img);
}

static struct ckpt_rec_vma *last_vma(struct stream *stream)
{
	return (void *)((char *)stream->buf + stream->len - sizeof(struct ckpt_rec_vma));
}

static struct state *make_state(struct stream *stream)
{
	struct state_error error;
	struct state *state = NULL;

	memset(stream, 0, sizeof(*stream));
	stream_system(stream);
	for (int m = 0; m < MAPS; m++)
		stream_proc(stream, 100 + m, m ? 100 : 0, (uint32_t)m + 1, (uint32_t)m + 1, 1);
	for (int m = 0; m < MAPS; m++) {
		stream_mm(stream, (uint32_t)m + 1, 100 + m, 2);
		stream_vma(stream, (uint32_t)m + 1, BASE, addr_of(0, end_of(m, 0)), CKPT_VMA_ANON,
			   CKPT_VM_READ | CKPT_VM_WRITE, 0);
		stream_vma(stream, (uint32_t)m + 1, addr_of(1, first_of(m, 1)),
			   OTHER + PAGES * PAGE, CKPT_VMA_FILE_PRIVATE,
			   CKPT_VM_READ | CKPT_VM_WRITE, 2);
		last_vma(stream)->pgoff = (uint64_t)first_of(m, 1);
	}
	stream_file(stream, STREAM_CWD, CKPT_FILE_DIR, "/");
	stream_file(stream, 2, CKPT_FILE_REG, "/lib/x.so");
	if (state_parse(stream->buf, stream->len, &state, &error))
		fail_msg("%s", error.text);
	return state;
}

/* ---------------------------------------------------------------- the test */

static int try_fill_kept(const struct scratch *s, const char *dir, const struct keep_map *kept,
			 struct ckpt_error *why)
{
	struct image_reader *reader;
	struct ckpt_error error;
	struct stream stream;
	struct state *state = make_state(&stream);
	struct restore_memory *m = NULL;
	uint64_t total;
	int ret;

	assert_int_equal(image_open(dir, s->key, NULL, &reader, &error), 0);
	ret = restore_memory_create(state, reader, &kernel->dev, why, &m, &total);
	assert_int_equal(ret, 0);
	for (unsigned int i = 0; !ret && i < state->nr_mms; i++)
		ret = restore_memory_fill(m, &state->mms[i], kept);
	if (!ret)
		ret = restore_memory_finish(m);
	assert_true(restore_memory_bytes(m) + restore_memory_copied(m) <= total);
	if (!ret && kept)
		assert_int_equal(restore_memory_bytes(m) + restore_memory_copied(m),
				 (uint64_t)kernel->all * PAGE);
	restore_memory_destroy(m);
	image_close(reader);
	state_free(state);
	stream_done(&stream);
	return ret;
}

static int try_fill_all(const struct scratch *s, const char *dir, struct ckpt_error *why)
{
	return try_fill_kept(s, dir, NULL, why);
}

static void fill_all(const struct scratch *s, const char *dir)
{
	struct ckpt_error why = { 0 };

	if (try_fill_all(s, dir, &why))
		fail_msg("%s", why.text);
}

static void check_page(int map, int mapping, int index)
{
	struct page *page = &kernel->pages[map][mapping][index];
	uint8_t data[PAGE];
	int first;

	/* untouched anonymous memory reads as zeros; an untouched file does not */
	if (!page->in_image || (!page->cell && !page->seed && !mapping)) {
		assert_null(page->cell);
		return;
	}
	assert_non_null(page->cell);
	fill_page(data, page->seed);
	assert_memory_equal(page->cell->data, data, PAGE);
	if (page->seed && find_first(map, mapping, index, &first))
		assert_ptr_equal(page->cell, kernel->pages[first][mapping][index].cell);
}

static void free_kernel(void)
{
	for (int m = 0; m < MAPS; m++)
		for (int v = 0; v < 2; v++)
			for (int i = 0; i < PAGES; i++)
				put_cell(&kernel->pages[m][v][i]);
	pthread_cond_destroy(&kernel->come);
	pthread_mutex_destroy(&kernel->lock);
	free(kernel);
	kernel = NULL;
}

static void check_and_free(void)
{
	for (int m = 0; m < MAPS; m++)
		for (int v = 0; v < 2; v++)
			for (int i = 0; i < PAGES; i++)
				check_page(m, v, i);
	free_kernel();
}

static void new_kernel(void)
{
	kernel = calloc(1, sizeof(*kernel));
	kernel->dev.ops = &fake_ops;
	pthread_mutex_init(&kernel->lock, NULL);
	pthread_cond_init(&kernel->come, NULL);
}

/* A parent and two children that changed a part each: all the rest is shared. */
static void test_family(void **arg)
{
	const struct scratch *s = *arg;
	const char *dir = scratch_path(s, "family");

	new_kernel();
	for (int m = 0; m < MAPS; m++)
		for (int v = 0; v < 2; v++)
			for (int i = 0; i < PAGES; i++) {
				struct page *page = &kernel->pages[m][v][i];
				bool own = m && i % 50 == m;

				page->in_image = !(m == 2 && i > 500);
				page->seed = own ? 1000 + (uint64_t)(m * PAGES + i)
						 : 1 + (uint64_t)i;
				page->identity = own ? 0 : i + 1;
			}
	store(s, dir);
	fill_all(s, dir);
	assert_true(kernel->shares >= 4);
	check_and_free();
}

static void test_random(void **arg)
{
	const struct scratch *s = *arg;
	uint64_t rng = 3;

	for (int round = 0; round < 12; round++) {
		char name[32];
		const char *dir;
		uint64_t run = 0, kind = 0;

		new_kernel();
		for (int m = 0; m < MAPS; m++)
			for (int v = 0; v < 2; v++)
				for (int i = 0; i < PAGES; i++) {
					struct page *page = &kernel->pages[m][v][i];

					if (!run--) {
						run = rng_next(&rng) % (round % 2 ? 4 : 120);
						kind = rng_next(&rng) % 4;
					}
					page->in_image = kind != 0;
					page->identity = kind == 1 ? i + 1 : 0;
					page->seed = kind == 1 ? (uint64_t)i + 1 :
						     kind == 2 ? rng_next(&rng) | 1 : 0;
				}
		snprintf(name, sizeof(name), "random-%d", round);
		dir = scratch_path(s, name);
		store(s, dir);
		fill_all(s, dir);
		check_and_free();
	}
}

/* Nothing in common. */
static void make_alone(const struct scratch *s, const char *dir)
{
	new_kernel();
	for (int m = 0; m < MAPS; m++)
		for (int i = 0; i < PAGES; i++) {
			kernel->pages[m][0][i].in_image = true;
			kernel->pages[m][0][i].seed = (uint64_t)(m * PAGES + i) + 1;
		}
	store(s, dir);
}

/* Nothing is shared, big runs go in few calls, and maps are written side by side. */
static void test_alone(void **arg)
{
	const struct scratch *s = *arg;
	const char *dir = scratch_path(s, "alone");

	make_alone(s, dir);
	kernel->meet = 2;
	fill_all(s, dir);
	assert_int_equal(kernel->shares, 0);
	assert_in_range(kernel->writes, MAPS, 6 * MAPS);
	assert_in_range(kernel->most, 2, MAPS);
	check_and_free();
}

/* What fails in a thread ends it all, and is told; what is queued is left. */
static void test_failure(void **arg)
{
	const struct scratch *s = *arg;
	const char *dir = scratch_path(s, "failure");

	for (int pid = 100; pid < 100 + MAPS; pid++) {
		struct ckpt_error why = { 0 };
		char who[32];

		make_alone(s, dir);
		kernel->fail_pid = pid;
		kernel->fail = -EFAULT;
		assert_int_equal(try_fill_all(s, dir, &why), -EFAULT);
		snprintf(who, sizeof(who), "process %d ", pid);
		assert_non_null(strstr(why.text, who));
		free_kernel();
		remove_image(dir);
	}
}

static void damage(const char *dir)
{
	char path[256];
	uint8_t *buf;
	size_t len;

	snprintf(path, sizeof(path), "%s/pages", dir);
	buf = load_file(path, &len);
	buf[len / 2] ^= 1;
	store_file(path, buf, len);
	free(buf);
}

/* A damaged chunk that only a thread reads. */
static void test_damage(void **arg)
{
	const struct scratch *s = *arg;
	const char *dir = scratch_path(s, "damage");
	struct ckpt_error why = { 0 };

	make_alone(s, dir);
	damage(dir);
	assert_int_equal(try_fill_all(s, dir, &why), -EBADMSG);
	assert_non_null(strstr(why.text, "cannot read the image: pages"));
	free_kernel();
}

/* Put pages into the image: all of the first mappings, or each @step-th one. */
static void add_pages(int step)
{
	new_kernel();
	for (int m = 0; m < MAPS; m++)
		for (int k = 0; k < end_of(m, 0); k += step) {
			kernel->pages[m][0][k].in_image = true;
			kernel->pages[m][0][k].seed = (uint64_t)(m * PAGES + k) + 1;
			kernel->all++;
		}
}

/*
 * A rollback copies what was written, here all pages or every second one, from the kernel's
 * snapshot, and reads from the image what the kernel does not have: the fewer calls succeed, the
 * more at once.
 */
static void test_copied(void **arg)
{
	static const uint64_t kept[] = { 0, 1, 7, PAGES, 2 * PAGES + 3, MAPS * PAGES };
	const struct scratch *s = *arg;
	struct keep_run all = { 0, 2 * OTHER, false };
	struct keep_map none = { .now_id = 1, .l0 = true, .l0_runs = &all, .nr_l0 = 1 };

	for (unsigned int i = 0; i < 2 * sizeof(kept) / sizeof(kept[0]); i++) {
		struct ckpt_error why = { 0 };
		const char *dir;
		char name[32];

		snprintf(name, sizeof(name), "copied-%u", i);
		dir = scratch_path(s, name);
		add_pages(1 + (int)i % 2);
		store(s, dir);
		kernel->kept = kept[i / 2];
		if (try_fill_kept(s, dir, &none, &why))
			fail_msg("%s", why.text);
		assert_in_range(kernel->copies, MAPS, 12 * MAPS);
		assert_int_equal(!kernel->writes, kernel->all <= kept[i / 2]);
		check_and_free();
	}
}

/* Pages that the snapshot lacks are not asked for; one that it then has not costs one page. */
static void test_copied_in_part(void **arg)
{
	const struct scratch *s = *arg;
	const char *dir = scratch_path(s, "copied-in-part");
	struct keep_run some[] = {
		{ BASE, BASE + 100 * PAGE, false }, { BASE + 200 * PAGE, BASE + 300 * PAGE, false },
	};
	struct keep_map none = { .now_id = 1, .l0 = true, .l0_runs = some, .nr_l0 = 2 };
	struct ckpt_error why = { 0 };

	for (unsigned int lacks = 0; lacks < 2; lacks++) {
		add_pages(1);
		if (!lacks)
			store(s, dir);
		kernel->kept = 1000000;
		kernel->lacks = lacks ? BASE + 50 * PAGE : 0;
		if (try_fill_kept(s, dir, &none, &why))
			fail_msg("%s", why.text);
		assert_int_equal(kernel->copies, MAPS * (1 + lacks));
		assert_int_equal(1000000 - kernel->kept, MAPS * (200 - lacks));
		check_and_free();
	}
}

/* Any other failure of the kernel is told: the tree is lost. */
static void test_copy_fails(void **arg)
{
	const struct scratch *s = *arg;
	const char *dir = scratch_path(s, "copy-fails");
	struct keep_run all = { 0, 2 * OTHER, false };
	struct keep_map none = { .now_id = 1, .l0 = true, .l0_runs = &all, .nr_l0 = 1 };
	struct ckpt_error why = { 0 };

	make_alone(s, dir);
	kernel->fail_pid = 101;
	kernel->fail = -ENOMEM;
	kernel->kept = ~0ULL;
	assert_int_equal(try_fill_kept(s, dir, &none, &why), -ENOMEM);
	assert_non_null(strstr(why.text, "cannot copy the memory of process 101"));
	free_kernel();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_family, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_random, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_alone, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_failure, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_damage, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_copied, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_copied_in_part, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(test_copy_fails, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
