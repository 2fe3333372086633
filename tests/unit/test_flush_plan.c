// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is copied to which level next, and what goes: the decisions, on random histories too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "supervisor/storage/image_name.h"
#include "supervisor/storage/mount_id.h"
#include "supervisor/storage/flush_plan.h"

static void set(struct level_configs *levels, const char *name, const char *value)
{
	assert_int_equal(level_configs_set(levels, name, value), 0);
}

static struct flush_item item(int64_t generation)
{
	return (struct flush_item) {
		.job = 1, .generation = generation, .source = true, .bytes = 10,
		.taken_ns = (uint64_t)generation,
	};
}

/* ---------------------------------------------------------- configuration */

static void test_settings(void **state)
{
	static const struct {
		const char *name, *value;
		int err;
	} bad[] = {
		{ "pfs.every", "0", -EINVAL }, { "pfs.every", "-1", -EINVAL },
		{ "pfs.every", "x", -EINVAL }, { "pfs.every", "", -EINVAL },
		{ "pfs.limit", "10X", -EINVAL }, { "pfs.nothing", "1", -ENOENT },
		{ "other.every", "2", -ENOENT }, { "l1", "posix:/x", -EINVAL },
		{ "a b", "posix:/x", -EINVAL }, { "", "posix:/x", -EINVAL },
		{ "x", "posix:x", -EINVAL }, { "x", "tape:/x", -EINVAL }, { "x", "", -EINVAL },
		{ "pfs.every.every", "1", -ENOENT },
		{ "averyveryveryveryverylongnameforalevel", "posix:/x", -EINVAL },
	};
	struct level_configs levels = { .nr = 0 };
	char name[] = "a";
	size_t i;

	set(&levels, "pfs", "posix:/pfs/ckpt");
	set(&levels, "pfs.every", "4");
	set(&levels, "pfs.limit", "10M");
	set(&levels, "pfs.keep", "3");
	set(&levels, "pfs.keep_every", "10");
	set(&levels, "pfs.max_size", "1T");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(level_configs_set(&levels, bad[i].name, bad[i].value), bad[i].err);
	assert_int_equal(levels.nr, 1);
	assert_string_equal(levels.conf[0].name, "pfs");
	assert_int_equal(levels.conf[0].every, 4);
	assert_int_equal(levels.conf[0].limit, 10 << 20);
	assert_int_equal(levels.conf[0].retain.keep, 3);
	assert_int_equal(level_configs_find(&levels, "pfs"), 0);
	assert_int_equal(level_configs_find(&levels, "tape"), -1);
	/* the place of one that is there already: its other settings stay */
	set(&levels, "pfs", "posix:/other");
	assert_string_equal(level_config_dir(&levels.conf[0]), "/other");
	assert_int_equal(levels.conf[0].every, 4);
	for (i = 1; i < LEVEL_CONFIGS_MAX; i++) {
		set(&levels, name, "posix:/x");
		name[0]++;
	}
	assert_int_equal(level_configs_set(&levels, name, "posix:/x"), -E2BIG);
	level_configs_done(&levels);
	assert_int_equal(levels.nr, 0);
}

static void test_names(void **state)
{
	static const char *const bad[] = {
		"1-a", "1-a.gen-", "1-a.gen-0", "1-a.gen--1", "1-a.gen-01", "1-a.gen-1x",
		"1-a.gen-1000000000", "1-a.gen-9223372036854775807",
		"1-a.gen-1.node-", "1-a.gen-1.node--1", "1-a.gen-1.node-01", "1-a.gen-1.gen-2.x",
		"averyveryveryveryverylonglabelthatisnotoneofoursbecauseitistoolong.gen-1",
	};
	char name[LEVEL_NAME_MAX + 1], label[64];
	int64_t generation;
	size_t i;
	int part;

	assert_int_equal(level_image_name("12-ab", 3, -1, name), 0);
	assert_string_equal(name, "12-ab.gen-3");
	assert_true(level_image_parse(name, label, sizeof(label), &generation, &part));
	assert_string_equal(label, "12-ab");
	assert_true(generation == 3 && part == -1);
	assert_int_equal(level_image_name("12-ab", 3, 17, name), 0);
	assert_string_equal(name, "12-ab.gen-3.node-17");
	assert_true(level_image_parse(name, label, sizeof(label), &generation, &part));
	assert_true(generation == 3 && part == 17);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(level_image_parse(bad[i], label, sizeof(label), &generation, &part));
}

