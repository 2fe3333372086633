// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mapping paths of an image to new ones: which are covered, which entry counts, what is no
 * mapping, and which files of a state get the new path.
 */
#include <errno.h>
#include <linux/magic.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/files/path_map.h"
#include "tests/unit/stream.h"

static void maps(const struct path_map *map, const char *path, const char *want)
{
	char *found = NULL;

	assert_int_equal(path_map_find(map, path, &found), 0);
	if (want)
		assert_string_equal(found, want);
	else
		assert_null(found);
	free(found);
}

static void test_covered(void **arg)
{
	struct path_map *map = path_map_create();
	struct ckpt_error error = { 0 };

	(void)arg;
	maps(map, "/scratch/7/out", NULL);
	assert_int_equal(path_map_add(map, "/scratch/7", "/scratch/8", &error), 0);
	assert_int_equal(path_map_add(map, "//scratch/./7/in/", "/data//in/.", &error), 0);
	assert_int_equal(path_map_add(map, "/scratch/7/log", "/dev/null", &error), 0);
	assert_int_equal(path_map_add(map, "/jail", "/", &error), 0);
	maps(map, "/scratch/7", "/scratch/8");
	maps(map, "/scratch/7/out", "/scratch/8/out");
	maps(map, "/scratch/7/in", "/data/in");
	maps(map, "/scratch/7/in/a/b", "/data/in/a/b");
	maps(map, "/scratch/7/input", "/scratch/8/input");	/* whole components */
	maps(map, "/scratch/77", NULL);
	maps(map, "/scratch", NULL);
	maps(map, "/scratch/7/log", "/dev/null");
	maps(map, "/jail", "/");
	maps(map, "/jail/etc", "/etc");
	path_map_destroy(map);
}

static void refused(struct path_map *map, const char *old, const char *new, const char *text)
{
	struct ckpt_error error = { 0 };

	assert_int_equal(path_map_add(map, old, new, &error), -EINVAL);
	if (!strstr(error.text, text))
		fail_msg("\"%s\" is not in: %s", text, error.text);
}

static void test_refused(void **arg)
{
	struct path_map *map = path_map_create();
	struct ckpt_error error = { 0 };
	char deep[PATH_MAX];
	char *found = NULL;

	(void)arg;
	refused(map, "out", "/out", "out is no absolute path");
	refused(map, "/out", "there", "there is no absolute path");
	refused(map, "", "/there", "no absolute path");
	refused(map, "/a/../b", "/there", "/a/../b");
	refused(map, "/", "/there", "the root");
	refused(map, "//.", "/there", "the root");
	assert_int_equal(path_map_add(map, "/a", "/b", &error), 0);
	assert_int_equal(path_map_add(map, "/a/", "/b", &error), 0);
	refused(map, "/a", "/c", "/a is given two");
	memset(deep, 'd', sizeof(deep) - 1);
	memcpy(deep, "/long/", 6);
	deep[sizeof(deep) - 1] = 0;
	assert_int_equal(path_map_add(map, "/long", "/longer", &error), 0);
	assert_int_equal(path_map_find(map, deep, &found), -ENAMETOOLONG);
	assert_int_equal(path_map_add(map, "/more", deep, &error), 0);
	assert_null(found);
	path_map_destroy(map);
}

static void test_applied(void **arg)
{
	struct path_map *map = path_map_create();
	struct ckpt_error error = { 0 };
	struct stream s = { 0 };
	struct state_error why;
	struct state *state;

	(void)arg;
	stream_system(&s);
	stream_proc(&s, 100, 0, 1, 1, 1);
	stream_mm(&s, 1, 100, 0);
	stream_file(&s, STREAM_CWD, CKPT_FILE_DIR, "/")->pid = 100;
	stream_file(&s, 2, CKPT_FILE_REG, "/old/out");
	stream_file(&s, 3, CKPT_FILE_DIR, "/old");
	stream_file(&s, 4, CKPT_FILE_REG, "/other/out");
	stream_file(&s, 5, CKPT_FILE_MEMFD, "/old");
	stream_file(&s, 6, CKPT_FILE_REG, "/old/status")->fs_magic = PROC_SUPER_MAGIC;
	if (state_parse(s.buf, s.len, &state, &why))
		fail_msg("%s", why.text);
	assert_int_equal(path_map_add(map, "/old", "/new", &error), 0);
	assert_int_equal(path_map_apply(map, state, NULL, &error), 0);
	assert_string_equal(state_file_find(state, 2)->path, "/new/out");
	assert_true(state_file_find(state, 2)->mapped);
	assert_string_equal(state_file_find(state, 3)->path, "/new");
	assert_string_equal(state_file_find(state, 4)->path, "/other/out");
	assert_false(state_file_find(state, 4)->mapped);
	assert_string_equal(state_file_find(state, 5)->path, "/old");
	assert_string_equal(state_file_find(state, 6)->path, "/old/status");
	assert_string_equal(state_file_find(state, STREAM_CWD)->path, "/");
	state_free(state);
	path_map_destroy(map);
	stream_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_covered),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_applied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
