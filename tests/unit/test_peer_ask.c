// SPDX-License-Identifier: GPL-2.0-only
/*
 * Questions between ckptds: answered, too late, forgotten, of one that leaves, and too many.
 */
#include <errno.h>
#include <sodium.h>
#include <unistd.h>

#include "base/outcome.h"
#include "tests/unit/peer_fixture.h"

static void on_outcome(const json_t *outcome, void *arg)
{
	struct node *n = arg;

	json_decref(n->outcome);
	n->outcome = json_deep_copy(outcome);
	n->outcomes++;
}

static void verb_twice(struct peer_question *question, void *arg)
{
	json_int_t number = json_integer_value(json_object_get(peer_question_args(question), "n"));

	assert_int_equal(peer_question_from(question), 0);
	peer_question_answer(question, outcome_ok(json_pack("{s:I}", "n", number * 2)));
}

static void verb_later(struct peer_question *question, void *arg)
{
	struct node *n = arg;

	n->question = question;
}

static void test_ask(void **state)
{
	struct node *nodes = *state, *n = &nodes[0];
	uint64_t cookie;

	assert_int_equal(nodes_start(nodes, 0), 0);
	assert_int_equal(nodes_start(nodes, 1), 0);
	assert_int_equal(peer_verb(nodes[1].asks, "twice", verb_twice, NULL), 0);
	assert_int_equal(peer_verb(nodes[1].asks, "twice", verb_twice, NULL), -EEXIST);
	assert_int_equal(peer_verb(nodes[1].asks, "later", verb_later, &nodes[1]), 0);
	assert_int_equal(peer_ask(n->asks, 1, "twice", json_pack("{s:i}", "n", 21), 20000,
				  on_outcome, n, NULL), 0);
	until(nodes, n->outcomes == 1);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(n->outcome, "result"),
							    "n")), 42);
	assert_int_equal(peer_ask(n->asks, 1, "what", json_object(), 20000, on_outcome, n, NULL),
			 0);
	until(nodes, n->outcomes == 2);
	assert_int_equal(outcome_errno(n->outcome), -ENOSYS);
	/* one that takes longer, and of which something is heard */
	assert_int_equal(peer_ask(n->asks, 1, "later", json_object(), 300, on_outcome, n, &cookie),
			 0);
	peer_ask_extend(n->asks, cookie, 20000);
	peer_ask_extend(n->asks, cookie + 1, 20000);
	until(nodes, nodes[1].question);
	usleep(400000);
	nodes_turn(nodes, 20);
	assert_int_equal(n->outcomes, 2);
	peer_question_answer(nodes[1].question, outcome_ok(NULL));
	nodes[1].question = NULL;
	until(nodes, n->outcomes == 3);
	assert_true(outcome_is_ok(n->outcome));
	n->outcomes--;
	/* answered too late, and after that nobody is hurt */
	assert_int_equal(peer_ask(n->asks, 1, "later", json_object(), 300, on_outcome, n, NULL), 0);
	until(nodes, nodes[1].question && n->outcomes == 3);
	assert_int_equal(outcome_errno(n->outcome), -ETIMEDOUT);
	peer_question_answer(nodes[1].question, outcome_ok(NULL));
	nodes[1].question = NULL;
	/* forgotten */
	assert_int_equal(peer_ask(n->asks, 1, "later", json_object(), 20000, on_outcome, n,
				  &cookie), 0);
	until(nodes, nodes[1].question);
	peer_ask_forget(n->asks, cookie);
	peer_ask_forget(n->asks, cookie);
	nodes_turn(nodes, 20);
	assert_int_equal(n->outcomes, 3);
	/* the asked daemon leaves first, then the asking one */
	assert_int_equal(peer_ask(n->asks, 1, "later", json_object(), 20000, on_outcome, n, NULL),
			 0);
	nodes_stop(nodes, 1);
	peer_question_answer(nodes[1].question, outcome_ok(NULL));
	nodes_stop(nodes, 0);
	/* nobody is left to be told */
	assert_int_equal(n->outcomes, 3);
}

/* As many to one node do not keep others from being asked: a job may have thousands. */
static void test_ask_many(void **state)
{
	struct node *nodes = *state, *n = &nodes[0];
	unsigned int i;

	assert_int_equal(nodes_start(nodes, 0), 0);
	assert_int_equal(nodes_start(nodes, 1), 0);
	assert_int_equal(nodes_start(nodes, 2), 0);
	for (i = 0; i < PEER_ASK_MAX - PEER_ASK_KEPT; i++)
		assert_int_equal(peer_ask(n->asks, 1, "what", json_object(), 60000, on_outcome, n,
					  NULL),
				 0);
	assert_int_equal(peer_ask(n->asks, 1, "what", json_object(), 60000, on_outcome, n, NULL),
			 -EMFILE);
	assert_int_equal(peer_ask(n->asks, 2, "what", json_object(), 60000, on_outcome, n, NULL),
			 0);
	assert_int_equal(peer_ask(n->asks, NODES, "what", json_object(), 60000, on_outcome, n,
				  NULL),
			 -ENOENT);
	until(nodes, n->outcomes == PEER_ASK_MAX - PEER_ASK_KEPT + 1);
	assert_int_equal(peer_ask(n->asks, 1, "what", json_object(), 60000, on_outcome, n, NULL),
			 0);
	until(nodes, n->outcomes == PEER_ASK_MAX - PEER_ASK_KEPT + 2);
}

static void verb_keeps(struct peer_question *question, void *arg)
{
	struct peer_question ***at = arg;

	*(*at)++ = question;
}

/* Questions that stay open keep no report of a part back, on neither side. */
static void test_ask_reports(void **state)
{
	struct node *nodes = *state, *n = &nodes[0];
	struct peer_question *kept[PEER_ASK_MAX], **at = kept;
	unsigned int i, open = PEER_ASK_MAX - PEER_ASK_KEPT;

	assert_int_equal(nodes_start(nodes, 0), 0);
	assert_int_equal(nodes_start(nodes, 1), 0);
	assert_int_equal(peer_verb(nodes[1].asks, "start", verb_keeps, &at), 0);
	assert_int_equal(peer_verb(nodes[1].asks, "part", verb_twice, NULL), 0);
	for (i = 0; i < open; i++)
		assert_int_equal(peer_ask(n->asks, 1, "start", json_object(), 60000, on_outcome, n,
					  NULL), 0);
	until(nodes, at == kept + open);
	assert_int_equal(peer_ask(n->asks, 1, "start", json_object(), 60000, on_outcome, n, NULL),
			 -EMFILE);
	assert_int_equal(peer_ask(n->asks, 1, "part", json_pack("{s:i}", "n", 21), 60000,
				  on_outcome, n, NULL), 0);
	until(nodes, n->outcomes == 1);
	assert_true(outcome_is_ok(n->outcome));
	while (at > kept)
		peer_question_answer(*--at, outcome_ok(NULL));
	until(nodes, n->outcomes == 1 + open);
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, nodes_setup, nodes_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(ask), T(ask_many), T(ask_reports),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
