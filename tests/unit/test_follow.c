// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much of other nodes' logs may be shown (shim/follow.c): what is there when one looks, whole
 * lines where ranks have labels, and less after a node has cut its log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/follow.h"

struct world {
	char dir[64];
	struct shim_follow *follow;
	int log;	/* output of node 1, as that has it */
};

static void begin(struct world *w, bool label)
{
	struct shim_spec spec = {
		.uid = geteuid(), .gid = getegid(),
		.stdio = { SPEC_NULL, SPEC_PIPE, SPEC_PIPE },
		.ranks = { .size = 2, .nr_nodes = 2, .label = label },
	};
	int dir;

	*w = (struct world) { .dir = "/tmp/follow.XXXXXX" };
	assert_non_null(mkdtemp(w->dir));
	dir = open(w->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(follow_open(&spec, dir, &w->follow), 0);
	assert_int_equal(follow_count(w->follow), 2);
	w->log = openat(dir, "stdout.1", O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_true(w->log >= 0);
	close(dir);
}

static void end(struct world *w)
{
	char path[96];
	int i;

	follow_close(w->follow);
	close(w->log);
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s.1", w->dir, i ? "stderr" : "stdout");
		unlink(path);
	}
	rmdir(w->dir);
}

static void put(const struct world *w, const char *text)
{
	assert_int_equal(write(w->log, text, strlen(text)), strlen(text));
}

static uint64_t ready(const struct world *w)
{
	uint64_t n;

	assert_true(follow_log(w->follow, 0, &n) >= 0);
	return n;
}

static void test_look(void **state)
{
	struct world w;

	begin(&w, false);
	assert_false(follow_look(w.follow));
	put(&w, "one\nand");
	assert_int_equal(ready(&w), 0);
	assert_true(follow_look(w.follow));
	assert_int_equal(ready(&w), 7);
	assert_false(follow_look(w.follow));
	end(&w);
	assert_false(follow_look(NULL));
}

static void test_lines(void **state)
{
	struct world w;

	begin(&w, true);
	put(&w, "one\nand");
	assert_true(follow_look(w.follow));
	assert_int_equal(ready(&w), 4);
	follow_finish(w.follow);
	assert_int_equal(ready(&w), 7);
	end(&w);
}

static void test_cut(void **state)
{
	struct world w;
	int label;

	for (label = 0; label < 2; label++) {
		begin(&w, label);
		put(&w, "one\ntwo\nthree\n");
		assert_true(follow_look(w.follow));
		assert_int_equal(ftruncate(w.log, 4), 0);
		assert_true(follow_look(w.follow));
		assert_int_equal(ready(&w), 4);
		put(&w, "2\n");
		assert_true(follow_look(w.follow));
		assert_int_equal(ready(&w), 6);
		end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_look),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests_name("follow", tests, NULL, NULL);
}
