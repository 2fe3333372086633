// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy-on-write sharing between memory maps: what is the same, what differs, what
 * must go; which mappings can share at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "engine/restore/cow.h"

#define PAGES	64
#define BASE	0x10000ULL
#define P	0x1000ULL

struct seen {
	char what[PAGES + 1];	/* per page: s, w, d or - */
	uint64_t last;
};

static int see(enum cow_what what, uint64_t start, uint64_t end, void *arg)
{
	struct seen *seen = arg;

	assert_true(start >= seen->last && end > start);
	for (uint64_t at = start; at < end; at += P)
		seen->what[(at - BASE) / P] = what == COW_SAME	  ? 's'
					      : what == COW_WRITE ? 'w'
								  : 'd';
	seen->last = end;
	return 0;
}

/* One letter per page: its identity; '-': none. Joins what can be joined. */
static struct cow_runs runs_of(const char *text)
{
	struct cow_runs runs = { 0 };
	size_t len = strlen(text);

	for (size_t i = 0, n; i < len; i += n) {
		struct cow_run run = { .start = BASE + i * P, .owner = (uint64_t)text[i] };

		for (n = 1; i + n < len && text[i + n] == text[i]; n++)
			;
		run.end = run.start + n * P;
		run.addr = run.start;
		if (text[i] != '-')
			assert_int_equal(cow_runs_add(&runs, &run), 0);
	}
	return runs;
}

static void expect(const char *dst, const char *src, const char *result)
{
	struct cow_runs d = runs_of(dst), s = runs_of(src);
	struct seen seen = { .last = 0 };
	uint64_t end = BASE + strlen(dst) * P, same = 0;

	memset(seen.what, '-', strlen(dst));
	assert_int_equal(cow_compare(&d, &s, BASE, end, see, &seen), 0);
	assert_string_equal(seen.what, result);
	for (const char *p = result; *p; p++)
		same += *p == 's';
	assert_int_equal(cow_same(&d, &s, BASE, end), same * P);
	cow_runs_done(&d);
	cow_runs_done(&s);
}

static void test_compare(void **arg)
{
	expect("", "", "");
	expect("----", "----", "----");
	expect("aaaa", "aaaa", "ssss");
	expect("aaaa", "----", "wwww");
	expect("----", "aaaa", "dddd");
	expect("aabb", "aaaa", "ssww");
	expect("a-bb-c", "aab-cc", "sdswds");
	expect("-aaaa-", "aaaaaa", "dssssd");
	expect("abababab", "aaaaaaaa", "swswswsw");
}

/* The same map, but not the same page of it. */
static void test_shifted(void **arg)
{
	struct cow_runs d = { 0 }, s = { 0 };
	struct cow_run run = { BASE, BASE + 4 * P, 1, 0x5000 };

	cow_runs_add(&d, &run);
	run.addr += P;
	cow_runs_add(&s, &run);
	assert_int_equal(cow_same(&d, &s, BASE, BASE + 4 * P), 0);
	cow_runs_done(&d);
	cow_runs_done(&s);
}

static void test_random(void **arg)
{
	unsigned int seed = 7;

	for (int round = 0; round < 5000; round++) {
		char d[PAGES + 1] = "", s[PAGES + 1] = "", result[PAGES + 1] = "";
		unsigned int kinds = 2 + rand_r(&seed) % 3;

		for (int i = 0; i < PAGES; i++) {
			d[i] = "-abc"[rand_r(&seed) % kinds];
			s[i] = rand_r(&seed) % 3 ? d[i] : "-abc"[rand_r(&seed) % kinds];
			result[i] = d[i] != '-' ? (d[i] == s[i] ? 's' : 'w') :
						  (s[i] != '-' ? 'd' : '-');
		}
		expect(d, s, result);
	}
}

static void test_twin(void **arg)
{
	struct ckpt_rec_vma rec[3] = {
		{ .start = 0x1000, .end = 0x3000, .kind = CKPT_VMA_ANON,
		  .flags = CKPT_VM_READ | CKPT_VM_WRITE },
		{ .start = 0x5000, .end = 0x6000, .kind = CKPT_VMA_ANON,
		  .flags = CKPT_VM_READ | CKPT_VM_WRITE },
		{ .start = 0x7000, .end = 0x8000, .kind = CKPT_VMA_SHM,
		  .flags = CKPT_VM_READ | CKPT_VM_WRITE | CKPT_VM_SHARED },
	};
	struct state_vma vmas[3] = { { .rec = &rec[0] }, { .rec = &rec[1] }, { .rec = &rec[2] } };
	struct state_mm mm = { .vmas = vmas, .nr_vmas = 3 };
	struct ckpt_rec_vma other = rec[1];
	struct state_vma vma = { .rec = &other };
	uint64_t start, end;

	assert_ptr_equal(cow_twin(&mm, &vma), &vmas[1]);
	other.flags |= CKPT_VM_SEQ_READ;	/* advice does not matter */
	assert_ptr_equal(cow_twin(&mm, &vma), &vmas[1]);
	other.flags &= ~CKPT_VM_WRITE;
	assert_null(cow_twin(&mm, &vma));
	other = rec[1];
	other.end += P;			/* it has grown */
	assert_ptr_equal(cow_twin(&mm, &vma), &vmas[1]);
	other.start = 0x2000;		/* and now covers both: the first has as much as that */
	other.end = 0x7000;
	assert_ptr_equal(cow_twin(&mm, &vma), &vmas[0]);
	other.start = 0x3000;
	assert_ptr_equal(cow_twin(&mm, &vma), &vmas[1]);
	cow_common(&vmas[1], &vma, &start, &end);
	assert_int_equal(start, 0x5000);
	assert_int_equal(end, 0x6000);
	other.end = 0x5000;
	assert_null(cow_twin(&mm, &vma));
	other = rec[1];
	other.kind = rec[1].kind = CKPT_VMA_FILE_PRIVATE;
	other.start -= P;
	other.pgoff = 4;
	rec[1].pgoff = 5;
	assert_ptr_equal(cow_twin(&mm, &vma), &vmas[1]);
	other.pgoff = 5;		/* another page at the same address */
	assert_null(cow_twin(&mm, &vma));
	other = rec[2];
	assert_null(cow_twin(&mm, &vma));
	assert_false(cow_can_share(&vma));
	other = rec[0];
	other.flags |= CKPT_VM_WIPEONFORK;
	assert_false(cow_can_share(&vma));
	other.start = 0x9000;
	assert_null(cow_twin(&mm, &vma));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_shifted),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_twin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
