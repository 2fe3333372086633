// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process's table of what it does not want saved, as another program would read it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libckptctl/ckptctl.h"
#include "libckptctl/exclude_table.h"

#define PAGE	4096UL
#define PAGES	64UL

static const uint8_t magic[EXCLUDE_MAGIC_BYTES] = EXCLUDE_MAGIC;

/* Of mappings of all kinds, the sanitizer's own, too. */
__attribute__((no_sanitize("address"))) static bool begins_with_magic(const volatile uint8_t *p)
{
	size_t i;

	for (i = 0; i < sizeof(magic) && p[i] == magic[i]; i++)
		;
	return i == sizeof(magic);
}

/* As a dump finds it: by its mapping and first bytes. */
static const struct exclude_table *find_table(void)
{
	unsigned long start, end;
	char line[512], rights[8];
	const void *found = NULL;
	FILE *f = fopen("/proc/self/maps", "r");

	assert_non_null(f);
	while (!found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 &&
		    end - start == EXCLUDE_TABLE_SIZE && !strcmp(rights, "rw-p") &&
		    begins_with_magic((const volatile uint8_t *)start))
			found = (const void *)start;
	}
	fclose(f);
	return found;
}

static bool excluded(const uint8_t *page)
{
	const struct exclude_table *table = find_table();
	uint64_t i;

	for (i = 0; table && i < table->nr; i++) {
		const struct exclude_range *r = &table->range[i];

		if (r->len && r->len != EXCLUDE_TAKEN && (uintptr_t)page >= r->start &&
		    (uintptr_t)page - r->start < r->len)
			return true;
	}
	return false;
}

/* Page by page, against a simple model. */
static void expect(uint8_t *mem, const bool *model)
{
	unsigned long i;

	for (i = 0; i < PAGES; i++) {
		if (excluded(mem + i * PAGE) != model[i])
			fail_msg("page %lu is %sexcluded", i, model[i] ? "not " : "");
	}
}

static uint8_t *map(void)
{
	void *mem = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(mem != MAP_FAILED);
	return mem;
}

static void test_random(void **state)
{
	bool model[PAGES] = { false };
	uint8_t *mem = map();
	unsigned int round;

	srand(3);
	for (round = 0; round < 400; round++) {
		unsigned long from = (unsigned long)rand() % (PAGES * PAGE);
		unsigned long len = 1 + (unsigned long)rand() % (PAGES * PAGE - from);
		unsigned long first, last, i;
		bool out = rand() % 2;

		if (out) {
			assert_int_equal(ckpt_exclude(mem + from, len), 0);
			first = (from + PAGE - 1) / PAGE;
			last = (from + len) / PAGE;
		} else {
			assert_int_equal(ckpt_include(mem + from, len), 0);
			first = from / PAGE;
			last = (from + len + PAGE - 1) / PAGE;
		}
		for (i = first; i < last; i++)
			model[i] = out;
		expect(mem, model);
	}
	assert_int_equal(ckpt_include(mem, PAGES * PAGE), 0);
	munmap(mem, PAGES * PAGE);
}

static void test_bad(void **state)
{
	uint8_t *mem = map();

	assert_int_equal(ckpt_exclude(NULL, PAGE), -EINVAL);
	assert_int_equal(ckpt_exclude(mem, 0), -EINVAL);
	assert_int_equal(ckpt_exclude(mem, SIZE_MAX), -EINVAL);
	assert_int_equal(ckpt_exclude(mem + 1, PAGE), 0);
	assert_false(excluded(mem));
	munmap(mem + 8 * PAGE, PAGE);
	assert_int_equal(ckpt_exclude(mem, 16 * PAGE), -ENOMEM);
	assert_false(excluded(mem));
	assert_int_equal(ckpt_discard(mem, 16 * PAGE), -ENOMEM);
	munmap(mem, PAGES * PAGE);
}

static void test_full(void **state)
{
	size_t size = 2 * (EXCLUDE_MAX + 8) * PAGE, i, added;
	uint8_t *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
			    MAP_NORESERVE, -1, 0);
	int err = 0;

	assert_true(mem != MAP_FAILED);
	for (added = 0; !err && added < EXCLUDE_MAX + 4; added++)
		err = ckpt_exclude(mem + 2 * added * PAGE, PAGE);
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(added - 1, EXCLUDE_MAX);
	for (i = 0; i < added; i++)
		assert_int_equal(ckpt_include(mem + 2 * i * PAGE, PAGE), 0);
	assert_int_equal(ckpt_exclude(mem, size), 0);
	assert_int_equal(ckpt_include(mem, size), 0);
	munmap(mem, size);
}

/* A program's scratch of each step, which is unmapped without a word. */
static void test_again(void **state)
{
	uint8_t *mem = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	assert_ptr_not_equal(mem, MAP_FAILED);
	for (i = 0; i < 2 * EXCLUDE_MAX; i++) {
		assert_int_equal(ckpt_exclude(mem, PAGE), 0);
		assert_int_equal(munmap(mem, PAGE), 0);
		assert_ptr_equal(mmap(mem, PAGE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), mem);
	}
	assert_int_equal(ckpt_include(mem, PAGE), 0);
	assert_int_equal(munmap(mem, PAGE), 0);
}

static void test_discard(void **state)
{
	uint8_t *mem = map();

	memset(mem, 7, PAGES * PAGE);
	assert_int_equal(ckpt_discard(mem + 100, 3 * PAGE), 0);
	assert_int_equal(mem[PAGE - 1], 7);
	assert_int_equal(mem[PAGE], 0);
	assert_int_equal(mem[3 * PAGE - 1], 0);
	assert_int_equal(mem[3 * PAGE], 7);
	munmap(mem, PAGES * PAGE);
}

/* What is refused is as it was, on both sides of what it is refused for. */
static void test_discard_refused(void **state)
{
	uint8_t *mem = map();

	memset(mem, 7, PAGES * PAGE);
	/* the sanitizer's mlock() does nothing */
	assert_int_equal(syscall(SYS_mlock, mem + 8 * PAGE, PAGE), 0);
	assert_int_equal(ckpt_discard(mem, 16 * PAGE), -EINVAL);
	assert_int_equal(mem[0], 7);
	munmap(mem + 8 * PAGE, PAGE);
	assert_int_equal(ckpt_discard(mem, 16 * PAGE), -ENOMEM);
	assert_int_equal(ckpt_discard(mem + 8 * PAGE, 2 * PAGE), -ENOMEM);
	assert_int_equal(ckpt_discard(mem + 7 * PAGE, 2 * PAGE), -ENOMEM);
	assert_int_equal(mem[0], 7);
	assert_int_equal(mem[7 * PAGE], 7);
	assert_int_equal(mem[9 * PAGE], 7);
	munmap(mem, PAGES * PAGE);
}

/* A child has a table of its own. */
static void test_fork(void **state)
{
	uint8_t *mem = map();
	int status;
	pid_t pid;

	assert_int_equal(ckpt_exclude(mem, PAGE), 0);
	pid = fork();
	if (!pid)
		_exit(!excluded(mem) || ckpt_include(mem, PAGE) || excluded(mem));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(excluded(mem));
	assert_int_equal(ckpt_include(mem, PAGE), 0);
	munmap(mem, PAGES * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_discard),
		cmocka_unit_test(test_discard_refused),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests_name("exclude", tests, NULL, NULL);
}
