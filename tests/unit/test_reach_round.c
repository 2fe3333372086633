// SPDX-License-Identifier: GPL-2.0-only
/*
 * Votes of several nodes in this process, over loopback, on one that is silent: its ckptd is off,
 * hangs, or cannot be reached by some.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/outcome.h"
#include "supervisor/diagnose/reach_round.h"
#include "tests/unit/peer_fixture.h"

static char names[NODES][4] = { "n0", "n1", "n2" };
static struct common common[NODES];
static struct reach_desk *desks[NODES];
static json_t *found;

struct peer *__wrap_nodes_peer(struct nodes *nodes);
struct peer_asks *__wrap_nodes_asks(struct nodes *nodes);

struct peer *__wrap_nodes_peer(struct nodes *nodes)
{
	return ((struct node *)nodes)->peer;
}

struct peer_asks *__wrap_nodes_asks(struct nodes *nodes)
{
	return ((struct node *)nodes)->asks;
}

static int begin(void **state)
{
	struct node *nodes;

	if (nodes_setup(state))
		return -1;
	nodes = *state;
	for (unsigned int i = 0; i < NODES; i++) {
		if (nodes_start(nodes, i))
			return -1;
		common[i] = (struct common){
			.config.node = names[i], .reactor = nodes[i].reactor,
			.workers.reactor = nodes[i].reactor, .nodes = (struct nodes *)&nodes[i],
		};
		if (reach_desk_open(&common[i], &desks[i]))
			return -1;
	}
	return 0;
}

static int end(void **state)
{
	int err = nodes_teardown(state);

	json_decref(found);
	found = NULL;
	for (unsigned int i = 0; i < NODES; i++)
		reach_desk_close(desks[i]);
	return err;
}

static void on_found(json_t *all, void *arg)
{
	json_decref(found);
	found = all;
	++*(unsigned int *)arg;
}

/* n0 begins a round on @silent with @voters; the tally of the @index-th that it is on. */
static const json_t *round_of(struct node *nodes, const char *silent, const char *voters,
			      size_t index)
{
	json_t *about = json_loads(silent, 0, NULL), *ask = json_loads(voters, 0, NULL);
	unsigned int rounds = 0;

	assert_int_equal(reach_round_start(&common[0], about, ask, on_found, &rounds), 0);
	json_decref(about);
	json_decref(ask);
	until(nodes, rounds);
	assert_int_equal(rounds, 1);
	return json_array_get(found, index);
}

static void is(const json_t *one, const char *node, const char *what, size_t votes)
{
	assert_string_equal(json_string_value(json_object_get(one, "node")), node);
	assert_string_equal(json_string_value(json_object_get(one, "is")), what);
	assert_int_equal(json_array_size(json_object_get(one, "votes")), votes);
}

/* All answer; as ckptd of n2 hangs, it has its port all the same. */
static void test_hangs(void **state)
{
	is(round_of(*state, "[\"n2\"]", "[\"n0\", \"n1\"]", 0), "n2", "daemon_hangs", 2);
}

static void test_off(void **state)
{
	struct node *nodes = *state;

	nodes_stop(nodes, 2);
	is(round_of(nodes, "[\"n2\"]", "[\"n0\", \"n1\"]", 0), "n2", "no_daemon", 2);
	/* a voter that is off has no vote, and one that there is not is not asked */
	is(round_of(nodes, "[\"n1\", \"n2\"]", "[\"n0\", \"n2\", \"n7\"]", 0), "n1",
	   "daemon_hangs", 1);
	is(json_array_get(found, 1), "n2", "no_daemon", 1);
}

/* n0 has another address of n2 in its hosts file than n1: its way there is cut. */
static void test_link(void **state)
{
	struct node *nodes = *state;
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int full = socket(AF_INET, SOCK_STREAM, 0), client[3];

	/* a port whose queue is full drops packets */
	at.sin_port = htons(nodes[0].host[2].port);
	nodes_stop(nodes, 2);
	assert_int_equal(setsockopt(full, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)), 0);
	assert_int_equal(bind(full, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(full, 0), 0);
	for (int i = 0; i < 3; i++) {
		client[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		assert_true(!connect(client[i], (struct sockaddr *)&at, sizeof(at)) ||
			    errno == EINPROGRESS);
	}
	is(round_of(nodes, "[\"n2\"]", "[\"n1\"]", 0), "n2", "off", 2);
	for (int i = 0; i < 3; i++)
		close(client[i]);
	close(full);
}

/* Nobody to try, or nobody to ask. */
static void test_nobody(void **state)
{
	unsigned int rounds = 0;
	json_t *self = json_pack("[s]", "n0"), *none = json_array();

	assert_int_equal(reach_round_start(&common[0], self, none, on_found, &rounds), -ENOENT);
	assert_int_equal(reach_round_start(&common[0], none, self, on_found, &rounds), -ENOENT);
	json_decref(self);
	json_decref(none);
	is(round_of(*state, "[\"n7\"]", "[]", 0), "n7", "unknown", 0);
}

static void on_outcome(const json_t *outcome, void *arg)
{
	int *err = arg;

	*err = outcome_errno(outcome);
}

/* A question that makes no sense is refused; and so are more than a few at a time. */
static void test_refused(void **state)
{
	struct node *nodes = *state;
	int err[REACH_ANSWERS + 2];
	unsigned int busy = 0, well = 0;

	err[0] = 1;
	assert_int_equal(peer_ask(nodes[0].asks, 1, "reach", json_pack("{s:[i]}", "nodes", 1),
				  20000, on_outcome, &err[0], NULL), 0);
	until(nodes, err[0] <= 0);
	assert_int_equal(err[0], -EINVAL);
	for (int i = 0; i < REACH_ANSWERS + 2; i++) {
		err[i] = 1;
		assert_int_equal(peer_ask(nodes[0].asks, 1, "reach",
					  json_pack("{s:[s]}", "nodes", "n2"), 20000, on_outcome,
					  &err[i], NULL), 0);
	}
	for (int i = 0; i < REACH_ANSWERS + 2; i++) {
		until(nodes, err[i] <= 0);
		busy += err[i] == -EBUSY;
		well += !err[i];
	}
	assert_true(busy >= 1 && well >= REACH_ANSWERS);
	assert_int_equal(busy + well, REACH_ANSWERS + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hangs, begin, end),
		cmocka_unit_test_setup_teardown(test_off, begin, end),
		cmocka_unit_test_setup_teardown(test_link, begin, end),
		cmocka_unit_test_setup_teardown(test_nobody, begin, end),
		cmocka_unit_test_setup_teardown(test_refused, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
