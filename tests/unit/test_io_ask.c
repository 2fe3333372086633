// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asking all nodes of a job what it reads and writes: several nodes in this process, over loopback,
 * each with a record of its own, which workers read. Nodes that are off, know nothing, or answer
 * nonsense are named; nobody gets another user's job, or one whose nodes it is none of.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outcome.h"
#include "levels/groups.h"
#include "supervisor/iotrace/io_ask.h"
#include "supervisor/iotrace/io_place.h"
#include "supervisor/storage/common.h"
#include "tests/unit/peer_fixture.h"

#define NODES_ALL	"[\"n0\", \"n1\", \"n2\"]"

static char top[] = "/tmp/ioask.XXXXXX";
static char names[NODES][4] = { "n0", "n1", "n2" };
static char dirs[NODES][64];
static char off[] = "off";
static struct common common[NODES];
static struct io_asks *asks[NODES];
static json_t *answer;
static unsigned int answers, busy;

static const struct io_store_job job = {
	7, "0123456789abcdef", 1000, "x", NODES_ALL, "p", 4
};

struct peer *__wrap_nodes_peer(struct nodes *nodes);
struct peer_asks *__wrap_nodes_asks(struct nodes *nodes);
const struct levels_node *__wrap_nodes_list(const struct nodes *nodes, unsigned int *ret_nr);
void __wrap_request_answer(struct request *request, json_t *outcome);

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
		{ .name = names[0] }, { .name = names[1] }, { .name = names[2] },
	};

	*ret_nr = NODES;
	return list;
}

void __wrap_request_answer(struct request *request, json_t *outcome)
{
	answers++;
	busy += outcome_errno(outcome) == -EBUSY;
	json_decref(answer);
	answer = outcome;
}

static void start(struct node *nodes, unsigned int i)
{
	assert_int_equal(nodes_start(nodes, i), 0);
	snprintf(dirs[i], sizeof(dirs[i]), "%s/%s", top, names[i]);
	common[i] = (struct common){
		.config = {
			.node = names[i], .state_dir = dirs[i], .image_dir = dirs[i],
			.degraded_devices = off,
		},
		.catalog.dir = dirs[i], .reactor = nodes[i].reactor,
		.workers.reactor = nodes[i].reactor, .nodes = (struct nodes *)&nodes[i],
	};
	assert_int_equal(io_asks_open(&common[i], &asks[i]), 0);
}

/* Each node has nothing yet; all are started. */
static int begin(void **state)
{
	char command[200];
	unsigned int i;

	snprintf(command, sizeof(command), "rm -rf %s/n* && mkdir -p %s/n0 %s/n1 %s/n2", top, top,
		 top, top);
	if (system(command) || nodes_setup(state))
		return -1;
	for (i = 0; i < NODES; i++)
		start(*state, i);
	return 0;
}

static int end(void **state)
{
	unsigned int i;

	json_decref(answer);
	answer = NULL;
	for (i = 0; i < NODES; i++)
		io_asks_close(asks[i]);
	return nodes_teardown(state);
}

/* Node @i has recorded that @of's processes there have written @bytes to a file of a server. */
static void recorded(unsigned int i, const struct io_store_job *of, __u64 bytes)
{
	const struct io_counts before = {}, now = {
		.op[IO_WRITE] = { .count = 10, .bytes = bytes },
	};
	const struct io_store_span span = {
		.job = io_store_key(of), .span = 1000000, .source = "bpf", .why = "",
	};
	struct io_name name = {
		.key = { .job = (__u64)span.job, .ino = 5, .dev = 40 + i }, .path = "/shared",
	};
	const struct io_file file = {
		.side[1] = { .count = 10, .bytes = bytes, .processes = 1 },
	};
	struct io_store *store;
	struct ckpt_error error;
	char path[128];

	snprintf(path, sizeof(path), "%s/" IO_STORE_FILE, dirs[i]);
	assert_int_equal(io_store_open(path, true, &store, &error), 0);
	io_store_begin(store);
	io_store_put_job(store, of);
	io_store_put_span(store, &span);
	io_store_put_counts(store, span.job, span.span, &now, &before);
	io_store_put_file(store, &name.key, &file);
	io_store_put_name(store, &name);
	io_store_put_place(store, span.job, name.key.dev, "nfs4 srv:/x");
	io_store_end_span(store, span.job, span.span, 1060);
	if (io_store_commit(store, &error))
		fail_msg("%s", error.text);
	io_store_close(store);
}

