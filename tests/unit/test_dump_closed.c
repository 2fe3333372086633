// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that the tree has changed and closed, on a kernel that is made up: which names of the
 * write log are kept with the image, which are watched, cut, or recorded as gone.
 */
#include "tests/unit/dump_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "engine/core/asker.h"
#include "engine/core/rights.h"

#define HEAP	0x10000000ULL
#define MADE	(CKPT_WRITE_CREATED | CKPT_WRITE_CLOSED)

enum { F_CWD = STREAM_CWD, F_FILE };

static const struct fake_page page = { 1, HEAP, 1, CKPT_RUN_ANON, 0, false };

static char log_buf[1 << 16];

/* The file system of @path, and where its root directory is mounted: the longest mount wins. */
static void find_mount(const char *path, unsigned int *ret_major, unsigned int *ret_minor,
		       char *ret_root, char *ret_point)
{
	char line[8192], root[4096], point[4096];
	FILE *file = fopen("/proc/self/mountinfo", "re");
	unsigned int major, minor;
	size_t best = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		size_t len;

		if (sscanf(line, "%*u %*u %u:%u %4095s %4095s", &major, &minor, root, point) != 4)
			continue;
		len = point[1] ? strlen(point) : 0;
		if (strncmp(path, point, len) || path[len] != '/' || len + 1 < best)
			continue;
		best = len + 1;
		*ret_major = major;
		*ret_minor = minor;
		strcpy(ret_root, root[1] ? root : "");
		strcpy(ret_point, point[1] ? point : "");
	}
	fclose(file);
	assert_true(best);
}

/* Add a name to the write log. */
static void log_name(const char *path, uint32_t flags, uint32_t writes)
{
	struct ckpt_write_state *state = (void *)(log_buf + fake.writes_len);
	struct ckpt_write *write = &state->write;
	char root[4096], point[4096], inside[8192];
	unsigned int major, minor;

	find_mount(path, &major, &minor, root, point);
	snprintf(inside, sizeof(inside), "%s%s", root, path + strlen(point));
	write->flags = flags;
	write->writes = writes;
	write->major = major;
	write->minor = minor;
	write->path_len = (uint32_t)strlen(inside) + 1;
	write->len = (uint32_t)(sizeof(*state) + write->path_len + 7) & ~7U;
	state->seq = ++fake.writes_seq;
	memcpy(state + 1, inside, write->path_len);
	fake.writes = log_buf;
	fake.writes_len += write->len;
}

static void closed_begin(const struct scratch *s)
{
	fake_reset();
	fake.features = CKPT_FEAT_WRITES | CKPT_FEAT_WRITES_STATE;
	fake.pages = &page;
	fake.nr_pages = 1;
	fake.writes_since_ns = (uint64_t)time(NULL) * 1000000000ULL;
	stream_system(&fake.stream);
	stream_proc(&fake.stream, 100, 0, 1, 1, 1);
	stream_mm(&fake.stream, 1, 100, 1);
	stream_vma(&fake.stream, 1, HEAP, HEAP + 0x10000, CKPT_VMA_ANON, CKPT_VM_WRITE, 0);
	fake_file(F_CWD, CKPT_FILE_DIR, s->root, open(s->root, O_RDONLY | O_DIRECTORY));
}

/* The dump's answer. */
struct closed {
	struct dump_stats stats;
	struct stream stream;
	struct state *state;
	struct image_reader *r;
};

static void closed_dump(const struct scratch *s, struct dump_options *options, struct closed *c)
{
	const pid_t self[] = { getpid() };
	struct ckpt_error error = { 0 };

	*c = (struct closed){ 0 };
	options->roots = self;
	dump_ok(options, &c->stats);
	assert_int_equal(image_open(scratch_path(s, "image"), s->key, NULL, &c->r, &error), 0);
	c->state = dump_load_state(c->r, &c->stream);
}

static void closed_end(const struct scratch *s, struct closed *c)
{
	state_free(c->state);
	stream_done(&c->stream);
	image_close(c->r);
	remove_image(scratch_path(s, "image"));
	fake_close_files();
}

static const struct engine_rec_closed *closed_find(const struct closed *c, const char *path)
{
	for (unsigned int i = 0; i < c->state->nr_closed; i++)
		if (!strcmp(c->state->closed[i].path, path))
			return c->state->closed[i].rec;
	return NULL;
}

static uint32_t closed_flags(const struct closed *c, const struct scratch *s, const char *name)
{
	const struct engine_rec_closed *rec = closed_find(c, scratch_path(s, name));

	return rec ? rec->flags : 0;
}

