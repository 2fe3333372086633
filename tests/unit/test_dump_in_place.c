// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that the tree can write in place, on a kernel that is made up: which are kept with the
 * image, which are watched, and that what is kept is the content of the freeze.
 */
#include "tests/unit/dump_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAP	0x10000000ULL
#define BEFORE	"what the file has at the freeze"
#define AFTER	"WHAT THE JOB WROTE AFTER THE THAW"

enum { F_CWD = STREAM_CWD, F_FILE };

static const struct fake_page page = { 1, HEAP, 1, CKPT_RUN_ANON, 0, false };

/* One file, as the tree has it open, and the dump of it. */
struct in_place {
	int flags;		/* of open(2) */
	uint64_t pos;
	bool mapped;		/* shared and writable, too */
	enum engine_files files;
	uint64_t files_max;
	unsigned int nr_nodes;
	bool dry_run;
	bool others;		/* another node writes at its end, until all have flushed */
	uint32_t fs_magic;
};

static void overwrite(const struct engine_progress *progress, void *arg)
{
	const int *fd = arg;

	if (!strcmp(progress->phase, "dump"))
		assert_int_equal(pwrite(*fd, AFTER, strlen(AFTER), 0), strlen(AFTER));
}

/* All nodes have flushed: what another one has written is seen here now. */
static int in_place_others(void *arg)
{
	const int *fd = arg;

	return pwrite(*fd, "+", 1, strlen(BEFORE)) == 1 ? 0 : -EIO;
}

static void in_place_dump(const struct scratch *s, const struct in_place *in,
			  struct dump_stats *ret_stats)
{
	struct dump_options options = dump_options_for(s);
	const char *path = scratch_path(s, "field");
	int fd, other;

	store_file(path, BEFORE, strlen(BEFORE));
	fake_reset();
	fake.pages = &page;
	fake.nr_pages = 1;
	stream_system(&fake.stream);
	stream_proc(&fake.stream, 100, 0, 1, 1, 1);
	stream_mm(&fake.stream, 1, 100, 1);
	stream_vma(&fake.stream, 1, HEAP, HEAP + 0x10000, CKPT_VMA_ANON, CKPT_VM_WRITE, 0);
	fake_file(F_CWD, CKPT_FILE_DIR, s->root, open(s->root, O_RDONLY | O_DIRECTORY));
	stream_fd(&fake.stream, 1, 5, F_FILE);
	fd = open(path, in->flags);
	other = open(path, O_RDWR);
	assert_true(fd >= 0 && other >= 0);
	fake_file_of(F_FILE, CKPT_FILE_REG, path, fd, CKPT_FILE_OPEN |
		     (in->mapped ? CKPT_FILE_MAPPED | CKPT_FILE_MAPPED_SHARED_WRITE : 0),
		     (uint32_t)in->flags, in->pos)->fs_magic = in->fs_magic;
	options.files = in->files;
	options.files_max = in->files_max;
	options.nr_nodes = in->nr_nodes;
	options.dry_run = in->dry_run;
	options.progress = overwrite;
	options.progress_arg = &other;
	options.flushed = in->others ? in_place_others : NULL;
	options.hold_arg = &other;
	dump_ok(&options, ret_stats);
	close(other);
}