/* What node @i says of @of, which has the nodes @list. */
static const json_t *report(struct node *nodes, unsigned int i, const struct io_store_job *of,
			    const char *list)
{
	static struct request request;
	json_t *parsed = list ? json_loads(list, 0, NULL) : NULL;

	json_decref(answer);
	answer = NULL;
	request = (struct request){ .common = &common[i] };
	io_ask_report(asks[i], &request, of, parsed, false);
	json_decref(parsed);
	until(nodes, answer);
	return json_object_get(answer, "result");
}

static long long number(const json_t *result, const char *a, const char *b, const char *c)
{
	const json_t *json = json_object_get(json_object_get(result, a), b);

	return json_integer_value(c ? json_object_get(json, c) : json);
}

static bool has(const json_t *result, const char *list, const char *node)
{
	const json_t *names_of = json_object_get(result, list), *name;
	size_t i;

	json_array_foreach(names_of, i, name) {
		if (!strcmp(json_string_value(name), node))
			return true;
	}
	return json_object_get(names_of, node);
}

static const char *why(void)
{
	return json_string_value(json_object_get(json_object_get(answer, "error"), "text"));
}

static void test_whole(void **state)
{
	const json_t *result;
	unsigned int i;

	for (i = 0; i < NODES; i++)
		recorded(i, &job, 100000 * (i + 1));
	/* any node makes the same report */
	for (i = 0; i < NODES; i++) {
		result = report(*state, i, &job, NODES_ALL);
		assert_non_null(result);
		assert_int_equal(number(result, "operations", "write", "bytes"), 600000);
		assert_int_equal(json_array_size(json_object_get(result, "nodes")), 3);
		assert_int_equal(number(result, "files", "number", NULL), 1);
		assert_int_equal(number(result, "files", "write", "processes"), 3);
		assert_string_equal(json_string_value(json_object_get(json_object_get(
			json_object_get(result, "files"), "write"), "pattern")), "N-1");
		assert_int_equal(json_array_size(json_object_get(result, "silent_nodes")), 0);
		assert_int_equal(json_array_size(json_object_get(result, "unwatched_nodes")), 0);
		assert_int_equal(json_object_size(json_object_get(result, "failed_nodes")), 0);
		assert_string_equal(json_string_value(json_object_get(result, "node")), names[i]);
		assert_non_null(json_object_get(result, "checkpoints"));
	}
	/* a job of one node asks nobody */
	result = report(*state, 0, &job, NULL);
	assert_int_equal(number(result, "operations", "write", "bytes"), 100000);
	assert_null(json_object_get(result, "silent_nodes"));
}

