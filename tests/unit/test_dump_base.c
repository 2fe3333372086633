// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dumps on top of dumps, on a kernel that is made up: what is read, what is believed
 * and when, and that a kernel which is wrong about a page is found out.
 */
#include "base/error.h"
#include "tests/unit/image_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/dump/dump_run.h"
#include "engine/dump/dump_scrub.h"
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

static int scrub(const struct scratch *s, unsigned int generation, unsigned int base, bool verify,
		 unsigned int every, struct dump_stats *stats)
{
	struct ckpt_error error = { 0 };
	char dir[256], base_dir[256];
	struct dump_options options = {
		.roots = roots, .nr_roots = 1, .dir = dir, .key = s->key,
		.generation = generation, .freeze_timeout_ms = 2000,
		.base = base ? base_dir : NULL, .chain_max = 8, .track = true,
		.verify_base = verify, .scrub_every = every,
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

static int dump(const struct scratch *s, unsigned int generation, unsigned int base, bool verify,
		struct dump_stats *stats)
{
	return scrub(s, generation, base, verify, 0, stats);
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

/* The text under "scrub" of the manifest; it is in @buf. */
static const char *scrub_text(const struct scratch *s, unsigned int generation, char buf[512])
{
	struct ckpt_error error = {};
	struct image_reader *r;
	const char *text;

	if (image_open(scratch_generation(s, generation), s->key, NULL, &r, &error))
		fail_msg("%s", error.text);
	text = image_get(r, IMAGE_KEY_SCRUB);
	snprintf(buf, 512, "%s", text ? text : "");
	image_close(r);
	return buf;
}

/* A page that nobody wrote and that changed is named; the image has it as it was written. */
static void scrub_finds(void **state)
{
	static const uint32_t first[NR] = { 1, 2, 3, 4, 5, 6 },
		second[NR] = { 1, 2, 33, 44, 55, 6 }, stored[NR] = { 1, 2, 33, 4, 55, 6 };
	struct scratch *s = *state;
	struct fake_page pages[NR];
	struct dump_stats stats;
	char text[512];

	kernel(pages, first, dirty, 0, 71);
	assert_int_equal(scrub(s, 1, 0, false, 1, &stats), 0);
	assert_int_equal(stats.scrub.pages, 0);
	assert_string_equal(scrub_text(s, 1, text), "");
	kernel(pages, second, mixed, 71, 72);
	assert_int_equal(scrub(s, 2, 1, false, 1, &stats), 0);
	assert_int_equal(stats.scrub.pages, 4);
	assert_int_equal(stats.scrub.wrong, 1);
	assert_int_equal(stats.scrub.nr_told, 1);
	assert_true(stats.scrub.told[0].addr == HEAP + 3 * PAGE);
	assert_int_equal(stats.scrub.told[0].pid, 100);
	assert_true(stats.scrub.told[0].start == HEAP);
	assert_non_null(strstr(scrub_text(s, 2, text), "\"pages\": 4, \"wrong\": 1"));
	assert_non_null(strstr(text, "\"address\": \"10003000\""));
	check(s, 2, stored);
	/* it is as wrong at the next one, and the others are still right */
	kernel(pages, second, mixed, 72, 73);
	assert_int_equal(scrub(s, 3, 2, false, 1, &stats), 0);
	assert_int_equal(stats.scrub.wrong, 1);
}

/* With two in turn a stretch is read by every second generation, and nothing gets lost. */
static void scrub_takes_turns(void **state)
{
	static const uint32_t first[NR] = { 1, 2, 3, 4, 5, 6 }, second[NR] = { 1, 2, 3, 44, 5, 6 };
	struct scratch *s = *state;
	struct fake_page pages[NR];
	struct dump_stats stats;

	kernel(pages, first, dirty, 0, 70);
	assert_int_equal(scrub(s, 1, 0, false, 2, &stats), 0);
	kernel(pages, first, mixed, 70, 71);
	assert_int_equal(scrub(s, 2, 1, false, 2, &stats), 0);
	assert_int_equal(stats.scrub.pages, 4);
	assert_int_equal(stats.scrub.wrong, 0);
	kernel(pages, second, mixed, 71, 72);
	assert_int_equal(scrub(s, 3, 2, false, 2, &stats), 0);
	assert_int_equal(fake.pages_read, 2);
	assert_int_equal(stats.scrub.pages, 0);
	kernel(pages, second, mixed, 72, 73);
	assert_int_equal(scrub(s, 4, 3, false, 2, &stats), 0);
	assert_int_equal(stats.scrub.pages, 4);
	assert_int_equal(stats.scrub.wrong, 1);
	check(s, 4, first);
}

/* Which stretches are read: each one by exactly one of N generations in a row. */
static void scrub_stretches(void **state)
{
	for (unsigned int every = 1; every < 9; every++) {
		for (uint64_t stretch = 0; stretch < 40; stretch++) {
			unsigned int reads = 0;

			for (unsigned int g = 0; g < every; g++) {
				struct dump_options o = { .scrub_every = every,
							  .generation = 1000 + g };
				struct dump d = { .options = &o };
				uint64_t from = HEAP + stretch * DUMP_SCRUB_STRETCH, end, stop;

				end = from + 100 * DUMP_SCRUB_STRETCH;
				reads += dump_scrub_wants(&d, from + PAGE, end, &stop);
				assert_true(stop > from + PAGE && stop <= end);
				assert_true(every == 1 || !(stop % DUMP_SCRUB_STRETCH));
			}
			assert_int_equal(reads, 1);
		}
	}
}

/* A base that cannot be read is no finding: the dump fails, and says so. */
static void scrub_needs_base(void **state)
{
	static const uint32_t first[NR] = { 1, 2, 3, 4, 5, 6 };
	struct scratch *s = *state;
	struct fake_page pages[NR];
	struct dump_stats stats;
	char path[300];
	int fd;

	kernel(pages, first, dirty, 0, 71);
	assert_int_equal(dump(s, 1, 0, false, &stats), 0);
	snprintf(path, sizeof(path), "%s/pages", scratch_generation(s, 1));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "damage", 6, 200), 6);
	close(fd);
	kernel(pages, first, mixed, 71, 72);
	assert_int_equal(scrub(s, 2, 1, false, 1, &stats), -EBADMSG);
	assert_false(path_exists(scratch_generation(s, 2)));
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
		T(scrub_finds),
		E(scrub_finds),
		T(scrub_takes_turns),
		T(scrub_stretches),
		T(scrub_needs_base),
	};

	root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
