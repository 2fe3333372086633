// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contents that are put back last of all: where what is cut off of output that grew is
 * kept, that all of it is taken back if the restore fails, and what is left if not.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/core/rights.h"
#include "tests/unit/reopen_fixture.h"

/* The commit failed: the tail is where it was. */
static void test_cut_undone(void **arg)
{
	char path[256], cut[300];
	struct opening f;

	strcpy(path, scratch_path(*arg, "grown"));
	strcpy(cut, scratch_path(*arg, ".grown.stillpoint-cut-7"));
	store_file(path, "output", 6);
	opening_begin(&f, *arg, "undone");
	opening_file(&f, 2, CKPT_FILE_REG, path, O_RDWR);
	opening_track(&f, 2, path, ENGINE_TRACK_WRITES);
	store_file(path, "output and more", 15);
	opening_start(&f, "undone");
	opening_all(&f);
	assert_int_equal(reopen_put_back(&f.r), 0);
	assert_true(path_exists(cut));
	fd_content_is(opening_fd(&f, 2), 0, "output");
	reopen_undo(&f.r);
	fd_content_is(opening_fd(&f, 2), 0, "output and more");
	assert_false(path_exists(cut));
	opening_end(&f);
}

/* What is cut off has a place, too, if its name must be shorter than the file's. */
static void test_cut_long(void **arg)
{
	const char *root = ((const struct scratch *)*arg)->root;
	char name[241], path[600], cut[600];
	struct opening f;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	snprintf(path, sizeof(path), "%s/%s", root, name);
	name[NAME_MAX - strlen("..stillpoint-cut-7")] = 0;
	snprintf(cut, sizeof(cut), "%s/.%s.stillpoint-cut-7", root, name);
	store_file(path, "output", 6);
	opening_begin(&f, *arg, "long");
	opening_file(&f, 2, CKPT_FILE_REG, path, O_RDWR);
	opening_track(&f, 2, path, ENGINE_TRACK_WRITES);
	store_file(path, "output and more", 15);
	opening_start(&f, "long");
	opening_all(&f);
	if (reopen_put_back(&f.r))
		fail_msg("%s", f.error.text);
	fd_content_is(opening_fd(&f, 2), 0, "output");
	reopen_settle(&f.r);
	assert_true(path_exists(cut));
	opening_end(&f);
}

static void record_as_it_is(struct ckpt_rec_file *rec, const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	rec->ino = st.st_ino;
	rec->mode = st.st_mode;
	rec->uid = st.st_uid;
	rec->gid = st.st_gid;
}

/* In a directory that is not the owner's, only beside what the tree had. */
static void test_cut_closed(void **arg)
{
	uint64_t all = rights_permitted();
	char dir[256], path[300], cut[350];
	struct ckpt_rec_file *rec;
	struct opening f;

	if (getuid() || RIGHTS_FILES & ~all)
		skip();
	strcpy(dir, scratch_path(*arg, "closed"));
	snprintf(path, sizeof(path), "%s/log", dir);
	snprintf(cut, sizeof(cut), "%s/.log.stillpoint-cut-7", dir);
	assert_int_equal(mkdir(dir, 0755), 0);
	store_file(path, "output", 6);
	for (int same = 1; same >= 0; same--) {
		store_file(path, "output", 6);
		opening_begin(&f, *arg, same ? "same" : "other");
		rec = opening_file(&f, 2, CKPT_FILE_REG, path, O_RDWR);
		record_as_it_is(rec, path);
		rec->mode ^= !same;
		opening_track(&f, 2, path, ENGINE_TRACK_WRITES);
		store_file(path, "output and more", 15);
		assert_int_equal(chmod(dir, 0555), 0);
		opening_start(&f, same ? "same" : "other");
		assert_int_equal(rights_set(all, 0), 0);
		opening_all(&f);
		assert_int_equal(reopen_put_back(&f.r), same ? 0 : -EACCES);
		assert_int_equal(path_exists(cut), same);
		reopen_undo(&f.r);		/* in a closed directory, too */
		assert_int_equal(rights_set(all, all), 0);
		assert_false(path_exists(cut));
		opening_end(&f);
		assert_int_equal(chmod(dir, 0755), 0);
	}
}

/* A file of root's that has the copy's name, where the owner's link leads to by now. */
static void test_cut_elsewhere(void **arg)
{
	uint64_t all = rights_permitted();
	char dir[256], moved[256], other[256], path[300], cut[350];
	struct opening f;

	if (getuid() || RIGHTS_FILES & ~all)
		skip();
	strcpy(dir, scratch_path(*arg, "owners"));
	strcpy(moved, scratch_path(*arg, "moved"));
	strcpy(other, scratch_path(*arg, "other"));
	snprintf(path, sizeof(path), "%s/log", dir);
	snprintf(cut, sizeof(cut), "%s/.log.stillpoint-cut-7", dir);
	assert_int_equal(mkdir(dir, 0555) | mkdir(other, 0755), 0);
	store_file(path, "output", 6);
	opening_begin(&f, *arg, "elsewhere");
	record_as_it_is(opening_file(&f, 2, CKPT_FILE_REG, path, O_RDWR), path);
	opening_track(&f, 2, path, ENGINE_TRACK_WRITES);
	store_file(path, "output and more", 15);
	opening_start(&f, "elsewhere");
	assert_int_equal(rights_set(all, 0), 0);
	opening_all(&f);
	assert_int_equal(reopen_put_back(&f.r), 0);
	assert_true(path_exists(cut));
	assert_int_equal(rights_set(all, all), 0);
	assert_int_equal(rename(dir, moved) | symlink(other, dir), 0);
	store_file(cut, "root's", 6);
	assert_int_equal(seteuid(1001), 0);	/* root follows none but its own */
	reopen_undo(&f.r);
	assert_int_equal(seteuid(0), 0);
	assert_true(path_exists(cut));
	opening_end(&f);
}

