// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files whose opened name is gone, in memory and where no handle can be had: the other
 * name is found in the job's /dev/shm, in the file system, or among what the job has open;
 * if it is not, the content is carried, or the dump is refused.
 */
#include "base/error.h"
#include "tests/unit/image_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/dump_fixture.h"

enum { F_CWD = STREAM_CWD, F_FIRST, F_SECOND };

static void make_process(void)
{
	fake_heap(NULL, 0, 0x10000000, 0x10000, open("/", O_RDONLY | O_DIRECTORY));
}

static struct ckpt_rec_file *add_file(uint32_t id, const char *path, int fd, uint32_t flags)
{
	struct ckpt_rec_file *rec;

	stream_fd(&fake.stream, 1, (int)(3 + id), id);
	rec = fake_file(id, CKPT_FILE_REG, path, fd);
	rec->flags = CKPT_FILE_OPEN | flags;
	rec->f_flags = (uint32_t)fcntl(fd, F_GETFL) & ~(uint32_t)O_LARGEFILE;
	return rec;
}

struct taken {
	struct image_reader *r;
	struct stream stream;
	struct state *state;
};

static const struct state_file *taken_file(const struct scratch *s, struct taken *t, uint32_t id)
{
	struct ckpt_error error = { 0 };

	if (!t->state) {
		if (image_open(scratch_path(s, "image"), s->key, NULL, &t->r, &error))
			fail_msg("%s", error.text);
		t->state = dump_load_state(t->r, &t->stream);
	}
	return state_file_find(t->state, id);
}

static void taken_close(const struct scratch *s, struct taken *t)
{
	state_free(t->state);
	stream_done(&t->stream);
	image_close(t->r);
	*t = (struct taken){ 0 };
	remove_image(scratch_path(s, "image"));
	fake_close_files();
}

/* A file of @old, opened with @flags, that has only the name @new now. */
static int renamed(const char *old, const char *new, int flags)
{
	char from[256], to[256];
	int fd;

	strcpy(from, old);
	strcpy(to, new);
	unlink(to);
	store_file(from, "linked", 6);
	fd = open(from, flags);
	assert_int_equal(link(from, to), 0);
	assert_int_equal(unlink(from), 0);
	return fd;
}

/* As sem_open() does it; the job's /dev/shm has another name for us. */
static void test_shm(void **arg)
{
	const struct scratch *s = *arg;
	struct dump_options options = dump_options_for(s);
	static const char *const names[] = { "sem.one", "d/deep" };
	const struct state_file *file;
	struct taken t = { 0 };
	char shm[256], want[64], here[300];

	strcpy(shm, scratch_path(s, "shm"));
	assert_int_equal(mkdir(shm, 0700), 0);
	assert_int_equal(mkdir(scratch_path(s, "shm/d"), 0700), 0);
	options.shm_dir = shm;
	for (unsigned int i = 0; i < 2; i++) {
		char old[300];

		snprintf(here, sizeof(here), "%s/%s", shm, names[i]);
		snprintf(old, sizeof(old), "%s/sem.XXXXXX", shm);
		make_process();
		add_file(F_FIRST, "/dev/shm/sem.XXXXXX", renamed(old, here, O_RDWR),
			 CKPT_FILE_DELETED)->fs_magic = TMPFS_MAGIC;
		dump_ok(&options, NULL);
		file = taken_file(s, &t, F_FIRST);
		assert_false(state_file_deleted(file));
		assert_null(state_file_handle(file));
		snprintf(want, sizeof(want), "/dev/shm/%s", names[i]);
		assert_string_equal(file->path, want);
		assert_null(file->blob);	/* the directory's entry has it */
		taken_close(s, &t);
		unlink(here);
	}
}

/* In another directory of a file system in memory. */
static void test_elsewhere(void **arg)
{
	const struct scratch *s = *arg;
	struct dump_options options = dump_options_for(s);
	const struct state_file *file;
	struct taken t = { 0 };
	char old[256], new[256];

	strcpy(old, scratch_path(s, "one/old"));
	strcpy(new, scratch_path(s, "two/new"));
	assert_int_equal(mkdir(scratch_path(s, "one"), 0700), 0);
	assert_int_equal(mkdir(scratch_path(s, "two"), 0700), 0);
	for (int flags = O_RDWR; flags >= O_RDONLY; flags -= O_RDWR) {
		int fd = renamed(old, new, flags);

		make_process();
		add_file(F_FIRST, old, fd, CKPT_FILE_DELETED)->fs_magic = TMPFS_MAGIC;
		dump_ok(&options, NULL);
		file = taken_file(s, &t, F_FIRST);
		assert_false(state_file_deleted(file));
		assert_string_equal(file->path, new);
		assert_non_null(file->blob);
		assert_int_equal(file->blob->kind, ENGINE_BLOB_FILE);
		taken_close(s, &t);

		/* not to be found: a handle is nothing after a restart of the node */
		fd = renamed(old, new, flags);
		make_process();
		add_file(F_FIRST, "/proc/none/old", fd, CKPT_FILE_DELETED)->fs_magic = TMPFS_MAGIC;
		if (flags == O_RDWR) {
			dump_fails(s, &options, -EOPNOTSUPP, CKPT_R_FILE_LINK);
			fake_close_files();
			continue;
		}
		dump_ok(&options, NULL);
		file = taken_file(s, &t, F_FIRST);
		assert_true(state_file_deleted(file));
		assert_int_equal(file->blob->kind, ENGINE_BLOB_OBJECT);
		taken_close(s, &t);
	}
	unlink(new);
}

/* The job has the other name open, too. */
static void test_open_too(void **arg)
{
	const struct scratch *s = *arg;
	struct dump_options options = dump_options_for(s);
	const struct state_file *file;
	struct taken t = { 0 };
	char old[256], new[256];
	int fd;

	strcpy(old, scratch_path(s, "one/old"));
	strcpy(new, scratch_path(s, "two/new"));
	assert_int_equal(mkdir(scratch_path(s, "one"), 0700), 0);
	assert_int_equal(mkdir(scratch_path(s, "two"), 0700), 0);
	fd = renamed(old, new, O_RDWR);
	make_process();
	add_file(F_FIRST, new, open(new, O_RDONLY), 0);
	add_file(F_SECOND, old, fd, CKPT_FILE_DELETED);
	dump_ok(&options, NULL);
	file = taken_file(s, &t, F_SECOND);
	assert_false(state_file_deleted(file));
	assert_null(state_file_handle(file));
	assert_string_equal(file->path, new);
	assert_non_null(file->track);
	taken_close(s, &t);
	unlink(new);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_shm), TEST(test_elsewhere), TEST(test_open_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
