// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dump engine on a kernel that is made up: what comes to lie in the image,
 * what is refused, what is left behind when something fails.
 */
#include "base/error.h"
#include "tests/unit/image_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/show.h"
#include "engine/dump/dump_run.h"
#include "engine/core/file_identity.h"
#include "engine/core/file_mark.h"
#include "tests/unit/dump_fixture.h"

#define HEAP	0x10000000ULL
#define WIPED	0x20000000ULL
#define SHM	0x30000000ULL
#define CODE	0x40000000ULL
#define LOW	0x200000000000ULL	/* of this process, not of the tree */

#define MB(n)	((uint64_t)(n) << 20)

enum { F_CWD = 1, F_CODE, F_SHM, F_OUT, F_TMP, F_PIPE, F_TTY };

static const struct fake_page tree_pages[] = {
	{ 1, HEAP, 11, CKPT_RUN_ANON | CKPT_RUN_SHARED, 500, false },
	{ 1, HEAP + 0x1000, 12, CKPT_RUN_ANON | CKPT_RUN_SHARED, 501, false },
	{ 1, HEAP + 0x2000, 0, CKPT_RUN_ANON | CKPT_RUN_SHARED, 502, false },
	{ 1, HEAP + 0x5000, 13, CKPT_RUN_ANON, 0, false },
	{ 1, WIPED, 14, CKPT_RUN_ANON, 0, true },
	{ 1, CODE + 0x1000, 15, CKPT_RUN_ANON, 0, false },
	{ 2, HEAP, 11, CKPT_RUN_ANON | CKPT_RUN_SHARED, 500, false },
	{ 2, HEAP + 0x1000, 22, CKPT_RUN_ANON | CKPT_RUN_SHARED, 900, false },
	{ 2, HEAP + 0x2000, 0, CKPT_RUN_ANON | CKPT_RUN_SHARED, 502, false },
	{ 2, HEAP + 0x4000, 12, CKPT_RUN_ANON | CKPT_RUN_SHARED, 501, false },
	/* a frame that was used again while we read: its content is another */
	{ 2, HEAP + 0x6000, 33, CKPT_RUN_ANON | CKPT_RUN_SHARED, 500, false },
};

/* Files of the tree; the descriptors stay open until the test ends. */
static void open_files(const struct scratch *s)
{
	int fd = open(s->root, O_RDONLY | O_DIRECTORY);
	char exe[PATH_MAX] = "";

	fake_file_of(F_CWD, CKPT_FILE_DIR, s->root, fd, 0, 0, 0);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	fd = open(exe, O_RDONLY);
	fake_file_of(F_CODE, CKPT_FILE_REG, exe, fd, CKPT_FILE_MAPPED, O_RDONLY, 0);

	fd = memfd_create("shared", 0);
	assert_int_equal(ftruncate(fd, (off_t)MB(8)), 0);
	assert_int_equal(pwrite(fd, "hello", 5, (off_t)MB(3) + 7), 5);
	fake_file_of(F_SHM, CKPT_FILE_SHM, "", fd, CKPT_FILE_MAPPED | CKPT_FILE_MAPPED_SHARED_WRITE,
		O_RDWR, 0);

	store_file(scratch_path(s, "out"), "what the job wrote", 18);
	fd = open(scratch_path(s, "out"), O_WRONLY);
	fake_file_of(F_OUT, CKPT_FILE_REG, scratch_path(s, "out"), fd, CKPT_FILE_OPEN, O_WRONLY,
		     18);

	store_file(scratch_path(s, "tmp"), "temporary", 9);
	fd = open(scratch_path(s, "tmp"), O_RDWR);
	unlink(scratch_path(s, "tmp"));
	fake_file_of(F_TMP, CKPT_FILE_REG, scratch_path(s, "tmp"), fd,
		CKPT_FILE_OPEN | CKPT_FILE_DELETED, O_RDWR, 3);
	stream_file(&fake.stream, F_PIPE, CKPT_FILE_PIPE, "pipe:[77]")->object = 77;
}

