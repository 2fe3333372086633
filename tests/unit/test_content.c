// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hold gives back what it was given, in order, over many slabs; the table
 * of shared pages finds every page it was told of; a program's build-id.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/dump/content.h"
#include "engine/core/file_identity.h"
#include "engine/dump/page_table.h"
#include "tests/unit/counted.h"

#define PAGE	4096UL

/* A place that only checks: each page holds its own number, each byte of a blob
 * the low bits of its offset.
 */
struct checker {
	struct content content;
	uint64_t pages, blob, blob_bytes, blobs;
};

static int check_pages(struct content *c, uint64_t mm_id, uint64_t addr, uint64_t nr_pages,
		       const void *data)
{
	struct checker *checker = (struct checker *)c;

	assert_int_equal(mm_id, 7);
	for (uint64_t i = 0; i < nr_pages; i++) {
		assert_int_equal(*(const uint64_t *)((const char *)data + i * PAGE),
				 addr / PAGE + i);
		checker->pages++;
	}
	return 0;
}

static int check_begin(struct content *c, uint64_t blob, bool in_pages)
{
	assert_int_equal(in_pages, blob % 2);
	assert_int_equal(((struct checker *)c)->blob, 0);
	((struct checker *)c)->blob = blob;
	return 0;
}

static int check_data(struct content *c, uint64_t offset, const void *data, size_t len)
{
	const uint8_t *bytes = data;

	assert_int_not_equal(((struct checker *)c)->blob, 0);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(bytes[i], (uint8_t)(offset + i));
	((struct checker *)c)->blob_bytes += len;
	return 0;
}

static int check_end(struct content *c, uint64_t size)
{
	assert_int_equal(size, ((struct checker *)c)->blob * 1000);
	((struct checker *)c)->blob = 0;
	((struct checker *)c)->blobs++;
	return 0;
}

static const struct content_ops checker_ops = {
	.pages = check_pages,
	.begin = check_begin,
	.data = check_data,
	.end = check_end,
};

static void hold_pages(struct content *hold, uint64_t first, uint64_t nr)
{
	while (nr) {
		uint64_t n = nr;
		size_t len;
		void *buf;

		assert_int_equal(content_room(hold, n * PAGE, &buf, &len), 0);
		assert_true(len >= PAGE);
		assert_int_equal((uintptr_t)buf % PAGE, 0);
		n = len / PAGE < n ? len / PAGE : n;
		for (uint64_t i = 0; i < n; i++)
			*(uint64_t *)((char *)buf + i * PAGE) = first + i;
		assert_int_equal(content_pages(hold, 7, first * PAGE, n, buf), 0);
		first += n;
		nr -= n;
	}
}

static void hold_blob(struct content *hold, uint64_t blob, size_t bytes)
{
	uint64_t offset = 12345;

	assert_int_equal(content_begin(hold, blob, blob % 2), 0);
	while (bytes) {
		size_t len;
		void *buf;

		assert_int_equal(content_room(hold, bytes, &buf, &len), 0);
		len = len < bytes ? len : bytes;
		for (size_t i = 0; i < len; i++)
			((uint8_t *)buf)[i] = (uint8_t)(offset + i);
		assert_int_equal(content_data(hold, offset, buf, len), 0);
		offset += len;
		bytes -= len;
	}
	assert_int_equal(content_end(hold, blob * 1000), 0);
}

static void test_hold(void **unused)
{
	struct checker checker = { .content.ops = &checker_ops };
	struct content *hold;
	uint64_t blob_bytes = 0;

	assert_int_equal(content_hold_create(&hold), 0);
	for (unsigned int i = 1; i <= 40; i++) {
		hold_pages(hold, i * 100000, 777);
		hold_blob(hold, i, i * 4321);
		blob_bytes += i * 4321;
	}
	assert_int_equal(hold->bytes, 40 * 777 * PAGE + blob_bytes);
	assert_int_equal(content_hold_replay(hold, &checker.content), 0);
	assert_int_equal(checker.pages, 40 * 777);
	assert_int_equal(checker.blobs, 40);
	assert_int_equal(checker.blob_bytes, blob_bytes);
	/* and again: it is empty, and can be filled anew */
	hold_pages(hold, 5, 3);
	assert_int_equal(content_hold_replay(hold, &checker.content), 0);
	assert_int_equal(checker.pages, 40 * 777 + 3);
	hold_pages(hold, 5, 3);
	content_destroy(hold);
	content_destroy(NULL);
}

