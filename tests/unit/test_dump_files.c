// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a dump does with files and with memory that it cannot leave for later, on a kernel
 * that is made up: what is held in the pause is bounded, and what the tree changes
 * after it is not taken for what was.
 */
#include "base/error.h"
#include "tests/unit/image_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/core/rights.h"
#include "tests/unit/dump_fixture.h"

#define HEAP	0x10000000ULL
#define LIVE_A	0x20000000ULL
#define LIVE_B	0x30000000ULL
#define NR_A	8U
#define NR_B	64U
#define MB(n)	((size_t)(n) << 20)

enum { F_CWD = STREAM_CWD, F_FILE };

static struct fake_page pages[1 + NR_A + NR_B];

static void fill_pages(void)
{
	pages[0] = (struct fake_page){ 1, HEAP, 1, CKPT_RUN_ANON, 0, false };
	for (unsigned int i = 0; i < NR_A; i++)
		pages[1 + i] = (struct fake_page){ 1, LIVE_A + i * PAGE, 100 + i, CKPT_RUN_ANON, 0,
						   true };
	for (unsigned int i = 0; i < NR_B; i++)
		pages[1 + NR_A + i] = (struct fake_page){ 1, LIVE_B + i * PAGE, 200 + i,
							  CKPT_RUN_ANON, 0, true };
}

/* Process 100; @live: with memory that a snapshot lacks.  Its file comes last. */
static void make_process(const struct scratch *s, bool live)
{
	const uint64_t flags = CKPT_VM_WRITE | CKPT_VM_DONTCOPY | CKPT_VM_LIVE;

	fake_reset();
	fill_pages();
	fake.pages = pages;
	fake.nr_pages = live ? ARRAY_SIZE(pages) : 1;
	stream_system(&fake.stream);
	stream_proc(&fake.stream, 100, 0, 1, 1, 1);
	stream_mm(&fake.stream, 1, 100, live ? 3 : 1);
	stream_vma(&fake.stream, 1, HEAP, HEAP + 0x10000, CKPT_VMA_ANON, CKPT_VM_WRITE, 0);
	if (live) {
		stream_vma(&fake.stream, 1, LIVE_A, LIVE_A + NR_A * PAGE, CKPT_VMA_ANON, flags, 0);
		stream_vma(&fake.stream, 1, LIVE_B, LIVE_B + NR_B * PAGE, CKPT_VMA_ANON, flags, 0);
	}
	fake_file(F_CWD, CKPT_FILE_DIR, s->root, open(s->root, O_RDONLY | O_DIRECTORY));
}

static struct ckpt_rec_file *add_file(const char *path, uint32_t kind, int fd)
{
	struct ckpt_rec_file *rec;

	stream_fd(&fake.stream, 1, 5, F_FILE);
	rec = fake_file(F_FILE, kind, path, fd);
	rec->flags = CKPT_FILE_OPEN;
	rec->f_flags = (uint32_t)fcntl(fd, F_GETFL) & ~(uint32_t)O_LARGEFILE;
	rec->pos = rec->size;
	return rec;
}

/* ------------------------------------------------------------ what is read */

struct taken {
	struct image_reader *r;
	struct stream stream;
	struct state *state;
	const struct state_file *file;
};

static void taken_open(const struct scratch *s, struct taken *t)
{
	struct ckpt_error error = { 0 };

	*t = (struct taken){ 0 };
	if (image_open(scratch_path(s, "image"), s->key, NULL, &t->r, &error))
		fail_msg("%s", error.text);
	t->state = dump_load_state(t->r, &t->stream);
	t->file = state_file_find(t->state, F_FILE);
}

static void taken_close(const struct scratch *s, struct taken *t)
{
	state_free(t->state);
	stream_done(&t->stream);
	image_close(t->r);
	remove_image(scratch_path(s, "image"));
	fake_close_files();
}

/* ------------------------------------------------------------ what is held */

