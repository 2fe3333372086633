// SPDX-License-Identifier: GPL-2.0-only
/*
 * What performs the coordinators' actions: dumps that end late or not at all, daemons that die,
 * disks that are full. See driver_box.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "tests/unit/driver_box.h"

static int begin(void **state)
{
	*state = box_make();
	return 0;
}

static int end(void **state)
{
	box_free(*state);
	return 0;
}

/* Committed everywhere, and answered; the worker of n2 is still busy. */
static void commit_but_the_worker(struct box *b)
{
	box_checkpoint(b, false);
	box_dump(b, BOX_NODES);
	box_ended(b, 0, NULL);
	assert_true(outcome_is_ok(b->outcome));
	assert_true(b->parts_json[1]);
	assert_non_null(b->node[1].dump);
}

static void a_checkpoint_of_two_nodes(void **state)
{
	struct box *b = *state;

	commit_but_the_worker(b);
	box_ended(b, 1, NULL);
	assert_true(b->node[0].image[1] && b->node[1].image[1]);
	assert_false(b->node[0].held || b->node[1].held);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(b->outcome, "result"),
							    "generation")), 1);
}

static void what_is_committed_is_not_aborted(void **state)
{
	struct coord_event event = driver_event(COORD_EV_REQUEST);
	struct box *b = *state;

	commit_but_the_worker(b);
	b->node[0].mute = true;
	box_checkpoint(b, false);
	event.request = COORD_ABORT;
	driver_feed(b->node[0].job.coord, &event);
	box_run(b);
	assert_false(b->node[1].dump->aborted);
	assert_false(b->node[1].held);
	assert_false(outcome_is_ok(b->outcome));
	box_ended(b, 1, NULL);
	assert_true(b->node[1].image[1]);
	b->node[0].mute = false;
	box_run(b);
	box_checkpoint(b, false);
	box_dump(b, BOX_NODES);
	assert_true(b->parts_json[3]);
}

static void the_next_checkpoint_waits_for_the_last_worker(void **state)
{
	struct box *b = *state;

	commit_but_the_worker(b);
	box_checkpoint(b, false);
	assert_false(b->node[1].held);
	assert_int_equal(b->node[1].dump->generation, 1);
	box_ended(b, 1, NULL);
	assert_true(b->node[1].dump && b->node[1].dump->generation == 2);
	box_dump(b, BOX_NODES);
	box_ended(b, 0, NULL);
	assert_true(outcome_is_ok(b->outcome));
	assert_true(b->parts_json[2] && b->node[1].image[2]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_checkpoint_of_two_nodes),
		TEST(what_is_committed_is_not_aborted),
		TEST(the_next_checkpoint_waits_for_the_last_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
