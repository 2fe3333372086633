// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several names, or several kinds of descriptors, of one inode: its content comes back
 * once, under all names that it had, whatever descriptor has the lowest number.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/core/rights.h"
#include "tests/unit/reopen_fixture.h"

#define MODE	(S_IFREG | 0600)

/* One more description, of @ino. */
static struct ckpt_rec_file *file_of(struct opening *f, uint32_t id, uint32_t kind,
				     const char *path, uint32_t flags, uint64_t ino)
{
	struct ckpt_rec_file *rec = opening_file(f, id, kind, path, flags);

	rec->ino = ino;
	return rec;
}

static void same_file(const struct opening *f, uint32_t a, uint32_t b)
{
	struct stat x, y;

	assert_int_equal(fstat(opening_fd(f, a), &x), 0);
	assert_int_equal(fstat(opening_fd(f, b), &y), 0);
	assert_int_equal(x.st_ino, y.st_ino);
}

/* An O_PATH descriptor comes first: what was written since is put back, what is gone is made. */
static void test_path_first(void **arg)
{
	struct opening f;
	char path[256];

	strcpy(path, scratch_path(*arg, "by-path"));
	for (int there = 1; there >= 0; there--) {
		if (there)
			store_file(path, "newer content", 13);
		opening_begin(&f, *arg, there ? "there" : "not");
		file_of(&f, 2, CKPT_FILE_PATH, path, O_PATH, 1003);
		opening_file(&f, 3, CKPT_FILE_REG, path, O_RDWR);
		opening_blob(&f, ENGINE_BLOB_FILE, 3, path, "carried", 5, MODE);
		opening_start(&f, there ? "there" : "not");
		opening_all(&f);
		assert_int_equal(reopen_put_back(&f.r), 0);
		fd_content_is(opening_fd(&f, 3), 0, "carried");
		same_file(&f, 2, 3);
		opening_end(&f);
		unlink(path);
	}
}

/* Two names of one carried file: another node has none of them, or others. */
static void test_carried_links(void **arg)
{
	const struct scratch *s = *arg;
	char a[256], b[256];
	struct opening f;

	strcpy(a, scratch_path(s, "name-a"));
	strcpy(b, scratch_path(s, "name-b"));
	for (int other = 0; other < 2; other++) {
		opening_begin(&f, s, other ? "other" : "none");
		opening_file(&f, 2, CKPT_FILE_REG, a, O_RDWR);
		file_of(&f, 3, CKPT_FILE_REG, b, O_RDONLY, 1002);
		opening_blob(&f, ENGINE_BLOB_FILE, 2, a, "of both", 5, MODE);
		if (other)
			store_file(b, "another file", 12);
		opening_start(&f, other ? "other" : "none");
		if (other) {
			assert_int_equal(reopen_all(&f.r), -EEXIST);
			assert_non_null(strstr(f.error.text, b));
		} else {
			opening_all(&f);
			fd_content_is(opening_fd(&f, 3), 0, "of both");
			same_file(&f, 2, 3);
		}
		reopen_undo(&f.r);
		assert_false(path_exists(a));
		assert_int_equal(path_exists(b), other);
		opening_end(&f);
	}
	unlink(b);
}

/* The job's /dev/shm: entries of one inode are one file again. */
static void test_shm_links(void **arg)
{
	const struct scratch *s = *arg;
	static const char *const names[] = { "one", "two", "alone", "three" };
	char dir[256], path[300];
	struct opening f;
	struct stat st;

	strcpy(dir, scratch_path(s, "shm"));
	assert_int_equal(mkdir(dir, 0700), 0);
	opening_begin(&f, s, "shm-links");
	for (unsigned int i = 0; i < 4; i++) {
		struct engine_rec_blob *blob;

		opening_blob(&f, ENGINE_BLOB_SHM_DIR, 0, names[i], "content", 5, MODE);
		blob = (void *)((char *)f.stream.buf + f.stream.len - sizeof(*blob) - 8);
		assert_int_equal(blob->hdr.type, ENGINE_REC_BLOB);
		blob->ino = i == 2 ? 11 : 10;
	}
	f.options.shm_dir = dir;
	opening_start(&f, "shm-links");
	if (reopen_all(&f.r))
		fail_msg("%s", f.error.text);
	for (unsigned int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_nlink, i == 2 ? 1 : 3);
		assert_int_equal(st.st_size, 7);
	}
	reopen_undo(&f.r);
	assert_int_equal(count_entries(dir), 0);
	opening_end(&f);
	rmdir(dir);
}

