// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that the tree first changed after the dump: the restart is refused unless they are what
 * they were before, names that nothing had are free again, and what is not known is told.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/core/file_identity.h"
#include "engine/core/kdev.h"
#include "engine/core/write_journal.h"
#include "engine/core/write_log.h"
#include "tests/unit/reopen_fixture.h"

static char notes[4096];

static void since_note(const char *text, void *arg)
{
	(void)arg;
	strncat(notes, text, sizeof(notes) - strlen(notes) - 2);
	strcat(notes, "\n");
}

/* The name as the log has it, with what is there now as its state before. */
static struct write_log_name since_name(const char *path, uint32_t flags)
{
	struct write_log_name name = { .path = path, .flags = flags };
	struct stat st;

	if (!lstat(path, &st)) {
		name.ino = st.st_ino;
		name.bytes = (uint64_t)st.st_size;
		name.mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000ULL +
				(uint64_t)st.st_mtim.tv_nsec;
	}
	return name;
}

static void since_begin(struct opening *f, const struct scratch *s, const char *name,
			const struct write_since *since)
{
	struct engine_rec_writes *rec;

	opening_begin(f, s, name);
	rec = stream_add(&f->stream, ENGINE_REC_WRITES | CKPT_REC_OPTIONAL, sizeof(*rec), NULL, 0);
	rec->flags = ENGINE_WRITES_KNOWN | ENGINE_WRITES_COMPLETE;
	f->options.since = since;
	f->options.note = since_note;
	notes[0] = 0;
}

static uint32_t since_verdict(struct opening *f, const char *name)
{
	uint32_t reason;
	int ret;

	opening_start(f, name);
	ret = reopen_check(&f->r);
	reason = f->error.nr_refusals ? f->error.refusals[0].reason : 0;
	assert_int_equal(ret != 0, reason != 0);
	opening_end(f);
	return reason;
}

static void since_put(struct opening *f, const char *name)
{
	opening_start(f, name);
	opening_all(f);
	if (reopen_put_back(&f->r))
		fail_msg("%s", f->error.text);
}

/* A file that was there must be what it was before the tree changed it. */
static void test_existed(void **arg)
{
	static const struct {
		uint32_t flags;
		const char *now;	/* NULL: gone; "": as it was, with its time */
		bool accept, ignore;
		uint32_t reason;
	} cases[] = {
		{ CKPT_WRITE_STATE, "", false, false, 0 },
		{ CKPT_WRITE_STATE, "THEN", false, false, CKPT_R_FILE_CHANGED },
		{ CKPT_WRITE_STATE, "longer", false, false, CKPT_R_FILE_CHANGED },
		{ CKPT_WRITE_STATE, NULL, false, false, CKPT_R_FILE_MISSING },
		{ CKPT_WRITE_STATE, "THEN", true, false, 0 },
		{ CKPT_WRITE_STATE, NULL, true, false, 0 },
		{ CKPT_WRITE_STATE, "THEN", false, true, 0 },
		/* it was cut before anybody could look */
		{ 0, "", false, false, CKPT_R_FILE_CHANGED },
		{ 0, "", true, false, 0 },
	};
	struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	char path[256], name[16];

	strcpy(path, scratch_path(*arg, "file"));
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct write_log_name then;
		const struct write_since since = { &then, 1, .known = true, .ended = true };
		struct opening f;
		uint32_t reason;

		snprintf(name, sizeof(name), "case-%u", i);
		store_file(path, "then", 4);
		assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
		then = since_name(path, CKPT_WRITE_EXISTED | cases[i].flags);
		since_begin(&f, *arg, name, &since);
		f.options.accept_changed = cases[i].accept;
		if (cases[i].ignore)
			f.options.files = ENGINE_FILES_IGNORE;
		assert_int_equal(unlink(path), 0);
		if (cases[i].now) {
			/* put back by somebody: another inode */
			store_file(path, cases[i].now[0] ? cases[i].now : "then",
				   cases[i].now[0] ? strlen(cases[i].now) : 4);
			if (!cases[i].now[0])
				assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
		}
		reason = since_verdict(&f, name);
		if (reason != cases[i].reason)
			fail_msg("case %u: reason %u", i, reason);
		assert_int_equal(notes[0], 0);
	}
}

/*
 * A directory that was renamed is missed, and another one under its name is as bad; one that was
 * removed is made anew.
 */