/* In the middle of a blob, which then goes on where the hold was emptied into. */
static void test_hold_emptied(void **unused)
{
	struct checker checker = { .content.ops = &checker_ops };
	struct content *hold;
	uint8_t *buf;
	size_t len;

	assert_int_equal(content_hold_create(&hold), 0);
	hold_pages(hold, 5, 3);
	assert_int_equal(content_begin(hold, 3, true), 0);
	assert_int_equal(content_room(hold, PAGE, (void **)&buf, &len), 0);
	for (size_t i = 0; i < PAGE; i++)
		buf[i] = (uint8_t)i;
	assert_int_equal(content_data(hold, 0, buf, PAGE), 0);
	assert_int_equal(hold->bytes, 4 * PAGE);
	assert_int_equal(content_hold_replay(hold, &checker.content), 0);
	assert_int_equal(hold->bytes, 0);
	assert_int_equal(checker.pages, 3);
	assert_int_equal(checker.blob, 3);
	assert_int_equal(content_end(&checker.content, 3000), 0);
	assert_int_equal(checker.blob_bytes, PAGE);
	content_destroy(hold);
}

static void test_page_table(void **unused)
{
	struct page_table *t = page_table_create();
	struct page_place place, known;

	assert_non_null(t);
	for (uint64_t i = 0; i < 100000; i++) {
		place = (struct page_place){ i % 9 + 1, i << 12, i * 3 };
		assert_int_equal(page_table_put(t, 0xff00000 + i, &place, &known), 0);
	}
	place = (struct page_place){ 99, 0, 1 };
	for (uint64_t i = 0; i < 100000; i++) {
		assert_int_equal(page_table_put(t, 0xff00000 + i, &place, &known), 1);
		assert_int_equal(known.mm_id, i % 9 + 1);
		assert_int_equal(known.addr, i << 12);
		assert_int_equal(known.hash, i * 3);
	}
	/* the ends of what can be packed */
	place = (struct page_place){ 0xfffffff, 0x7ffffffff000, 7 };
	assert_int_equal(page_table_put(t, 0, &place, &known), 0);
	assert_int_equal(page_table_put(t, 0, &place, &known), 1);
	assert_int_equal(known.mm_id, 0xfffffff);
	assert_int_equal(known.addr, 0x7ffffffff000);
	page_table_note(t, 0, 8);
	page_table_note(t, 1, 8);
	assert_int_equal(page_table_put(t, 0, &place, &known), 1);
	assert_int_equal(known.hash, 8);
	assert_int_equal(page_table_put(t, 1, &place, &known), 0);
	page_table_destroy(t);
	page_table_destroy(NULL);
}

/* While it grows it is not there twice. */
static void test_page_table_memory(void **unused)
{
	struct page_place place = { .mm_id = 1 }, known;
	struct page_table *t;

	if (!counted_begin())
		skip();
	t = page_table_create();
	assert_non_null(t);
	for (uint64_t i = 0; i < 1000000; i++) {
		place.addr = i << 12;
		assert_int_equal(page_table_put(t, 0x100000 + i, &place, &known), 0);
	}
	assert_true(counted_now() >= 24 * 1000000 / 7 * 10);
	assert_true(counted_most() - counted_now() < 1 << 20);
	page_table_destroy(t);
	assert_int_equal(counted_now(), 0);
}

static void test_identity(void **unused)
{
	uint8_t id[FILE_BUILD_ID_MAX], a[32], b[32];
	int fd = open("/proc/self/exe", O_RDONLY);
	char hex[2 * FILE_BUILD_ID_MAX + 1];

	assert_int_equal(file_identity_build_id(fd, id), 20);
	file_identity_hex(id, 20, hex);
	assert_int_equal(strlen(hex), 40);
	close(fd);

	fd = memfd_create("text", 0);
	assert_int_equal(write(fd, "some text, no program", 21), 21);
	assert_int_equal(file_identity_build_id(fd, id), 0);
	assert_int_equal(file_identity_tail(fd, 5, 16, a), 0);
	assert_int_equal(pwrite(fd, "X", 1, 0), 1);	/* before the tail */
	assert_int_equal(file_identity_tail(fd, 5, 16, b), 0);
	assert_memory_equal(a, b, 32);
	assert_int_equal(pwrite(fd, "X", 1, 20), 1);
	assert_int_equal(file_identity_tail(fd, 5, 16, b), 0);
	assert_memory_not_equal(a, b, 32);
	assert_int_equal(file_identity_tail(fd, 5, 17, b), -EPIPE);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_hold_emptied),
		cmocka_unit_test(test_page_table),
		cmocka_unit_test(test_page_table_memory),
		cmocka_unit_test(test_identity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