/* The first description of the inode has a name, the second has none. */
static void test_deleted_second(void **arg)
{
	const struct scratch *s = *arg;
	char path[256], gone[256];
	struct opening f;

	strcpy(path, scratch_path(s, "living"));
	strcpy(gone, scratch_path(s, "deleted"));
	store_file(path, "alive", 5);
	opening_begin(&f, s, "second");
	opening_file(&f, 2, CKPT_FILE_REG, path, O_RDONLY);
	file_of(&f, 3, CKPT_FILE_REG, gone, O_RDONLY, 1002)->flags |= CKPT_FILE_DELETED;
	opening_blob(&f, ENGINE_BLOB_OBJECT, 2, path, "alive", 5, MODE);
	opening_start(&f, "second");
	opening_all(&f);
	assert_int_equal(reopen_seal(&f.r), 0);
	fd_content_is(opening_fd(&f, 2), 0, "alive");
	fd_content_is(opening_fd(&f, 3), 0, "alive");
	assert_false(path_exists(gone));
	opening_end(&f);

	unlink(path);
	opening_begin(&f, s, "missing");
	opening_file(&f, 2, CKPT_FILE_REG, path, O_RDONLY);
	file_of(&f, 3, CKPT_FILE_REG, gone, O_RDONLY, 1002)->flags |= CKPT_FILE_DELETED;
	opening_blob(&f, ENGINE_BLOB_OBJECT, 2, path, "alive", 5, MODE);
	opening_start(&f, "missing");
	assert_int_not_equal(reopen_check(&f.r), 0);
	assert_int_equal(f.error.refusals[0].reason, CKPT_R_FILE_MISSING);
	opening_end(&f);
}

/* An image that lacks what was in a deleted file must not give zeros for it. */
static void test_no_content(void **arg)
{
	char gone[256];
	struct opening f;

	strcpy(gone, scratch_path(*arg, "no-content"));
	for (uint64_t size = 0; size < 2; size++) {
		struct ckpt_rec_file *rec;

		opening_begin(&f, *arg, size ? "some" : "empty");
		rec = opening_file(&f, 2, CKPT_FILE_REG, gone, O_RDONLY);
		rec->flags |= CKPT_FILE_DELETED;
		rec->size = size;
		opening_start(&f, size ? "some" : "empty");
		assert_int_equal(reopen_check(&f.r), 0);
		assert_int_equal(reopen_all(&f.r), size ? -EBADMSG : 0);
		opening_end(&f);
	}
}

#define ANOTHER	1000

/* Reopening @path, of which the image carries the content or not. */
static int reopened(const struct scratch *s, const char *path, bool carried)
{
	static unsigned int nr;
	struct opening f;
	char name[32];
	int ret;

	snprintf(name, sizeof(name), "links-%u", nr++);
	opening_begin(&f, s, name);
	opening_file(&f, 2, CKPT_FILE_REG, path, O_RDWR);
	if (carried)
		opening_blob(&f, ENGINE_BLOB_FILE, 2, path, "carried", 5, MODE);
	opening_start(&f, name);
	ret = reopen_all(&f.r);
	if (!ret && !carried)
		fd_content_is(opening_fd(&f, 2), 0, "kept");
	reopen_undo(&f.r);
	opening_end(&f);
	return ret;
}

