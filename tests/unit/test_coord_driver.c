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
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "coord/coord_priv.h"
#include "engine/core/sock_link.h"
#include "supervisor/job/coord_record.h"
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

static void nobody_is_captured_before_all_have_flushed(void **state)
{
	struct box *b = *state;

	box_checkpoint(b, false);
	box_flushed(b, 0);
	assert_false(b->node[0].dump->went);
	box_flushed(b, 1);
	assert_true(b->node[0].dump->went && b->node[1].dump->went);
	box_captured(b, 0);
	assert_false(b->node[0].dump->went);
	box_captured(b, 1);
	assert_true(b->node[0].dump->went && b->node[1].dump->went);
	box_stored(b, 0);
	box_stored(b, 1);
	box_ended(b, 0, NULL);
	assert_true(outcome_is_ok(b->outcome));
	box_ended(b, 1, NULL);
}

/* One that fails there gives the checkpoint up for all. */
static void one_cannot_flush(void **state)
{
	struct box *b = *state;

	box_checkpoint(b, false);
	box_flushed(b, 0);
	box_ended(b, 1, "no space left on the server");
	assert_true(b->node[0].dump->aborted);
	box_ended(b, 0, "given up");
	assert_false(outcome_is_ok(b->outcome));
	assert_false(b->node[0].held || b->node[1].held);
}

static const struct sock_link here = {
	.sock = 1, .accepted = true, .got_seq = 100, .end_seq = 200,
	.own = "10.0.0.1:80", .remote = "10.0.0.2:4711",
};
static const struct sock_link there = {
	.sock = 9, .got_seq = 150, .end_seq = 100, .own = "10.0.0.2:4711", .remote = "10.0.0.1:80",
};

static void links_are_answered_when_all_have_told(void **state)
{
	struct box *b = *state;
	const struct job_dump *home, *other;

	box_checkpoint(b, false);
	home = b->node[0].dump;
	other = b->node[1].dump;
	box_links(b, 1, &there, 1);
	assert_false(home->linked || other->linked);
	box_links(b, 0, &here, 1);
	assert_true(home->linked && other->linked);
	assert_int_equal(home->links[0].link, 1);
	assert_int_equal(other->links[0].link, 1);
	assert_int_equal(home->links[0].role, SOCK_LINK_LISTENS);
	assert_int_equal(other->links[0].role, SOCK_LINK_CONNECTS);
	box_dump(b, BOX_NODES);
	box_ended(b, 0, NULL);
	assert_true(outcome_is_ok(b->outcome));
	box_ended(b, 1, NULL);
}

/* A node that waits for the answer is not left waiting when the home gives up. */
static void a_home_that_gives_up_answers_who_has_told(void **state)
{
	struct box *b = *state;

	box_checkpoint(b, false);
	box_links(b, 1, &there, 1);
	box_ended(b, 0, "a socket of a stranger");
	assert_false(b->node[1].dump->linked);
	assert_true(b->node[1].dump->aborted);
	box_ended(b, 1, "given up");
	assert_false(outcome_is_ok(b->outcome));
	assert_null(((struct coord_driver *)b->node[0].job.coord)->links);
}

/* The home's dump has told, another one fails before: the next checkpoint begins anew. */
static void links_of_a_checkpoint_that_failed_do_not_count(void **state)
{
	struct box *b = *state;

	box_checkpoint(b, false);
	box_links(b, 0, &here, 1);
	box_ended(b, 1, "a socket of a stranger");
	assert_true(b->node[0].dump->aborted);
	box_ended(b, 0, "given up");
	assert_false(outcome_is_ok(b->outcome));
	box_checkpoint(b, false);
	box_links(b, 0, &here, 1);
	assert_false(b->node[0].dump->linked);
	box_links(b, 1, &there, 1);
	assert_int_equal(b->node[1].dump->links[0].link, 1);
	box_dump(b, BOX_NODES);
	box_ended(b, 0, NULL);
	assert_true(outcome_is_ok(b->outcome));
	box_ended(b, 1, NULL);
}

/*
 * n2 does not hear the order at first. Of what it costs a job that is to end there is nothing
 * to say.
 */