/* 100 ── 110, forked from it: most pages of 110 are 100's. */
static void make_tree(const struct scratch *s)
{
	fake_reset();
	fake.pages = tree_pages;
	fake.nr_pages = ARRAY_SIZE(tree_pages);
	stream_system(&fake.stream);
	stream_proc(&fake.stream, 100, 0, 1, 1, 2);
	stream_proc(&fake.stream, 110, 100, 2, 2, 1);
	stream_mm(&fake.stream, 1, 100, 4);
	stream_vma(&fake.stream, 1, HEAP, HEAP + 0x10000, CKPT_VMA_ANON, CKPT_VM_WRITE, 0);
	stream_vma(&fake.stream, 1, WIPED, WIPED + 0x1000, CKPT_VMA_ANON,
		   CKPT_VM_WRITE | CKPT_VM_WIPEONFORK | CKPT_VM_LIVE, 0);
	stream_vma(&fake.stream, 1, SHM, SHM + MB(8), CKPT_VMA_SHM,
		   CKPT_VM_WRITE | CKPT_VM_SHARED, F_SHM);
	stream_vma(&fake.stream, 1, CODE, CODE + 0x4000, CKPT_VMA_FILE_PRIVATE,
		   CKPT_VM_EXEC | CKPT_VM_HAS_ANON, F_CODE);
	stream_mm(&fake.stream, 2, 110, 1);
	stream_vma(&fake.stream, 2, HEAP, HEAP + 0x10000, CKPT_VMA_ANON, CKPT_VM_WRITE, 0);
	stream_fd(&fake.stream, 1, 1, F_OUT);
	stream_fd(&fake.stream, 1, 5, F_TMP);
	stream_fd(&fake.stream, 1, 6, F_PIPE);
	stream_fd(&fake.stream, 2, 0, F_PIPE);
	open_files(s);
	stream_pipe(&fake.stream, 77, "in the pipe");
}

static void check_page(struct image_reader *r, uint64_t mm, uint64_t addr, uint32_t seed)
{
	uint8_t want[PAGE], got[PAGE];

	fake_fill(seed, want);
	assert_int_equal(image_pages_read(r, mm, addr, 1, got), 0);
	assert_memory_equal(got, want, PAGE);
}

static unsigned int count_pages(struct image_reader *r, uint64_t mm, enum image_run_kind kind)
{
	struct image_run run;
	uint64_t cursor = 0;
	unsigned int nr = 0;

	while (image_pages_next(r, mm, &cursor, &run) == 1)
		if (!kind || run.kind == kind)
			nr += (unsigned int)run.nr_pages;
	return nr;
}

static void check_memory(struct image_reader *r)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(tree_pages); i++)
		check_page(r, tree_pages[i].mm_id, tree_pages[i].addr, tree_pages[i].seed);
	assert_int_equal(count_pages(r, 1, 0), 6);
	assert_int_equal(count_pages(r, 2, 0), 5);
	assert_int_equal(count_pages(r, 2, IMAGE_RUN_DATA), 2);
}