static void test_directory(void **arg)
{
	char path[256], away[256];
	struct write_log_name names[2];
	struct write_since since = { names, 2, .known = true, .ended = true };
	struct opening f;
	struct stat st;

	strcpy(path, scratch_path(*arg, "dir"));
	strcpy(away, scratch_path(*arg, "away"));
	assert_int_equal(mkdir(path, 0755), 0);
	names[0] = since_name(path, CKPT_WRITE_EXISTED | CKPT_WRITE_STATE | CKPT_WRITE_DIR |
			      CKPT_WRITE_GONE);
	names[1] = (struct write_log_name){ .path = away,
					    .flags = CKPT_WRITE_DIR | CKPT_WRITE_RENAMED };
	since_begin(&f, *arg, "back", &since);
	assert_int_equal(since_verdict(&f, "back"), 0);
	assert_int_equal(rename(path, away), 0);
	since_begin(&f, *arg, "gone", &since);
	assert_int_equal(since_verdict(&f, "gone"), CKPT_R_FILE_MISSING);
	assert_int_equal(mkdir(path, 0700), 0);
	since_begin(&f, *arg, "other", &since);
	assert_int_equal(since_verdict(&f, "other"), CKPT_R_FILE_CHANGED);

	assert_int_equal(rmdir(path), 0);
	since.nr = 1;
	since_begin(&f, *arg, "removed", &since);
	assert_int_equal(since_verdict(&f, "removed"), 0);
	assert_int_equal(stat(path, &st), -1);
	since_begin(&f, *arg, "anew", &since);
	since_put(&f, "anew");
	opening_end(&f);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	since.lost = true;
	assert_int_equal(rmdir(path), 0);
	since_begin(&f, *arg, "unknown", &since);
	assert_int_equal(since_verdict(&f, "unknown"), CKPT_R_FILE_MISSING);
}

/* Names that nothing had are free again; of a new directory everything goes with it. */
static void test_made(void **arg)
{
	struct write_log_name names[5];
	const struct write_since since = { names, 5, .known = true, .ended = true };
	char dir[256], below[300], made[256], open_file[256], later[256];
	struct opening f;

	strcpy(dir, scratch_path(*arg, "dir"));
	snprintf(below, sizeof(below), "%s/below", dir);
	strcpy(made, scratch_path(*arg, "made"));
	strcpy(open_file, scratch_path(*arg, "open"));
	strcpy(later, scratch_path(*arg, ".made.stillpoint-newer-3"));
	store_file(open_file, "open", 4);
	store_file(later, "ours", 4);
	assert_int_equal(mkdir(dir, 0700), 0);
	store_file(below, "below", 5);
	store_file(made, "made", 4);
	names[0] = since_name(later, CKPT_WRITE_RENAMED);
	names[1] = since_name(dir, CKPT_WRITE_CREATED | CKPT_WRITE_DIR);
	names[2] = since_name(below, CKPT_WRITE_CREATED | CKPT_WRITE_CLOSED);
	names[3] = since_name(made, CKPT_WRITE_CREATED | CKPT_WRITE_CLOSED);
	/* the tree has it open, and the restart checks that by itself */
	names[4] = since_name(open_file, CKPT_WRITE_EXISTED);
	since_begin(&f, *arg, "image", &since);
	opening_file(&f, 2, CKPT_FILE_REG, open_file, O_RDWR);
	opening_track(&f, 2, open_file, ENGINE_TRACK_WRITES);
	since_put(&f, "image");
	assert_false(path_exists(dir));
	assert_false(path_exists(made));
	assert_true(path_exists(later));
	assert_true(path_exists(scratch_path(*arg, ".dir.stillpoint-newer-7/below")));
	assert_true(path_exists(scratch_path(*arg, ".made.stillpoint-newer-7")));
	assert_non_null(strstr(notes, "2 files or directories that the job made"));
	reopen_undo(&f.r);
	opening_end(&f);
	assert_true(path_exists(below));
	assert_true(path_exists(made));
}

/* A renamed input that is accepted keeps its only name. */
static void test_accepted(void **arg)
{
	struct write_log_name names[2];
	const struct write_since since = { names, 2, .known = true, .ended = true };
	char in[256], done[256];
	struct opening f;

	strcpy(in, scratch_path(*arg, "in"));
	strcpy(done, scratch_path(*arg, "done"));
	store_file(in, "in", 2);
	names[1] = since_name(in, CKPT_WRITE_EXISTED | CKPT_WRITE_STATE | CKPT_WRITE_GONE);
	names[0] = since_name(done, CKPT_WRITE_RENAMED);
	assert_int_equal(rename(in, done), 0);
	since_begin(&f, *arg, "accepted", &since);
	f.options.accept_changed = true;
	since_put(&f, "accepted");
	opening_end(&f);
	assert_true(path_exists(done));
}