/* What a file system calls data need not be any. */
static void test_zeros_not_held(void **arg)
{
	struct dump_options options = dump_options_for(*arg);
	int fd = memfd_create("zeros", 0);
	struct dump_stats stats;
	char *data = calloc(1, MB(8)), page[PAGE];
	struct taken t;

	memset(data + MB(5), 7, PAGE);
	assert_int_equal(pwrite(fd, data, MB(8), 0), MB(8));
	make_process(*arg, false);
	add_file("/memfd:zeros", CKPT_FILE_MEMFD, fd);
	dump_ok(&options, &stats);
	assert_int_equal(stats.bytes_held, PAGE);
	taken_open(*arg, &t);
	assert_int_equal(t.file->blob->size, MB(8));
	assert_int_equal(image_blob_read(t.r, t.file->blob->blob, MB(5), page, PAGE), 0);
	assert_memory_equal(page, data + MB(5), PAGE);
	taken_close(*arg, &t);
	free(data);
}

/* hugetlbfs calls all of a file data, though it be empty. */
static void test_huge_nothing(void **arg)
{
	struct dump_options options = dump_options_for(*arg);
	int fd = memfd_create("huge", MFD_HUGETLB);
	struct dump_stats stats;
	struct taken t;

	if (fd < 0 || ftruncate(fd, (off_t)MB(1024)))
		skip();
	options.hold_max = MB(1);
	make_process(*arg, false);
	add_file("/memfd:huge", CKPT_FILE_HUGETLB, fd)->fs_magic = HUGETLBFS_MAGIC;
	dump_ok(&options, &stats);
	assert_int_equal(stats.bytes_held, 0);
	taken_open(*arg, &t);
	assert_int_equal(t.file->blob->blob, 0);
	taken_close(*arg, &t);
}

/* Whoever copies much notices that nobody stands still for it any more. */
static void test_pause_over(void **arg)
{
	struct dump_options options = dump_options_for(*arg);
	int fd = memfd_create("much", 0);
	char *data = malloc(MB(40));

	memset(data, 7, MB(40));
	assert_int_equal(pwrite(fd, data, MB(40), 0), MB(40));
	free(data);
	make_process(*arg, false);
	add_file("/memfd:much", CKPT_FILE_MEMFD, fd);
	fake.fail_pagemap_after = 1;
	dump_fails(*arg, &options, -ETIMEDOUT, CKPT_R_PAUSE_LIMIT);
	assert_false(fake.thawed);
	fake_close_files();
}

/* Memory that does not fit goes to the image in the pause. */
static void test_memory_limit(void **arg)
{
	struct dump_options options = dump_options_for(*arg);
	char want[PAGE], got[PAGE];
	struct dump_stats stats;
	struct taken t;

	options.hold_max = 16 * PAGE;
	make_process(*arg, true);
	dump_ok(&options, &stats);
	assert_int_equal(stats.bytes_held, NR_A * PAGE);
	taken_open(*arg, &t);
	for (unsigned int i = 0; i < ARRAY_SIZE(pages); i++) {
		fake_fill(pages[i].seed, want);
		assert_int_equal(image_pages_read(t.r, 1, pages[i].addr, 1, got), 0);
		assert_memory_equal(got, want, PAGE);
	}
	taken_close(*arg, &t);
}

/* ------------------------------------------------- what is changed after it */

struct change {
	const char *phase;		/* when */
	int fd;
	bool cut;
	const char *content;
};

static void change(const struct engine_progress *progress, void *arg)
{
	struct change *c = arg;

	if (!c->content || strcmp(progress->phase, c->phase))
		return;
	assert_true(fake.thawed);
	assert_int_equal(c->cut ? ftruncate(c->fd, 0) : 0, 0);
	if (fcntl(c->fd, F_GETFL) & O_APPEND)
		assert_true(write(c->fd, c->content, strlen(c->content)) > 0);
	else
		assert_true(pwrite(c->fd, c->content, strlen(c->content), 0) > 0);
	c->content = NULL;
}