static void the_thaw_lasts_until_all_have_given_it(void **state)
{
	struct box *b = *state;
	struct coord_driver *d;

	box_checkpoint(b, false);
	d = b->node[0].job.coord;
	box_flushed(b, 0);
	box_flushed(b, 1);
	box_captured(b, 0);
	assert_int_equal(d->thaw_at, 0);
	b->node[1].dump->went = false;
	b->node[1].dump->ops->captured(b->node[1].dump->arg);
	b->node[1].off = true;
	box_run(b);
	assert_true(d->thaw_at && !d->thawed_at);
	b->node[1].off = false;
	box_run(b);
	assert_true(d->thawed_at > d->thaw_at + 100 * COORD_MS);
	box_stored(b, 0);
	box_stored(b, 1);
	box_ended(b, 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(b->outcome, "result"),
							    "thaw_ns")),
			 d->thawed_at - d->thaw_at);
	box_ended(b, 1, NULL);
	box_checkpoint(b, true);
	box_dump(b, BOX_NODES);
	box_ended(b, 0, NULL);
	assert_true(outcome_is_ok(b->outcome));
	assert_null(json_object_get(json_object_get(b->outcome, "result"), "thaw_ns"));
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

static void nobody_is_told_before_it_counts(void **state)
{
	struct box *b = *state;

	b->full = true;
	box_checkpoint(b, true);
	box_dump(b, BOX_NODES);
	assert_int_equal(b->node[0].sent_commits, 0);
	assert_false(b->node[1].dump->went);
	b->full = false;
	usleep(1200000);	/* it is tried again each second */
	box_run(b);
	assert_true(b->parts_json[1] && b->node[1].dump->went);
	assert_int_equal(b->early, 0);
}

/* The record of another node says that it counts; the home died before it had made it so. */
static void what_counts_elsewhere_becomes_a_generation(void **state)
{
	struct box *b = *state;
	struct coord_record record;

	commit_but_the_worker(b);
	box_ended(b, 1, NULL);
	box_kill(b, 0);
	assert_int_equal(coord_record_read(b->node[0].state_dir, &record), 0);
	record.prepared = record.committed;
	record.committed = (struct coord_id) { 0 };
	assert_int_equal(coord_record_write(b->node[0].state_dir, &record), 0);
	b->parts_json[1] = false;
	box_start(b, 0);
	assert_int_equal(driver_open(&b->node[0].job), 0);
	box_run(b);
	assert_true(b->parts_json[1]);
	assert_int_equal(b->early, 0);
	/* one that was removed since does not come back */
	b->parts_json[1] = false;
	box_checkpoint(b, false);
	box_dump(b, BOX_NODES);
	assert_true(b->parts_json[2] && !b->parts_json[1]);
}

/* A ckptd that learns from another's record that a generation counts has it copied, home or not. */
static void what_counts_late_is_copied(void **state)
{
	struct box *b = *state;
	struct coord_record record;
	unsigned int i;

	commit_but_the_worker(b);
	box_ended(b, 1, NULL);
	assert_int_equal(b->node[1].flushes, 1);
	for (i = 0; i < BOX_NODES; i++) {
		box_kill(b, i);
		assert_int_equal(coord_record_read(b->node[i].state_dir, &record), 0);
		record.prepared = record.committed;
		record.committed = (struct coord_id) { 0 };
		assert_int_equal(coord_record_write(b->node[i].state_dir, &record), 0);
		b->parts_json[1] = i;
		b->node[i].flushes = 0;
		box_start(b, i);
		assert_int_equal(driver_open(&b->node[i].job), 0);
		box_run(b);
		assert_true(b->parts_json[1]);
		assert_int_equal(b->node[i].flushes, 1);
	}
}

/* While it waits for a slower node. */
static void a_worker_that_is_killed_ends_it(void **state)
{
	struct box *b = *state;

	box_checkpoint(b, true);
	box_dump(b, 1);
	assert_null(b->outcome);
	box_ended(b, 0, "killed");
	assert_non_null(b->outcome);
	assert_int_equal(outcome_errno(b->outcome), -ECHILD);
	assert_true(b->node[1].dump->aborted);
	box_ended(b, 1, "given up");
	assert_false(b->parts_json[1] || b->node[0].image[1] || b->node[1].image[1]);
	assert_false(b->node[0].held || b->node[1].held);
}

/* It counts, and its ranks are alive. */
static void who_was_to_be_killed_and_is_not_goes_on(void **state)
{
	struct box *b = *state;

	box_checkpoint(b, true);
	box_dump(b, BOX_NODES);
	assert_true(b->parts_json[1]);
	assert_true(b->node[0].held && b->node[1].held);
	box_ended(b, 1, "killed");
	assert_false(b->node[1].held);
	assert_true(b->node[0].held);
	box_ended(b, 0, NULL);
	assert_true(b->node[0].held);	/* those are dead */
	assert_true(b->parts_json[1] && b->node[1].image[1]);
}

static const char *coord_file(const struct box *b, unsigned int node)
{
	static char path[96];

	snprintf(path, sizeof(path), "%s/%s", b->node[node].state_dir, COORD_RECORD_FILE);
	return path;
}

static void held_by(struct box *b, bool in_doubt)
{
	if (!in_doubt)
		b->node[0].mute = true;
	box_checkpoint(b, true);
	if (in_doubt)
		box_dump(b, 0);
	assert_true(b->node[1].held);
}