static void store_large(const struct scratch *s, const char *name, off_t size)
{
	store_file(scratch_path(s, name), "x", 1);
	assert_int_equal(truncate(scratch_path(s, name), size), 0);
}

/* Files with data of that size: holes do not count. */
static void store_full(const struct scratch *s, const char *name, size_t size)
{
	char *data = malloc(size);

	assert_non_null(data);
	memset(data, 'x', size);
	store_file(scratch_path(s, name), data, size);
	free(data);
}

static void test_decisions(void **arg)
{
	struct dump_options options = dump_options_for(*arg);
	const struct engine_rec_closed *rec;
	const struct scratch *s = *arg;
	struct closed c;
	char buf[8];

	closed_begin(s);
	store_file(scratch_path(s, "again"), "again", 5);
	store_file(scratch_path(s, "once"), "once", 4);
	store_full(s, "output", (1 << 20) + 1);
	store_full(s, "again-long", (1 << 20) + 1);
	store_large(s, "log", (64LL << 20) + 1);
	store_file(scratch_path(s, ".log.stillpoint-cut-3"), "ours", 4);
	log_name(scratch_path(s, "again"), MADE, 2);
	log_name(scratch_path(s, "once"), MADE, 1);
	log_name(scratch_path(s, "output"), MADE, 1);
	log_name(scratch_path(s, "again-long"), MADE | CKPT_WRITE_RENAMED, 1);
	log_name(scratch_path(s, "log"), MADE | CKPT_WRITE_APPENDS, 9);
	log_name(scratch_path(s, "gone"), MADE | CKPT_WRITE_GONE, 1);
	log_name(scratch_path(s, ".log.stillpoint-cut-3"), MADE, 1);
	options.files = ENGINE_FILES_KEEP;
	closed_dump(s, &options, &c);
	assert_int_equal(closed_flags(&c, s, "again"), ENGINE_CLOSED_KEPT);
	assert_int_equal(closed_flags(&c, s, "once"), ENGINE_CLOSED_KEPT);
	assert_int_equal(closed_flags(&c, s, "output"), ENGINE_CLOSED_WATCHED);
	assert_int_equal(closed_flags(&c, s, "again-long"), ENGINE_CLOSED_KEPT);
	assert_int_equal(closed_flags(&c, s, "log"), ENGINE_CLOSED_GROWS);
	assert_int_equal(closed_flags(&c, s, "gone"), ENGINE_CLOSED_ABSENT);
	assert_int_equal(c.state->nr_closed, 6);
	rec = closed_find(&c, scratch_path(s, "again"));
	assert_int_equal(image_blob_read(c.r, rec->blob, 0, buf, 5), 0);
	assert_memory_equal(buf, "again", 5);
	assert_int_equal(rec->writes, 2);
	assert_true(c.stats.files.closed_known && !c.stats.files.closed_lost);
	assert_int_equal(c.stats.files.nr[DUMP_FATE_WATCHED], 1);
	assert_int_equal(c.stats.files.nr[DUMP_FATE_GROWS], 1);
	assert_int_equal(c.stats.files.nr[DUMP_FATE_COPIED] + c.stats.files.nr[DUMP_FATE_CLONED],
			 3);
	closed_end(s, &c);
}

/* files_max goes to files that were written again; track keeps none; ignore asks nobody. */
static void test_room(void **arg)
{
	static const enum engine_files ways[] = { ENGINE_FILES_KEEP, ENGINE_FILES_TRACK,
						  ENGINE_FILES_IGNORE };
	const struct scratch *s = *arg;
	struct closed c;

	for (unsigned int i = 0; i < 3; i++) {
		struct dump_options options = dump_options_for(*arg);

		closed_begin(s);
		store_full(s, "once", 4096);
		store_full(s, "twice", 8192);
		log_name(scratch_path(s, "once"), MADE, 1);
		log_name(scratch_path(s, "twice"), MADE, 2);
		options.files = ways[i];
		options.files_max = 8192 + 100;
		closed_dump(s, &options, &c);
		assert_int_equal(closed_flags(&c, s, "twice"),
				 i ? i == 1 ? ENGINE_CLOSED_WATCHED : 0 : ENGINE_CLOSED_KEPT);
		assert_int_equal(closed_flags(&c, s, "once"), i < 2 ? ENGINE_CLOSED_WATCHED : 0);
		closed_end(s, &c);
	}
}