/* The tail of what was "state of step 1", opened with @flags and rewritten after the thaw. */
static void tail_after(const struct scratch *s, int flags, bool expect_hash)
{
	struct dump_options options = dump_options_for(s);
	const char *path = scratch_path(s, "solver");
	struct change c = { .phase = "sync", .content = "state of step 2" };
	uint8_t want[32];
	struct taken t;

	store_file(path, "state of step 1", 15);
	make_process(s, false);
	add_file(path, CKPT_FILE_REG, open(path, flags));
	assert_int_equal(file_identity_tail(open(path, O_RDONLY), 0, 15, want), 0);
	c.fd = open(path, O_RDWR);
	options.progress = change;
	options.progress_arg = &c;
	dump_ok(&options, NULL);
	assert_null(c.content);
	taken_open(s, &t);
	assert_int_equal(!!(t.file->track->flags & ENGINE_TRACK_TAIL), expect_hash);
	assert_int_equal(t.file->track->tail_len, 15);
	if (expect_hash)
		assert_memory_equal(t.file->track->tail_hash, want, 32);
	taken_close(s, &t);
	close(c.fd);
}

/* All of it had been written at the freeze: a position at the end says nothing. */
static void test_rewritten(void **arg)
{
	tail_after(*arg, O_RDWR, true);
	tail_after(*arg, O_WRONLY | O_APPEND, true);
}

static void test_replaced_by_others(void **arg)
{
	tail_after(*arg, O_RDONLY, false);
}

/* A log on tmpfs: what is appended after the thaw is left out, a new log is not the old one. */
static void test_log(void **arg)
{
	const struct scratch *s = *arg;
	struct dump_options options = dump_options_for(s);
	const char *path = scratch_path(s, "log");
	char buf[16];
	struct taken t;

	for (int cut = 0; cut < 2; cut++) {
		struct change c = { "dump", -1, cut, "other lines than before, and more of them" };

		store_file(path, "lines of a log", 14);
		c.fd = open(path, O_WRONLY | O_APPEND);
		make_process(s, false);
		add_file(path, CKPT_FILE_REG, dup(c.fd))->fs_magic = TMPFS_MAGIC;
		options.progress = change;
		options.progress_arg = &c;
		if (cut) {
			dump_fails(s, &options, -EAGAIN, 0);
			fake_close_files();
		} else {
			dump_ok(&options, NULL);
			taken_open(s, &t);
			assert_int_equal(t.file->blob->size, 14);
			assert_int_equal(image_blob_read(t.r, t.file->blob->blob, 0, buf, 14), 0);
			assert_memory_equal(buf, "lines of a log", 14);
			taken_close(s, &t);
		}
		assert_null(c.content);
		close(c.fd);
	}
}

/* ------------------------------------------------------------ other's files */

/* Root may not open it, as on NFS; its owner may, or nobody: then not by the job's description. */
static void test_owner_opens(void **arg)
{
	const struct scratch *s = *arg;
	struct dump_options options = dump_options_for(s);
	const char *path = scratch_path(s, "squashed");
	uint64_t all = rights_permitted();
	struct taken t;

	if (getuid() || RIGHTS_FILES & ~all)
		skip();
	for (int mode = 0600; mode >= 0; mode -= 0600) {
		store_file(path, "the owner's", 11);
		make_process(s, false);
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(chmod(path, (mode_t)mode), 0);
		add_file(path, CKPT_FILE_REG, open(path, O_WRONLY));
		assert_int_equal(rights_set(all, all & ~RIGHTS_FILES), 0);
		if (mode) {
			dump_ok(&options, NULL);
			taken_open(s, &t);
			assert_int_equal(t.file->track->flags, ENGINE_TRACK_WRITES |
					 ENGINE_TRACK_TAIL | ENGINE_TRACK_SYNCED);
			taken_close(s, &t);
		} else {
			dump_fails(s, &options, -EACCES, 0);
			fake_close_files();
		}
		assert_int_equal(rights_set(all, all), 0);
	}
}