static void check_files(struct image_reader *r, const struct state *state)
{
	const struct state_file *out = state_file_find(state, F_OUT);
	const struct state_file *tmp = state_file_find(state, F_TMP);
	const struct state_file *shm = state_file_find(state, F_SHM);
	const struct state_file *code = state_file_find(state, F_CODE);
	uint64_t cursor = 0, offset, len, size;
	struct file_mark mark;
	uint8_t hash[32];
	char buf[16];

	assert_null(out->blob);
	assert_int_equal(out->track->size, 18);
	assert_int_equal(out->track->flags, ENGINE_TRACK_WRITES | ENGINE_TRACK_TAIL |
					    ENGINE_TRACK_SYNCED);
	assert_int_equal(file_identity_tail(fake.fds[F_OUT], 0, 18, hash), -EBADF);
	file_mark_read(fake.fds[F_OUT], &mark);
	assert_true(mark.btime_ns || mark.handle_len);
	assert_int_equal(out->mark->btime_ns, mark.btime_ns);
	assert_int_equal(out->mark->handle_len, mark.handle_len);
	assert_memory_equal(out->mark + 1, mark.handle, mark.handle_len);
	assert_null(tmp->mark);
	assert_null(code->mark);
	assert_int_equal(code->track->flags & ENGINE_TRACK_EXEC, ENGINE_TRACK_EXEC);
	assert_true(code->track->flags & ENGINE_TRACK_BUILD_ID);
	assert_int_equal(code->track->build_id_len, 20);

	assert_null(tmp->track);
	assert_int_equal(tmp->blob->kind, ENGINE_BLOB_OBJECT);
	assert_int_equal(image_blob_read(r, tmp->blob->blob, 0, buf, 9), 0);
	assert_memory_equal(buf, "temporary", 9);

	assert_int_equal(shm->blob->size, MB(8));
	assert_int_equal(image_blob_size(r, shm->blob->blob, &size), 0);
	assert_int_equal(size, MB(8));
	assert_int_equal(image_blob_extent(r, shm->blob->blob, &cursor, &offset, &len), 1);
	assert_in_range(offset, MB(3) - 4096, MB(3));
	assert_in_range(len, 1, 8192);
	assert_int_equal(image_blob_read(r, shm->blob->blob, MB(3) + 7, buf, 5), 0);
	assert_memory_equal(buf, "hello", 5);
}

static void check_image(const struct scratch *s, bool killed)
{
	struct image_reader *r = NULL;
	struct ckpt_error error = { 0 };
	struct stream stream = { 0 };
	struct state *state;

	if (image_open(scratch_path(s, "image"), s->key, NULL, &r, &error))
		fail_msg("%s", error.text);
	state = dump_load_state(r, &stream);
	assert_int_equal(state->nr_procs, 2);
	assert_int_equal(state->tree->generation, 3);
	assert_int_equal(state->root_pids[0], 100);
	assert_int_equal(state->tree->flags, killed ? ENGINE_TREE_KILLED : 0);
	assert_int_equal(image_manifest(r)->nr_roots, 1);
	assert_int_equal(image_manifest(r)->identity.nr_threads, 3);
	/* the kernel's records are in the image as they came */
	assert_memory_equal(stream.buf, fake.stream.buf, fake.stream.len);
	check_memory(r);
	check_files(r, state);
	state_free(state);
	stream_done(&stream);
	image_close(r);
}

/* What is shown of memory adds up with what the dump has counted. */
static void check_account(const struct scratch *s)
{
	struct image_reader *r = NULL;
	json_t *json = NULL, *all;

	assert_int_equal(image_open(scratch_path(s, "image"), s->key, NULL, &r, NULL), 0);
	assert_int_equal(image_show_json(r, 0, &json, NULL), 0);
	all = json_object_get(json, "address_space");
	assert_int_equal(json_integer_value(json_object_get(all, "excluded")), 0);
	assert_int_equal(json_integer_value(json_object_get(all, "untouched")), 23 * PAGE);
	assert_int_equal(json_integer_value(json_object_get(all, "file")), 3 * PAGE);
	assert_int_equal(json_integer_value(json_object_get(all, "elsewhere")), MB(8));
	json_decref(json);
	image_close(r);
}

static void test_dump(void **state)
{
	struct scratch *s = *state;
	struct dump_options options = dump_options_for(s);
	struct dump_stats stats;

	make_tree(s);
	dump_ok(&options, &stats);
	assert_true(fake.thawed && fake.dropped && !fake.killed);
	assert_int_equal(fake.live_reads, 1);
	assert_int_equal(stats.nr_procs, 2);
	assert_true(stats.thaw_ns);
	assert_int_equal(stats.nr_threads, 3);
	assert_int_equal(stats.pages_shared, 3);
	assert_int_equal(stats.bytes_mapped, sizeof(tree_pages) / sizeof(tree_pages[0]) * PAGE);
	/* two heaps, the page that a fork wipes; code */
	assert_int_equal(stats.pages_untouched, 16 + 16 + 1 - (ARRAY_SIZE(tree_pages) - 1));
	assert_int_equal(stats.pages_file, 4 - 1);
	check_image(s, false);
	check_account(s);
	fake_close_files();
}