/* Names of one inode share content and fate; a name of an open file is a name of it. */
static void test_names(void **arg)
{
	const struct engine_rec_closed *a, *b;
	struct dump_options options = dump_options_for(*arg);
	const struct scratch *s = *arg;
	char path[256];
	struct closed c;

	closed_begin(s);
	strcpy(path, scratch_path(s, "open"));
	store_file(path, "open", 4);
	store_file(scratch_path(s, "one"), "both", 4);
	assert_int_equal(link(path, scratch_path(s, "name")), 0);
	strcpy(path, scratch_path(s, "one"));
	assert_int_equal(link(path, scratch_path(s, "two")), 0);
	strcpy(path, scratch_path(s, "open"));
	stream_fd(&fake.stream, 1, 5, F_FILE);
	fake_file_of(F_FILE, CKPT_FILE_REG, path, open(path, O_RDWR), CKPT_FILE_OPEN, O_RDWR, 0);
	log_name(path, MADE, 2);
	log_name(scratch_path(s, "name"), CKPT_WRITE_CREATED, 0);
	log_name(scratch_path(s, "one"), MADE, 2);
	log_name(scratch_path(s, "two"), CKPT_WRITE_CREATED, 0);
	options.files = ENGINE_FILES_KEEP;
	closed_dump(s, &options, &c);
	assert_int_equal(closed_flags(&c, s, "open"), ENGINE_CLOSED_OPEN);
	assert_int_equal(closed_flags(&c, s, "name"), ENGINE_CLOSED_OPEN);
	assert_int_equal(closed_find(&c, scratch_path(s, "name"))->file_id, F_FILE);
	a = closed_find(&c, scratch_path(s, "one"));
	b = closed_find(&c, scratch_path(s, "two"));
	assert_true(a && b && a->flags == ENGINE_CLOSED_KEPT && b->flags == a->flags);
	assert_true(a->blob && a->blob == b->blob && a->ino == b->ino);
	closed_end(s, &c);
}

/* A file that was written, and is open for reading at the checkpoint, is kept, too. */
static void test_read_again(void **arg)
{
	struct dump_options options = dump_options_for(*arg);
	const struct scratch *s = *arg;
	const struct state_file *file;
	char path[256];
	struct closed c;

	closed_begin(s);
	strcpy(path, scratch_path(s, "open"));
	store_file(path, "open", 4);
	stream_fd(&fake.stream, 1, 5, F_FILE);
	fake_file_of(F_FILE, CKPT_FILE_REG, path, open(path, O_RDONLY), CKPT_FILE_OPEN, O_RDONLY,
		     0);
	log_name(path, MADE, 1);
	options.files = ENGINE_FILES_KEEP;
	closed_dump(s, &options, &c);
	file = state_file_find(c.state, F_FILE);
	assert_true(file->blob && file->track && file->track->flags & ENGINE_TRACK_KEPT);
	/* for the log of the next run */
	assert_int_equal(closed_flags(&c, s, "open"), ENGINE_CLOSED_OPEN);
	closed_end(s, &c);
}

/* A log that is open: kept if the tree has closed it before, as it may rotate it. */
static void test_log_again(void **arg)
{
	const struct scratch *s = *arg;
	const struct state_file *file;
	char path[256];
	struct closed c;

	for (unsigned int writes = 0; writes < 2; writes++) {
		struct dump_options options = dump_options_for(*arg);

		closed_begin(s);
		strcpy(path, scratch_path(s, "log"));
		store_file(path, "log", 3);
		stream_fd(&fake.stream, 1, 5, F_FILE);
		fake_file_of(F_FILE, CKPT_FILE_REG, path, open(path, O_WRONLY | O_APPEND),
			     CKPT_FILE_OPEN, O_WRONLY | O_APPEND, 0);
		log_name(path, CKPT_WRITE_CREATED, writes);
		options.files = ENGINE_FILES_KEEP;
		closed_dump(s, &options, &c);
		file = state_file_find(c.state, F_FILE);
		assert_int_equal(!!(file->track->flags & ENGINE_TRACK_KEPT), writes);
		assert_int_equal(!!file->blob, writes);
		closed_end(s, &c);
	}
}

