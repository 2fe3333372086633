// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that were renamed, replaced or removed since the checkpoint: the recorded inode is
 * opened and gets its name back, all of that is undone after a failure, and no other inode is
 * written at an old position, whatever the caller accepts.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/files/path_map.h"
#include "tests/unit/reopen_fixture.h"

static char notes[1024];

static void take_note(const char *text, void *arg)
{
	(void)arg;
	snprintf(notes + strlen(notes), sizeof(notes) - strlen(notes), "%s\n", text);
}

static void file_is(const struct scratch *s, const char *name, const char *content)
{
	size_t len = 0;
	char *data;

	if (!content) {
		assert_false(path_exists(scratch_path(s, name)));
		return;
	}
	data = load_file(scratch_path(s, name), &len);
	if (len != strlen(content) || memcmp(data, content, len))
		fail_msg("%s: \"%.*s\", not \"%s\"", name, (int)len, data, content);
	free(data);
}

static void put(const struct scratch *s, const char *name, const char *content)
{
	store_file(scratch_path(s, name), content, strlen(content));
}

static void move(const struct scratch *s, const char *from, const char *to)
{
	assert_int_equal(rename(scratch_path(s, from), scratch_path(s, to)), 0);
}

/* A file with @content that the tree has open with @flags, as @id; then time passes. */
static void track(struct opening *f, const struct scratch *s, uint32_t id, const char *name,
		  const char *content, uint32_t flags)
{
	char path[256];

	strcpy(path, scratch_path(s, name));
	store_file(path, content, strlen(content));
	opening_file(f, id, CKPT_FILE_REG, path, flags)->pos = strlen(content);
	opening_track(f, id, path, (flags & O_ACCMODE) == O_RDONLY ? 0 : ENGINE_TRACK_WRITES);
	usleep(20000);
}

static void begin(struct opening *f, const struct scratch *s, const char *name)
{
	notes[0] = 0;
	opening_begin(f, s, name);
	f->options.note = take_note;
}

static void refused(struct opening *f, uint32_t reason, const char *text)
{
	assert_int_equal(reopen_check(&f->r), -EOPNOTSUPP);
	assert_int_equal(f->error.refusals[0].reason, reason);
	if (!strstr(f->error.refusals[0].detail, text))
		fail_msg("\"%s\" is not in: %s", text, f->error.refusals[0].detail);
}

/* ---------------------------------------------------------------- renamed */

/* Steps that write to a temporary name and rename: the crash came in a later step. */
static void test_renamed(void **arg)
{
	struct opening f;

	for (int accept = 0; accept < 2; accept++) {
		begin(&f, *arg, accept ? "renamed-accept" : "renamed");
		track(&f, *arg, 2, "out.tmp", "step 1 ", O_WRONLY);
		put(*arg, "out.tmp", "step 1 and its end");	/* in place */
		move(*arg, "out.tmp", "out.1");
		put(*arg, "out.tmp", "step 2 begins, at some length");
		f.options.accept_changed = accept;
		opening_start(&f, accept ? "renamed-accept" : "renamed");
		opening_all(&f);
		assert_non_null(strstr(notes, "out.1 by now, and gets its name back; the file"));
		file_is(*arg, "out.1", "step 1 and its end");	/* nothing has happened yet */
		assert_int_equal(reopen_put_back(&f.r), 0);
		file_is(*arg, "out.tmp", "step 1 ");
		file_is(*arg, "out.1", NULL);
		file_is(*arg, ".out.tmp.stillpoint-old-7", "step 2 begins, at some length");
		file_is(*arg, ".out.tmp.stillpoint-cut-7", "and its end");
		assert_int_equal(write(opening_fd(&f, 2), "again", 5), 5);
		file_is(*arg, "out.tmp", "step 1 again");
		assert_int_equal(pwrite(opening_fd(&f, 2), "and i", 5, 7), 5);
		reopen_undo(&f.r);
		file_is(*arg, "out.1", "step 1 and its end");
		file_is(*arg, "out.tmp", "step 2 begins, at some length");
		file_is(*arg, ".out.tmp.stillpoint-old-7", NULL);
		file_is(*arg, ".out.tmp.stillpoint-cut-7", NULL);
		opening_end(&f);
	}
}

