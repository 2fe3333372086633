// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's snapshot of the image's memory: whose snapshots are asked for, how much the kernel
 * is told that the rollback fills, and that nothing is used where it says no.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/restore/rollback_l0.h"
#include "tests/unit/image_fixture.h"
#include "tests/unit/stream.h"

#define BASE	0x10000000ULL
#define PAGES	100U		/* of each map, all of them in the image */
#define MAPS	3U
#define TOKEN	7U		/* of each map; the snapshot of the last map has another one */

static struct fake {
	struct kdev dev;
	uint64_t room;		/* more than that cannot be filled */
	uint64_t fill;		/* as told last */
	unsigned int finds;
	int pagemap;		/* what PAGEMAP returns */
} kernel;

static int l0_fake_find(const struct ckpt_l0_find *find)
{
	kernel.finds++;
	kernel.fill = find->fill;
	assert_in_range(find->mm_id, 11, 10 + MAPS);
	assert_int_equal(find->token, TOKEN);
	if (find->mm_id == 10 + MAPS)
		return -ENODATA;
	return find->fill > kernel.room ? -ENOMEM : 0;
}

/* The snapshot has every page but the first, in two pieces that touch. */
static int l0_fake_pagemap(struct ckpt_pagemap *map)
{
	struct ckpt_page_run *runs = (void *)(uintptr_t)map->runs;

	assert_int_equal(map->flags, CKPT_PAGES_KEPT);
	assert_true(map->nr_runs >= 2);
	runs[0] = (struct ckpt_page_run){ .start = BASE + PAGE, .nr_pages = 9 };
	runs[1] = (struct ckpt_page_run){ .start = BASE + 10 * PAGE, .nr_pages = PAGES - 10 };
	map->nr_runs = 2;
	map->start = map->end;
	return kernel.pagemap;
}

static int l0_fake_command(struct kdev *dev, unsigned long command, void *arg)
{
	(void)dev;
	if (command == CKPT_IOC_L0_FIND)
		return l0_fake_find(arg);
	return command == CKPT_IOC_PAGEMAP ? l0_fake_pagemap(arg) : -ENOTTY;
}

static const struct kdev_ops fake_ops = { .command = l0_fake_command };

static void l0_store(const struct scratch *s, const char *dir)
{
	const struct image_options options = { 0 };
	struct image_writer *writer;
	struct ckpt_error error;
	struct image *img;
	uint8_t data[PAGE];

	assert_int_equal(image_writer_posix_create(dir, &writer, &error), 0);
	assert_int_equal(image_create(writer, s->key, &options, &img, &error), 0);
	for (unsigned int m = 0; m < MAPS; m++)
		for (unsigned int i = 0; i < PAGES; i++) {
			fill_page(data, m * PAGES + i + 1);
			assert_int_equal(image_pages_add(img, m + 1, BASE + i * PAGE, 1, data), 0);
		}
	assert_int_equal(image_commit(img, &error), 0);
	image_destroy(img);
}

static struct state *l0_make_state(struct stream *stream)
{
	struct state_error error;
	struct state *state = NULL;

	memset(stream, 0, sizeof(*stream));
	stream_system(stream);
	for (unsigned int m = 0; m < MAPS; m++)
		stream_proc(stream, 100 + (int)m, m ? 100 : 0, m + 1, m + 1, 1);
	for (unsigned int m = 0; m < MAPS; m++) {
		stream_mm(stream, m + 1, 100 + (int)m, 1);
		stream_vma(stream, m + 1, BASE, BASE + PAGES * PAGE, CKPT_VMA_ANON,
			   CKPT_VM_READ | CKPT_VM_WRITE, 0);
	}
	stream_file(stream, STREAM_CWD, CKPT_FILE_DIR, "/");
	if (state_parse(stream->buf, stream->len, &state, &error))
		fail_msg("%s", error.text);
	return state;
}

/* The first map was written to in part and lacks the rest; the others have no pages now. */
static void l0_make_keep(struct rollback_keep *keep, uint32_t stays)
{
	const struct ckpt_page_run clean = {
		.start = BASE, .nr_pages = 20, .flags = CKPT_RUN_CLEAN,
	}, changed = { .start = BASE + 30 * PAGE, .nr_pages = 10 };
	struct keep_map *map;

	memset(keep, 0, sizeof(*keep));
	keep->maps = calloc(MAPS, sizeof(*keep->maps));
	keep->nr_maps = MAPS;
	for (unsigned int m = 0; m < MAPS; m++) {
		keep->maps[m].now_id = stays & 1U << m ? 11 + m : 0;
		keep->maps[m].token = TOKEN;
	}
	map = &keep->maps[0];
	assert_int_equal(rollback_keep_add(&map->runs, &map->nr, &map->room, &clean), 0);
	assert_int_equal(rollback_keep_add(&map->runs, &map->nr, &map->room, &changed), 0);
}

struct wanted {
	const char *what;
	uint32_t stays;		/* maps, by bits */
	uint64_t room;
	int pagemap;
	bool features;
	uint32_t in_l0;		/* maps, by bits */
	uint64_t fill;		/* as told last */
	unsigned int finds;
};

static void l0_try(const struct scratch *s, const char *dir, const struct wanted *w)
{
	struct image_reader *reader;
	struct rollback_keep keep;
	struct ckpt_error error;
	struct stream stream;
	struct state *state = l0_make_state(&stream);

	kernel = (struct fake){ .room = w->room, .pagemap = w->pagemap };
	kernel.dev.ops = &fake_ops;
	kernel.dev.info.features = w->features ? CKPT_FEAT_L0 : 0;
	l0_make_keep(&keep, w->stays);
	assert_int_equal(image_open(dir, s->key, NULL, &reader, &error), 0);
	rollback_l0_look(&keep, state, reader, &kernel.dev);
	for (unsigned int m = 0; m < MAPS; m++) {
		const struct keep_map *map = &keep.maps[m];

		if (map->l0 != !!(w->in_l0 & 1U << m))
			fail_msg("%s: map %u", w->what, m);
		if (map->l0) {
			assert_int_equal(map->nr_l0, 1);
			assert_int_equal(map->l0_runs[0].start, BASE + PAGE);
			assert_int_equal(map->l0_runs[0].end, BASE + PAGES * PAGE);
		}
	}
	if (kernel.fill != w->fill * PAGE || kernel.finds != w->finds)
		fail_msg("%s: %llu bytes, %u calls", w->what, (unsigned long long)kernel.fill,
			 kernel.finds);
	rollback_keep_done(&keep);
	image_close(reader);
	state_free(state);
	stream_done(&stream);
}

static void test_l0_look(void **arg)
{
	/* absent are 70 pages of the first map, and 100 of each other one */
	static const struct wanted all[] = {
		{ "two of three", 7, ~0ULL, 0, true, 3, 270, 5 },
		{ "one stays", 1, ~0ULL, 0, true, 1, 70, 2 },
		{ "the last one alone", 4, ~0ULL, 0, true, 0, 0, 1 },
		{ "none stays", 0, ~0ULL, 0, true, 0, 0, 0 },
		{ "just enough room", 7, 270ULL * PAGE, 0, true, 3, 270, 5 },
		{ "no room", 7, 269ULL * PAGE, 0, true, 0, 270, 4 },
		{ "an emptied snapshot", 7, ~0ULL, -ESRCH, true, 0, 270, 5 },
		{ "an old kernel module", 7, ~0ULL, 0, false, 0, 0, 0 },
	};
	const struct scratch *s = *arg;
	const char *dir = scratch_path(s, "image");

	l0_store(s, dir);
	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		l0_try(s, dir, &all[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_l0_look, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