/* A shell command in @dir. */
static void run(const char *dir, const char *what)
{
	char command[400];

	snprintf(command, sizeof(command), "cd '%s' && %s", dir, what);
	assert_int_equal(system(command), 0);
}

/* A mount point without the file system of the store is not taken for it. */
static void test_store_place(void **state)
{
	char dir[] = "/tmp/test-store-XXXXXX", store[64];
	struct ckpt_error error = {};

	assert_non_null(mkdtemp(dir));
	snprintf(store, sizeof(store), "%s/images", dir);
	assert_int_equal(mount_id_check(store, "n1", dir, NULL, &error), -ENOENT);
	run(dir, "mkdir -p images/n2");
	assert_int_equal(mount_id_check(store, "n1", dir, NULL, &error), 0);
	assert_int_equal(mount_id_check(store, "n1", dir, NULL, &error), 0);
	run(dir, "mv images away; mkdir images");
	assert_int_equal(mount_id_check(store, "n1", dir, NULL, &error), -ESTALE);
	assert_non_null(strstr(error.text, "mounted"));
	run(dir, "! ls -A images | grep .");
	/* another one in its place is told by its id */
	run(dir, "sed 's/^id .*/id 00112233445566778899aabbccddeeff/' away/.stillpoint-level "
		 ">images/.stillpoint-level");
	assert_int_equal(mount_id_check(store, "n1", dir, NULL, &error), -ESTALE);
	run(dir, "rm -r images; mv away images");
	assert_int_equal(mount_id_check(store, "n1", dir, NULL, &error), 0);
	/* it was replaced, and that was meant */
	run(dir, "rm -r images; mkdir images; rm store");
	assert_int_equal(mount_id_check(store, "n1", dir, NULL, &error), 0);
	run(dir, "rm -r images store");
	assert_int_equal(rmdir(dir), 0);
}

static const struct log a_log = { .name = "test", .level = LOG_LEVEL_WARNING };

static int look_at_store(const char *dir, const char *state_dir)
{
	struct ckpt_error error = {};
	char store[64];

	snprintf(store, sizeof(store), "%s/images", dir);
	return mount_id_check(store, "n1", state_dir, &a_log, &error);
}

static int open_level(const char *dir, const char *state_dir)
{
	const struct level_site site = { .node = "n1", .log = &a_log };
	const struct level_user user = { .node = "n1", .state_dir = state_dir };
	struct level_configs levels = { .nr = 0 };
	struct ckpt_error error = {};
	struct level *level;
	char place[64];
	int err;

	snprintf(place, sizeof(place), "posix:%s/images", dir);
	set(&levels, "store", place);
	level_configs_set_site(&levels, &site);
	err = level_config_open(&levels.conf[0], &user, &level, &error);
	if (!err)
		level_close(level);
	level_configs_done(&levels);
	return err;
}

/* What that writes to standard error; it is not refused. */
static const char *said(int (*fn)(const char *dir, const char *state_dir), const char *dir,
			const char *state_dir)
{
	int copy = dup(STDERR_FILENO), fd = memfd_create("stderr", 0);
	static char text[1024];
	ssize_t n;
	int err;

	assert_true(copy >= 0 && fd >= 0);
	dup2(fd, STDERR_FILENO);
	err = fn(dir, state_dir);
	dup2(copy, STDERR_FILENO);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(copy);
	close(fd);
	assert_int_equal(err, 0);
	return text;
}

/* It is used all the same, but not in silence: a bare mount point would now pass for it. */
static void test_place_not_noted(void **state)
{
	char dir[] = "/tmp/test-store-XXXXXX";
	const char *text;

	assert_non_null(mkdtemp(dir));
	run(dir, "mkdir images");
	text = said(look_at_store, dir, "/nowhere");
	assert_non_null(strstr(text, "/nowhere/store: cannot be written: No such file or "
				     "directory"));
	assert_non_null(strstr(text, "make room there"));
	run(dir, "ln -s /dev/full store.new-$PPID");
	text = said(look_at_store, dir, dir);
	assert_non_null(strstr(text, "/store: cannot be written: No space left on device"));
	assert_string_equal(said(look_at_store, dir, dir), "");
	run(dir, "rm -r images; mkdir images; ln -s /dev/full level-store.new-$PPID");
	text = said(open_level, dir, dir);
	assert_non_null(strstr(text, "/level-store: cannot be written: No space left on device"));
	assert_string_equal(said(open_level, dir, dir), "");
	run(dir, "rm -r images store level-store");
	assert_int_equal(rmdir(dir), 0);
}