/* The same, when nothing has the recorded name; the new one is in a directory beside it. */
static void test_renamed_away(void **arg)
{
	struct opening f;

	assert_int_equal(mkdir(scratch_path(*arg, "work"), 0700), 0);
	assert_int_equal(mkdir(scratch_path(*arg, "done"), 0700), 0);
	begin(&f, *arg, "away");
	track(&f, *arg, 2, "work/out", "output", O_RDWR);
	move(*arg, "work/out", "done/out");
	opening_start(&f, "away");
	opening_all(&f);
	assert_non_null(strstr(notes, "done/out by now, and gets its name back"));
	assert_int_equal(reopen_put_back(&f.r), 0);
	reopen_settle(&f.r);
	file_is(*arg, "work/out", "output");
	file_is(*arg, "done/out", NULL);
	fd_content_is(opening_fd(&f, 2), 0, "output");
	opening_end(&f);
}

/* Two files have each other's names, and a third was rotated onto one of them. */
static void test_swapped(void **arg)
{
	struct opening f;

	begin(&f, *arg, "swapped");
	track(&f, *arg, 2, "a", "of a", O_RDWR);
	track(&f, *arg, 3, "b", "of b", O_RDWR);
	track(&f, *arg, 4, "c", "of c", O_RDWR);
	move(*arg, "a", "x");
	move(*arg, "b", "a");
	move(*arg, "c", "b");
	move(*arg, "x", "c");
	opening_start(&f, "swapped");
	opening_all(&f);
	assert_int_equal(reopen_put_back(&f.r), 0);
	file_is(*arg, "a", "of a");
	file_is(*arg, "b", "of b");
	file_is(*arg, "c", "of c");
	reopen_undo(&f.r);
	file_is(*arg, "a", "of b");
	file_is(*arg, "b", "of c");
	file_is(*arg, "c", "of a");
	opening_end(&f);
	file_is(*arg, ".a.stillpoint-name-7", NULL);
	file_is(*arg, ".a.stillpoint-old-7", NULL);
}

/* Read only: it is read on under its new name, and another file keeps the old one. */
static void test_renamed_input(void **arg)
{
	struct opening f;

	begin(&f, *arg, "input");
	track(&f, *arg, 2, "log", "to be read", O_RDONLY);
	track(&f, *arg, 3, "in", "to be used", O_RDONLY);
	move(*arg, "log", "log.1");
	put(*arg, "log", "another");
	move(*arg, "in", "in.used");
	opening_start(&f, "input");
	opening_all(&f);
	assert_int_equal(reopen_put_back(&f.r), 0);
	fd_content_is(opening_fd(&f, 2), 0, "to be read");
	fd_content_is(opening_fd(&f, 3), 0, "to be used");
	file_is(*arg, "log", "another");
	file_is(*arg, "log.1", "to be read");
	file_is(*arg, "in", "to be used");
	file_is(*arg, "in.used", NULL);
	assert_non_null(strstr(notes, "log.1 by now, and is used there"));
	opening_end(&f);
}

/* A name was given up: it comes back as a further one. One more than there was: refused. */
static void test_names(void **arg)
{
	char a[256], b[256];
	struct opening f;

	strcpy(a, scratch_path(*arg, "a"));
	strcpy(b, scratch_path(*arg, "b"));
	put(*arg, "a", "");
	assert_int_equal(link(a, b), 0);
	begin(&f, *arg, "names");
	track(&f, *arg, 2, "a", "of two names", O_RDWR);
	assert_int_equal(unlink(a), 0);
	opening_start(&f, "names");
	opening_all(&f);
	assert_int_equal(reopen_put_back(&f.r), 0);
	file_is(*arg, "a", "of two names");
	file_is(*arg, "b", "of two names");
	reopen_undo(&f.r);
	file_is(*arg, "a", NULL);
	opening_end(&f);

	begin(&f, *arg, "more-names");
	track(&f, *arg, 2, "out", "of one name", O_RDWR);
	move(*arg, "out", "out.1");
	assert_int_equal(link(scratch_path(*arg, "out.1"), scratch_path(*arg, "out.2")), 0);
	f.options.accept_changed = true;
	opening_start(&f, "more-names");
	refused(&f, CKPT_R_FILE_CHANGED, "it has more names than it had");
	assert_non_null(strstr(f.error.refusals[0].detail, "/out: it is /"));
	opening_end(&f);
}

/* ---------------------------------------------------------------- others */