/* Killed at the end: nothing is held, everything is read in place. */
static void test_kill(void **state)
{
	struct scratch *s = *state;
	struct dump_options options = dump_options_for(s);

	make_tree(s);
	/* without a snapshot every map is read live */
	for (size_t at = 0; at < fake.stream.len;) {
		struct ckpt_rec_hdr *hdr = (void *)((char *)fake.stream.buf + at);

		if (hdr->type == CKPT_REC_MM)
			((struct ckpt_rec_mm *)hdr)->live = 1;
		at += hdr->len;
	}
	options.kill = true;
	dump_ok(&options, NULL);
	assert_true(fake.killed);
	assert_int_equal(fake.live_reads, fake.reads);
	check_image(s, true);
	fake_close_files();
}

/* The opened name is gone, another is there: in the same directory or elsewhere. */
static void test_linked(void **state)
{
	struct scratch *s = *state;
	struct dump_options options = dump_options_for(s);
	const struct state_file *file;
	struct image_reader *r = NULL;
	struct ckpt_error error = { 0 };
	struct stream stream = { 0 };
	struct state *model;
	char path[256];
	int fd;

	for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
		make_tree(s);
		strcpy(path, scratch_path(s, "old"));
		store_file(path, "linked", 6);
		fd = open(path, O_RDWR);
		mkdir(scratch_path(s, "dir"), 0700);
		assert_int_equal(link(path, scratch_path(s, elsewhere ? "dir/new" : "new")), 0);
		assert_int_equal(unlink(path), 0);
		stream_fd(&fake.stream, 1, 9, F_TTY);
		fake_file_of(F_TTY, CKPT_FILE_REG, path, fd, CKPT_FILE_OPEN | CKPT_FILE_DELETED,
			O_RDWR, 0);
		dump_ok(&options, NULL);
		if (image_open(scratch_path(s, "image"), s->key, NULL, &r, &error))
			fail_msg("%s", error.text);
		model = dump_load_state(r, &stream);
		file = state_file_find(model, F_TTY);
		assert_non_null(file->place);
		assert_false(state_file_deleted(file));
		assert_null(file->blob);
		assert_non_null(file->track);
		assert_string_equal(file->path, elsewhere ? path : scratch_path(s, "new"));
		assert_int_equal(!!state_file_handle(file), elsewhere);
		state_free(model);
		stream_done(&stream);
		image_close(r);
		assert_int_equal(image_remove(scratch_path(s, "image"), &error), 0);
		unlink(scratch_path(s, elsewhere ? "dir/new" : "new"));
		fake_close_files();
	}
}

static void test_refused(void **state)
{
	struct scratch *s = *state;
	struct dump_options options = dump_options_for(s);

	make_tree(s);
	stream_fd(&fake.stream, 1, 9, F_TTY);
	stream_file(&fake.stream, F_TTY, CKPT_FILE_PTS, "/dev/pts/3")->object = 3;
	dump_fails(s, &options, -EOPNOTSUPP, CKPT_R_FD_TTY);
	options.dry_run = true;
	dump_fails(s, &options, -EOPNOTSUPP, CKPT_R_FD_TTY);
	fake_close_files();

	make_tree(s);
	for (size_t at = 0; at < fake.stream.len;) {
		struct ckpt_rec_hdr *hdr = (void *)((char *)fake.stream.buf + at);

		if (hdr->type == CKPT_REC_PIPE)
			((struct ckpt_rec_pipe *)hdr)->readers = 2;
		at += hdr->len;
	}
	dump_fails(s, &options, -EOPNOTSUPP, CKPT_R_PIPE_EXTERNAL);
	fake_close_files();

	make_tree(s);
	stream_fd(&fake.stream, 1, 9, F_TTY);
	stream_file(&fake.stream, F_TTY, CKPT_FILE_SOCK, "socket:[1]");
	dump_fails(s, &options, -EOPNOTSUPP, CKPT_R_FD_SOCKET);
	fake_close_files();
}

