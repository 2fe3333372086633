// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control socket under load: a user who floods it holds up neither the others nor the timers
 * of the event loop, and a request beyond its bounds is refused without being parsed.
 *
 * As root: the server is this process, each user a number of processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/control/ctl.h"
#include "supervisor/control/request_head.h"

#define FLOODS	64	/* as many as one user may have */
#define FLOODER	54321
#define ASKER	54322
#define ASKS	5
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

static int client_connect(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	while (connect(sock, (struct sockaddr *)&addr, sizeof(addr)))
		usleep(1000);
	return sock;
}

/* Ask on @sock. Return: the errno of the outcome, or a negative errno. */
static int client_ask(int sock, const char *text, size_t len)
{
	struct wire_in in = { .limit = WIRE_REQUEST_MAX };
	const char *body;
	json_t *outcome;
	int err = wire_send(sock, text, len, NULL, 0);

	while (!err && !wire_next(&in, &body, &len))
		err = wire_receive(&in, sock) > 0 ? 0 : -EPIPE;
	if (!err) {
		outcome = json_loadb(body, len, 0, NULL);
		err = outcome_is_ok(outcome) ? 0 : outcome_errno(outcome);
		json_decref(outcome);
	}
	wire_in_done(&in);
	return err;
}

static pid_t client_fork(uid_t uid)
{
	pid_t pid = fork();

	if (!pid && (setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
		_exit(99);
	return pid;
}

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

/* -------------------------------------------------------------------- server */

struct server {
	struct reactor *reactor;
	struct ctl *ctl;
	struct log log;
	char dir[64], path[80];
	int64_t ticked_ms, gap_ms;	/* the longest between two ticks */
	int status;
};

static int server_setup(void **state)
{
	struct server *s = calloc(1, sizeof(*s));
	struct ctl_options options = { .find = find, .socket_mode = 0666 };

	strcpy(s->dir, "/tmp/test_ctl.XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	assert_int_equal(chmod(s->dir, 0755), 0);
	snprintf(s->path, sizeof(s->path), "%s/socket", s->dir);
	assert_int_equal(reactor_create(&s->reactor), 0);
	options.reactor = s->reactor;
	options.log = &s->log;
	options.socket = s->path;
	assert_int_equal(ctl_open(&options, &s->ctl), 0);
	*state = s;
	return 0;
}

static int server_teardown(void **state)
{
	struct server *s = *state;

	ctl_close(s->ctl);
	reactor_destroy(s->reactor);
	rmdir(s->dir);
	free(s);
	return 0;
}

static void tick(void *arg)
{
	struct server *s = arg;
	struct reactor_source *source;
	int64_t now = clock_monotonic_ms();

	if (s->ticked_ms && now - s->ticked_ms > s->gap_ms)
		s->gap_ms = now - s->ticked_ms;
	s->ticked_ms = now;
	assert_int_equal(reactor_timer(s->reactor, 10, tick, s, &source), 0);
}

static void on_end(int status, void *arg)
{
	struct server *s = arg;

	s->status = status;
	reactor_stop(s->reactor);
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
	struct reactor_source *source;
	pid_t flooders[FLOODS], asker;
	int64_t longest = -1, each = parse_ms();
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
	assert_int_equal(reactor_child(s->reactor, asker, on_end, s, &source), 0);
	tick(s);
	assert_int_equal(reactor_run(s->reactor), 0);
	for (i = 0; i < FLOODS; i++) {
		assert_int_equal(waitpid(flooders[i], NULL, WNOHANG), 0);
		kill(flooders[i], SIGKILL);
		waitpid(flooders[i], NULL, 0);
	}
	assert_int_equal(s->status, 0);
	assert_int_equal(read(report[0], &longest, sizeof(longest)), sizeof(longest));
	print_message("a flooding request %lld ms, longest wait %lld ms, of a timer %lld ms\n",
		      (long long)each, (long long)longest, (long long)s->gap_ms);
	assert_in_range(longest, 0, 16 * each);
	assert_in_range(s->gap_ms, 10, 10 + 16 * each);
	close(report[0]);
	close(report[1]);
}

/* The outcome of one request, by a process of its own. */
static int server_asked(struct server *s, const char *text)
{
	struct reactor_source *source;
	pid_t pid = fork();

	if (!pid)
		_exit(-client_ask(client_connect(s->path), text, strlen(text)));
	assert_int_equal(reactor_child(s->reactor, pid, on_end, s, &source), 0);
	assert_int_equal(reactor_run(s->reactor), 0);
	assert_true(WIFEXITED(s->status));
	return -WEXITSTATUS(s->status);
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
		T(flood), T(bounds), cmocka_unit_test(test_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
