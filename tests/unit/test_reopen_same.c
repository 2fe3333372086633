// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that the image carries and that are there with the recorded size and time: with
 * another content they are put back, unless time tells; with the same they are left alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/reopen_fixture.h"

#define MTIME	1234567890123456789ULL
#define LONG	(1UL << 20)

static void set_mtime(const char *path, uint64_t ns)
{
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) },
	};

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* How many files are put back, if one of @flags on @magic was "as it was" and is @now. */
static unsigned int puts_of(const struct scratch *s, uint32_t flags, uint64_t magic,
			    uint32_t more, const char *now)
{
	struct opening f;
	char path[256];
	unsigned int nr;

	snprintf(path, sizeof(path), "%s", scratch_path(s, "file"));
	store_file(path, now, strlen(now));
	set_mtime(path, MTIME);
	opening_begin(&f, s, "same");
	opening_file(&f, 2, CKPT_FILE_REG, path, flags)->fs_magic = magic;
	if (more)
		opening_file(&f, 3, CKPT_FILE_REG, path, O_RDONLY)->flags = more;
	for (size_t at = 0; more && at < f.stream.len;) {
		struct ckpt_rec_hdr *hdr = (void *)((char *)f.stream.buf + at);

		if (hdr->type == CKPT_REC_FILE && ((struct ckpt_rec_file *)hdr)->id == 3)
			((struct ckpt_rec_file *)hdr)->ino = 1002;
		at += hdr->len;
	}
	opening_blob(&f, ENGINE_BLOB_FILE, 2, path, "as it was", MTIME, S_IFREG | 0644);
	opening_start(&f, "same");
	assert_int_equal(reopen_carried(&f.r), 0);
	nr = f.r.nr_puts;
	assert_int_equal(reopen_put_back(&f.r), 0);
	if (nr) {
		_cleanup_fd_ int fd = open(path, O_RDONLY);

		fd_content_is(fd, 0, "as it was");
	}
	opening_end(&f);
	remove_image(scratch_path(s, "same"));
	return nr;
}

static void test_written(void **arg)
{
	assert_int_equal(puts_of(*arg, O_RDWR, EXT4_SUPER_MAGIC, 0, "as it was"), 0);
	assert_int_equal(puts_of(*arg, O_RDWR, EXT4_SUPER_MAGIC, 0, "as it is!"), 1);
	assert_int_equal(puts_of(*arg, O_RDWR, EXT4_SUPER_MAGIC, 0, "longer than it was"), 1);
	/* by another description, or a mapping without any */
	assert_int_equal(puts_of(*arg, O_RDONLY, EXT4_SUPER_MAGIC, CKPT_FILE_MAPPED |
				 CKPT_FILE_MAPPED_SHARED_WRITE, "as it is!"), 1);
}

static void test_in_memory(void **arg)
{
	assert_int_equal(puts_of(*arg, O_RDONLY, TMPFS_MAGIC, 0, "as it was"), 0);
	assert_int_equal(puts_of(*arg, O_RDONLY, TMPFS_MAGIC, 0, "as it is!"), 1);
}

/* On storage time tells, where nobody of the tree could have written. */
static void test_read(void **arg)
{
	assert_int_equal(puts_of(*arg, O_RDONLY, EXT4_SUPER_MAGIC, 0, "as it is!"), 0);
}

/* In the image: a page of data in the middle of a long hole. */
static int holes_same(const struct scratch *s, uint64_t at, char byte)
{
	char page[4096], path[256];
	struct engine_rec_blob blob = { .blob = 1, .size = LONG, .mtime_ns = MTIME };
	struct opening f;
	int fd, ret;

	memset(page, 7, sizeof(page));
	snprintf(path, sizeof(path), "%s", scratch_path(s, "holes"));
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(ftruncate(fd, LONG), 0);
	assert_int_equal(pwrite(fd, page, sizeof(page), LONG / 2), sizeof(page));
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	set_mtime(path, MTIME);
	opening_begin(&f, s, "with-holes");
	assert_int_equal(image_blob_begin(f.img, 1), 0);
	assert_int_equal(image_blob_append(f.img, LONG / 2, page, sizeof(page)), 0);
	assert_int_equal(image_blob_end(f.img, LONG), 0);
	opening_start(&f, "with-holes");
	ret = reopen_same_content(&f.r, fd, &blob, false);
	opening_end(&f);
	remove_image(scratch_path(s, "with-holes"));
	close(fd);
	return ret;
}

static void test_holes(void **arg)
{
	assert_int_equal(holes_same(*arg, 100, 0), 1);
	assert_int_equal(holes_same(*arg, LONG / 2 + 100, 7), 1);
	assert_int_equal(holes_same(*arg, 100, 1), 0);
	assert_int_equal(holes_same(*arg, LONG - 1, 1), 0);
	assert_int_equal(holes_same(*arg, LONG / 2 + 4095, 8), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_written), TEST(test_in_memory), TEST(test_read), TEST(test_holes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
