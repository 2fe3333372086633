// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write journal: what was added is read again, a torn end counts as nothing, and names of
 * several logs are united to what happened after a moment.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/core/kdev.h"
#include "engine/core/write_journal.h"
#include "engine/core/write_log.h"
#include "tests/unit/image_fixture.h"

#define EXISTED	(CKPT_WRITE_EXISTED | CKPT_WRITE_STATE)

static struct write_log_name a_name(const char *path, uint64_t seq, uint32_t flags)
{
	return (struct write_log_name){
		.path = path, .seq = seq, .flags = flags, .ino = 10 + seq, .bytes = 100 + seq,
		.mtime_ns = 1700000000000000000ULL + seq,
	};
}

static void add(const char *path, uint64_t log_ns, uint32_t flags, uint64_t seq,
		struct write_log_name *names, unsigned int nr)
{
	static const char *const own[] = { "/state/7", NULL };
	const struct write_log log = {
		.flags = flags, .since_ns = log_ns, .seq = seq, .names = names, .nr = nr,
	};

	assert_int_equal(write_journal_append(path, own, &log), 0);
}

/* Paths may hold anything; what a restart told the log is not the job's. */
static void test_again(void **arg)
{
	static const char odd[] = "/a b/%41\n\x01\xff\xc3\xa4";
	const char *path = scratch_path(*arg, "writes");
	struct write_log_name names[] = {
		a_name(odd, 1, EXISTED), a_name("/told", 2, CKPT_WRITE_TOLD),
		a_name("/made", 3, CKPT_WRITE_CREATED | CKPT_WRITE_CLOSED),
		a_name("/state/7/exit", 4, EXISTED), a_name("/state/71", 5, EXISTED),
	};
	struct write_journal j;
	struct stat st;

	assert_int_equal(write_journal_load(path, &j), -ENOENT);
	add(path, 5, CKPT_WRITES_OVERFLOW, 5, names, 5);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(write_journal_load(path, &j), 0);
	assert_int_equal(j.nr_parts, 1);
	assert_int_equal(j.parts[0].log_ns, 5);
	assert_int_equal(j.parts[0].log_flags, CKPT_WRITES_OVERFLOW);
	assert_in_range(j.parts[0].read_s, (uint64_t)time(NULL) - 5, (uint64_t)time(NULL));
	assert_int_equal(j.nr, 3);
	assert_string_equal(j.names[2].path, "/state/71");
	assert_string_equal(j.names[0].path, odd);
	assert_int_equal(j.names[0].flags, EXISTED);
	assert_int_equal(j.names[0].ino, 11);
	assert_int_equal(j.names[0].bytes, 101);
	assert_int_equal(j.names[0].mtime_ns, 1700000000000000001ULL);
	assert_string_equal(j.names[1].path, "/made");
	assert_int_equal(j.end, st.st_size);
	write_journal_done(&j);
}

/* Wherever a power cut tears the second addition, the first one is read, and a third can follow. */
static void test_torn(void **arg)
{
	struct write_log_name one[] = { a_name("/one", 1, EXISTED) };
	struct write_log_name two[] = { a_name("/two", 2, EXISTED) };
	struct write_log_name three[] = { a_name("/three", 3, EXISTED) };
	const char *path = scratch_path(*arg, "torn");
	struct write_journal j;
	struct stat first, second;

	add(path, 5, 0, 1, one, 1);
	assert_int_equal(stat(path, &first), 0);
	add(path, 5, 0, 2, two, 1);
	assert_int_equal(stat(path, &second), 0);
	for (off_t len = second.st_size - 1; len >= first.st_size; len--) {
		/* the size may be there before the bytes */
		assert_int_equal(truncate(path, len) | truncate(path, len + 9), 0);
		assert_int_equal(write_journal_load(path, &j), 0);
		assert_int_equal(j.nr_parts, 1);
		assert_int_equal(j.nr, 1);
		write_journal_done(&j);
	}
	add(path, 5, 0, 3, three, 1);
	assert_int_equal(write_journal_load(path, &j), 0);
	assert_int_equal(j.nr, 2);
	assert_string_equal(j.names[1].path, "/three");
	write_journal_done(&j);
	assert_int_equal(truncate(path, 3), 0);
	assert_int_equal(write_journal_load(path, &j), -EBADMSG);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(write_journal_load(path, &j), 0);
	assert_int_equal(j.nr_parts | j.nr, 0);
	write_journal_done(&j);
}

static const struct write_log_name *since_find(const struct write_since *since, const char *path)
{
	for (unsigned int i = 0; i < since->nr; i++)
		if (!strcmp(since->names[i].path, path))
			return &since->names[i];
	return NULL;
}

static struct write_since since_of(const struct write_journal *j, uint64_t log_ns, uint64_t seq)
{
	struct write_since since;

	assert_int_equal(write_journal_since(j, log_ns, seq, &since), 0);
	return since;
}

/*
 * Two runs. After the second name of the first one, a restart to that moment looks at its later
 * names and at those of the second run; a name counts as what it was first.
 */