/* What is said when "out" (@content, written with @flags) was removed, and @other has its name. */
static uint32_t judge(const struct scratch *s, const char *content, uint32_t flags,
		      const char *other, bool accept)
{
	uint32_t reason = CKPT_R_NONE;
	struct opening f;

	begin(&f, s, "judge");
	track(&f, s, 2, "out", content, flags);
	f.options.accept_changed = accept;
	assert_int_equal(unlink(scratch_path(s, "out")), 0);
	put(s, "out", other);		/* most file systems give it the same number */
	opening_start(&f, "judge");
	if (reopen_check(&f.r))
		reason = f.error.refusals[0].reason;
	else if (reopen_all(&f.r) || reopen_put_back(&f.r))
		fail_msg("%s", f.error.text);
	if (!reason)
		reopen_settle(&f.r);
	opening_end(&f);
	remove_image(scratch_path(s, "judge"));
	return reason;
}

static void test_other(void **arg)
{
	const struct scratch *s = *arg;

	assert_int_equal(judge(s, "output", O_WRONLY, "OUTPUT", false), CKPT_R_FILE_CHANGED);
	assert_int_equal(judge(s, "output", O_WRONLY, "OUTPUT", true), CKPT_R_FILE_CHANGED);
	assert_int_equal(judge(s, "output", O_WRONLY, "", true), CKPT_R_FILE_CHANGED);
	assert_int_equal(judge(s, "output", O_WRONLY, "OUTPUT and more", true),
			 CKPT_R_FILE_CHANGED);
	/* a copy of all that was there is as good */
	assert_int_equal(judge(s, "output", O_WRONLY, "output", false), CKPT_R_NONE);
	assert_int_equal(judge(s, "output", O_WRONLY, "output and more", false), CKPT_R_NONE);
	file_is(s, "out", "output");
	/* at the end of another file, if that is accepted */
	assert_int_equal(judge(s, "log", O_WRONLY | O_APPEND, "new", false),
			 CKPT_R_FILE_CHANGED);
	assert_int_equal(judge(s, "log", O_WRONLY | O_APPEND, "new", true), CKPT_R_NONE);
	file_is(s, "out", "new");
	/* nothing was written yet: what is there now is kept, if that is accepted */
	assert_int_equal(judge(s, "", O_WRONLY, "", false), CKPT_R_NONE);
	assert_int_equal(judge(s, "", O_WRONLY, "new", false), CKPT_R_FILE_CHANGED);
	assert_int_equal(judge(s, "", O_WRONLY, "new", true), CKPT_R_NONE);
	file_is(s, "out", "");
	file_is(s, ".out.stillpoint-cut-7.1", "new");
}

/* Another inode with the recorded end, of which the mark covers no more. */
static void test_other_end(void **arg)
{
	const size_t len = 2 * 65536;
	char *data = calloc(1, len), path[256];
	struct opening f;

	strcpy(path, scratch_path(*arg, "zeros"));
	for (int same = 0; same < 2; same++) {
		begin(&f, *arg, same ? "end-same" : "end-other");
		store_file(path, data, len);
		opening_file(&f, 2, CKPT_FILE_REG, path, O_RDWR);
		opening_track(&f, 2, path, ENGINE_TRACK_WRITES);
		usleep(20000);
		if (!same) {
			assert_int_equal(unlink(path), 0);
			store_file(path, data, len);
		}
		opening_start(&f, same ? "end-same" : "end-other");
		f.options.accept_changed = true;
		if (same)
			assert_int_equal(reopen_check(&f.r), 0);
		else
			refused(&f, CKPT_R_FILE_CHANGED, "another file has its name");
		opening_end(&f);
	}
	free(data);
}

