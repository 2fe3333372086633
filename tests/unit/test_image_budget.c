// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an image under construction has in memory stays within what it may have, and it becomes
 * an image all the same.
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tests/unit/counted.h"
#include "tests/unit/image_fixture.h"

#define MIB		(1ULL << 20)
#define BASE		0x7f0000000000ULL
#define BATCHES		4	/* that a dump reads ahead */
#define ROUNDS		90	/* 90 MiB of pages, more than all budgets */
#define INDEX		(256U << 10)	/* of what is written here */

static uint64_t rng = 1;

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);

/* As many CPUs as any budget has use for. */
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	CPU_ZERO_S(size, set);
	for (int cpu = 0; cpu < 8; cpu++)
		CPU_SET_S(cpu, size, set);
	return 0;
}

/* Pages that compress, that do not, and some of each. */
static void fill(void *to, size_t len, unsigned int round)
{
	uint64_t *words = to;

	for (size_t i = 0; i < len / 8; i++)
		words[i] = round / 20 % 3 == 1 || (round / 20 % 3 == 2 && i / 16384 % 2) ?
			   i / 7 + round : rng_next(&rng);
}

static int no_reread(void *arg, uint64_t mm_id, uint64_t addr, uint64_t nr_pages, void *buf)
{
	return -ENOENT;
}

/* As a dump does it, with batches under way while others are stored. */
static void add_pages(struct image *img)
{
	struct image_room rooms[BATCHES] = {};
	uint64_t addr = BASE;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct image_room *room = &rooms[i % BATCHES];
		uint64_t nr;
		void *data;

		for (unsigned int ahead = 0; ahead < BATCHES; ahead++)
			if (!rooms[ahead].p)
				assert_int_equal(image_room_get(img, &rooms[ahead]), 0);
		data = room->p;
		nr = room->len / PAGE;
		fill(data, room->len, i);
		assert_int_equal(image_room_use(img, room), 0);
		assert_int_equal(image_pages_add(img, 1, addr, nr, data), 0);
		addr += nr * PAGE;
	}
	for (unsigned int i = 0; i < BATCHES; i++)
		image_room_put(img, &rooms[i]);
}

static void add_state(struct image *img, void *data)
{
	for (unsigned int i = 0; i < 24; i++) {
		fill(data, MIB, i * 5);
		assert_int_equal(image_state_add(img, 0x1000, 1, data, MIB), 0);
	}
}

static void add_contents(struct image *img, void *data, uint64_t id)
{
	image_blob_begin(img, id);
	for (unsigned int i = 0; i < 30; i++) {
		fill(data, MIB, i * 3);
		assert_int_equal(image_blob_append(img, i * MIB, data, MIB), 0);
	}
	assert_int_equal(image_blob_end(img, 30 * MIB), 0);
}

typedef int (*create_fn)(const char *dir, struct image_writer **ret_writer,
			 struct ckpt_error *error);

/* The most that it took. */
static size_t most_of(const struct scratch *s, create_fn create, uint64_t memory)
{
	struct image_options options = { .generation = 1, .memory = memory, .reread = no_reread };
	const char *dir = scratch_path(s, "image");
	_cleanup_free_ void *data = malloc(MIB);
	struct ckpt_error error;
	struct image_writer *w;
	struct image *img;
	size_t most;

	assert_true(counted_begin());
	assert_int_equal(create(dir, &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	add_state(img, data);
	add_contents(img, data, 1);
	add_pages(img);
	add_contents(img, data, 2);
	add_state(img, data);
	if (image_commit(img, &error))
		fail_msg("%s", error.text);
	image_destroy(img);
	most = counted_most();
	assert_true(counted_now() < INDEX);
	assert_int_equal(image_verify(dir, s->key, NULL, true, NULL, NULL, &error), 0);
	assert_int_equal(image_remove(dir, NULL), 0);
	return most;
}

static void within(void **state)
{
	static const unsigned int budgets[] = { 32, 48, 56, 64, 0 };

	if (!counted_begin())
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(budgets); i++) {
		uint64_t bytes = budgets[i] * MIB, most = bytes ? bytes : 64 * MIB;
		size_t ring = most_of(*state, image_writer_create, bytes);
		size_t plain = most_of(*state, image_writer_posix_create, bytes);

		print_message("%u MiB: %.1f, plain writer %.1f\n", budgets[i],
			      (double)ring / MIB, (double)plain / MIB);
		assert_true(ring <= most + INDEX);
		assert_true(plain <= most + INDEX);
	}
}

static void too_little(void **state)
{
	const struct scratch *s = *state;
	struct image_options options = { .generation = 1, .memory = 32 * MIB - 1 };
	struct ckpt_error error;
	struct image_writer *w;
	struct image *img;

	assert_int_equal(image_writer_create(scratch_path(s, "image"), &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), -EINVAL);
	assert_string_equal(error.text, "less memory than 32 MiB");
	assert_int_equal(count_entries(s->root), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = { T(within), T(too_little) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