/* Who is needed and has ended: gone, or a zombie. */
static void test_living(void **state)
{
	static const struct { pid_t pids[3]; int err; } cases[] = {
		{ { 110, 0, 100 }, 0 }, { { 110, 120, 100 }, -ECHILD }, { { 130, 0, 0 }, -ECHILD },
	};
	struct scratch *s = *state;
	struct dump_options options = dump_options_for(s);
	struct ckpt_error error = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make_tree(s);
		stream_zombie(&fake.stream, 130, 100, 9);
		options.living = cases[i].pids;
		options.nr_living = ARRAY_SIZE(cases[i].pids);
		if (cases[i].err) {
			dump_fails(s, &options, cases[i].err, 0);
		} else {
			dump_ok(&options, NULL);
			assert_int_equal(image_remove(scratch_path(s, "image"), &error), 0);
		}
		fake_close_files();
	}
}

/* A pipe whose other end is outside is fine when the caller names it. */
static void test_external(void **state)
{
	struct scratch *s = *state;
	struct dump_options options = dump_options_for(s);
	/* Of many it is found, and of two that are the same the first. */
	struct engine_external externals[] = {
		{ .name = "closed", .fd = -1 }, { .name = "other" }, { .name = "stdout" },
		{ .name = "again" },
	};
	struct image_reader *r = NULL;
	struct stream stream = { 0 };
	struct state *model;
	struct stat st;
	int ends[2], others[2];

	assert_int_equal(pipe(others), 0);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fstat(ends[0], &st), 0);
	externals[1].fd = others[0];
	externals[2].fd = ends[0];
	externals[3].fd = ends[1];
	options.externals = externals;
	options.nr_externals = 4;
	make_tree(s);
	for (size_t at = 0; at < fake.stream.len;) {
		struct ckpt_rec_hdr *hdr = (void *)((char *)fake.stream.buf + at);

		if (hdr->type == CKPT_REC_PIPE)
			((struct ckpt_rec_pipe *)hdr)->readers = 2;
		if (hdr->type == CKPT_REC_FILE &&
		    ((struct ckpt_rec_file *)hdr)->kind == CKPT_FILE_PIPE)
			((struct ckpt_rec_file *)hdr)->ino = st.st_ino;
		at += hdr->len;
	}
	dump_ok(&options, NULL);
	assert_int_equal(image_open(options.dir, s->key, NULL, &r, NULL), 0);
	model = dump_load_state(r, &stream);
	assert_string_equal(state_file_find(model, F_PIPE)->external->name, "stdout");
	assert_null(state_file_find(model, F_OUT)->external);
	state_free(model);
	stream_done(&stream);
	image_close(r);
	close(ends[0]);
	close(ends[1]);
	close(others[0]);
	close(others[1]);
	fake_close_files();
}

static void test_retry(void **state)
{
	struct scratch *s = *state;
	struct dump_options options = dump_options_for(s);

	make_tree(s);
	fake.busy = 2;
	dump_ok(&options, NULL);
	assert_int_equal(fake.freezes, 3);
	fake_close_files();

	image_remove(options.dir, NULL);
	make_tree(s);
	fake.busy = 1000;
	dump_fails(s, &options, -EBUSY, CKPT_R_D_STATE);
	assert_true(fake.freezes > 2);
	fake_close_files();
}

/* One that a look-up of a user has is gone soon; one that stays is refused soon. */
static void test_retry_sockets(void **state)
{
	struct scratch *s = *state;
	struct dump_options options = dump_options_for(s);

	make_tree(s);
	fake.sockets = 2;
	dump_ok(&options, NULL);
	assert_int_equal(fake.freezes, 3);
	fake_close_files();

	image_remove(options.dir, NULL);
	make_tree(s);
	fake.sockets = 1000;
	dump_fails(s, &options, -EOPNOTSUPP, CKPT_R_FD_SOCKET);
	assert_int_equal(fake.freezes, 4);
	fake_close_files();
}

static int no_commit(void *arg)
{
	return -EIO;
}

static void expire_in_sync(const struct engine_progress *progress, void *arg)
{
	if (!strcmp(progress->phase, "sync"))
		fake.fail_pagemap_after = (int)fake.pagemaps;
}

static int never_stored(void *arg)
{
	fail_msg("there is no image to be told of");
	return 0;
}