/* ------------------------------------------------------------------- order */

/* Newest first, the cheapest level first; levels that do not work are left out. */
static void test_order(void **state)
{
	struct flush_item items[] = { item(1), item(2), item(3), item(4) };
	struct level_configs levels = { .nr = 0 };
	struct flush_choice c;

	set(&levels, "a", "posix:/a");
	set(&levels, "b", "posix:/b");
	set(&levels, "b.every", "2");
	assert_int_equal(flush_plan_want(&levels, items, 4), 0);
	c = flush_plan_next(items, 4, 3);
	assert_true(c.item == 3 && c.level_nr == 0);
	items[3].here |= 1;
	c = flush_plan_next(items, 4, 3);
	assert_true(c.item == 3 && c.level_nr == 1);
	c = flush_plan_next(items, 4, 1);
	assert_true(c.item == 2 && c.level_nr == 0);
	items[3].failed |= 2;
	c = flush_plan_next(items, 4, 2);
	assert_true(c.item == 1 && c.level_nr == 1);
	items[1].source = false;
	assert_true(flush_plan_next(items, 4, 2).item == FLUSH_NONE);
	assert_true(flush_plan_next(items, 4, 0).item == FLUSH_NONE);
	assert_true(flush_plan_next(items, 0, 3).item == FLUSH_NONE);
	level_configs_done(&levels);
}

/* Of several jobs the one that was checkpointed last. */
static void test_jobs(void **state)
{
	struct flush_item items[] = { item(1), item(7), item(2) };
	struct level_configs levels = { .nr = 0 };

	set(&levels, "a", "posix:/a");
	items[0].taken_ns = 50;
	items[1].taken_ns = 60;
	items[2].job = 2;
	items[2].taken_ns = 70;
	assert_int_equal(flush_plan_want(&levels, items, 2), 0);
	assert_int_equal(flush_plan_want(&levels, items + 2, 1), 0);
	assert_true(flush_plan_next(items, 3, 1).item == 2);
	items[2].here = 1;
	assert_true(flush_plan_next(items, 3, 1).item == 1);
	level_configs_done(&levels);
}

/* Which of the first 16 generations level @t takes, as bits. */
static unsigned int taken(const struct level_configs *levels, unsigned int t)
{
	unsigned int bits = 0;
	int i;

	for (i = 1; i <= 16; i++)
		bits |= level_configs_takes(levels, t, i) ? 1u << i : 0;
	return bits;
}

/*
 * Levels to be avoided: the cheapest of the others takes their generations, and one in eight stays
 * for each of them. Every generation that some level took is taken by some level all the same.
 */
static void test_avoid(void **state)
{
	static const unsigned int every = 0x1fffe, second = 0x15554, fourth = 0x11110;
	static const struct {
		unsigned int avoid;
		bool l1;
		unsigned int want[3];
	} rows[] = {
		{ 0, false, { every, fourth, second } },
		{ 1, false, { 1u << 8 | 1u << 16, every, second } },
		{ 2, false, { every, 0, second } },
		{ 1 | 2, false, { 1u << 8 | 1u << 16, 0, every } },
		{ 4, false, { every, fourth, 1u << 16 } },
		{ 2 | 4, false, { every, 0, 1u << 16 } },
		/* there is no other place */
		{ 1 | 2 | 4, false, { every, fourth, second } },
		{ 0, true, { every, fourth, second } },
		{ 1, true, { 1u << 8 | 1u << 16, every, second } },
		{ 1 | 2 | 4, true, { every, fourth, second } },
	};
	struct level_configs levels = { .nr = 0 };
	struct flush_item items[] = { item(1), item(2), item(3), item(4) };
	unsigned int t, i;

	assert_int_equal(level_configs_instead(&levels), -1);
	set(&levels, "a", "posix:/a");
	set(&levels, "b", "posix:/b");
	set(&levels, "b.every", "4");
	set(&levels, "c", "posix:/c");
	set(&levels, "c.every", "2");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		levels.avoid = rows[i].avoid;
		levels.avoid_l1 = rows[i].l1;
		for (t = 0; t < 3; t++)
			assert_int_equal(taken(&levels, t), rows[i].want[t]);
	}
	/* L1 is degraded, and the cheapest level took one in four: now every one */
	set(&levels, "a.every", "4");
	levels.avoid = 0;
	levels.avoid_l1 = true;
	assert_int_equal(taken(&levels, 0), every);
	levels.avoid = 1;
	levels.avoid_l1 = false;
	assert_int_equal(taken(&levels, 0), 0);
	assert_int_equal(taken(&levels, 1), fourth);
	assert_int_equal(flush_plan_want(&levels, items, 4), 0);
	assert_int_equal(items[3].wanted, 2 | 4);
	assert_int_equal(items[1].wanted, 4);
	level_configs_done(&levels);
}

