// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control socket under load: a user who floods it holds up neither the others nor the timers
 * of the event loop, and a request beyond its bounds is refused without being parsed.
 *
 * As root: the server is this process, each user a number of processes.
 */
#include "tests/unit/ctl_fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/control/request_head.h"

#define FLOODS	64	/* as many as one user may have */
#define FLOODER	54321
#define ASKER	54322
#define ASKS	5
#define TOO_MANY 40	/* connections beyond the limit */
#define VALUES	60000	/* of a flooding request */

static void answer(struct request *request)
{
	request_answer(request, outcome_ok(NULL));
}

static request_fn find(const char *verb, size_t *ret_max)
{
	if (!strcmp(verb, "big"))
		*ret_max = WIRE_REQUEST_MAX;
	return !strcmp(verb, "big") || !strcmp(verb, "small") ? answer : NULL;
}

/* ------------------------------------------------------------------- clients */

/* A request of @values empty strings; the caller frees. */
static char *many_values(const char *verb, unsigned int values)
{
	char *text = malloc(64 + 3 * (size_t)values), *at = text;

	at += sprintf(at, "{\"verb\":\"%s\",\"args\":{\"x\":[", verb);
	while (values-- > 1) {
		memcpy(at, "\"\",", 3);
		at += 3;
	}
	strcpy(at, "1]}}");
	return text;
}

_Noreturn static void flood(const char *path)
{
	char *text = many_values("big", VALUES);
	int sock = client_connect(path);

	for (;;) {
		if (client_ask(sock, text, strlen(text)))
			_exit(1);
	}
}

/* Report the longest of some waits, in ms. */
_Noreturn static void ask(const char *path, int report)
{
	static const char text[] = "{\"verb\":\"small\"}";
	int sock = client_connect(path);
	int64_t longest = 0, since;
	int i;

	for (i = 0; i < ASKS; i++) {
		usleep(50000);
		since = clock_monotonic_ms();
		if (client_ask(sock, text, strlen(text)))
			_exit(1);
		since = clock_monotonic_ms() - since;
		longest = since > longest ? since : longest;
	}
	_exit(write(report, &longest, sizeof(longest)) != sizeof(longest));
}

static int server_setup(void **state)
{
	*state = server_open(find, NULL);
	return 0;
}

static int server_teardown(void **state)
{
	server_close(*state);
	return 0;
}

static int64_t parse_ms(void)
{
	char *text = many_values("big", VALUES);
	int64_t since = clock_monotonic_ms();
	int i;

	for (i = 0; i < 8; i++)
		json_decref(json_loads(text, JSON_REJECT_DUPLICATES, NULL));
	free(text);
	return (clock_monotonic_ms() - since) / 8 + 1;
}

/*
 * 64 connections send the biggest requests without a pause. Served as they come, another user
 * waits for half of them at the least, each of which costs its parsing.
 */
static void test_flood(void **state)
{
	struct server *s = *state;
	pid_t flooders[FLOODS], asker;
	int64_t longest = -1, each = parse_ms(), later;
	int report[2], i;

	if (getuid())
		skip();
	assert_int_equal(pipe(report), 0);
	for (i = 0; i < FLOODS; i++) {
		flooders[i] = client_fork(FLOODER);
		if (!flooders[i])
			flood(s->path);
	}
	asker = client_fork(ASKER);
	if (!asker) {
		sleep(2);
		ask(s->path, report[1]);
	}
	server_tick(s);
	server_until_end(s, asker);
	for (i = 0; i < FLOODS; i++) {
		assert_int_equal(waitpid(flooders[i], NULL, WNOHANG), 0);
		kill(flooders[i], SIGKILL);
		waitpid(flooders[i], NULL, 0);
	}
	/* this machine may have got slower since the first look */
	later = parse_ms();
	each = later > each ? later : each;
	assert_int_equal(s->status, 0);
	assert_int_equal(read(report[0], &longest, sizeof(longest)), sizeof(longest));
	print_message("a flooding request %lld ms, longest wait %lld ms, of a timer %lld ms\n",
		      (long long)each, (long long)longest, (long long)s->gap_ms);
	assert_in_range(longest, 0, 16 * each);
	assert_in_range(s->gap_ms, 10, 10 + 16 * each);
	close(report[0]);
	close(report[1]);
}