/* A symbolic link must lead where it led, or be the one that it was; a new one is moved aside. */
static void test_link(void **arg)
{
	struct write_log_name names[2];
	const struct write_since since = { names, 2, .known = true, .ended = true };
	struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	char was[256], made[256], text[16];
	struct opening f;

	strcpy(was, scratch_path(*arg, "was"));
	strcpy(made, scratch_path(*arg, "made"));
	for (unsigned int i = 0; i < 2; i++) {
		unlink(was);
		assert_int_equal(symlink("then", was), 0);
		assert_int_equal(utimensat(AT_FDCWD, was, old, AT_SYMLINK_NOFOLLOW), 0);
		names[0] = since_name(made, CKPT_WRITE_CREATED);
		names[1] = since_name(was, CKPT_WRITE_EXISTED | CKPT_WRITE_STATE |
					   CKPT_WRITE_CREATED);
		since_begin(&f, *arg, i ? "put-back" : "changed", &since);
		assert_int_equal(unlink(was) | symlink(i ? "then" : "now", was), 0);
		if (i)
			utimensat(AT_FDCWD, was, old, AT_SYMLINK_NOFOLLOW);
		assert_int_equal(since_verdict(&f, i ? "put-back" : "changed"),
				 i ? 0 : CKPT_R_FILE_CHANGED);
	}
	assert_int_equal(symlink("now", made), 0);
	since_begin(&f, *arg, "freed", &since);
	since_put(&f, "freed");
	opening_end(&f);
	assert_int_equal(readlink(made, text, sizeof(text)), -1);
}

/* A file that only grew by the dump must not have been written in place later. */
static void test_in_place(void **arg)
{
	struct write_log_name name;
	const struct write_since since = { &name, 1, .known = true, .ended = true };
	struct engine_rec_closed *rec;
	struct opening f;
	char path[256], text[16];

	strcpy(path, scratch_path(*arg, "long"));
	store_file(path, "then", 4);
	_cleanup_fd_ int fd = open(path, O_RDONLY);

	for (unsigned int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "in-place-%u", i);
		name = since_name(path, CKPT_WRITE_EXISTED | (i ? CKPT_WRITE_IN_PLACE : 0));
		since_begin(&f, *arg, text, &since);
		rec = stream_add(&f.stream, ENGINE_REC_CLOSED, sizeof(*rec), path,
				 strlen(path) + 1);
		rec->flags = ENGINE_CLOSED_GROWS;
		rec->path_len = (uint32_t)strlen(path) + 1;
		assert_int_equal(file_identity_tail(fd, 0, 0, rec->tail_hash), 0);
		f.options.accept_changed = i == 2;
		assert_int_equal(since_verdict(&f, text), i == 1 ? CKPT_R_FILE_CHANGED : 0);
	}
}

/* A restart tells what it does not know, whatever else the restart finds. */
static void test_told(void **arg)
{
	static const struct {
		struct write_since since;
		uint32_t flags;
		const char *text;
	} cases[] = {
		{ { .known = true, .ended = true },
		  ENGINE_WRITES_KNOWN | ENGINE_WRITES_COMPLETE, NULL },
		{ { .ended = true }, ENGINE_WRITES_KNOWN | ENGINE_WRITES_COMPLETE,
		  "not known here which files the job changed" },
		{ { .known = true, .ended = true, .lost = true },
		  ENGINE_WRITES_KNOWN | ENGINE_WRITES_COMPLETE, "than were noted" },
		{ { .known = true, .until_s = 86400 },
		  ENGINE_WRITES_KNOWN | ENGINE_WRITES_COMPLETE, "after 1970-01-0" },
		{ { .known = true, .ended = true }, ENGINE_WRITES_KNOWN,
		  "did not know all files that the job had written" },
		{ { .ended = true }, 0, "did not know all files that the job had written" },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct engine_rec_writes *rec;
		struct opening f;
		char name[16];

		snprintf(name, sizeof(name), "told-%u", i);
		since_begin(&f, *arg, name, &cases[i].since);
		rec = (void *)((char *)f.stream.buf + f.stream.len - sizeof(*rec));
		rec->flags = cases[i].flags;
		assert_int_equal(since_verdict(&f, name), 0);
		if (cases[i].text ? !strstr(notes, cases[i].text) : notes[0])
			fail_msg("case %u: %s", i, notes);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_existed), TEST(test_directory), TEST(test_made), TEST(test_accepted),
		TEST(test_link), TEST(test_in_place), TEST(test_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