/* The same for a user: nobody's rights but his count, his groups among them. */
static void test_asker_opens(void **arg)
{
	static const struct {
		uid_t uid;
		gid_t gid;
		mode_t mode;
		bool opens;
	} cases[] = {
		{ 1000, 1000, 0600, true }, { 1001, 5000, 0640, true },
		{ 1001, 1001, 0600, false }, { 1001, 5001, 0640, false },
	};
	const struct scratch *s = *arg;
	struct dump_options options = dump_options_for(s);
	const char *path = scratch_path(s, "squashed");
	uint64_t all = rights_permitted();
	gid_t groups[] = { 4999, 5000 }, before[64];
	const struct asker owner = { .uid = 1000, .gid = 1000, .groups = groups, .nr_groups = 2 };
	int nr = getgroups(64, before);
	struct taken t;

	if (getuid() || RIGHTS_FILES & ~all)
		skip();
	options.files = ENGINE_FILES_TRACK;
	options.owner = &owner;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		store_file(path, "data", 4);
		make_process(s, false);
		fake.features |= CKPT_FEAT_OWNER;
		assert_int_equal(chown(path, cases[i].uid, cases[i].gid), 0);
		assert_int_equal(chmod(path, cases[i].mode), 0);
		add_file(path, CKPT_FILE_REG, open(path, O_WRONLY));
		assert_int_equal(rights_set(all, all & ~RIGHTS_FILES), 0);
		if (cases[i].opens) {
			dump_ok(&options, NULL);
			taken_open(s, &t);
			taken_close(s, &t);
		} else {
			dump_fails(s, &options, -EACCES, 0);
			fake_close_files();
		}
		assert_int_equal(rights_set(all, all), 0);
		assert_int_equal(getgroups(0, NULL), nr);
		unlink(path);
	}
}

/* ------------------------------------------------------------ NFS */

#define SILLY	".nfs00000000000a2b3c0000001d"

static void take_file_of(const struct scratch *s, const char *name, uint32_t fs_magic,
			 struct taken *t)
{
	struct dump_options options = dump_options_for(s);
	const char *path = scratch_path(s, name);
	struct ckpt_rec_file *rec;

	make_process(s, false);
	rec = add_file(path, CKPT_FILE_REG, open(path, O_RDWR));
	rec->fs_magic = fs_magic;
	dump_ok(&options, NULL);
	taken_open(s, t);
}

/* What is removed while it is open has a name there until it is closed, and is carried. */
static void test_silly(void **arg)
{
	static const char *const others[] = { "plain", SILLY "0", ".nfs00000000000a2b3c0000001X" };
	const struct scratch *s = *arg;
	char other[256];
	struct taken t;

	store_file(scratch_path(s, SILLY), "removed", 7);
	take_file_of(s, SILLY, NFS_SUPER_MAGIC, &t);
	assert_non_null(t.file->blob);
	assert_int_equal(t.file->blob->kind, ENGINE_BLOB_OBJECT);
	assert_int_equal(t.file->blob->size, 7);
	assert_null(t.file->track);
	assert_true(state_file_deleted(t.file));
	taken_close(s, &t);

	/* of other file systems it is a name like any other */
	take_file_of(s, SILLY, EXT4_SUPER_MAGIC, &t);
	assert_null(t.file->blob);
	assert_non_null(t.file->track);
	taken_close(s, &t);
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++) {
		store_file(scratch_path(s, others[i]), "there", 5);
		take_file_of(s, others[i], NFS_SUPER_MAGIC, &t);
		assert_null(t.file->blob);
		assert_false(state_file_deleted(t.file));
		taken_close(s, &t);
		unlink(scratch_path(s, others[i]));
	}

	/* with another name it stays where it is */
	strcpy(other, scratch_path(s, "other"));
	assert_int_equal(link(scratch_path(s, SILLY), other), 0);
	take_file_of(s, SILLY, NFS_SUPER_MAGIC, &t);
	assert_null(t.file->blob);
	assert_non_null(t.file->track);
	assert_false(state_file_deleted(t.file));
	assert_non_null(t.file->place);
	assert_string_equal(t.file->path, other);
	taken_close(s, &t);
	unlink(other);
	unlink(scratch_path(s, SILLY));
}

/* An attribute of /sys says a size that it has not; nothing of it is compared. */
static void test_sysfs(void **arg)
{
	const struct scratch *s = *arg;
	struct taken t;

	store_file(scratch_path(s, "attribute"), "20\n", 3);
	take_file_of(s, "attribute", SYSFS_MAGIC, &t);
	assert_null(t.file->blob);
	assert_null(t.file->track);
	taken_close(s, &t);
	unlink(scratch_path(s, "attribute"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_zeros_not_held), TEST(test_huge_nothing), TEST(test_pause_over),
		TEST(test_memory_limit), TEST(test_rewritten), TEST(test_replaced_by_others),
		TEST(test_log), TEST(test_owner_opens), TEST(test_asker_opens),
		TEST(test_silly), TEST(test_sysfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
