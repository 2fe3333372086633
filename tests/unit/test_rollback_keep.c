// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that a rollback leaves: which pages are written or dropped, for all pairs of what a page
 * is now and in the image, and at random against an answer page by page; and when a map stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "engine/restore/rollback_keep.h"
#include "tests/unit/stream.h"

#define PAGE	4096ULL
#define PAGES	200U
#define NOW_NS	(1000ULL * 1000000000ULL)

/* -------------------------------------------------------------- difference */

enum { ABSENT, CLEAN, CHANGED };

static char answers[PAGES];

static int note(enum keep_what what, uint64_t start, uint64_t end, void *arg)
{
	uint64_t *last = arg;

	assert_true(start >= *last && end > start && end <= PAGES * PAGE);
	*last = end;
	for (uint64_t at = start; at < end; at += PAGE)
		answers[at / PAGE] = what == KEEP_WRITE ? 'w' : 'd';
	return 0;
}

static char expect(enum keep_page image, int now, bool zeros)
{
	if (image == KEEP_NONE)
		return now == ABSENT ? 0 : 'd';
	if (now == CLEAN)
		return 0;
	if (image == KEEP_DATA || zeros)
		return 'w';
	return now == ABSENT ? 0 : 'd';
}

/* Runs and pieces of the two arrays, walked in the range [first, last). */
static void try_one(const enum keep_page *image, const int *now, unsigned int first,
		    unsigned int last, bool zeros)
{
	struct keep_run runs[PAGES];
	struct keep_piece pieces[PAGES];
	struct keep_map map = { .now_id = 1, .runs = runs };
	unsigned int nr = 0;
	uint64_t end = 0;

	for (unsigned int i = 0; i < PAGES; i++) {
		uint64_t at = i * PAGE;

		if (now[i] != ABSENT && map.nr && runs[map.nr - 1].end == at &&
		    runs[map.nr - 1].clean == (now[i] == CLEAN))
			runs[map.nr - 1].end += PAGE;
		else if (now[i] != ABSENT)
			runs[map.nr++] = (struct keep_run){ at, at + PAGE, now[i] == CLEAN };
		if (image[i] != KEEP_NONE && nr && pieces[nr - 1].end == at &&
		    pieces[nr - 1].page == image[i])
			pieces[nr - 1].end += PAGE;
		else if (image[i] != KEEP_NONE)
			pieces[nr++] = (struct keep_piece){ at, at + PAGE, image[i] };
	}
	memset(answers, 0, sizeof(answers));
	assert_int_equal(rollback_keep_diff(&map, pieces, nr, first * PAGE, last * PAGE, zeros,
					    note, &end), 0);
	for (unsigned int i = 0; i < PAGES; i++)
		assert_int_equal(answers[i], i < first || i >= last ? 0 :
				 expect(image[i], now[i], zeros));
}

static void test_all_pairs(void **state)
{
	enum keep_page image[PAGES] = { 0 };
	int now[PAGES] = { 0 };

	(void)state;
	for (unsigned int i = 0; i < 9; i++) {
		image[10 + i] = (enum keep_page)(i / 3);
		now[10 + i] = (int)i % 3;
	}
	try_one(image, now, 0, PAGES, false);
	try_one(image, now, 0, PAGES, true);
}

static void test_at_random(void **state)
{
	enum keep_page image[PAGES];
	int now[PAGES];

	(void)state;
	srand(1);
	for (unsigned int round = 0; round < 2000; round++) {
		unsigned int same = 1 + (unsigned int)rand() % 20, a, b;

		for (unsigned int i = 0; i < PAGES; i++) {
			image[i] = i && rand() % (int)same ? image[i - 1] :
				   (enum keep_page)(rand() % 3);
			now[i] = i && rand() % (int)same ? now[i - 1] : rand() % 3;
		}
		a = (unsigned int)rand() % PAGES;
		b = a + (unsigned int)rand() % (PAGES - a);
		try_one(image, now, a, b, round % 2);
	}
}

static int refuse(enum keep_what what, uint64_t start, uint64_t end, void *arg)
{
	(void)what, (void)start, (void)end;
	return --*(int *)arg ? 0 : -5;
}

static void test_failure_ends_the_walk(void **state)
{
	struct keep_run runs[] = { { 0, PAGE, false }, { 2 * PAGE, 3 * PAGE, false } };
	struct keep_map map = { .now_id = 1, .runs = runs, .nr = 2 };

	(void)state;
	for (int at = 1; at <= 3; at++) {
		int left = at;

		assert_int_equal(rollback_keep_diff(&map, NULL, 0, 0, 9 * PAGE, false, refuse,
						    &left), at <= 2 ? -5 : 0);
		assert_int_equal(left, at <= 2 ? 0 : 1);
	}
}

/* ---------------------------------------------------------------- mappings */

struct side {
	struct stream stream;
	struct state *state;
};

#define BASE	0x10000000ULL

static struct ckpt_rec_vma *vma(struct side *side, unsigned int from, unsigned int to,
				uint32_t kind, uint64_t flags, uint32_t file)
{
	struct ckpt_rec_vma *rec;

	stream_vma(&side->stream, 1, BASE + from * PAGE, BASE + to * PAGE, kind, flags, file);
	rec = (void *)((char *)side->stream.buf + side->stream.len - sizeof(*rec));
	rec->pgoff = kind == CKPT_VMA_ANON ? rec->start / PAGE : from;
	return rec;
}

static void begin(struct side *side, unsigned int nr)
{
	memset(side, 0, sizeof(*side));
	stream_system(&side->stream);
	stream_proc(&side->stream, 2, 0, 1, 1, 1);
	stream_mm(&side->stream, 1, 2, nr);
}