/* Gone without a trace: made anew if nothing was in it, or if it was only appended to. */
static void test_gone(void **arg)
{
	struct opening f;
	struct stat st;

	begin(&f, *arg, "gone");
	track(&f, *arg, 2, "new", "", O_WRONLY);
	assert_int_equal(unlink(scratch_path(*arg, "new")), 0);
	opening_start(&f, "gone");
	opening_all(&f);
	assert_int_equal(reopen_seal(&f.r), 0);
	assert_int_equal(fstat(opening_fd(&f, 2), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	reopen_undo(&f.r);
	file_is(*arg, "new", NULL);
	opening_end(&f);

	for (int accept = 0; accept < 2; accept++) {
		begin(&f, *arg, accept ? "log-accept" : "log-refuse");
		track(&f, *arg, 2, "log", "of old", O_WRONLY | O_APPEND);
		assert_int_equal(unlink(scratch_path(*arg, "log")), 0);
		f.options.accept_changed = accept;
		opening_start(&f, accept ? "log-accept" : "log-refuse");
		if (accept)
			opening_all(&f);
		else
			refused(&f, CKPT_R_FILE_MISSING, "--accept-changed begins a new one");
		file_is(*arg, "log", accept ? "" : NULL);
		opening_end(&f);
	}
	begin(&f, *arg, "content");
	track(&f, *arg, 2, "data", "that cannot be made", O_RDWR);
	assert_int_equal(unlink(scratch_path(*arg, "data")), 0);
	f.options.accept_changed = true;
	opening_start(&f, "content");
	refused(&f, CKPT_R_FILE_MISSING, "data");
	opening_end(&f);
}

/* ---------------------------------------------------------------- mapped */

static struct path_map *map_of(struct opening *f, const char *old, const char *new)
{
	struct path_map *map = path_map_create();

	if (path_map_add(map, old, new, &f->error) ||
	    path_map_apply(map, f->state, NULL, &f->error))
		fail_msg("%s", f->error.text);
	return map;
}

static void test_mapped(void **arg)
{
	static const struct {
		const char *content;
		bool fits;
	} cases[] = { { "output", true }, { "output and more", true }, { "OUTPUT", false } };
	char old[256], new[256], name[16];
	struct path_map *map;
	struct opening f;

	strcpy(old, scratch_path(*arg, "alloc-1"));
	strcpy(new, scratch_path(*arg, "alloc-2"));
	assert_int_equal(mkdir(old, 0700) | mkdir(new, 0700), 0);
	for (unsigned int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "mapped-%u", i);
		begin(&f, *arg, name);
		track(&f, *arg, 2, "alloc-1/out", "output", O_RDWR);
		opening_file(&f, 3, CKPT_FILE_DIR, old, 0)->flags = 0;
		assert_int_equal(unlink(scratch_path(*arg, "alloc-1/out")), 0);
		put(*arg, "alloc-2/out", cases[i].content);
		f.options.accept_changed = true;
		opening_start(&f, name);
		map = map_of(&f, old, new);
		if (cases[i].fits) {
			opening_all(&f);
			assert_int_equal(reopen_put_back(&f.r), 0);
			reopen_settle(&f.r);
			file_is(*arg, "alloc-2/out", "output");
		} else {
			refused(&f, CKPT_R_FILE_CHANGED, "alloc-2/out");
		}
		opening_end(&f);
		path_map_destroy(map);
	}
}

static void test_left_out(void **arg)
{
	struct path_map *map;
	struct opening f;
	char old[256];

	strcpy(old, scratch_path(*arg, "used"));
	for (int locked = 0; locked < 2; locked++) {
		begin(&f, *arg, locked ? "left-locked" : "left");
		track(&f, *arg, 2, "used", "input", O_RDONLY);
		if (locked)
			stream_lock(&f.stream, 2, 0)->type = F_RDLCK;
		assert_int_equal(unlink(old), 0);
		opening_start(&f, locked ? "left-locked" : "left");
		map = map_of(&f, old, "/dev/null");
		if (locked) {
			refused(&f, CKPT_R_FILE_MISSING, "it is locked");
		} else {
			opening_all(&f);
			fd_content_is(opening_fd(&f, 2), 0, "");
		}
		opening_end(&f);
		path_map_destroy(map);
	}
}

/* A directory that moved, with a symbolic link in its place: a dry run says what is so. */
static void test_linked_directory(void **arg)
{
	char old[256], new[256];
	struct opening f;
	struct stat st, want;

	strcpy(old, scratch_path(*arg, "home"));
	strcpy(new, scratch_path(*arg, "moved"));
	assert_int_equal(mkdir(new, 0700) | symlink(new, old), 0);
	begin(&f, *arg, "linked");
	opening_file(&f, 2, CKPT_FILE_DIR, old, 0)->flags = 0;
	opening_start(&f, "linked");
	opening_all(&f);
	assert_int_equal(fstat(opening_fd(&f, 2), &st) | stat(new, &want), 0);
	assert_int_equal(st.st_ino, want.st_ino);
	opening_end(&f);

	assert_int_equal(unlink(old), 0);
	put(*arg, "home", "a file");
	begin(&f, *arg, "no-directory");
	opening_file(&f, 2, CKPT_FILE_DIR, old, 0)->flags = 0;
	opening_start(&f, "no-directory");
	refused(&f, CKPT_R_FILE_MISSING, "Not a directory");
	opening_end(&f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_renamed), TEST(test_renamed_away), TEST(test_swapped),
		TEST(test_renamed_input), TEST(test_names),
		TEST(test_other), TEST(test_other_end), TEST(test_gone),
		TEST(test_mapped), TEST(test_left_out), TEST(test_linked_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