static void test_carried_done(void **arg)
{
	struct opening f;
	char old[256], kept[300];

	strcpy(old, scratch_path(*arg, "d-old"));
	snprintf(kept, sizeof(kept), "%s", scratch_path(*arg, ".d-old.stillpoint-old-7"));
	store_file(old, "short", 5);
	opening_begin(&f, *arg, "carried-done");
	opening_file(&f, 2, CKPT_FILE_REG, old, O_RDONLY);
	opening_blob(&f, ENGINE_BLOB_FILE, 2, old, "longer than it is now", 1000, S_IFREG | 0644);
	opening_start(&f, "carried-done");
	opening_all(&f);
	assert_int_equal(reopen_put_back(&f.r), 0);
	reopen_close(&f.r);
	reopen_settle(&f.r);
	assert_false(path_exists(kept));
	opening_end(&f);
	opening_begin(&f, *arg, "look");
	opening_file(&f, 2, CKPT_FILE_REG, old, O_RDONLY);
	opening_start(&f, "look");
	opening_all(&f);
	fd_content_is(opening_fd(&f, 2), 0, "longer than it is now");
	opening_end(&f);
}

/* A file that the tree can write in place, kept by the dump: the newer content stays beside it. */
static void kept_again(const struct scratch *s, const char *name, enum engine_files files)
{
	char path[256];
	struct opening f;

	strcpy(path, scratch_path(s, "field"));
	store_file(path, "as of the freeze", 16);
	opening_begin(&f, s, name);
	opening_file(&f, 2, CKPT_FILE_REG, path, O_RDWR);
	opening_track(&f, 2, path, ENGINE_TRACK_WRITES | ENGINE_TRACK_KEPT);
	opening_blob(&f, ENGINE_BLOB_FILE, 2, path, "as of the freeze", 1000, S_IFREG | 0644);
	store_file(path, "what came later", 15);
	f.options.files = files;
	opening_start(&f, name);
	opening_all(&f);
	assert_int_equal(reopen_put_back(&f.r), 0);
	reopen_settle(&f.r);
	fd_content_is(opening_fd(&f, 2), 0, "as of the freeze");
	opening_end(&f);
}

static void test_kept(void **arg)
{
	char newer[300];
	size_t len;
	char *data;

	snprintf(newer, sizeof(newer), "%s", scratch_path(*arg, ".field.stillpoint-newer-7"));
	kept_again(*arg, "carry", ENGINE_FILES_CARRY);
	assert_false(path_exists(newer));
	kept_again(*arg, "keep", ENGINE_FILES_KEEP);
	data = load_file(newer, &len);
	assert_int_equal(len, 15);
	assert_memory_equal(data, "what came later", 15);
	free(data);
}

/* Another file has the name of a kept one, and a further name: that must not get old content. */
static void test_more_names(void **arg)
{
	char out[256], best[256], tmp[256], name[16];
	struct opening f;

	strcpy(out, scratch_path(*arg, "out"));
	strcpy(best, scratch_path(*arg, "best"));
	strcpy(tmp, scratch_path(*arg, "tmp"));
	for (unsigned int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "case-%u", i);
		unlink(best);
		store_file(out, "then", 4);
		opening_begin(&f, *arg, name);
		f.options.accept_changed = i == 1;
		opening_file(&f, 2, CKPT_FILE_REG, out, O_RDWR);
		opening_track(&f, 2, out, ENGINE_TRACK_WRITES | ENGINE_TRACK_KEPT);
		opening_blob(&f, ENGINE_BLOB_FILE, 2, out, "then", 1000, S_IFREG | 0644);
		store_file(tmp, "now", 3);
		if (i < 2)
			assert_int_equal(link(tmp, best), 0);
		assert_int_equal(rename(tmp, out), 0);
		opening_start(&f, name);
		assert_int_equal(reopen_check(&f.r) != 0, i == 0);
		assert_int_equal(f.error.nr_refusals, i == 0);
		if (!i)
			assert_int_equal(f.error.refusals[0].reason, CKPT_R_FILE_CHANGED);
		opening_end(&f);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_cut_undone), TEST(test_cut_long), TEST(test_cut_closed),
		TEST(test_cut_elsewhere),
		TEST(test_carried_done), TEST(test_kept),
		TEST(test_more_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
