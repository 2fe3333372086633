// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages that are read ahead: the thread by itself, and a dump of more memory than a
 * batch has room for, in bytes and in runs; and a failure at each of its reads.
 */
#include "base/error.h"
#include "tests/unit/image_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "engine/dump/dump_run.h"
#include "engine/dump/page_fetch.h"
#include "tests/unit/fake_kernel.h"

#define HEAP	0x10000000ULL
#define SINGLE	1500U	/* pages alone: more than a call takes */
#define LONG	2500U	/* in one run: more than a batch takes */

static int root_fd;	/* of which the dump gets a duplicate */
static struct fake_page pages[SINGLE + LONG];

static void make_heap(void)
{
	for (unsigned int i = 0; i < SINGLE + LONG; i++)
		pages[i] = (struct fake_page){
			.mm_id = 1,
			.addr = HEAP + PAGE * (i < SINGLE ? 2 * i : SINGLE + i),
			.seed = i + 1,
			.flags = CKPT_RUN_ANON,
		};
	fake_heap(pages, ARRAY_SIZE(pages), HEAP, PAGE * (2 * SINGLE + LONG), root_fd);
}

static int dump(const struct scratch *s, struct dump_stats *ret_stats)
{
	static const pid_t roots[] = { 100 };
	const struct dump_options options = {
		.roots = roots,
		.nr_roots = 1,
		.dir = scratch_path(s, "image"),
		.key = s->key,
		.generation = 1,
		.freeze_timeout_ms = 2000,
	};
	struct ckpt_error error = { 0 };
	int ret = dump_tree_on(fake_open, &options, ret_stats, &error);

	if (ret && ret != -ETIMEDOUT)
		print_message("%d: %s\n", ret, error.text);
	assert_int_equal(fake.opened, fake.closed);
	error_done(&error);
	return ret;
}

static void test_batches(void **state)
{
	const struct scratch *s = *state;
	uint8_t want[PAGE], got[PAGE];
	struct dump_stats stats = { 0 };
	struct ckpt_error error;
	struct image_reader *r;
	unsigned int reads;

	make_heap();
	assert_int_equal(dump(s, &stats), 0);
	assert_int_equal(stats.pages_data, SINGLE + LONG);
	assert_int_equal(stats.bytes_mapped, (SINGLE + LONG) * PAGE);
	reads = fake.reads;
	assert_true(reads >= 4);
	if (image_open(scratch_path(s, "image"), s->key, NULL, &r, &error))
		fail_msg("%s", error.text);
	for (unsigned int i = 0; i < ARRAY_SIZE(pages); i++) {
		fake_fill(pages[i].seed, want);
		assert_int_equal(image_pages_read(r, 1, pages[i].addr, 1, got), 0);
		assert_memory_equal(got, want, PAGE);
	}
	image_close(r);
	assert_int_equal(image_remove(scratch_path(s, "image"), &error), 0);

	for (unsigned int n = 1; n < reads; n++) {
		make_heap();
		fake.fail_read_after = (int)n;
		assert_int_equal(dump(s, &stats), -ETIMEDOUT);
		assert_int_equal(image_remove(scratch_path(s, "image"), &error), -ENOENT);
	}
	fake_reset();
}

/* Read number @i: two pages, of which the second one differs from read to read. */
struct read_at {
	struct ckpt_iovec iov;
	uint8_t buf[2 * PAGE];
};

static void begin(struct page_fetch *f, struct read_at *at, unsigned int i)
{
	struct ckpt_pages arg = {
		.mm_id = 1, .nr_iov = 1, .iov = (uintptr_t)&at->iov, .buf = (uintptr_t)at->buf,
	};

	at->iov = (struct ckpt_iovec){ .addr = pages[SINGLE + i].addr, .len = 2 * PAGE };
	page_fetch_start(f, &arg);
}

/* One, two or three under way at any time; what is waited for first was asked for first. */
static void test_fetch(void **state)
{
	static struct read_at reads[PAGE_FETCH_AHEAD];
	struct ckpt_error error = { 0 };
	unsigned int begun = 0, done = 0;
	struct page_fetch *f;
	uint8_t want[PAGE];
	uint64_t rng = 3;
	struct kdev *dev;

	make_heap();
	fake.frozen = true;
	assert_int_equal(fake_open(&dev, &error), 0);
	assert_int_equal(page_fetch_create(dev, &f), 0);
	while (done < 300) {
		unsigned int ahead = 1 + (unsigned int)(rng_next(&rng) % PAGE_FETCH_AHEAD);

		for (; begun < done + ahead; begun++)
			begin(f, &reads[begun % PAGE_FETCH_AHEAD], begun);
		assert_int_equal(page_fetch_wait(f), 0);
		fake_fill(pages[SINGLE + done + 1].seed, want);
		assert_memory_equal(reads[done++ % PAGE_FETCH_AHEAD].buf + PAGE, want, PAGE);
	}
	while (done++ < begun)
		assert_int_equal(page_fetch_wait(f), 0);
	assert_int_equal(page_fetch_wait(f), 0);
	page_fetch_destroy(f);

	/* given up while it reads */
	for (unsigned int i = 0; i < 200; i++) {
		assert_int_equal(page_fetch_create(dev, &f), 0);
		for (unsigned int n = 0; n < i % (PAGE_FETCH_AHEAD + 1); n++)
			begin(f, &reads[n], n);
		page_fetch_destroy(f);
	}
	page_fetch_destroy(NULL);
	kdev_close(dev);
	fake_reset();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_batches, scratch_setup, scratch_teardown),
		cmocka_unit_test(test_fetch),
	};

	root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return cmocka_run_group_tests_name("pages that are read ahead", tests, NULL, NULL);
}