static void test_since(void **arg)
{
	struct write_log_name first[] = {
		a_name("/before", 1, EXISTED), a_name("/at", 2, CKPT_WRITE_CREATED),
		a_name("/twice", 3, CKPT_WRITE_CREATED),
	};
	struct write_log_name later[] = { a_name("/later", 4, EXISTED) };
	struct write_log_name second[] = {
		a_name("/at", 1, CKPT_WRITE_TOLD), a_name("/twice", 2, EXISTED),
		a_name("/second", 3, EXISTED),
	};
	const char *path = scratch_path(*arg, "since");
	struct write_journal j;
	struct write_since since;

	add(path, 500, 0, 3, first, 3);
	add(path, 500, CKPT_WRITES_ENDED, 4, later, 1);
	/* the clock was set back */
	add(path, 400, CKPT_WRITES_ENDED, 3, second, 3);
	assert_int_equal(write_journal_load(path, &j), 0);
	since = since_of(&j, 500, 2);
	assert_true(since.known && since.ended && !since.lost);
	assert_int_equal(since.nr, 3);
	assert_int_equal(since_find(&since, "/twice")->flags, CKPT_WRITE_CREATED);
	assert_int_equal(since_find(&since, "/later")->seq, 4);
	assert_non_null(since_find(&since, "/second"));
	write_since_done(&since);
	since = since_of(&j, 400, 2);
	assert_int_equal(since.nr, 1);
	assert_string_equal(since.names[0].path, "/second");
	write_since_done(&since);
	since = since_of(&j, 450, 0);
	assert_false(since.known);
	write_since_done(&since);
	write_journal_done(&j);
}

/* A log that was not read to its end, or was full, is told. */
static void test_unsure(void **arg)
{
	struct write_log_name name[] = { a_name("/x", 1, EXISTED) };
	const char *path = scratch_path(*arg, "unsure");
	struct write_journal j;
	struct write_since since;

	add(path, 5, 0, 1, name, 1);
	add(path, 6, CKPT_WRITES_ENDED | CKPT_WRITES_FORGOT, 1, name, 1);
	assert_int_equal(write_journal_load(path, &j), 0);
	since = since_of(&j, 5, 1);
	assert_true(since.known && !since.ended && since.lost);
	assert_int_equal(since.until_s, j.parts[0].read_s);
	write_since_done(&since);
	since = since_of(&j, 6, 0);
	assert_true(since.ended);
	write_since_done(&since);
	write_journal_done(&j);
	/* nothing that was of the run */
	j = (struct write_journal){ 0 };
	since = since_of(&j, 5, 1);
	assert_false(since.known);
	assert_int_equal(since.nr, 0);
	write_since_done(&since);
}

#define MANY	2000

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : st.st_size;
}

/* Names of 3,900 bytes, each of which takes thrice as much in the journal; the caller frees. */
static char *long_names(struct write_log_name *names)
{
	char *text = malloc(MANY * 4000), *at = text;

	for (unsigned int i = 0; i < MANY; i++, at += 4000) {
		memset(at, '\x01', 3900);
		snprintf(at + 3900, 20, "%u", i);
		at[0] = '/';
		names[i] = a_name(at, i + 1, EXISTED);
	}
	return text;
}

/*
 * A job that changes ever new names does not make its journal longer than it may be. The journal
 * is begun anew with the log of the run, and says what it has not.
 */
static void test_bounded(void **arg)
{
	static const char *const own[] = { NULL };
	struct write_log_name *names = calloc(MANY, sizeof(*names)), few[] = {
		a_name("/a", 1, EXISTED), a_name("/b", 2, EXISTED),
	};
	char *text = long_names(names);
	struct write_log log = { .since_ns = 6, .seq = MANY, .names = names, .nr = 400 };
	const char *path = scratch_path(*arg, "bounded");
	struct write_journal j;
	struct write_since since;
	int ret, i;

	add(path, 5, 0, 2, few, 2);
	for (i = 0, ret = 0; !ret && i < 10; i++) {
		ret = write_journal_append(path, own, &log);
		assert_in_range(size_of(path), 1, WRITE_JOURNAL_MAX);
	}
	assert_int_equal(ret, -EFBIG);
	assert_in_range(i, 3, 5);
	/* nothing is damaged by that */
	assert_int_equal(write_journal_load(path, &j), 0);
	assert_int_equal(j.nr_parts, i);
	write_journal_done(&j);
	/* a log that fits */
	log.nr = 500;
	assert_int_equal(write_journal_renew(path, own, &log), 0);
	assert_in_range(size_of(path), 1, WRITE_JOURNAL_MAX / 2);
	assert_int_equal(write_journal_load(path, &j), 0);
	assert_int_equal(j.nr, 500);
	assert_int_equal(j.end, size_of(path));
	since = since_of(&j, 6, 499);
	assert_true(since.known && !since.lost);
	assert_int_equal(since.nr, 1);
	write_since_done(&since);
	since = since_of(&j, 5, 1);
	assert_false(since.known);
	write_since_done(&since);
	write_journal_done(&j);
	add(path, 6, 0, MANY + 1, few, 1);
	/* one that does not */
	log.nr = MANY;
	assert_int_equal(write_journal_append(path, own, &log), -EFBIG);
	assert_int_equal(write_journal_renew(path, own, &log), 0);
	assert_in_range(size_of(path), WRITE_JOURNAL_MAX / 4, WRITE_JOURNAL_MAX / 2);
	assert_int_equal(write_journal_load(path, &j), 0);
	assert_in_range(j.nr, 500, MANY - 1);
	since = since_of(&j, 6, 1);
	assert_true(since.known && since.lost);
	write_since_done(&since);
	write_journal_done(&j);
	/* one of an older version, that is too long */
	assert_int_equal(truncate(path, WRITE_JOURNAL_MAX + 1), 0);
	assert_int_equal(write_journal_load(path, &j), -EFBIG);
	log.nr = 2;
	assert_int_equal(write_journal_renew(path, own, &log), 0);
	assert_int_equal(write_journal_load(path, &j), 0);
	write_journal_done(&j);
	free(names);
	free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_again), TEST(test_torn), TEST(test_since), TEST(test_unsure),
		TEST(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
