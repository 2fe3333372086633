// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether nodes can be reached, against real ports of this machine, and what votes on that say.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "supervisor/diagnose/reach.h"

/* A socket with a port of 127.0.0.1; it listens with that backlog, -1: it does not. */
static int port_take(unsigned int *ret_port, int backlog)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(at);
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_true(sock >= 0);
	assert_int_equal(bind(sock, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(sock, (struct sockaddr *)&at, &size), 0);
	assert_true(backlog < 0 || !listen(sock, backlog));
	*ret_port = ntohs(at.sin_port);
	return sock;
}

static void test_ports(void **state)
{
	struct reach_target t[5] = {
		{ .address = "127.0.0.1" }, { .address = "127.0.0.1" },
		{ .address = "[::1]", .port = 1 }, { .address = "no such name", .port = 1 },
		{ .address = "255.255.255.255", .port = 1 },
	};
	int there = port_take(&t[0].port, 5), nobody = port_take(&t[1].port, -1);

	reach_try(t, 5, 5000);
	assert_string_equal(reach_name(t[0].found), "listens");
	assert_string_equal(reach_name(t[1].found), "refused");
	assert_string_not_equal(reach_name(t[2].found), "listens");
	assert_string_not_equal(reach_name(t[2].found), "untried");
	assert_string_equal(reach_name(t[3].found), "untried");
	assert_string_equal(reach_name(t[4].found), "nothing");
	for (int i = 0; i < 5; i++)
		assert_int_equal(t[i].sock, -1);
	close(there);
	close(nobody);
}

/* A port whose queue is full lets packets drop: no answer, and the deadline is kept. */
static void test_deadline(void **state)
{
	struct reach_target full[8], other = { .address = "127.0.0.1" };
	unsigned int port, silent = 0;
	int there = port_take(&port, 0), more = port_take(&other.port, 5);
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)port),
	};
	int client = socket(AF_INET, SOCK_STREAM, 0);
	int64_t begin;

	assert_int_equal(connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
	for (int i = 0; i < 7; i++)
		full[i] = (struct reach_target){ .address = "127.0.0.1", .port = port };
	full[7] = other;
	begin = clock_monotonic_ms();
	reach_try(full, 8, 300);
	assert_in_range(clock_monotonic_ms() - begin, 290, 3000);
	for (int i = 0; i < 7; i++)
		silent += full[i].found == REACH_NOTHING;
	assert_true(silent >= 5);
	assert_int_equal(full[7].found, REACH_LISTENS);
	close(client);
	close(there);
	close(more);
}

static void test_none(void **state)
{
	reach_try(NULL, 0, 10000);
}

static void is(const char *votes, const char *what, const char *text, size_t nr)
{
	json_t *all = json_loads(votes, 0, NULL), *found;

	assert_non_null(all);
	found = reach_tally("n2", all);
	assert_string_equal(json_string_value(json_object_get(found, "is")), what);
	assert_string_equal(json_string_value(json_object_get(found, "text")), text);
	assert_int_equal(json_array_size(json_object_get(found, "votes")), nr);
	json_decref(found);
	json_decref(all);
}

#define VOTE(by, found)	"{\"node\": \"n2\", \"by\": \"" by "\", \"found\": \"" found "\"}"
#define OTHER	"{\"node\": \"n9\", \"by\": \"n1\", \"found\": \"listens\"}"

static void test_tally(void **state)
{
	is("[" VOTE("n1", "nothing") "," OTHER "," VOTE("n3", "nothing") "]", "off",
	   "node n2: none of 2 nodes reaches it: it is off, or cut off", 2);
	is("[" VOTE("n1", "nothing") "," VOTE("n3", "untried") "]", "unreached",
	   "node n2: node n1 does not reach it, and no other node could be asked", 2);
	is("[" VOTE("n1", "refused") "," VOTE("n3", "refused") "," VOTE("n4", "listens") "]",
	   "no_daemon", "node n2 runs, and no ckptd listens there, as 2 of 3 nodes see: start it",
	   3);
	is("[" VOTE("n1", "listens") "," VOTE("n3", "listens") "]", "daemon_hangs",
	   "node n2 runs, and its ckptd listens, but does not answer: it hangs, or is too slow", 2);
	is("[" VOTE("n1", "nothing") "," VOTE("n3", "listens") "," VOTE("n4", "listens") "]",
	   "link", "node n2: node n4 reaches it, and node n1 does not (1 of 3): the network "
	   "between them fails", 3);
	is("[" OTHER "]", "unknown", "node n2: no node could try to reach it", 0);
}

/* Another node's answer may be anything. */
static void test_nonsense(void **state)
{
	is("[{}, 1, {\"node\": \"n2\"}, {\"node\": \"n2\", \"by\": 1, \"found\": []},"
	   VOTE("n3", "blue") "]", "unknown", "node n2: no node could try to reach it", 3);
	is("[{\"node\": \"n2\", \"found\": \"nothing\"}]", "unreached",
	   "node n2: node ? does not reach it, and no other node could be asked", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_tally),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