/* The fate of the file; *@ret_content: the image has the content of the freeze. */
static enum dump_fate in_place_fate(const struct scratch *s, const struct in_place *in,
				    uint32_t *ret_track, bool *ret_content)
{
	enum dump_fate fate = DUMP_FATE__COUNT;
	struct ckpt_error error = { 0 };
	const struct state_file *file;
	struct image_reader *r;
	struct dump_stats stats;
	struct stream stream = { 0 };
	uint64_t size = strlen(BEFORE) + in->others;
	struct state *state;
	char buf[64];

	in_place_dump(s, in, &stats);
	for (unsigned int i = 0; i < DUMP_FATE__COUNT; i++) {
		if (!stats.files.nr[i])
			continue;
		assert_int_equal(fate, DUMP_FATE__COUNT);
		assert_int_equal(stats.files.nr[i], 1);
		assert_int_equal(stats.files.bytes[i], size);
		fate = i;
	}
	if (!in->dry_run) {
		assert_int_equal(image_open(scratch_path(s, "image"), s->key, NULL, &r, &error), 0);
		state = dump_load_state(r, &stream);
		file = state_file_find(state, F_FILE);
		*ret_track = file->track ? file->track->flags : 0;
		*ret_content = file->blob;
		if (in->nr_nodes > 1 && file->track)
			assert_int_equal(file->track->size, size);
		if (file->blob) {
			assert_int_equal(file->blob->size, size);
			assert_int_equal(image_blob_read(r, file->blob->blob, 0, buf, size), 0);
			assert_memory_equal(buf, BEFORE "+", size);
		}
		state_free(state);
		stream_done(&stream);
		image_close(r);
		remove_image(scratch_path(s, "image"));
	}
	fake_close_files();
	return fate;
}

static void expect_kept(const struct scratch *s, const struct in_place *in)
{
	uint32_t track;
	bool content;
	enum dump_fate fate = in_place_fate(s, in, &track, &content);

	/* whether it is cloned is up to the file system of the test */
	assert_true(fate == DUMP_FATE_COPIED || fate == DUMP_FATE_CLONED);
	assert_true(content);
	assert_int_equal(track & (ENGINE_TRACK_KEPT | ENGINE_TRACK_WATCHED), ENGINE_TRACK_KEPT);
}

static void expect_not_kept(const struct scratch *s, const struct in_place *in,
			    enum dump_fate want, uint32_t want_track)
{
	uint32_t track;
	bool content;

	assert_int_equal(in_place_fate(s, in, &track, &content), want);
	assert_false(content);
	assert_int_equal(track & (ENGINE_TRACK_KEPT | ENGINE_TRACK_WATCHED), want_track);
}

static void test_kept(void **arg)
{
	expect_kept(*arg, &(struct in_place){ O_RDWR, .files = ENGINE_FILES_KEEP });
	expect_kept(*arg, &(struct in_place){ O_WRONLY, .files = ENGINE_FILES_KEEP });
	expect_kept(*arg, &(struct in_place){ O_RDWR, strlen(BEFORE), .mapped = true,
					      .files = ENGINE_FILES_KEEP });
	/* it looks like a log, and is short */
	expect_kept(*arg, &(struct in_place){ O_WRONLY, strlen(BEFORE),
					      .files = ENGINE_FILES_KEEP });
	/* exactly what may be kept */
	expect_kept(*arg, &(struct in_place){ O_RDWR, .files = ENGINE_FILES_KEEP,
					      .files_max = strlen(BEFORE) });
}

static void test_watched(void **arg)
{
	expect_not_kept(*arg, &(struct in_place){ O_RDWR, .files = ENGINE_FILES_KEEP,
						  .files_max = strlen(BEFORE) - 1 },
			DUMP_FATE_WATCHED, ENGINE_TRACK_WATCHED);
	expect_not_kept(*arg, &(struct in_place){ O_RDWR, .files = ENGINE_FILES_TRACK },
			DUMP_FATE_WATCHED, ENGINE_TRACK_WATCHED);
	expect_not_kept(*arg, &(struct in_place){ O_RDWR, strlen(BEFORE), .mapped = true,
						  .files = ENGINE_FILES_TRACK },
			DUMP_FATE_WATCHED, ENGINE_TRACK_WATCHED);
}