/* Neither parity nor a level that does not work stands in for one that is avoided. */
static void test_no_stand_in(void **state)
{
	static const unsigned int every = 0x1fffe;
	struct level_configs levels = { .avoid = 1 };

	set(&levels, "a", "posix:/a");
	set(&levels, "group", "erasure:4+2");
	assert_int_equal(level_configs_instead(&levels), -1);
	assert_int_equal(taken(&levels, 0), every);
	set(&levels, "c", "posix:/c");
	set(&levels, "c.every", "4");
	assert_int_equal(level_configs_instead(&levels), 2);
	levels.silent = 4;
	assert_int_equal(level_configs_instead(&levels), -1);
	assert_int_equal(taken(&levels, 0), every);
	level_configs_done(&levels);
}

/* What the rule would remove at once is not copied. */
static void test_not_in_vain(void **state)
{
	struct flush_item items[] = { item(1), item(2), item(3), item(4), item(5), item(6) };
	struct level_configs levels = { .nr = 0 };
	unsigned int i, wanted = 0;

	set(&levels, "a", "posix:/a");
	set(&levels, "a.keep", "2");
	set(&levels, "a.keep_every", "3");
	items[0].pinned = true;
	assert_int_equal(flush_plan_want(&levels, items, 6), 0);
	for (i = 0; i < 6; i++)
		wanted |= items[i].wanted ? 1u << i : 0;
	assert_int_equal(wanted, 1u << 0 | 1u << 2 | 1u << 4 | 1u << 5);
	/* the level has a newer one, of which L1 knows nothing any more */
	items[5].source = false;
	items[5].here = items[5].whole = 1;
	assert_int_equal(flush_plan_want(&levels, items, 6), 0);
	assert_int_equal(items[3].wanted, 0);
	assert_int_equal(items[4].wanted, 1);
	level_configs_done(&levels);
}

/* -------------------------------------------------------- random histories */

#define N	12

static void make_history(struct flush_item *items, struct level_configs *levels)
{
	char text[24];
	int i;

	level_configs_done(levels);
	set(levels, "a", "posix:/a");
	set(levels, "b", "posix:/b");
	snprintf(text, sizeof(text), "%d", 1 + rand() % 3);
	set(levels, "b.every", text);
	snprintf(text, sizeof(text), "%d", rand() % 4);
	set(levels, "a.keep", text);
	snprintf(text, sizeof(text), "%d", rand() % 100);
	set(levels, "b.max_size", text);
	for (i = 0; i < N; i++) {
		items[i] = item(i + 1);
		items[i].source = rand() % 5;
		items[i].pinned = rand() % 8 == 0;
		items[i].here = (unsigned int)rand() & 3;
		items[i].whole = items[i].here & (unsigned int)rand();
		items[i].counts = items[i].here & ~items[i].whole & (unsigned int)rand();
	}
}

static void check_goes(const struct level_configs *levels, struct flush_item *items, unsigned int t)
{
	bool goes[N], had = false, has = false;
	unsigned int bit = 1u << t;
	int i;

	assert_int_equal(flush_plan_goes(levels, t, items, N, goes), 0);
	for (i = 0; i < N; i++) {
		assert_false(goes[i] && (!(items[i].here & bit) || items[i].pinned));
		had = had || items[i].whole & bit;
		has = has || (items[i].whole & bit && !goes[i]);
	}
	assert_int_equal(had, has);
	for (i = 0; i < N; i++) {
		if (goes[i])
			items[i].here &= ~bit;
	}
}

