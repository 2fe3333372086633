// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that the tree had changed and closed before the dump: the restart gives their names the
 * recorded content, keeps newer files beside them, refuses what it cannot give, and takes
 * everything back if it fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/core/file_identity.h"
#include "tests/unit/reopen_fixture.h"

static void closed_content_is(const char *path, const char *text)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY);

	if (fd < 0)
		fail_msg("%s is not there", path);
	fd_content_is(fd, 0, text);
}

/* A record of @path as it is now; with KEPT its content is stored. */
static void closed_record(struct opening *f, const char *path, uint32_t flags)
{
	struct engine_rec_closed *rec;
	struct stat st = { 0 };
	char buf[256];
	_cleanup_fd_ int fd = open(path, O_RDONLY);

	if (fd >= 0)
		assert_int_equal(fstat(fd, &st), 0);
	rec = stream_add(&f->stream, ENGINE_REC_CLOSED, sizeof(*rec), path, strlen(path) + 1);
	rec->flags = flags;
	rec->size = (uint64_t)st.st_size;
	rec->dev = st.st_dev;
	rec->ino = st.st_ino;
	rec->mode = st.st_mode;
	rec->uid = st.st_uid;
	rec->gid = st.st_gid;
	rec->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000ULL + (uint64_t)st.st_mtim.tv_nsec;
	rec->path_len = (uint32_t)strlen(path) + 1;
	if (flags == ENGINE_CLOSED_GROWS) {
		rec->tail_len = (uint32_t)st.st_size;
		assert_int_equal(file_identity_tail(fd, 0, rec->tail_len, rec->tail_hash), 0);
	}
	if (flags != ENGINE_CLOSED_KEPT)
		return;
	rec->blob = ++f->last_blob;
	assert_int_equal(pread(fd, buf, sizeof(buf), 0), st.st_size);
	assert_int_equal(image_blob_begin(f->img, rec->blob), 0);
	assert_int_equal(image_blob_append(f->img, 0, buf, (size_t)st.st_size), 0);
	assert_int_equal(image_blob_end(f->img, rec->size), 0);
}

static void closed_put(struct opening *f, const char *name)
{
	opening_start(f, name);
	opening_all(f);
	if (reopen_put_back(&f->r))
		fail_msg("%s", f->error.text);
}