static void test_grows(void **arg)
{
	expect_not_kept(*arg, &(struct in_place){ O_WRONLY | O_APPEND,
						  .files = ENGINE_FILES_KEEP },
			DUMP_FATE_GROWS, 0);
	expect_not_kept(*arg, &(struct in_place){ O_WRONLY, strlen(BEFORE),
						  .files = ENGINE_FILES_TRACK },
			DUMP_FATE_GROWS, 0);
	/* a log that does not fit is no reason to refuse every restart */
	expect_not_kept(*arg, &(struct in_place){ O_WRONLY, strlen(BEFORE),
						  .files = ENGINE_FILES_KEEP, .files_max = 1 },
			DUMP_FATE_GROWS, 0);
}

static void test_left_alone(void **arg)
{
	expect_not_kept(*arg, &(struct in_place){ O_RDONLY, .files = ENGINE_FILES_KEEP },
			DUMP_FATE__COUNT, 0);
	expect_not_kept(*arg, &(struct in_place){ O_RDWR, .files = ENGINE_FILES_IGNORE },
			DUMP_FATE__COUNT, 0);
	expect_not_kept(*arg, &(struct in_place){ O_RDWR, .files = ENGINE_FILES_IGNORE,
						  .nr_nodes = 2 }, DUMP_FATE__COUNT, 0);
}

static void test_many_nodes(void **arg)
{
	struct in_place in = { O_RDWR, .files = ENGINE_FILES_KEEP, .nr_nodes = 2 };

	/* nodes may have different files of that name, or nobody knows */
	in.fs_magic = EXT4_SUPER_MAGIC;
	expect_not_kept(*arg, &in, DUMP_FATE_WATCHED, ENGINE_TRACK_WATCHED);
	in.fs_magic = OVERLAYFS_SUPER_MAGIC;
	expect_not_kept(*arg, &in, DUMP_FATE_WATCHED, ENGINE_TRACK_WATCHED);
	in.others = true;
	expect_not_kept(*arg, &in, DUMP_FATE_WATCHED, ENGINE_TRACK_WATCHED);
	/* it looked like a log from here, and is none if others write it, too */
	in.flags = O_WRONLY;
	in.pos = strlen(BEFORE);
	expect_not_kept(*arg, &in, DUMP_FATE_WATCHED, ENGINE_TRACK_WATCHED);
	in.others = false;
	expect_not_kept(*arg, &in, DUMP_FATE_GROWS, 0);
	in.others = true;
	in.flags |= O_APPEND;
	expect_not_kept(*arg, &in, DUMP_FATE_GROWS, 0);
}

static void test_shared(void **arg)
{
	struct in_place in = { O_RDWR, .files = ENGINE_FILES_KEEP, .nr_nodes = 2,
			       .fs_magic = NFS_SUPER_MAGIC };

	expect_kept(*arg, &in);
	in.others = true;
	expect_kept(*arg, &in);
	in.flags = O_WRONLY;
	in.pos = strlen(BEFORE);
	expect_kept(*arg, &in);
	/* each node keeps it */
	in.files_max = 2 * strlen(BEFORE) + 1;
	in.pos = 0;
	expect_not_kept(*arg, &in, DUMP_FATE_WATCHED, ENGINE_TRACK_WATCHED);
	in.files_max++;
	expect_kept(*arg, &in);
}

static void test_dry_run(void **arg)
{
	bool content;
	uint32_t track;

	assert_int_equal(in_place_fate(*arg, &(struct in_place){
				O_RDWR, .files = ENGINE_FILES_KEEP, .dry_run = true }, &track,
				&content), DUMP_FATE_COPIED);
	assert_int_equal(in_place_fate(*arg, &(struct in_place){
				O_RDWR, .files = ENGINE_FILES_KEEP, .dry_run = true,
				.files_max = 1 }, &track, &content), DUMP_FATE_WATCHED);
	assert_false(path_exists(scratch_path(*arg, "image")));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_kept), TEST(test_watched), TEST(test_grows), TEST(test_left_alone),
		TEST(test_many_nodes), TEST(test_shared), TEST(test_dry_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