/* Of a tree of root's: another user's symbolic links lead nowhere, root's do. */
static void test_links_of_others(void **arg)
{
	const struct scratch *s = *arg;
	char dir[256], file[300], place[256], target[300], new[300], back[400];

	if (geteuid())
		skip();
	strcpy(dir, scratch_path(s, "home"));
	strcpy(place, scratch_path(s, "place"));
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(new, sizeof(new), "%s/new", dir);
	snprintf(target, sizeof(target), "%s/file", place);
	assert_int_equal(mkdir(place, 0700), 0);
	store_file(target, "kept", 4);
	assert_int_equal(symlink(place, dir), 0);
	for (uid_t who = 0; who <= ANOTHER; who += ANOTHER) {
		int want = who ? -ELOOP : 0;

		assert_int_equal(lchown(dir, who, who), 0);
		assert_int_equal(reopened(s, file, false), want);
		assert_int_equal(reopened(s, new, true), want);
	}
	unlink(dir);

	/* the last component, and a target that is relative */
	assert_int_equal(mkdir(dir, 0755), 0);
	snprintf(back, sizeof(back), "../%s/./file", strrchr(place, '/') + 1);
	assert_int_equal(symlink(back, file), 0);
	assert_int_equal(reopened(s, file, false), 0);
	assert_int_equal(lchown(file, ANOTHER, ANOTHER), 0);
	assert_int_equal(reopened(s, file, false), -ELOOP);
	assert_int_equal(reopened(s, file, true), -ELOOP);
	/* … and one that leads to itself */
	unlink(file);
	assert_int_equal(symlink(file, file), 0);
	assert_int_equal(reopened(s, file, false), -ELOOP);
	unlink(file);
	unlink(target);
	rmdir(dir);
	rmdir(place);
}

/* A directory that has its final mode already is no place where files stay after a failure. */
static void test_undo_closed(void **arg)
{
	const uint64_t more = RIGHTS_FILES;
	const struct scratch *s = *arg;
	struct opening f;
	char dir[256];

	if (geteuid())
		skip();
	strcpy(dir, scratch_path(s, "shm"));
	assert_int_equal(mkdir(dir, 0700), 0);
	opening_begin(&f, s, "closed");
	opening_blob(&f, ENGINE_BLOB_SHM_DIR, 0, "d", "", 5, S_IFDIR | 0555);
	opening_blob(&f, ENGINE_BLOB_SHM_DIR, 0, "d/file", "content", 5, S_IFREG | 0400);
	f.options.shm_dir = dir;
	opening_start(&f, "closed");
	opening_all(&f);
	assert_int_equal(reopen_seal(&f.r), 0);
	assert_int_equal(count_entries(dir), 1);
	assert_int_equal(rights_set(rights_permitted(), rights_permitted() & ~more), 0);
	reopen_undo(&f.r);
	assert_int_equal(rights_set(rights_permitted(), rights_permitted()), 0);
	assert_int_equal(count_entries(dir), 0);
	opening_end(&f);
	rmdir(dir);
}

/*
 * What lay in directories that are gone comes back with them, and goes with them if the
 * restore fails.
 */
static void test_directories_gone(void **arg)
{
	const struct scratch *s = *arg;
	char dir[256], path[300];
	struct opening f;
	struct stat st;

	strcpy(dir, scratch_path(s, "gone"));
	snprintf(path, sizeof(path), "%s/a/b/file", dir);
	opening_begin(&f, s, "directories");
	opening_file(&f, 2, CKPT_FILE_REG, path, O_RDWR);
	opening_blob(&f, ENGINE_BLOB_FILE, 2, path, "carried", 5, MODE);
	opening_start(&f, "directories");
	opening_all(&f);
	fd_content_is(opening_fd(&f, 2), 0, "carried");
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	reopen_undo(&f.r);
	assert_false(path_exists(dir));
	opening_end(&f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_path_first), TEST(test_carried_links), TEST(test_shm_links),
		TEST(test_deleted_second), TEST(test_no_content),
		TEST(test_links_of_others), TEST(test_undo_closed),
		TEST(test_directories_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