/* Its ranks ran on when it died; nobody asks for anything. */
static void a_home_that_is_back_lets_others_go(void **state)
{
	struct box *b = *state;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		held_by(b, i);
		box_kill(b, 0);
		b->node[0].mute = false;
		box_run(b);
		assert_true(b->node[1].held);
		box_start(b, 0);
		coord_driver_resume(&b->node[0].job);
		box_run(b);
		if (i)
			box_ended(b, 1, "given up");
		assert_false(b->node[1].held);
		assert_false(b->node[1].image[1]);
	}
	/* and of a job that never had a checkpoint there is nothing to end */
	box_kill(b, 1);
	assert_int_equal(unlink(coord_file(b, 1)), 0);
	coord_driver_resume(&b->node[1].job);
	assert_null(b->node[1].job.coord);
}

/* Of what is not decided; the home is told when it is back. */
static void who_is_alone_gives_up(void **state)
{
	struct box *b = *state;

	coord_driver_alone(&b->node[1].job);
	held_by(b, false);
	box_kill(b, 0);
	b->node[0].mute = false;
	box_run(b);
	coord_driver_alone(&b->node[1].job);
	box_run(b);
	assert_false(b->node[1].held);
	coord_driver_alone(&b->node[1].job);
	box_start(b, 0);
	box_run(b);
	assert_false(b->node[0].held || b->node[1].held);
	box_checkpoint(b, false);
	box_dump(b, BOX_NODES);
	box_ended(b, 0, NULL);
	assert_true(outcome_is_ok(b->outcome));
	box_ended(b, 1, NULL);
	coord_driver_alone(&b->node[1].job);
	box_run(b);
	assert_false(b->node[1].held);
}

static void who_is_alone_and_in_doubt_waits(void **state)
{
	struct box *b = *state;

	held_by(b, true);
	box_kill(b, 0);
	coord_driver_alone(&b->node[1].job);
	box_run(b);
	assert_true(b->node[1].held && b->node[1].image[1]);
}

/*
 * After the thaw the ranks run on and the dump is worth having; what is to be killed stands
 * still.
 */
static void who_is_alone_after_the_thaw(void **state)
{
	struct box *b = *state;
	int kill;

	for (kill = 0; kill < 2; kill++) {
		box_checkpoint(b, kill);
		box_captured(b, 0);
		box_captured(b, 1);
		assert_int_equal(coord_level(b->node[1].job.coord->coord), COORD_THAWED);
		assert_int_equal(b->node[1].held, kill);
		coord_driver_alone(&b->node[1].job);
		assert_int_equal(b->node[1].dump->aborted, kill);
		box_run(b);
		if (kill)
			break;
		box_stored(b, 0);
		box_stored(b, 1);
		box_ended(b, 0, NULL);
		assert_true(outcome_is_ok(b->outcome));
		box_ended(b, 1, NULL);
	}
	box_ended(b, 1, "given up");
	assert_false(b->node[1].held || b->node[1].image[2]);
}

/* A shim's socket takes some 280 messages before it has a turn. */
static void many_targets_are_few_messages(void **state)
{
	struct box *b = *state;

	b->node[0].comms = b->node[1].comms = 300;
	b->node[0].link_room = b->node[1].link_room = 60;
	box_checkpoint(b, false);
	assert_true(b->node[0].link->targets >= 300);
	assert_true(b->node[1].link->targets >= 300);
	box_dump(b, BOX_NODES);
	assert_true(b->parts_json[1]);
}

/*
 * Of more than nine nodes one has others below it that may have quiesced, and say how far they are,
 * while it still has the worker of the last dump. Here that is the home, with the request made
 * for it, and its shim as it ran on: without a link, or with one that has not said so yet.
 */
static void targets_that_come_before_the_order_are_told(void **state)
{
	struct coord_event event = driver_event(COORD_EV_REQUEST);
	struct box *b = *state;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		b->node[1].comms = 0;
		box_checkpoint(b, false);
		b->node[0].mute = i;
		box_dump(b, BOX_NODES);
		box_ended(b, 1, NULL);
		b->node[1].comms = 3;
		event.request = COORD_CHECKPOINT;
		event.ticket = 100;
		driver_feed(b->node[0].job.coord, &event);
		box_run(b);
		assert_int_equal(!!b->node[0].link, i);
		assert_false(b->node[0].held);
		assert_true(b->node[1].held);
		b->node[0].mute = false;
		box_ended(b, 0, NULL);
		assert_int_equal(b->node[0].link->targets, 3);
		box_dump(b, BOX_NODES);
		box_ended(b, 0, NULL);
		box_ended(b, 1, NULL);
		assert_true(b->parts_json[2 * (i + 1)]);
	}
}