/* A long file at whose end the tree writes is kept if the tree has written it in place before. */
static void test_long_in_place(void **arg)
{
	const off_t size = (64LL << 20) + 1;
	const struct scratch *s = *arg;
	const struct state_file *file;
	char path[256];
	struct closed c;

	for (unsigned int i = 0; i < 4; i++) {
		struct dump_options options = dump_options_for(*arg);
		bool rewritten = i & 1, room = !(i & 2);

		closed_begin(s);
		strcpy(path, scratch_path(s, "long"));
		store_large(s, "long", size);
		stream_fd(&fake.stream, 1, 5, F_FILE);
		fake_file_of(F_FILE, CKPT_FILE_REG, path, open(path, O_WRONLY), CKPT_FILE_OPEN,
			     O_WRONLY, (uint64_t)size);
		log_name(path, CKPT_WRITE_CREATED | (rewritten ? CKPT_WRITE_IN_PLACE : 0), 0);
		options.files = ENGINE_FILES_KEEP;
		options.files_max = room ? 0 : 1;
		closed_dump(s, &options, &c);
		file = state_file_find(c.state, F_FILE);
		assert_int_equal(!!(file->track->flags & ENGINE_TRACK_KEPT), rewritten && room);
		assert_int_equal(!!(file->track->flags & ENGINE_TRACK_WATCHED),
				 rewritten && !room);
		closed_end(s, &c);
	}
}

/* A symbolic link is recorded with its target, but not another user's link. */
static void test_link(void **arg)
{
	struct dump_options options = dump_options_for(*arg);
	const struct scratch *s = *arg;
	const struct state_closed *link;
	struct closed c;

	closed_begin(s);
	assert_int_equal(symlink("somewhere", scratch_path(s, "link")), 0);
	log_name(scratch_path(s, "link"), CKPT_WRITE_CREATED, 0);
	options.files = ENGINE_FILES_KEEP;
	closed_dump(s, &options, &c);
	assert_int_equal(c.state->nr_closed, 1);
	link = &c.state->closed[0];
	assert_int_equal(link->rec->flags, ENGINE_CLOSED_LINK);
	assert_string_equal(link->path, scratch_path(s, "link"));
	assert_string_equal(link->target, "somewhere");
	assert_false(c.stats.files.closed_lost);
	closed_end(s, &c);
}

/* Root may not enter a directory of the user's, as with root_squash: it is looked at as his. */
static void test_closed_to_root(void **arg)
{
	struct dump_options options = dump_options_for(*arg);
	const struct scratch *s = *arg;
	struct asker owner = { .uid = 65534, .gid = 65534 };
	uint64_t permitted = rights_permitted();
	struct closed c;

	if (geteuid() || !(permitted & 1ULL << CAP_SETUID) || !(permitted & 1ULL << CAP_SETGID))
		skip();
	options.files = ENGINE_FILES_KEEP;
	for (unsigned int i = 0; i < 2; i++) {
		options.owner = i ? NULL : &owner;	/* then root's: nobody may enter */
		closed_begin(s);
		fake.features |= CKPT_FEAT_OWNER;
		if (!i)
			assert_int_equal(mkdir(scratch_path(s, "his"), 0700), 0);
		store_file(scratch_path(s, "his/file"), "his", 3);
		assert_int_equal(chown(scratch_path(s, "his/file"), 65534, 65534), 0);
		assert_int_equal(chown(scratch_path(s, "his"), 65534, 65534), 0);
		assert_int_equal(chmod(s->root, 0755), 0);
		log_name(scratch_path(s, "his/file"), MADE, 2);
		assert_int_equal(rights_set(permitted, permitted & ~RIGHTS_FILES), 0);
		closed_dump(s, &options, &c);
		assert_int_equal(rights_set(permitted, permitted), 0);
		assert_int_equal(closed_flags(&c, s, "his/file"), i ? 0 : ENGINE_CLOSED_KEPT);
		assert_int_equal(c.stats.files.closed_lost, i);
		closed_end(s, &c);
	}
}

/* A long log that nobody may read any more is watched; the dump does not fail. */
static void test_log_unread(void **arg)
{
	struct dump_options options = dump_options_for(*arg);
	const struct scratch *s = *arg;
	uint64_t permitted = rights_permitted();
	struct closed c;

	options.files = ENGINE_FILES_KEEP;
	closed_begin(s);
	store_large(s, "log", (64LL << 20) + 1);
	assert_int_equal(chmod(scratch_path(s, "log"), 0), 0);
	log_name(scratch_path(s, "log"), MADE | CKPT_WRITE_APPENDS, 9);
	assert_int_equal(rights_set(permitted, permitted & ~RIGHTS_FILES), 0);
	closed_dump(s, &options, &c);
	assert_int_equal(rights_set(permitted, permitted), 0);
	assert_int_equal(closed_flags(&c, s, "log"), ENGINE_CLOSED_WATCHED);
	assert_int_equal(c.stats.files.nr[DUMP_FATE_GROWS], 0);
	closed_end(s, &c);
}