static void test_missing(void **state)
{
	struct node *nodes = *state;
	const json_t *result;

	recorded(0, &job, 1000);
	recorded(1, &job, 1000);
	/* n2 has no record; nor is n3 in the hosts file */
	result = report(nodes, 0, &job, "[\"n0\", \"n1\", \"n2\", \"n3\"]");
	assert_int_equal(number(result, "operations", "write", "bytes"), 2000);
	assert_true(has(result, "unwatched_nodes", "n2"));
	assert_true(has(result, "failed_nodes", "n3"));
	/* asked where it was never watched, its own part is missing alone */
	result = report(nodes, 2, &job, NODES_ALL);
	assert_int_equal(number(result, "operations", "write", "bytes"), 2000);
	assert_true(has(result, "unwatched_nodes", "n2"));
	/* n1 is off */
	io_asks_close(asks[1]);
	asks[1] = NULL;
	nodes_stop(nodes, 1);
	result = report(nodes, 0, &job, NODES_ALL);
	assert_int_equal(number(result, "operations", "write", "bytes"), 1000);
	assert_true(has(result, "silent_nodes", "n1"));
	assert_true(has(result, "unwatched_nodes", "n2"));
	/* nobody who answers has anything */
	result = report(nodes, 2, &job, "[\"n1\", \"n2\"]");
	assert_null(result);
	assert_int_equal(outcome_errno(answer), -ETIMEDOUT);
	assert_non_null(strstr(why(), "n1"));
	result = report(nodes, 2, &job, "[\"n2\"]");
	assert_null(result);
	assert_int_equal(outcome_errno(answer), -ENOENT);
}

/* Users who ask again and again leave other questions a place. */
static void test_many(void **state)
{
	json_t *list = json_loads(NODES_ALL, 0, NULL);
	struct request requests[40] = {};
	unsigned int i;

	for (i = 0; i < NODES; i++)
		recorded(i, &job, 1000);
	answers = busy = 0;
	for (i = 0; i < 40; i++)
		io_ask_report(asks[0], &requests[i], &job, list, false);
	assert_int_equal(answers, 24);
	assert_int_equal(busy, 24);
	until((struct node *)*state, answers == 40);
	assert_int_equal(busy, 24);
	/* n1 and n2 have said of some that they are at work for others */
	assert_int_equal(number(report(*state, 0, &job, NODES_ALL), "operations", "write",
				"bytes"), 3000);
	json_decref(list);
}

/* Records of jobs of the same number, of another user, and of nodes that n0 is none of. */
static void test_rights(void **state)
{
	const struct io_store_job reused = {
		7, "fedcba9876543210", 1000, "x", NODES_ALL, "p", 4
	}, others = {
		7, "0123456789abcdef", 1001, "x", NODES_ALL, "p", 4
	}, away = {
		7, "0123456789abcdef", 1000, "x", "[\"n1\", \"n2\"]", "p", 4
	}, alone = {
		7, "0123456789abcdef", 1000, "x", "", "p", 4
	};
	const json_t *result;

	recorded(0, &job, 1000);
	recorded(1, &reused, 5000);
	recorded(2, &others, 6000);
	result = report(*state, 0, &job, NODES_ALL);
	assert_int_equal(number(result, "operations", "write", "bytes"), 1000);
	assert_true(has(result, "unwatched_nodes", "n1"));
	assert_true(has(result, "unwatched_nodes", "n2"));
	recorded(1, &away, 5000);
	recorded(2, &alone, 6000);
	result = report(*state, 0, &job, NODES_ALL);
	assert_int_equal(number(result, "operations", "write", "bytes"), 1000);
	assert_true(has(result, "failed_nodes", "n1"));
	assert_true(has(result, "failed_nodes", "n2"));
	assert_non_null(strstr(json_string_value(json_object_get(json_object_get(
		result, "failed_nodes"), "n1")), "none of its nodes"));
}

/* ------------------------------------------------------------------ hostile */

static void on_outcome(const json_t *outcome, void *arg)
{
	json_decref(answer);
	answer = json_deep_copy(outcome);
}

/* n0 asks n1, as no ckptd does. */
static int ask_raw(struct node *nodes, const char *args)
{
	json_decref(answer);
	answer = NULL;
	assert_int_equal(peer_ask(nodes[0].asks, 1, "io_part", json_loads(args, 0, NULL), 20000,
				  on_outcome, NULL, NULL), 0);
	until(nodes, answer);
	return outcome_errno(answer);
}