static void test_random(void **state)
{
	struct flush_item items[N];
	struct level_configs levels = { .nr = 0 };
	unsigned int turn, copies, t;

	srand(4);
	for (turn = 0; turn < 3000; turn++) {
		make_history(items, &levels);
		assert_int_equal(flush_plan_want(&levels, items, N), 0);
		for (copies = 0; ; copies++) {
			struct flush_choice c = flush_plan_next(items, N, 3);

			if (c.item == FLUSH_NONE)
				break;
			assert_true(copies < 2 * N && c.level_nr < 2);
			assert_true(items[c.item].source);
			assert_false(items[c.item].here & 1u << c.level_nr);
			if (rand() % 10 == 0)
				items[c.item].failed |= 1u << c.level_nr;
			else
				items[c.item].here |= 1u << c.level_nr;
		}
		for (t = 0; t < N; t++)
			items[t].whole = items[t].here;
		for (t = 0; t < 2; t++)
			check_goes(&levels, items, t);
	}
	level_configs_done(&levels);
}

struct truth {
	const struct flush_item *items;	/* their whole is so */
	unsigned int asked;
};

static bool is_whole(size_t i, unsigned int t, void *arg)
{
	struct truth *truth = arg;

	truth->asked++;
	assert_true(truth->items[i].here & 1u << t);
	return truth->items[i].whole & 1u << t;
}

/* What is asked of is enough: nothing is decided in another way than with all of it. */
static void test_look(void **state)
{
	struct flush_item all[N], few[N];
	struct level_configs levels = { .nr = 0 };
	unsigned int turn, t, i, here = 0;
	struct truth truth = { .items = all };
	bool goes[N], same[N];
	char text[24];

	srand(5);
	for (turn = 0; turn < 3000; turn++) {
		make_history(all, &levels);
		snprintf(text, sizeof(text), "%d", rand() % 5);
		set(&levels, "a.keep_every", text);
		snprintf(text, sizeof(text), "%d", rand() % 3);
		set(&levels, "b.keep", text);
		memcpy(few, all, sizeof(few));
		for (t = 0; t < 2; t++)
			flush_plan_look(&levels, t, few, N, true, is_whole, &truth);
		assert_int_equal(flush_plan_want(&levels, all, N), 0);
		assert_int_equal(flush_plan_want(&levels, few, N), 0);
		for (i = 0; i < N; i++)
			assert_int_equal(few[i].wanted, all[i].wanted);
		for (t = 0; t < 2; t++) {
			flush_plan_look(&levels, t, few, N, false, is_whole, &truth);
			assert_int_equal(flush_plan_goes(&levels, t, all, N, goes), 0);
			assert_int_equal(flush_plan_goes(&levels, t, few, N, same), 0);
			assert_memory_equal(goes, same, sizeof(goes));
		}
		for (i = 0; i < N; i++)
			here += 2 * (unsigned int)__builtin_popcount(all[i].here);
	}
	assert_true(truth.asked < here / 2);
	level_configs_done(&levels);
}

/*
 * How few: none when nothing is to go, as many as are kept when something is, and no more of
 * what is due.
 */
static void test_look_few(void **state)
{
	struct flush_item items[N];
	struct level_configs levels = { .nr = 0 };
	struct truth truth = { .items = items };
	unsigned int i;

	set(&levels, "a", "posix:/a");
	for (i = 0; i < N; i++) {
		items[i] = item(i + 1);
		items[i].here = items[i].whole = 1;
	}
	flush_plan_look(&levels, 0, items, N, false, is_whole, &truth);
	assert_int_equal(truth.asked, 0);
	set(&levels, "a.keep", "12");
	flush_plan_look(&levels, 0, items, N, false, is_whole, &truth);
	assert_int_equal(truth.asked, 0);
	set(&levels, "a.keep", "3");
	truth.items = (struct flush_item [N]) { [9] = { .here = 1, .whole = 1 },
		[11] = { .here = 1, .whole = 1 },
						  [10] = { .here = 1 }, [8] = { .here = 1 },
						  [7] = { .here = 1, .whole = 1 } };
	flush_plan_look(&levels, 0, items, N, false, is_whole, &truth);
	assert_int_equal(truth.asked, 5);
	truth.asked = 0;
	flush_plan_look(&levels, 0, items, N, true, is_whole, &truth);
	assert_int_equal(truth.asked, 0);
	level_configs_done(&levels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_store_place),
		cmocka_unit_test(test_place_not_noted),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_jobs),
		cmocka_unit_test(test_avoid),
		cmocka_unit_test(test_no_stand_in),
		cmocka_unit_test(test_not_in_vain),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_look),
		cmocka_unit_test(test_look_few),
	};

	return cmocka_run_group_tests_name("flush_plan", tests, NULL, NULL);
}
