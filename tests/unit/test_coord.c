// SPDX-License-Identifier: GPL-2.0-only
/*
 * The coordinator by hand: what it refuses and why, what it says, where ranks go, and
 * how large its messages are. What it does under faults is the simulator's.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "coord/coord.h"

struct bench {
	struct coord *coord;
	void *memory;
	uint32_t node_of[4];
	uint64_t now;
	const struct coord_action *acts;
	size_t nr;
};

static void config_of(struct bench *b, struct coord_config *config, uint32_t self)
{
	*config = (struct coord_config){
		.self = self, .nr_nodes = 2, .arity = 2, .incarnation = 1,
		.limits = { 50, 400, 2000, 300, 5000, 3000 },
		.max_comms = 1, .max_channels = 4, .nr_ranks = 4,
		.node_of = b->node_of, .table = &coord_table,
	};
}

static void step(struct bench *b, struct coord_event event)
{
	event.now = b->now += COORD_MS;
	b->nr = coord_step(b->coord, &event, &b->acts);
}

static const struct coord_action *find(const struct bench *b, enum coord_action_kind kind)
{
	size_t i;

	for (i = 0; i < b->nr; i++) {
		if (b->acts[i].kind == kind)
			return &b->acts[i];
	}
	return NULL;
}

/* Completes what the last step began, and what that begins, to the end. */
static void complete(struct bench *b)
{
	size_t i;

	for (i = 0; i < b->nr; i++) {
		struct coord_event done = { .kind = COORD_EV_DONE, .cookie = b->acts[i].cookie };

		if (!done.cookie)
			continue;
		step(b, done);
		i = (size_t)-1;
	}
}

/* Alone in the job, so that it is the root; @run: the job's ranks run here. */
static void start(struct bench *b, uint32_t self, uint32_t nodes, bool run)
{
	struct coord_record record = { 0 };
	struct coord_config config;

	memset(b, 0, sizeof(*b));
	config_of(b, &config, self);
	config.nr_nodes = nodes;
	if (run)
		config.run = (struct coord_id){ 0, 1 };
	b->memory = malloc(coord_size(&config));
	assert_non_null(b->memory);
	assert_int_equal(coord_create(b->memory, &config, &record, &b->coord), 0);
	step(b, (struct coord_event){ .kind = COORD_EV_START });
	/* the abort of what was before, and the record */
	const uint32_t cookies[] = { find(b, COORD_ACT_ABORT)->cookie,
				     find(b, COORD_ACT_PERSIST) ?
				     find(b, COORD_ACT_PERSIST)->cookie : 0 };

	step(b, (struct coord_event){ .kind = COORD_EV_DONE, .cookie = cookies[0] });
	step(b, (struct coord_event){ .kind = COORD_EV_DONE, .cookie = cookies[1] });
}

static const struct coord_action *ask(struct bench *b, enum coord_request request)
{
	step(b, (struct coord_event){ .kind = COORD_EV_REQUEST, .request = request,
				      .ticket = 7, .generation = 1 });
	return find(b, COORD_ACT_REPLY);
}

static void assert_refused(struct bench *b, enum coord_request request, int error,
			   enum coord_reason reason)
{
	const struct coord_action *reply = ask(b, request);

	assert_non_null(reply);
	assert_int_equal(reply->error, error);
	assert_int_equal(reply->reason, reason);
	assert_int_equal(reply->ticket, 7);
}

static void test_two_at_once(void **state)
{
	struct bench b;

	start(&b, 0, 1, true);
	assert_refused(&b, COORD_RESTART, -EBUSY, COORD_WHY_RUNNING);
	assert_refused(&b, COORD_ABORT, -ESRCH, COORD_WHY_NOTHING);
	assert_null(ask(&b, COORD_CHECKPOINT));
	assert_non_null(find(&b, COORD_ACT_QUIESCE));
	assert_refused(&b, COORD_CHECKPOINT, -EBUSY, COORD_WHY_BUSY_CHECKPOINT);
	assert_refused(&b, COORD_RESTART, -EBUSY, COORD_WHY_BUSY_CHECKPOINT);
	assert_refused(&b, COORD_STATUS, 0, COORD_WHY_BUSY_CHECKPOINT);
	free(b.memory);
}

static void test_during_restart(void **state)
{
	struct bench b;

	start(&b, 0, 1, false);
	assert_refused(&b, COORD_CHECKPOINT, -ESRCH, COORD_WHY_NOT_RUNNING);
	assert_null(ask(&b, COORD_RESTART));
	assert_non_null(find(&b, COORD_ACT_PLACE));
	assert_refused(&b, COORD_CHECKPOINT, -EBUSY, COORD_WHY_BUSY_RESTART);
	assert_refused(&b, COORD_RESTART, -EBUSY, COORD_WHY_BUSY_RESTART);
	free(b.memory);
}

static void test_abort(void **state)
{
	const struct coord_action *outcome;
	struct bench b;

	start(&b, 0, 1, true);
	assert_null(ask(&b, COORD_CHECKPOINT));
	assert_refused(&b, COORD_ABORT, 0, COORD_WHY_NONE);
	outcome = find(&b, COORD_ACT_OUTCOME);
	assert_non_null(outcome);
	assert_int_equal(outcome->level, COORD_ABORTED);
	assert_int_equal(outcome->reason, COORD_WHY_ASKED);
	assert_non_null(find(&b, COORD_ACT_ABORT));
	assert_refused(&b, COORD_CHECKPOINT, -EBUSY, COORD_WHY_BUSY_ABORT);
	free(b.memory);
}