/* Rewritten, replaced, removed: each name has its content, the newer one stays beside. */
static void test_kept(void **arg)
{
	char a[256], b[256], c[256], beside[300];
	struct opening f;
	struct stat st, before;

	strcpy(a, scratch_path(*arg, "rewritten"));
	strcpy(b, scratch_path(*arg, "replaced"));
	strcpy(c, scratch_path(*arg, "removed"));
	strcpy(beside, scratch_path(*arg, ".replaced.stillpoint-newer-7"));
	store_file(a, "first", 5);
	store_file(b, "second", 6);
	store_file(c, "third", 5);
	assert_int_equal(chmod(c, 0640), 0);
	assert_int_equal(stat(c, &before), 0);
	opening_begin(&f, *arg, "kept");
	closed_record(&f, a, ENGINE_CLOSED_KEPT);
	closed_record(&f, b, ENGINE_CLOSED_KEPT);
	closed_record(&f, c, ENGINE_CLOSED_KEPT);
	store_file(a, "FIRST", 5);
	store_file(scratch_path(*arg, "between"), "SECOND", 6);
	assert_int_equal(rename(scratch_path(*arg, "between"), b) | unlink(c), 0);
	closed_put(&f, "kept");
	reopen_settle(&f.r);
	opening_end(&f);
	closed_content_is(a, "first");
	closed_content_is(b, "second");
	closed_content_is(c, "third");
	closed_content_is(beside, "SECOND");
	closed_content_is(scratch_path(*arg, ".rewritten.stillpoint-newer-7"), "FIRST");
	assert_int_equal(stat(c, &st), 0);
	assert_int_equal(st.st_mode, before.st_mode);
	assert_int_equal(st.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

/* A file that is as it was is left alone: it stays the same inode. */
static void test_unchanged(void **arg)
{
	struct stat before, after;
	struct opening f;
	char path[256];

	strcpy(path, scratch_path(*arg, "same"));
	store_file(path, "same", 4);
	assert_int_equal(stat(path, &before), 0);
	opening_begin(&f, *arg, "unchanged");
	closed_record(&f, path, ENGINE_CLOSED_KEPT);
	closed_put(&f, "unchanged");
	opening_end(&f);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_false(path_exists(scratch_path(*arg, ".same.stillpoint-newer-7")));
}

/* Names of one inode become that again; a name that nothing had is free again. */
static void test_names(void **arg)
{
	char a[256], b[256], gone[256];
	struct stat x, y;
	struct opening f;

	strcpy(a, scratch_path(*arg, "one"));
	strcpy(b, scratch_path(*arg, "two"));
	strcpy(gone, scratch_path(*arg, "gone"));
	store_file(a, "both", 4);
	assert_int_equal(link(a, b), 0);
	opening_begin(&f, *arg, "names");
	closed_record(&f, a, ENGINE_CLOSED_KEPT);
	closed_record(&f, b, ENGINE_CLOSED_KEPT);
	closed_record(&f, gone, ENGINE_CLOSED_ABSENT);
	assert_int_equal(unlink(b), 0);
	store_file(b, "other", 5);
	store_file(gone, "later", 5);
	closed_put(&f, "names");
	opening_end(&f);
	assert_int_equal(stat(a, &x) | stat(b, &y), 0);
	assert_int_equal(x.st_ino, y.st_ino);
	closed_content_is(b, "both");
	assert_false(path_exists(gone));
	closed_content_is(scratch_path(*arg, ".gone.stillpoint-newer-7"), "later");
	closed_content_is(scratch_path(*arg, ".two.stillpoint-newer-7"), "other");
}

/* One more name of a file that the tree has open. */
static void test_name_of_open(void **arg)
{
	char a[256], b[256], later[256];
	struct engine_rec_closed *rec;
	struct stat x, y;
	struct opening f;

	strcpy(later, scratch_path(*arg, "later"));
	strcpy(a, scratch_path(*arg, "open"));
	strcpy(b, scratch_path(*arg, "name"));
	store_file(a, "open", 4);
	opening_begin(&f, *arg, "open-name");
	opening_file(&f, 2, CKPT_FILE_REG, a, O_RDWR);
	opening_track(&f, 2, a, ENGINE_TRACK_WRITES);
	rec = stream_add(&f.stream, ENGINE_REC_CLOSED, sizeof(*rec), b, strlen(b) + 1);
	rec->flags = ENGINE_CLOSED_OPEN;
	rec->file_id = 2;
	rec->path_len = (uint32_t)strlen(b) + 1;
	closed_record(&f, later, ENGINE_CLOSED_ABSENT);
	store_file(b, "another", 7);
	assert_int_equal(link(a, later), 0);
	closed_put(&f, "open-name");
	reopen_settle(&f.r);
	opening_end(&f);
	/* a name that the file got later has no content of its own to be kept */
	assert_false(path_exists(later));
	assert_false(path_exists(scratch_path(*arg, ".later.stillpoint-newer-7")));
	closed_content_is(scratch_path(*arg, ".name.stillpoint-newer-7"), "another");
	assert_int_equal(stat(a, &x) | stat(b, &y), 0);
	assert_int_equal(x.st_ino, y.st_ino);
}

/*
 * A file that the tree only reads has moved to a name that nothing had, and another file has its
 * own name: the tree reads on, and the file does not lose its last name.
 */
static void test_last_name(void **arg)
{
	char in[256], done[256];
	struct opening f;

	strcpy(in, scratch_path(*arg, "in"));
	strcpy(done, scratch_path(*arg, "done"));
	store_file(in, "input", 5);
	opening_begin(&f, *arg, "last-name");
	opening_file(&f, 2, CKPT_FILE_REG, in, O_RDONLY);
	opening_track(&f, 2, in, 0);
	closed_record(&f, done, ENGINE_CLOSED_ABSENT);
	assert_int_equal(rename(in, done), 0);
	store_file(in, "next", 4);
	closed_put(&f, "last-name");
	reopen_settle(&f.r);
	opening_end(&f);
	assert_false(path_exists(done));
	closed_content_is(in, "next");
	closed_content_is(scratch_path(*arg, ".done.stillpoint-newer-7"), "input");
}

/* A restart that fails leaves the files as they were, also in a directory that it made. */
static void test_undone(void **arg)
{
	char a[256], gone[256], dir[256], below[300];
	struct opening f;

	strcpy(a, scratch_path(*arg, "file"));
	strcpy(gone, scratch_path(*arg, "gone"));
	strcpy(dir, scratch_path(*arg, "dir"));
	snprintf(below, sizeof(below), "%s/below", dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	store_file(a, "then", 4);
	store_file(below, "below", 5);
	opening_begin(&f, *arg, "undone");
	closed_record(&f, a, ENGINE_CLOSED_KEPT);
	closed_record(&f, gone, ENGINE_CLOSED_ABSENT);
	closed_record(&f, below, ENGINE_CLOSED_KEPT);
	store_file(a, "now", 3);
	store_file(gone, "now", 3);
	assert_int_equal(unlink(below) | rmdir(dir), 0);
	closed_put(&f, "undone");
	closed_content_is(a, "then");
	closed_content_is(below, "below");
	reopen_undo(&f.r);
	opening_end(&f);
	closed_content_is(a, "now");
	closed_content_is(gone, "now");
	assert_false(path_exists(dir));
	assert_false(path_exists(scratch_path(*arg, ".file.stillpoint-newer-7")));
}

/* --files carry gives newer content up; ignore leaves all as it is. */
static void test_ways(void **arg)
{
	static const enum engine_files ways[] = { ENGINE_FILES_CARRY, ENGINE_FILES_IGNORE };
	char path[256];
	struct opening f;

	strcpy(path, scratch_path(*arg, "ways"));
	for (unsigned int i = 0; i < 2; i++) {
		store_file(path, "then", 4);
		opening_begin(&f, *arg, i ? "ignore" : "carry");
		f.options.files = ways[i];
		closed_record(&f, path, ENGINE_CLOSED_KEPT);
		store_file(path, "now", 3);
		closed_put(&f, i ? "ignore" : "carry");
		reopen_settle(&f.r);
		opening_end(&f);
		closed_content_is(path, i ? "now" : "then");
		assert_false(path_exists(scratch_path(*arg, ".ways.stillpoint-newer-7")));
	}
}

static int closed_verdict(struct opening *f, const char *name, uint32_t *ret_reason)
{
	int ret;

	opening_start(f, name);
	ret = reopen_check(&f->r);
	*ret_reason = f->error.nr_refusals ? f->error.refusals[0].reason : 0;
	opening_end(f);
	return ret;
}

/* A watched file must have its size and time; what only grew is cut. */
static void test_not_kept(void **arg)
{
	static const struct {
		uint32_t flags;
		const char *now;	/* NULL: gone */
		bool accept;
		uint32_t reason;
	} cases[] = {
		{ ENGINE_CLOSED_WATCHED, "THEN", false, CKPT_R_FILE_CHANGED },
		{ ENGINE_CLOSED_WATCHED, NULL, false, 0 },
		{ ENGINE_CLOSED_WATCHED, "THEN", true, 0 },
		{ ENGINE_CLOSED_WATCHED, NULL, true, 0 },
		{ ENGINE_CLOSED_GROWS, "then and more", false, 0 },
		{ ENGINE_CLOSED_GROWS, "the", false, CKPT_R_FILE_CHANGED },
		{ ENGINE_CLOSED_GROWS, "THEN and more", false, CKPT_R_FILE_CHANGED },
		{ ENGINE_CLOSED_GROWS, NULL, false, CKPT_R_FILE_MISSING },
	};
	char path[256], name[16];
	struct opening f;

	strcpy(path, scratch_path(*arg, "file"));
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
		uint32_t reason;
		int ret;

		snprintf(name, sizeof(name), "case-%u", i);
		store_file(path, "then", 4);
		assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
		opening_begin(&f, *arg, name);
		f.options.accept_changed = cases[i].accept;
		closed_record(&f, path, cases[i].flags);
		if (cases[i].now)
			store_file(path, cases[i].now, strlen(cases[i].now));
		else
			assert_int_equal(unlink(path), 0);
		ret = closed_verdict(&f, name, &reason);
		if (reason != cases[i].reason || (ret != 0) != (reason != 0))
			fail_msg("case %u: %d, reason %u", i, ret, reason);
	}
}

/* A record of a symbolic link that leads to @target. */
static void closed_record_link(struct opening *f, const char *path, const char *target)
{
	char text[512];
	size_t len = (size_t)snprintf(text, sizeof(text), "%s%c%s", path, 0, target) + 1;
	struct engine_rec_closed *rec;

	rec = stream_add(&f->stream, ENGINE_REC_CLOSED, sizeof(*rec), text, len);
	rec->flags = ENGINE_CLOSED_LINK;
	rec->size = strlen(target);
	rec->path_len = (uint32_t)strlen(path) + 1;
}

static void link_leads(const char *path, const char *target)
{
	char buf[256] = "";

	if (readlink(path, buf, sizeof(buf) - 1) < 0)
		fail_msg("%s: %s", path, strerror(errno));
	assert_string_equal(buf, target);
}

/* A symbolic link leads where it led: changed, removed, a file in its place, unchanged. */
static void test_links(void **arg)
{
	char changed[256], removed[256], file[256], same[256];
	struct stat before, after;
	struct opening f;

	strcpy(changed, scratch_path(*arg, "changed"));
	strcpy(removed, scratch_path(*arg, "removed"));
	strcpy(file, scratch_path(*arg, "file"));
	strcpy(same, scratch_path(*arg, "same"));
	for (unsigned int undo = 0; undo < 2; undo++) {
		opening_begin(&f, *arg, undo ? "undone" : "links");
		closed_record_link(&f, changed, "then");
		closed_record_link(&f, removed, "then");
		closed_record_link(&f, file, "then");
		closed_record_link(&f, same, "then");
		unlink(changed);
		unlink(removed);
		unlink(file);
		unlink(same);
		assert_int_equal(symlink("now", changed) | symlink("then", same), 0);
		store_file(file, "now", 3);
		assert_int_equal(lstat(same, &before), 0);
		closed_put(&f, undo ? "undone" : "links");
		link_leads(changed, "then");
		link_leads(removed, "then");
		link_leads(file, "then");
		if (undo)
			reopen_undo(&f.r);
		else
			reopen_settle(&f.r);
		opening_end(&f);
		assert_int_equal(lstat(same, &after), 0);
		assert_int_equal(before.st_ino, after.st_ino);
	}
	link_leads(changed, "now");
	closed_content_is(file, "now");
	assert_false(path_exists(removed));
	link_leads(scratch_path(*arg, ".changed.stillpoint-newer-7"), "now");
	closed_content_is(scratch_path(*arg, ".file.stillpoint-newer-7"), "now");
}

static void test_grown(void **arg)
{
	struct opening f;
	char path[256];

	strcpy(path, scratch_path(*arg, "log"));
	store_file(path, "then", 4);
	opening_begin(&f, *arg, "grown");
	closed_record(&f, path, ENGINE_CLOSED_GROWS);
	store_file(path, "then and more", 13);
	closed_put(&f, "grown");
	reopen_settle(&f.r);
	opening_end(&f);
	closed_content_is(path, "then");
	closed_content_is(scratch_path(*arg, ".log.stillpoint-cut-7"), " and more");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_kept), TEST(test_unchanged), TEST(test_names), TEST(test_name_of_open),
		TEST(test_last_name),
		TEST(test_undone), TEST(test_ways), TEST(test_not_kept), TEST(test_grown),
		TEST(test_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
