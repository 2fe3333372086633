// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asking other nodes how fast they wrote: several nodes in this process, over loopback. What they
 * measured for the same generations, of like size, becomes one median for each; nobody who is
 * silent, unknown or knows nothing holds that up.
 */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/iotrace/device_peers.h"
#include "levels/groups.h"
#include "tests/unit/peer_fixture.h"

#define MB	1e6

static struct common common[NODES];
static struct device_peers *peers[NODES];
static json_t *rates;
static unsigned int calls;

struct peer *__wrap_nodes_peer(struct nodes *nodes);
struct peer_asks *__wrap_nodes_asks(struct nodes *nodes);
const struct levels_node *__wrap_nodes_list(const struct nodes *nodes, unsigned int *ret_nr);

struct peer *__wrap_nodes_peer(struct nodes *nodes)
{
	return ((struct node *)nodes)->peer;
}

struct peer_asks *__wrap_nodes_asks(struct nodes *nodes)
{
	return ((struct node *)nodes)->asks;
}

const struct levels_node *__wrap_nodes_list(const struct nodes *nodes, unsigned int *ret_nr)
{
	static const struct levels_node list[NODES] = {
		{ .name = "n0" }, { .name = "n1" }, { .name = "n2" },
	};

	*ret_nr = NODES;
	return list;
}

static void on_rates(json_t *found, void *arg)
{
	json_decref(rates);
	rates = found;
	calls++;
}

static void start(struct node *nodes, unsigned int i)
{
	static char names[NODES][4] = { "n0", "n1", "n2" };

	assert_int_equal(nodes_start(nodes, i), 0);
	common[i].config.node = names[i];
	common[i].nodes = (struct nodes *)&nodes[i];
	common[i].reactor = nodes[i].reactor;
	assert_int_equal(device_peers_open(&common[i], &peers[i]), 0);
}

/* Ask n0's peers about generations 1 to 3 of job 7. */
static void ask(struct node *nodes, const char *const *names, size_t nr)
{
	json_t *list = json_array(), *what = json_pack("{s:s, s:i, s:[i, i, i]}", "level", "L1",
						       "job", 7, "generations", 1, 2, 3);
	const unsigned int before = calls;
	size_t i;

	for (i = 0; i < nr; i++)
		json_array_append_new(list, json_string(names[i]));
	assert_int_equal(device_peers_ask(peers[0], list, what, on_rates, NULL), 0);
	assert_int_equal(device_peers_ask(peers[0], list, what, on_rates, NULL), -EBUSY);
	json_decref(list);
	json_decref(what);
	until(nodes, calls == before + 1);
	assert_string_equal(json_string_value(json_object_get(rates, "level")), "L1");
	assert_int_equal(json_integer_value(json_object_get(rates, "job")), 7);
	assert_int_equal(json_array_size(json_object_get(rates, "rates")), 3);
}

static void row_is(size_t i, int nr, double rate)
{
	const json_t *row = json_array_get(json_object_get(rates, "rates"), i);

	assert_int_equal(json_integer_value(json_object_get(row, "generation")), (int)i + 1);
	assert_int_equal(json_integer_value(json_object_get(row, "peers")), nr);
	assert_true(json_number_value(json_object_get(row, "rate")) == rate);
}

static void test_medians(void **state)
{
	static const char *const names[] = { "n0", "n1", "n2", "gone" };
	struct node *nodes = *state;
	unsigned int i;
	int g;

	for (i = 0; i < NODES; i++)
		start(nodes, i);
	for (g = 1; g <= 3; g++)
		device_peers_note(peers[0], "L1", 7, g, 64 * MB, 10 * MB);
	device_peers_note(peers[1], "L1", 7, 1, 64 * MB, 100 * MB);
	device_peers_note(peers[2], "L1", 7, 1, 60 * MB, 80 * MB);
	device_peers_note(peers[1], "L1", 7, 2, 64 * MB, 90 * MB);
	/* of another level, another job, another size */
	device_peers_note(peers[2], "pfs", 7, 2, 64 * MB, 1 * MB);
	device_peers_note(peers[2], "L1", 8, 2, 64 * MB, 2 * MB);
	device_peers_note(peers[2], "L1", 7, 3, 6 * MB, 3 * MB);
	ask(nodes, names, 4);
	row_is(0, 2, 90 * MB);
	row_is(1, 1, 90 * MB);
	row_is(2, 0, 0);
	/* forgotten by and by */
	for (i = 0; i < 1000; i++)
		device_peers_note(peers[1], "L1", 9, (int)i, 64 * MB, 90 * MB);
	ask(nodes, names, 4);
	row_is(0, 1, 80 * MB);
	row_is(1, 0, 0);
	for (i = 0; i < NODES; i++)
		device_peers_close(peers[i]);
}

static void test_nobody(void **state)
{
	static const char *const names[] = { "n0", "n1", "gone" };
	struct node *nodes = *state;

	/* n1 is off */
	start(nodes, 0);
	device_peers_note(peers[0], "L1", 7, 1, 64 * MB, 10 * MB);
	ask(nodes, names, 3);
	row_is(0, 0, 0);
	/* a job of one node */
	ask(nodes, names, 1);
	row_is(0, 0, 0);
	ask(nodes, NULL, 0);
	device_peers_close(peers[0]);
}

/* Closed in the middle of a question. */
static void test_close(void **state)
{
	struct node *nodes = *state;
	json_t *list = json_pack("[s]", "n1"), *what;
	const unsigned int before = calls;

	start(nodes, 0);
	start(nodes, 1);
	what = json_pack("{s:s, s:i, s:[i]}", "level", "L1", "job", 7, "generations", 1);
	assert_int_equal(device_peers_ask(peers[0], list, what, on_rates, NULL), 0);
	device_peers_close(peers[0]);
	nodes_turn(nodes, 50);
	assert_int_equal(calls, before);
	device_peers_close(peers[1]);
	json_decref(list);
	json_decref(what);
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, nodes_setup, nodes_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = { T(medians), T(nobody), T(close) };
	int failed;

	if (sodium_init() < 0)
		return 1;
	failed = cmocka_run_group_tests_name("device_peers", tests, NULL, NULL);
	json_decref(rates);
	return failed;
}