static void test_bounds(void **state)
{
	struct server *s = *state;
	char *text = many_values("small", 1000);
	char deep[200] = "{\"verb\":\"small\",\"args\":{\"x\":";

	assert_int_equal(server_asked(s, text), 0);
	free(text);
	text = many_values("small", 3000);
	assert_int_equal(server_asked(s, text), -E2BIG);
	free(text);
	text = many_values("big", 3000);
	assert_int_equal(server_asked(s, text), 0);
	free(text);
	text = many_values("big", 300000);
	assert_int_equal(server_asked(s, text), -E2BIG);
	free(text);
	text = many_values("none", 3000);
	assert_int_equal(server_asked(s, text), -E2BIG);
	free(text);
	memset(deep + strlen(deep), '[', 40);
	assert_int_equal(server_asked(s, deep), -E2BIG);
	assert_int_equal(server_asked(s, "{\"verb\":\"none\"}"), -ENOSYS);
	assert_int_equal(server_asked(s, "{\"verb\":\"\\u0062ig\"}"), -ENOSYS);
	assert_int_equal(server_asked(s, "{\"verb\":\"big\",\"verb\":\"small\"}"), -EPROTO);
	assert_int_equal(server_asked(s, "[\"verb\",\"big\"]"), -EPROTO);
}

/* Connections beyond the limit are turned away, each with its answer. */
_Noreturn static void connect_too_often(const char *path)
{
	int i, sock;
	char byte;

	for (i = 0; i < FLOODS; i++)
		client_connect(path);
	for (i = 0; i < TOO_MANY; i++) {
		sock = client_connect(path);
		while (recv(sock, &byte, 1, 0) > 0)
			;
		close(sock);
	}
	_exit(0);
}

/* A user who connects again and again fills no log. */
static void test_log(void **state)
{
	struct server *s = *state;
	char text[4096] = "", *at = text;
	int log = memfd_create("log", 0), was = dup(2);
	unsigned int lines = 0;
	pid_t pid;

	if (getuid())
		skip();
	dup2(log, 2);
	pid = client_fork(FLOODER);
	if (!pid)
		connect_too_often(s->path);
	server_until_end(s, pid);
	dup2(was, 2);
	close(was);
	assert_int_equal(s->status, 0);
	assert_true(pread(log, text, sizeof(text) - 1, 0) > 0);
	close(log);
	while ((at = strstr(at, "turned away"))) {
		lines++;
		at++;
	}
	assert_int_equal(lines, 1);
	assert_non_null(strstr(text, "user 54321"));
}

static void test_head(void **state)
{
	static const struct {
		const char *text, *verb;
		unsigned int depth;
		size_t values;
	} cases[] = {
		{ "", "", 0, 0 },
		{ "{\"verb\":\"run\",\"args\":{\"a\":[1,2]}}", "run", 3, 9 },
		{ "{ \"args\" : {\"verb\":\"x\"}, \"verb\" : \"ps\" }", "ps", 2, 7 },
		{ "{\"a\":\"verb\",\"b\":\"run\"}", "", 1, 5 },
		{ "{\"a\\\"\":\"{[\",\"verb\":true}", "", 1, 5 },
		{ "[[[", "", 3, 3 },
		{ "]]]{\"verb\":\"x\"", "x", 1, 3 },
		{ "{\"verb\":\"x", "", 1, 3 },
		{ "\"\\", "", 0, 1 },
		{ "{\"verb\":\"0123456789012345678901234567890123456789\"}", "", 1, 3 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct request_head head = request_head(cases[i].text, strlen(cases[i].text));

		assert_string_equal(head.verb, cases[i].verb);
		assert_int_equal(head.depth, cases[i].depth);
		assert_int_equal(head.values, cases[i].values);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, server_setup, server_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(flood), T(bounds), T(log), cmocka_unit_test(test_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