static void test_questions(void **state)
{
	static const char *const bad[] = {
		"{}", "{\"job\": 7}", "{\"job\": 7, \"uuid\": 3, \"uid\": 1000}",
		"{\"job\": 7, \"uuid\": \"0123456789abcdef\", \"uid\": -1}",
		"{\"job\": 7, \"uuid\": \"0123456789abcdef\", \"uid\": 4294967296}",
		"{\"job\": 7, \"uuid\": \"0123456789abcdef\", \"uid\": 1000, \"more\": 1}",
		"{\"job\": 7, \"uuid\": \"0123456789abcdef0123456789abcdef0123456789abcdef"
		"0123456789abcdef\", \"uid\": 1000}",
	};
	struct node *nodes = *state;
	size_t i;

	recorded(1, &job, 1000);
	assert_int_equal(ask_raw(nodes, "{\"job\": 7, \"uuid\": \"0123456789abcdef\", "
				 "\"uid\": 1000}"), 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (ask_raw(nodes, bad[i]) != -EINVAL)
			fail_msg("%s", bad[i]);
	}
}

static const char *nonsense;

static void on_question(struct peer_question *question, void *arg)
{
	peer_question_answer(question, outcome_ok(json_loads(nonsense, 0, NULL)));
}

static void test_answers(void **state)
{
	static const char *const answers[] = {
		"{}", "{\"part\": 7}", "{\"part\": {\"seconds\": -1}, \"sent_ns\": \"x\"}",
		"{\"part\": [], \"received_ns\": -9223372036854775807}",
	};
	struct node *nodes = *state;
	const json_t *result;
	size_t i;

	recorded(0, &job, 1000);
	/* n1 is another ckptd, which answers nonsense */
	io_asks_close(asks[1]);
	asks[1] = NULL;
	nodes_stop(nodes, 1);
	assert_int_equal(nodes_start(nodes, 1), 0);
	assert_int_equal(peer_verb(nodes[1].asks, "io_part", on_question, NULL), 0);
	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		nonsense = answers[i];
		result = report(nodes, 0, &job, "[\"n0\", \"n1\"]");
		assert_int_equal(number(result, "operations", "write", "bytes"), 1000);
		assert_true(has(result, "failed_nodes", "n1"));
	}
}

static void assert_full(uid_t uid, const char *who)
{
	json_t *outcome = io_asks_enter(asks[0], uid);
	const char *text = json_string_value(json_object_get(json_object_get(outcome, "error"),
							     "text"));

	assert_int_equal(outcome_errno(outcome), -EBUSY);
	assert_non_null(text);
	assert_non_null(strstr(text, who));
	json_decref(outcome);
}

/* Two reports on all jobs of a user at a time, eight of all users. */
static void test_lists(void **state)
{
	uid_t uid;
	int i;

	for (uid = 1000; uid < 1000 + IO_ASK_LISTS / IO_ASK_USER_LISTS; uid++) {
		for (i = 0; i < IO_ASK_USER_LISTS; i++)
			assert_null(io_asks_enter(asks[0], uid));
		assert_full(uid, "2 of your reports");
	}
	assert_full(0, "8 reports");
	/* those of another node are not counted */
	assert_null(io_asks_enter(asks[1], 1000));
	io_asks_leave(asks[0], 1001);
	assert_full(1000, "2 of your reports");
	assert_null(io_asks_enter(asks[0], 0));
	assert_full(1001, "8 reports");
	io_asks_leave(asks[0], 1000);
	io_asks_leave(asks[0], 1000);
	assert_null(io_asks_enter(asks[0], 1000));
	/* one who has none takes no place of others */
	io_asks_leave(asks[0], 7);
	assert_null(io_asks_enter(asks[0], 1000));
	assert_full(7, "8 reports");
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(whole), T(missing), T(many), T(rights), T(questions), T(answers), T(lists),
	};
	char command[64];
	int failed;

	if (sodium_init() < 0 || !mkdtemp(top))
		return 1;
	failed = cmocka_run_group_tests_name("io_ask", tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command) ? 1 : failed;
}