static void test_not_root(void **state)
{
	struct bench b;

	start(&b, 1, 2, true);
	assert_refused(&b, COORD_CHECKPOINT, -EREMOTE, COORD_WHY_NOT_ROOT);
	assert_int_equal(coord_root(b.coord), 0);
	free(b.memory);
}

/* A node that says nothing is waited for; only a statement makes it dead. */
static void test_silence_is_not_death(void **state)
{
	struct bench b;
	int i;

	start(&b, 1, 2, true);
	for (i = 0; i < 100; i++) {
		b.now += 3600000 * COORD_MS;
		step(&b, (struct coord_event){ .kind = COORD_EV_TIME });
		assert_int_equal(coord_root(b.coord), 0);
	}
	step(&b, (struct coord_event){ .kind = COORD_EV_DEAD, .node = 0 });
	assert_int_equal(coord_root(b.coord), 1);
	complete(&b);
	assert_refused(&b, COORD_CHECKPOINT, -EHOSTDOWN, COORD_WHY_NODE_DEAD);
	free(b.memory);
}

static void test_config(void **state)
{
	struct coord_record record = { 0 };
	struct coord_config config;
	struct bench b = { 0 };

	config_of(&b, &config, 0);
	b.memory = malloc(coord_size(&config));
	config.self = 2;
	assert_int_equal(coord_create(b.memory, &config, &record, &b.coord), -EINVAL);
	config.self = 0;
	config.arity = COORD_ARITY_MAX + 1;
	assert_int_equal(coord_create(b.memory, &config, &record, &b.coord), -EINVAL);
	config.arity = 2;
	config.nr_nodes = COORD_NODES_MAX + 1;
	assert_int_equal(coord_create(b.memory, &config, &record, &b.coord), -EINVAL);
	free(b.memory);
}

static void test_describe(void **state)
{
	struct coord_wait wait = { 3, 7, 2, 41, COORD_WHY_TIMEOUT, 0x2a, 9 };
	char buf[200], small[8];

	coord_describe(buf, sizeof(buf), COORD_WHY_TIMEOUT, &wait, NULL, "MPI_Recv");
	assert_string_equal(buf, "not done in time: rank 7 on node 3 is in MPI_Recv and waits for "
				 "rank 2, communicator 2a, collective 9 of it");
	coord_describe(buf, sizeof(buf), COORD_WHY_TIMEOUT, &wait, "n4", NULL);
	assert_string_equal(buf, "not done in time: rank 7 on node n4 waits for rank 2, "
				 "communicator 2a, collective 9 of it");
	wait.rank = COORD_NONE;
	wait.reason = COORD_WHY_NO_ANSWER;
	coord_describe(buf, sizeof(buf), COORD_WHY_TIMEOUT, &wait, "n4", NULL);
	assert_string_equal(buf, "not done in time: node n4 does not answer");
	coord_describe(buf, sizeof(buf), COORD_WHY_TIMEOUT, &wait, NULL, NULL);
	assert_string_equal(buf, "not done in time: node 3 does not answer");
	coord_describe(small, sizeof(small), COORD_WHY_TIMEOUT, &wait, NULL, NULL);
	assert_string_equal(small, "not don");
}

static void test_place(void **state)
{
	static const uint32_t slots[] = { 1, 0, 4 };
	uint32_t node_of[7], i, per[3] = { 0 };

	assert_int_equal(coord_place(7, 3, NULL, node_of), 0);
	for (i = 0; i < 7; i++) {
		per[node_of[i]]++;
		assert_true(!i || node_of[i] >= node_of[i - 1]);
	}
	for (i = 0; i < 3; i++)
		assert_in_range(per[i], 2, 3);
	assert_int_equal(coord_place(5, 3, slots, node_of), 0);
	assert_int_equal(node_of[0], 0);
	for (i = 1; i < 5; i++)
		assert_int_equal(node_of[i], 2);
	assert_int_equal(coord_place(6, 3, slots, node_of), -ENOSPC);
	assert_int_equal(coord_place(0, 3, slots, node_of), -EINVAL);
}

/* What a message needs on the wire: a change is one of the protocol. */
static void test_sizes(void **state)
{
	struct coord_msg msg = { .kind = COORD_MSG_ORDER };

	assert_int_equal(coord_msg_size(&msg), 56);
	msg.kind = COORD_MSG_REPORT;
	assert_int_equal(coord_msg_size(&msg), 248);
	msg.kind = COORD_MSG_TARGETS;
	msg.count = COORD_BATCH;
	assert_int_equal(coord_msg_size(&msg), 48 + 16 * COORD_BATCH);
	msg.kind = COORD_MSG_CHANNELS;
	assert_int_equal(coord_msg_size(&msg), 48 + 16 * COORD_BATCH);
	msg.kind = COORD_MSG_VIEW;
	assert_int_equal(coord_msg_size(&msg), 48 + 8 + COORD_NODES_MAX / 8);
	msg.kind = COORD_MSG_HELLO;
	assert_int_equal(coord_msg_size(&msg), 48 + 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_at_once),
		cmocka_unit_test(test_during_restart),
		cmocka_unit_test(test_abort),
		cmocka_unit_test(test_not_root),
		cmocka_unit_test(test_silence_is_not_death),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_describe),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
