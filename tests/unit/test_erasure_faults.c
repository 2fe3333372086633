// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parity over images, when something happens in the middle: a write that fails, the end of the
 * process, an input that goes bad, a caller who wants no more.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/erasure_fixture.h"
#include "tests/unit/faulty_writer.h"

struct saboteur {
	const char *path;
	int after;
};

/* Cuts a file off in the middle of an operation. */
static bool sabotage(void *arg)
{
	struct saboteur *s = arg;

	if (!s->after--)
		assert_int_equal(truncate(s->path, 9000), 0);
	return false;
}

/* An input that fails in the middle counts as lost; the rest is made without it. */
static void dies_in_the_middle(void **state)
{
	struct saboteur s;
	struct level_options transfer = { .cancelled = sabotage, .arg = &s };
	unsigned int lost[] = { 3 };
	char path[200];
	struct group g;

	group_init(&g, *state, 4, 2, four);
	group_encode(&g);
	g.options.transfer = &transfer;
	snprintf(path, sizeof(path), "%s/pages", g.images[2]);
	s = (struct saboteur){ path, 1 };
	if (group_rebuild(&g, lost, 1))
		fail_msg("%s", g.error.text);
	group_check_again(&g, lost, 1);
	assert_non_null(strstr(g.notes, "node 'n2'"));
	/* now n2 is no good from the beginning, and a piece of parity goes, too */
	snprintf(path, sizeof(path), "%s/parity", g.parities[1]);
	s = (struct saboteur){ path, 2 };
	assert_int_equal(group_rebuild(&g, lost, 1), -ENODATA);
	assert_non_null(strstr(g.notes, "parity 1"));
	assert_non_null(strstr(g.error.text, "node 'n2'"));
	assert_int_equal(count_entries(g.s->root), 6);
}

static int attempt(struct group *g, bool again, enum fault_kind kind, int left)
{
	struct faulty_plan plan = { .kind = kind, .left = left };
	struct level_writers writers = { faulty_create, &plan };
	struct level_options transfer = { .writers = &writers };
	unsigned int lost[] = { 1 };
	int err;

	g->options.transfer = &transfer;
	err = again ? group_rebuild(g, lost, 1) :
	      erasure_encode(g->members, g->k, g->m, g->outputs, 1, g->s->key, &g->options,
			     &g->error);
	g->options.transfer = NULL;
	return err;
}

static const int two_sizes[] = { 30, 400 };

static void every_fault(struct group *g, bool again, int entries)
{
	static const enum fault_kind kinds[] = { FAULT_ENOSPC, FAULT_EIO, FAULT_TORN };
	char dir[200];
	size_t i;
	int n, err;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (n = 0; ; n++) {
			err = attempt(g, again, kinds[i], n);
			if (!err)
				break;
			assert_int_equal(err, kinds[i] == FAULT_ENOSPC ? -ENOSPC : -EIO);
			assert_true(g->error.text[0]);
			assert_int_equal(count_entries(g->s->root), entries);
			assert_true(n < 200);
		}
		assert_true(n >= 8);
		snprintf(dir, sizeof(dir), "%s/again-0", g->s->root);
		remove_image(again ? dir : g->parities[0]);
	}
}

static void faults(void **state)
{
	struct group g;

	group_init(&g, *state, 2, 1, two_sizes);
	every_fault(&g, false, 2);
	group_encode(&g);
	every_fault(&g, true, 3);
}

/* The process dies at every operation: what it made is whole or not there. */
static void dying(void **state)
{
	unsigned int lost[] = { 0 };
	struct group g;
	int n, status;

	group_init(&g, *state, 2, 1, two_sizes);
	for (n = 0; ; n++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			_exit(attempt(&g, false, FAULT_DIE, n) ? 1 : 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		if (!WEXITSTATUS(status))
			break;
		assert_int_equal(WEXITSTATUS(status), FAULT_EXIT);
		assert_false(path_exists(g.parities[0]));
		if (n % 2)
			assert_int_equal(image_sweep(g.s->root, &g.error), 1);
		assert_true(n < 200);
	}
	group_lose(&g, lost, 1);
}

struct watcher {
	int after, asked;
	uint64_t last;
};

static bool cancel(void *arg)
{
	struct watcher *w = arg;

	return w->asked++ >= w->after;
}

static void watch(uint64_t done, uint64_t total, void *arg)
{
	struct watcher *w = arg;

	assert_true(done > w->last && done <= total);
	w->last = done;
}

static void cancelled(void **state)
{
	struct watcher w = {};
	struct level_options transfer = { .cancelled = cancel, .progress = watch, .arg = &w };
	struct group g;
	int i, err;

	group_init(&g, *state, 4, 2, four);
	g.options.transfer = &transfer;
	for (i = 0; ; i++) {
		w = (struct watcher){ .after = i };
		err = group_try_encode(&g);
		if (!err)
			break;
		assert_int_equal(err, -ECANCELED);
		assert_int_equal(count_entries(g.s->root), 4);
		assert_true(i < 100);
	}
	assert_true(i > 4);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(dies_in_the_middle),
		T(faults),
		T(dying),
		T(cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
