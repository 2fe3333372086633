// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workers that come to no outcome: what is said of it.  One that changes nothing says so; of
 * one that does it is said how to look what it has done, as nobody can tell from outside how
 * far it came.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/outcome.h"
#include "base/reactor.h"
#include "supervisor/control/worker.h"

struct box {
	struct worker_parent parent;
	json_t *outcome;
};

static void on_progress(json_t *progress, void *arg)
{
}

static void on_outcome(json_t *outcome, void *arg)
{
	struct box *box = arg;

	box->outcome = outcome;
	reactor_stop(box->parent.reactor);
}

static const struct channel_ops ops = { on_progress, on_outcome };

static json_t *is_killed(struct channel_reporter *reporter, void *arg)
{
	raise(SIGKILL);
	return NULL;
}

static json_t *leaves(struct channel_reporter *reporter, void *arg)
{
	_exit(0);
}

static json_t *is_done(struct channel_reporter *reporter, void *arg)
{
	return outcome_ok(NULL);
}

/* The outcome of one that does @run. */
static json_t *outcome_of(worker_fn run, const char *killed)
{
	struct box box = { 0 };
	const struct worker_kind kind = { .name = "ckptd-test", .run = run, .killed = killed };
	const struct worker_spec spec = { .kind = &kind };
	struct worker *worker;

	assert_int_equal(reactor_create(&box.parent.reactor), 0);
	assert_int_equal(worker_start(&box.parent, &spec, &ops, &box, &worker), 0);
	assert_int_equal(reactor_run(box.parent.reactor), 0);
	reactor_destroy(box.parent.reactor);
	assert_non_null(box.outcome);
	return box.outcome;
}

static void assert_says(worker_fn run, const char *killed, const char *text)
{
	json_t *outcome = outcome_of(run, killed);

	assert_int_equal(outcome_errno(outcome), -ECHILD);
	assert_string_equal(json_string_value(
				    json_object_get(json_object_get(outcome, "error"), "text")),
			    text);
	json_decref(outcome);
}

static void test_changes_nothing(void **state)
{
	assert_says(is_killed, NULL,
		    "the ckptd-test process was killed by signal 9 (Killed); nothing was changed");
	assert_says(leaves, NULL,
		    "the ckptd-test process ended without a word; nothing was changed");
}

static void test_changes_something(void **state)
{
	assert_says(is_killed, "look",
		    "the ckptd-test process was killed by signal 9 (Killed); look");
	assert_says(leaves, "look", "the ckptd-test process ended without a word; look");
}

static void test_done(void **state)
{
	json_t *outcome = outcome_of(is_done, "look");

	assert_true(outcome_is_ok(outcome));
	json_decref(outcome);
}

static json_t *hangs(struct channel_reporter *reporter, void *arg)
{
	for (;;)
		pause();
	return NULL;
}

/* The outcome comes in time, though the process has not ended: it may wait in the kernel. */
static void test_deadline(void **state)
{
	struct box box = { 0 };
	const struct worker_kind kind = { .name = "ckptd-test", .run = hangs, .deadline_ms = 200 };
	const struct worker_kind in_time = {
		.name = "ckptd-test", .run = is_done, .deadline_ms = 60000,
	};
	const struct worker_spec spec = { .kind = &kind }, other = { .kind = &in_time };
	int64_t since = clock_monotonic_ms();
	struct worker *worker;

	assert_int_equal(reactor_create(&box.parent.reactor), 0);
	assert_int_equal(worker_start(&box.parent, &spec, &ops, &box, &worker), 0);
	assert_int_equal(reactor_run(box.parent.reactor), 0);
	assert_in_range(clock_monotonic_ms() - since, 200, 10000);
	assert_int_equal(outcome_errno(box.outcome), -ETIMEDOUT);
	json_decref(box.outcome);
	assert_int_equal(worker_start(&box.parent, &other, &ops, &box, &worker), 0);
	assert_int_equal(reactor_run(box.parent.reactor), 0);
	assert_true(outcome_is_ok(box.outcome));
	json_decref(box.outcome);
	reactor_destroy(box.parent.reactor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes_nothing),
		cmocka_unit_test(test_changes_something),
		cmocka_unit_test(test_done),
		cmocka_unit_test(test_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
