// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dumps on top of dumps, on a kernel that is made up: what is read, what is believed
 * and when, and that a kernel which is wrong about a page is found out.
 */
#include "base/error.h"
#include "tests/unit/image_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "engine/dump/dump_run.h"
#include "tests/unit/fake_kernel.h"

#define HEAP	0x10000000ULL
#define NR	6U
#define CLEAN	(CKPT_RUN_ANON | CKPT_RUN_CLEAN)

static const pid_t roots[] = { 100 };

static int root_fd;	/* of which the dump gets a duplicate */

/* Page i holds seeds[i]; of the map the kernel says that its marks count from @base. */
static void kernel(struct fake_page pages[NR], const uint32_t seeds[NR], const uint32_t flags[NR],
		   uint64_t base, uint64_t token)
{
	for (unsigned int i = 0; i < NR; i++)
		pages[i] = (struct fake_page){ 1, HEAP + i * PAGE, seeds[i], flags[i], 0, false };
	fake_heap(pages, NR, HEAP, 0x10000, root_fd);
	fake.features = CKPT_FEAT_TRACK;
	fake.base = base;
	fake.token = token;
}

static int dump(const struct scratch *s, unsigned int generation, unsigned int base, bool verify,
		struct dump_stats *stats)
{
	struct ckpt_error error = { 0 };
	char dir[256], base_dir[256];
	struct dump_options options = {
		.roots = roots, .nr_roots = 1, .dir = dir, .key = s->key,
		.generation = generation, .freeze_timeout_ms = 2000,
		.base = base ? base_dir : NULL, .chain_max = 8, .track = true,
		.verify_base = verify,
	};
	int ret;

	strcpy(dir, scratch_generation(s, generation));
	strcpy(base_dir, scratch_generation(s, base));
	ret = dump_tree_on(fake_open, &options, stats, &error);
	if (ret)
		print_message("%s\n", error.text);
	error_done(&error);
	return ret;
}

static void check(const struct scratch *s, unsigned int generation, const uint32_t seeds[NR])
{
	uint8_t want[PAGE], got[PAGE];
	struct ckpt_error error = {};
	struct image_reader *r;

	if (image_verify(scratch_generation(s, generation), s->key, NULL, true, NULL, NULL,
			 &error) ||
	    image_open(scratch_generation(s, generation), s->key, NULL, &r, &error))
		fail_msg("%s", error.text);
	for (unsigned int i = 0; i < NR; i++) {
		fake_fill(seeds[i], want);
		assert_int_equal(image_pages_read(r, 1, HEAP + i * PAGE, 1, got), 0);
		assert_memory_equal(got, want, PAGE);
	}
	image_close(r);
}

static const uint32_t dirty[NR] = {
	CKPT_RUN_ANON, CKPT_RUN_ANON, CKPT_RUN_ANON, CKPT_RUN_ANON, CKPT_RUN_ANON, CKPT_RUN_ANON,
};
static const uint32_t mixed[NR] = { CLEAN, CLEAN, CKPT_RUN_ANON, CLEAN, CKPT_RUN_ANON, CLEAN };

static void chain(void **state)
{
	static const uint32_t first[NR] = { 1, 2, 3, 4, 5, 0 }, second[NR] = { 1, 2, 33, 4, 55, 0 };
	struct scratch *s = *state;
	struct fake_page pages[NR];
	struct dump_stats stats;

	kernel(pages, first, dirty, 0, 71);
	assert_int_equal(dump(s, 1, 0, false, &stats), 0);
	assert_false(stats.incremental);
	kernel(pages, second, mixed, 71, 72);
	assert_int_equal(dump(s, 2, 1, false, &stats), 0);
	assert_true(stats.incremental);
	assert_int_equal(stats.base, 1);
	assert_int_equal(stats.pages_base, 3);
	assert_int_equal(stats.pages_data, 5);
	assert_int_equal(fake.pages_read, 2);
	check(s, 2, second);
	/* checked, and so read */
	kernel(pages, second, mixed, 72, 73);
	assert_int_equal(dump(s, 3, 2, true, &stats), 0);
	assert_int_equal(fake.pages_read, NR);
	assert_int_equal(stats.pages_base, 3);
	assert_int_equal(image_remove(scratch_generation(s, 1), NULL), 0);
	assert_int_equal(image_remove(scratch_generation(s, 2), NULL), 0);
	check(s, 3, second);
}

/* The marks count from another snapshot than the base's: one that came to nothing. */
static void other_token(void **state)
{
	static const uint32_t first[NR] = { 1, 2, 3, 4, 5, 6 }, second[NR] = { 9, 8, 7, 6, 5, 4 };
	struct scratch *s = *state;
	struct fake_page pages[NR];
	struct dump_stats stats;

	kernel(pages, first, dirty, 0, 71);
	assert_int_equal(dump(s, 1, 0, false, &stats), 0);
	kernel(pages, second, mixed, 99, 72);
	assert_int_equal(dump(s, 2, 1, false, &stats), 0);
	assert_false(stats.incremental);
	assert_true(stats.why_full[0]);
	assert_int_equal(fake.pages_read, NR);
	check(s, 2, second);
	/* not tracked: the next one has nothing to go by */
	kernel(pages, first, mixed, 72, 0);
	assert_int_equal(dump(s, 3, 2, false, &stats), 0);
	kernel(pages, second, mixed, 72, 74);
	assert_int_equal(dump(s, 4, 3, false, &stats), 0);
	assert_false(stats.incremental);
	check(s, 4, second);
	/* a module that does not know how */
	kernel(pages, first, mixed, 74, 75);
	fake.features = 0;
	assert_int_equal(dump(s, 5, 4, false, &stats), 0);
	assert_false(stats.incremental);
	check(s, 5, first);
}

/* What was not in the base is stored, clean or not. */
static void not_there(void **state)
{
	static const uint32_t first[NR] = { 1, 2, 3, 4, 5, 6 };
	struct scratch *s = *state;
	struct fake_page pages[NR];
	struct dump_stats stats;

	kernel(pages, first, dirty, 0, 71);
	fake.pages++;
	fake.nr_pages -= 2;
	assert_int_equal(dump(s, 1, 0, false, &stats), 0);
	for (unsigned int verify = 0; verify < 2; verify++) {
		kernel(pages, first, mixed, 71, 72);
		assert_int_equal(dump(s, 2 + verify, 1, verify, &stats), 0);
		assert_int_equal(stats.pages_base, 2);
		check(s, 2 + verify, first);
	}
}

/* A mark that was lost: without a look nobody could know, with one the dump fails. */
static void lost_mark(void **state)
{
	static const uint32_t first[NR] = { 1, 2, 3, 4, 5, 6 },
		second[NR] = { 1, 2, 33, 44, 55, 6 };
	struct scratch *s = *state;
	struct fake_page pages[NR];
	struct dump_stats stats;

	kernel(pages, first, dirty, 0, 71);
	assert_int_equal(dump(s, 1, 0, false, &stats), 0);
	kernel(pages, second, mixed, 71, 72);
	assert_int_equal(dump(s, 2, 1, true, &stats), -EUCLEAN);
	assert_false(path_exists(scratch_generation(s, 2)));
	assert_int_equal(fake.opened, fake.closed);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
#define E(f) { #f ", encrypted", f, scratch_setup_secret, scratch_teardown, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(chain),
		E(chain),
		T(other_token),
		T(not_there),
		T(lost_mark),
	};

	root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