static void who_cannot_be_told_is_not_waited_for(void **state)
{
	struct box *b = *state;

	b->node[0].link_room = 0;
	box_checkpoint(b, false);
	assert_non_null(b->outcome);
	assert_false(outcome_is_ok(b->outcome));
	assert_false(b->node[0].held || b->node[1].held);
}

/* Its ckptd died after it was asked, and before the order came; so nobody asks the new one. */
static void who_does_not_know_how_to_dump_holds_nobody(void **state)
{
	struct coord_event event = driver_event(COORD_EV_REQUEST);
	struct box *b = *state;

	commit_but_the_worker(b);
	box_ended(b, 1, NULL);
	box_kill(b, 1);
	box_start(b, 1);
	b->node[1].orders = 0;
	event.request = COORD_CHECKPOINT;
	driver_feed(b->node[0].job.coord, &event);
	box_run(b);
	assert_int_equal(b->node[1].orders, 0);
	assert_false(b->node[0].held);
	box_checkpoint(b, false);
	box_dump(b, BOX_NODES);
	assert_true(b->parts_json[3]);
}

/* The ranks of n2 end when all run on; those of the home have much to do still. */
static void who_has_no_ranks_any_more_is_not_waited_for(void **state)
{
	struct box *b = *state;
	const char *text;

	box_checkpoint(b, false);
	box_dump(b, 1);
	assert_true(b->node[1].dump->went);
	box_exit(b, 1);
	assert_true(b->node[1].dump->aborted);
	box_ended(b, 1, "given up");
	usleep(1200000);	/* it looks each second */
	box_run(b);
	assert_true(b->node[0].dump->aborted);
	box_ended(b, 0, "given up");
	assert_int_equal(outcome_errno(b->outcome), -ESRCH);
	text = json_string_value(json_object_get(json_object_get(b->outcome, "error"), "text"));
	assert_non_null(strstr(text, "the ranks of node n2 have ended"));
	assert_false(b->parts_json[1] || b->node[0].image[1] || b->node[0].held);
}

/* Theirs was saved, and they end before they can say so. */
static void what_is_decided_counts_without_who_has_ended(void **state)
{
	struct box *b = *state;

	box_checkpoint(b, false);
	box_dump(b, 0);
	box_exit(b, 1);
	b->node[0].image[1] = true;
	b->node[0].dump->ops->stored(b->node[0].dump->arg);
	box_run(b);
	assert_true(b->parts_json[1]);
	box_ended(b, 1, NULL);
	box_ended(b, 0, NULL);
	usleep(1200000);
	box_run(b);
	assert_true(outcome_is_ok(b->outcome));
}

/* It is the tree's: ranks that become silent, and a worker that begins, are not in it. */
static void the_pause_of_the_configuration_is_not_all_there_is(void **state)
{
	static const unsigned int configured[] = { 50, 0 };
	static const uint32_t limit[] = { 5050, 65000 };
	struct box *b = *state;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		b->node[i].common.config.max_pause_ms = configured[i];
		assert_int_equal(driver_open(&b->node[i].job), 0);
		assert_int_equal(b->node[i].job.coord->coord->config.limits.pause, limit[i]);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_checkpoint_of_two_nodes),
		TEST(nobody_is_captured_before_all_have_flushed),
		TEST(one_cannot_flush),
		TEST(links_are_answered_when_all_have_told),
		TEST(a_home_that_gives_up_answers_who_has_told),
		TEST(links_of_a_checkpoint_that_failed_do_not_count),
		TEST(the_thaw_lasts_until_all_have_given_it),
		TEST(what_is_committed_is_not_aborted),
		TEST(the_next_checkpoint_waits_for_the_last_worker),
		TEST(nobody_is_told_before_it_counts),
		TEST(what_counts_elsewhere_becomes_a_generation),
		TEST(what_counts_late_is_copied),
		TEST(a_worker_that_is_killed_ends_it),
		TEST(who_was_to_be_killed_and_is_not_goes_on),
		TEST(a_home_that_is_back_lets_others_go),
		TEST(who_is_alone_gives_up),
		TEST(who_is_alone_and_in_doubt_waits),
		TEST(who_is_alone_after_the_thaw),
		TEST(many_targets_are_few_messages),
		TEST(targets_that_come_before_the_order_are_told),
		TEST(who_cannot_be_told_is_not_waited_for),
		TEST(the_pause_of_the_configuration_is_not_all_there_is),
		TEST(who_does_not_know_how_to_dump_holds_nobody),
		TEST(who_has_no_ranks_any_more_is_not_waited_for),
		TEST(what_is_decided_counts_without_who_has_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