/* The pause expires when the pages have been read and not all contents: no image is ever there. */
static void test_expires_late(void **state)
{
	struct scratch *s = *state;

	for (int kill = 0; kill < 2; kill++) {
		struct dump_options options = dump_options_for(s);

		make_tree(s);
		options.stored = never_stored;
		options.kill = kill;
		options.stop_and_copy = !kill;
		if (kill)
			options.progress = expire_in_sync;
		else
			fake.thaw_ret = -ETIMEDOUT;
		dump_fails(s, &options, -ETIMEDOUT, CKPT_R_PAUSE_LIMIT);
		assert_false(fake.killed);
		fake_close_files();
	}
}

/* The tree that runs again after the pause is what fails: the pause is named, and what failed. */
static void test_expires_unseen(void **state)
{
	struct scratch *s = *state;
	struct dump_options options = dump_options_for(s);
	struct ckpt_error error = { 0 };

	for (int expired = 1; expired >= 0; expired--) {
		make_tree(s);
		options.stop_and_copy = true;
		fake.fail_read_after = 1;
		fake.read_err = -ESRCH;
		fake.expired = expired;
		dump_fails(s, &options, expired ? -ETIMEDOUT : -ESRCH,
			   expired ? CKPT_R_PAUSE_LIMIT : 0);
		fake_close_files();

		/* in user space, with no call into the kernel module */
		make_tree(s);
		options = dump_options_for(s);
		options.kill = true;
		options.commits = no_commit;
		fake.expired = expired;
		assert_int_equal(dump_tree_on(fake_open, &options, NULL, &error),
				 expired ? -ETIMEDOUT : -EIO);
		assert_non_null(strstr(error.text, "could not be made durable"));
		assert_int_equal(!!strstr(error.text, "the maximum pause passed"), expired);
		assert_int_equal(error.nr_refusals, expired);
		error_done(&error);
		fake_close_files();
		options = dump_options_for(s);
	}
}

static void test_failures(void **state)
{
	struct scratch *s = *state;
	struct dump_options options = dump_options_for(s);

	/* the pause expires while pages are read: held ones, then the snapshot's */
	make_tree(s);
	options.stop_and_copy = true;
	fake.fail_read_after = 1;
	dump_fails(s, &options, -ETIMEDOUT, CKPT_R_PAUSE_LIMIT);
	fake_close_files();

	/* the records go with the freeze: none are left, or it ended between two reads */
	for (unsigned int part = 1; part <= 2; part++) {
		make_tree(s);
		fake.lost = fake.stream.len / part;
		dump_fails(s, &options, -ETIMEDOUT, CKPT_R_PAUSE_LIMIT);
		fake_close_files();
	}

	/* the kernel thawed before we could kill: the image must not stay */
	make_tree(s);
	options.stop_and_copy = false;
	options.kill = true;
	fake.thaw_ret = -ETIMEDOUT;
	dump_fails(s, &options, -ETIMEDOUT, CKPT_R_PAUSE_LIMIT);
	fake_close_files();

	/* what belongs to it cannot be made durable */
	make_tree(s);
	options = dump_options_for(s);
	options.commits = no_commit;
	dump_fails(s, &options, -EIO, 0);
	fake_close_files();

	/* the parent directory is missing: before any freeze */
	make_tree(s);
	options.dir = scratch_path(s, "missing/image");
	dump_fails(s, &options, -ENOENT, 0);
	assert_int_equal(fake.freezes, 0);
	fake_close_files();

	/* a stream that makes no sense */
	make_tree(s);
	options = dump_options_for(s);
	((struct ckpt_rec_hdr *)fake.stream.buf)->len = 16;
	dump_fails(s, &options, -EBADMSG, 0);
	fake_close_files();
}

static int act_in_pause(void *arg)
{
	*(int *)arg += fake.frozen && !fake.thawed;
	return 0;
}

static int targeted(void *arg, struct ckpt_error *error)
{
	int *ret = arg;

	assert_int_equal(fake.freezes, 0);
	return *ret ? error_fail(error, *ret, "another process") : 0;
}