static void end(struct side *side, uint32_t exe, uint64_t mtime_ns)
{
	struct state_error why = { 0 };
	struct ckpt_rec_hdr *hdr;

	stream_file(&side->stream, STREAM_CWD, CKPT_FILE_DIR, "/");
	stream_file(&side->stream, 2, CKPT_FILE_REG, "/bin/x");
	for (size_t at = 0; at < side->stream.len; at += hdr->len) {
		hdr = (void *)((char *)side->stream.buf + at);
		if (hdr->type == CKPT_REC_FILE) {
			((struct ckpt_rec_file *)(void *)hdr)->mtime_ns = mtime_ns;
			((struct ckpt_rec_file *)(void *)hdr)->ctime_ns = mtime_ns;
			((struct ckpt_rec_file *)(void *)hdr)->nlink = 1;
		}
		if (hdr->type == CKPT_REC_MM)
			((struct ckpt_rec_mm *)(void *)hdr)->exe = exe;
	}
	if (state_parse(side->stream.buf, side->stream.len, &side->state, &why))
		fail_msg("%s", why.text);
}

#define RW	(CKPT_VM_READ | CKPT_VM_WRITE | CKPT_VM_MAYWRITE)

static bool fits(struct side *image, struct side *now)
{
	bool does = rollback_keep_fits(&image->state->mms[0], &now->state->mms[0], NOW_NS);

	state_free(image->state);
	stream_done(&image->stream);
	state_free(now->state);
	stream_done(&now->stream);
	return does;
}

/* An image with heap and file, and a tree that has the heap as @now_vmas say. */
struct change {
	const char *what;
	unsigned int from, to;	/* of the heap now; in the image [10, 20) */
	uint64_t flags;
	uint32_t kind;
	uint64_t pgoff;		/* added */
	uint64_t mtime_ns;
	bool want;
};

static void test_layouts(void **state)
{
	static const struct change changes[] = {
		{ "the same", 10, 20, RW, CKPT_VMA_ANON, 0, 5, true },
		{ "it has held pages", 10, 20, RW | CKPT_VM_HAS_ANON, CKPT_VMA_ANON, 0, 5, true },
		{ "it grew", 10, 30, RW, CKPT_VMA_ANON, 0, 5, true },
		{ "it grew downwards", 5, 20, RW, CKPT_VMA_ANON, 0, 5, true },
		{ "it shrank", 10, 19, RW, CKPT_VMA_ANON, 0, 5, false },
		{ "it begins later", 11, 20, RW, CKPT_VMA_ANON, 0, 5, false },
		{ "it was moved", 10, 20, RW, CKPT_VMA_ANON, 7, 5, false },
		{ "read only", 10, 20, CKPT_VM_READ | CKPT_VM_MAYWRITE, CKPT_VMA_ANON, 0, 5,
		  false },
		{ "its file was written", 10, 20, RW, CKPT_VMA_ANON, 0, 6, false },
		{ "shared", 10, 20, RW | CKPT_VM_SHARED, CKPT_VMA_SHM, 0, 5, false },
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const struct change *c = &changes[i];
		struct side image, now;

		begin(&image, 2);
		vma(&image, 0, 4, CKPT_VMA_FILE_PRIVATE, CKPT_VM_READ, 2);
		vma(&image, 10, 20, CKPT_VMA_ANON, RW, 0);
		end(&image, 2, 5);
		begin(&now, 3);
		vma(&now, 0, 4, CKPT_VMA_FILE_PRIVATE, CKPT_VM_READ, 2);
		vma(&now, c->from, c->to, c->kind, c->flags, c->kind == CKPT_VMA_SHM ? 2 : 0)
			->pgoff += c->pgoff;
		vma(&now, 40, 50, CKPT_VMA_ANON, RW, 0);	/* made since */
		end(&now, 2, c->mtime_ns);
		if (fits(&image, &now) != c->want)
			fail_msg("%s", c->what);
	}
}

/* A mapping of the image that is two now, side by side: mremap() would not move both. */
static void test_in_pieces(void **state)
{
	(void)state;
	for (int gap = 0; gap < 2; gap++) {
		struct side image, now;

		begin(&image, 1);
		vma(&image, 10, 20, CKPT_VMA_ANON, RW, 0);
		end(&image, 2, 5);
		begin(&now, 2);
		vma(&now, 10, 15, CKPT_VMA_ANON, RW, 0);
		vma(&now, 15 + (unsigned int)gap, 20, CKPT_VMA_ANON, RW, 0);
		end(&now, 2, 5);
		assert_false(fits(&image, &now));
	}
}

/* A file that was written right before the image may have been written again since. */
static void test_recent_file(void **state)
{
	static const struct { uint64_t mtime_ns; bool want; } tries[] = {
		{ NOW_NS - 3000000000ULL, true }, { NOW_NS - 1000000000ULL, false },
		{ NOW_NS + 5, false },
	};

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct side image, now;

		begin(&image, 1);
		vma(&image, 10, 20, CKPT_VMA_ANON, RW, 0);
		end(&image, 2, tries[i].mtime_ns);
		begin(&now, 1);
		vma(&now, 10, 20, CKPT_VMA_ANON, RW, 0);
		end(&now, 2, tries[i].mtime_ns);
		assert_int_equal(fits(&image, &now), tries[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_pairs),
		cmocka_unit_test(test_at_random),
		cmocka_unit_test(test_failure_ends_the_walk),
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_in_pieces),
		cmocka_unit_test(test_recent_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