/* The dump says what it does not know. */
static void test_unknown(void **arg)
{
	struct dump_options options = dump_options_for(*arg);
	const struct scratch *s = *arg;
	struct closed c;

	options.files = ENGINE_FILES_KEEP;
	closed_begin(s);
	closed_dump(s, &options, &c);
	assert_true(c.stats.files.closed_asked && !c.stats.files.closed_known);
	assert_int_equal(c.state->writes->flags, 0);
	closed_end(s, &c);
	closed_begin(s);
	fake.writes = log_buf;
	fake.writes_flags = CKPT_WRITES_OVERFLOW;
	fake.writes_since_ns += 3600 * 1000000000ULL;
	closed_dump(s, &options, &c);
	assert_true(c.stats.files.closed_known && c.stats.files.closed_lost);
	assert_int_equal(c.stats.files.closed_since, fake.writes_since_ns / 1000000000);
	assert_int_equal(c.state->writes->flags, ENGINE_WRITES_KNOWN);
	closed_end(s, &c);
}

/* The image tells how far the log was read; directories are no files that are kept. */
static void test_how_far(void **arg)
{
	struct dump_options options = dump_options_for(*arg);
	const struct scratch *s = *arg;
	struct closed c;

	options.files = ENGINE_FILES_KEEP;
	closed_begin(s);
	assert_int_equal(mkdir(scratch_path(s, "dir"), 0700), 0);
	log_name(scratch_path(s, "dir"), CKPT_WRITE_CREATED | CKPT_WRITE_DIR, 0);
	log_name(scratch_path(s, "old"), CKPT_WRITE_GONE | CKPT_WRITE_DIR | CKPT_WRITE_EXISTED, 0);
	log_name(scratch_path(s, "gone"), CKPT_WRITE_GONE | CKPT_WRITE_EXISTED, 0);
	fake.writes_flags = CKPT_WRITES_FORGOT;
	closed_dump(s, &options, &c);
	assert_int_equal(c.state->writes->flags, ENGINE_WRITES_KNOWN | ENGINE_WRITES_COMPLETE);
	assert_int_equal(c.state->writes->log_ns, fake.writes_since_ns);
	assert_int_equal(c.state->writes->seq, 3);
	assert_int_equal(c.state->nr_closed, 1);
	assert_int_equal(closed_flags(&c, s, "gone"), ENGINE_CLOSED_ABSENT);
	/* where a name comes from is the log's, not the image's */
	assert_int_equal(c.state->closed[0].rec->log_flags, CKPT_WRITE_GONE);
	closed_end(s, &c);
}

/* A name that the tree has not removed, and that is not there: then the path may be wrong. */
static void test_not_removed(void **arg)
{
	struct dump_options options = dump_options_for(*arg);
	const struct scratch *s = *arg;
	struct closed c;

	options.files = ENGINE_FILES_KEEP;
	for (unsigned int gone = 0; gone < 2; gone++) {
		closed_begin(s);
		log_name(scratch_path(s, "nowhere"), MADE | (gone ? CKPT_WRITE_GONE : 0), 1);
		closed_dump(s, &options, &c);
		assert_int_equal(c.stats.files.closed_lost, !gone);
		closed_end(s, &c);
	}
}

/* A name of which no mount tells the path: then the dump does not say that it has all. */
static void test_unplaced(void **arg)
{
	struct dump_options options = dump_options_for(*arg);
	const struct scratch *s = *arg;
	struct closed c;

	options.files = ENGINE_FILES_KEEP;
	for (unsigned int gone = 0; gone < 2; gone++) {
		closed_begin(s);
		log_name(scratch_path(s, "away"), MADE | (gone ? CKPT_WRITE_GONE : 0), 1);
		((struct ckpt_write *)log_buf)->major = 4095;
		closed_dump(s, &options, &c);
		assert_int_equal(c.stats.files.closed_lost, !gone);
		assert_int_equal(!!(c.state->writes->flags & ENGINE_WRITES_COMPLETE), gone);
		closed_end(s, &c);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_decisions), TEST(test_room), TEST(test_names), TEST(test_read_again),
		TEST(test_long_in_place), TEST(test_link), TEST(test_log_again),
		TEST(test_closed_to_root), TEST(test_log_unread),
		TEST(test_unknown), TEST(test_how_far), TEST(test_unplaced),
		TEST(test_not_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