/* The kernel is told who asks; a module that cannot hold the tree to his rights gets no tree. */
static void test_owner(void **state)
{
	struct scratch *s = *state;
	struct dump_options options = dump_options_for(s);
	gid_t groups[] = { 50, 100 };
	const struct asker owner = {
		.uid = 1000, .gid = 1001, .groups = groups, .nr_groups = 2,
	};
	struct image_reader *r = NULL;
	int wrong = -ESTALE;

	make_tree(s);
	options.owner = &owner;
	dump_fails(s, &options, -EOPNOTSUPP, 0);
	assert_int_equal(fake.freezes, 0);
	fake.features |= CKPT_FEAT_OWNER;
	options.targeted = targeted;
	options.frozen_arg = &wrong;
	dump_fails(s, &options, -ESTALE, 0);
	assert_int_equal(fake.freezes, 0);
	wrong = 0;
	dump_ok(&options, NULL);
	assert_int_equal(fake.target.flags & CKPT_TARGET_OWNED, CKPT_TARGET_OWNED);
	assert_int_equal(fake.target.owner_uid, 1000);
	assert_int_equal(fake.target.owner_gid, 1001);
	assert_int_equal(fake.target.nr_owner_groups, 2);
	assert_ptr_equal((void *)(uintptr_t)fake.target.owner_groups, groups);
	assert_true(fake.target.owner_caps == 0);
	assert_int_equal(image_open(options.dir, s->key, NULL, &r, NULL), 0);
	assert_int_equal(image_manifest(r)->identity.uid, 1000);
	image_close(r);
	fake_close_files();
}

static void test_shm_dir(void **state)
{
	const struct ckpt_exclude low = { CKPT_EXCLUDE_RANGE, getpid(), LOW, 2 * LOW };
	struct scratch *s = *state;
	struct dump_options options = dump_options_for(s);
	struct image_reader *r = NULL;
	struct stream stream = { 0 };
	struct state *model;
	int called = 0, seen = 0, fd;
	char buf[8], shm[256];

	make_tree(s);
	strcpy(shm, scratch_path(s, "shm"));
	options.shm_dir = shm;
	options.frozen = act_in_pause;
	options.frozen_arg = &called;
	mkdir(options.shm_dir, 0700);
	mkdir(scratch_path(s, "shm/d"), 0750);
	store_file(scratch_path(s, "shm/d/sem"), "12345678", 8);
	assert_int_equal(symlink("sem", scratch_path(s, "shm/d/link")), 0);
	fd = open(scratch_path(s, "shm/d/segment"), O_RDWR | O_CREAT, 0600);
	assert_ptr_equal(mmap((void *)LOW, 4096, PROT_READ, MAP_SHARED, fd, 0), (void *)LOW);
	close(fd);
	options.excludes = &low;
	options.nr_excludes = 1;
	dump_ok(&options, NULL);
	assert_int_equal(called, 1);
	assert_int_equal(fake.nr_excludes, 1);
	assert_int_equal(image_open(options.dir, s->key, NULL, &r, NULL), 0);
	model = dump_load_state(r, &stream);
	for (unsigned int i = 0; i < model->nr_blobs; i++) {
		const struct engine_rec_blob *blob = model->blobs[i];
		const char *path = state_blob_path(blob);

		if (blob->kind != ENGINE_BLOB_SHM_DIR)
			continue;
		seen++;
		if (!strcmp(path, "d")) {
			assert_int_equal(blob->mode, S_IFDIR | 0750);
		} else if (!strcmp(path, "d/sem")) {
			assert_int_equal(image_blob_read(r, blob->blob, 0, buf, 8), 0);
			assert_memory_equal(buf, "12345678", 8);
		} else {
			assert_string_equal(path, "d/link");
			assert_string_equal(state_blob_target(blob), "sem");
		}
	}
	assert_int_equal(seen, 3);
	state_free(model);
	stream_done(&stream);
	image_close(r);
	fake_close_files();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_dump, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_kill, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_linked, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_refused, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_living, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_external, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_retry, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_retry_sockets, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(test_expires_late, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_expires_unseen, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(test_failures, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_shm_dir, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_owner, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
