// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PMI-1 server with its descriptors: a job's whole conversation, ranks that write
 * in pieces, too much, or never read; the ends of ranks; the port of a restart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/pm.h"

#define RANKS	2

struct world {
	struct reactor *reactor;
	struct ranks ranks;
	struct pm *pm;
	int fd[RANKS];		/* the ranks' own */
	int code;		/* of an abort; -1: none */
	char text[256];
};

static void on_abort(int code, const char *text, void *arg)
{
	struct world *w = arg;

	w->code = code;
	snprintf(w->text, sizeof(w->text), "%s", text);
}

static void on_fence(const void *data, size_t len, void *arg)
{
	fail_msg("a job of one node has no fence");
}

static const struct pm_events events = { on_abort, on_fence };

static void world_open(struct world *w, unsigned int flags)
{
	json_t *json = json_loads("{\"map\": [\"0-1\"], \"mpi\": \"mpich\"}", 0, NULL);
	struct pm_config config = {
		.ranks = &w->ranks, .events = &events, .arg = w, .job = 3, .flags = flags,
		.uid = getuid(), .gid = getgid(),
	};
	unsigned int i;

	memset(w, 0, sizeof(*w));
	w->code = -1;
	assert_int_equal(ranks_parse(json, &w->ranks, NULL), 0);
	json_decref(json);
	assert_int_equal(reactor_create(&w->reactor), 0);
	config.reactor = w->reactor;
	assert_int_equal(pm_pmi1.create(&config, &w->pm), 0);
	for (i = 0; i < RANKS && !(flags & PM_LATE); i++)
		w->fd[i] = dup(pm_pmi1.rank_fd(w->pm, i));
	assert_int_equal(pm_pmi1.serve(w->pm), 0);
}

static void world_close(struct world *w)
{
	unsigned int i;

	pm_pmi1.destroy(w->pm);
	reactor_destroy(w->reactor);
	ranks_done(&w->ranks);
	for (i = 0; i < RANKS; i++) {
		if (w->fd[i] > 0)
			close(w->fd[i]);
	}
}

static void on_time(void *arg)
{
	reactor_stop(arg);
}

/* A reactor runs once: what it has to do is all there by then. */
static void run(struct world *w)
{
	struct reactor_source *timer;

	assert_int_equal(reactor_timer(w->reactor, 300, on_time, w->reactor, &timer), 0);
	assert_int_equal(reactor_run(w->reactor), 0);
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void heard(int fd, const char *expected)
{
	char text[4096];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	assert_string_equal(text, expected);
}

#define INIT	"cmd=init pmi_version=1 pmi_subversion=1\n"
#define INITED	"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"

static void test_conversation(void **state)
{
	struct world w;
	json_t *env = json_array();

	world_open(&w, 0);
	assert_int_equal(pm_pmi1.rank_env(w.pm, 1, env), 0);
	assert_int_equal(json_array_size(env), 3);
	assert_string_equal(json_string_value(json_array_get(env, 1)), "PMI_RANK=1");
	assert_string_equal(json_string_value(json_array_get(env, 2)), "PMI_SIZE=2");
	json_decref(env);
	/* said ahead of the answers, in one go */
	say(w.fd[0], INIT "cmd=put kvsname=kvs_3 key=a value=1\ncmd=barrier_in\n");
	say(w.fd[1], INIT "cmd=barrier_in\n");
	run(&w);
	heard(w.fd[0], INITED "cmd=put_result rc=0 msg=success\ncmd=barrier_out\n");
	heard(w.fd[1], INITED "cmd=barrier_out\n");
	assert_int_equal(w.code, -1);
	/* what a rank said last counts, although its end is told first */
	say(w.fd[0], "cmd=finalize\n");
	say(w.fd[1], "cmd=get kvsname=kvs_3 key=a\ncmd=finalize\n");
	pm_pmi1.rank_ended(w.pm, 0, 0);
	pm_pmi1.rank_ended(w.pm, 1, 0);
	assert_int_equal(w.code, -1);
	heard(w.fd[1], "cmd=get_result rc=0 msg=success value=1\ncmd=finalize_ack\n");
	world_close(&w);
}

static void test_ends(void **state)
{
	struct world w;

	world_open(&w, 0);
	say(w.fd[0], INIT);
	pm_pmi1.rank_ended(w.pm, 0, 0);
	assert_int_equal(w.code, 1);
	assert_string_equal(w.text, "rank 0 ended without MPI_Finalize");
	world_close(&w);
	/* one that failed has ended the job already */
	world_open(&w, 0);
	say(w.fd[0], INIT);
	pm_pmi1.rank_ended(w.pm, 0, 7 << 8);
	assert_int_equal(w.code, -1);
	world_close(&w);
	world_open(&w, 0);
	say(w.fd[0], INIT "cmd=barrier_in\n");
	run(&w);
	assert_int_equal(w.code, -1);
	pm_pmi1.rank_ended(w.pm, 1, 0);
	assert_int_equal(w.code, 1);
	world_close(&w);
	world_open(&w, 0);
	say(w.fd[1], INIT "cmd=abort exitcode=9\n");
	run(&w);
	assert_int_equal(w.code, 9);
	assert_string_equal(w.text, "rank 1 called MPI_Abort with code 9");
	world_close(&w);
}

static void test_pieces(void **state)
{
	static const char text[] = INIT "cmd=get_appnum\n";
	struct world w;
	size_t i;

	world_open(&w, 0);
	for (i = 0; i < strlen(text); i++)
		assert_int_equal(send(w.fd[0], text + i, 1, 0), 1);
	/* an unfinished line is no line */
	say(w.fd[1], "cmd=init pmi_ver");
	run(&w);
	heard(w.fd[0], INITED "cmd=appnum appnum=0\n");
	heard(w.fd[1], "");
	assert_int_equal(w.code, -1);
	world_close(&w);
}

static void test_no_end_of_line(void **state)
{
	char text[3000];
	struct world w;

	world_open(&w, 0);
	memset(text, 'x', sizeof(text));
	assert_int_equal(send(w.fd[1], text, sizeof(text), 0), sizeof(text));
	run(&w);
	assert_int_equal(w.code, 1);
	assert_string_equal(w.text, "rank 1 does not speak PMI-1: no end of line");
	world_close(&w);
}

/* One that never reads: the other is served, and what it asks waits in its socket. */
static void test_never_reads(void **state)
{
	static const char question[] = "cmd=get_maxes\n";
	unsigned int asked = 0, answered = 0;
	char text[8192];
	struct world w;
	ssize_t n;

	world_open(&w, 0);
	say(w.fd[0], INIT);
	while (send(w.fd[0], question, strlen(question), MSG_DONTWAIT) == (ssize_t)strlen(question))
		asked++;
	assert_true(asked > 100);
	say(w.fd[1], INIT);
	run(&w);
	heard(w.fd[1], INITED);
	assert_int_equal(w.code, -1);
	while ((n = recv(w.fd[0], text, sizeof(text), MSG_DONTWAIT)) > 0) {
		for (; n > 0; n--)
			answered += text[n - 1] == '\n';
	}
	assert_true(answered > 100);
	assert_true(answered <= asked + 1);
	world_close(&w);
}

static int call(unsigned int port, const char *text)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	say(fd, text);
	return fd;
}

static bool is_closed(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

	return !n || (n < 0 && errno == ECONNRESET);
}

static void test_port(void **state)
{
	unsigned int port, token[RANKS], i;
	int wrong, right, again, other;
	char text[128];
	struct world w;

	world_open(&w, PM_LATE);
	for (i = 0; i < RANKS; i++) {
		json_t *env = json_array();

		assert_int_equal(pm_pmi1.rank_env(w.pm, i, env), 0);
		assert_int_equal(sscanf(json_string_value(json_array_get(env, 0)),
					"PMI_PORT=127.0.0.1:%u", &port), 1);
		assert_int_equal(sscanf(json_string_value(json_array_get(env, 1)),
					"PMI_ID=%u", &token[i]), 1);
		assert_string_equal(json_string_value(json_array_get(env, 2)), "PMI_FD");
		json_decref(env);
	}
	snprintf(text, sizeof(text), "cmd=initack pmiid=%u\n", token[1]);
	right = call(port, text);
	wrong = call(port, "cmd=initack pmiid=1\n");
	other = call(port, "GET / HTTP/1.0\n");
	run(&w);
	heard(right, "cmd=initack\ncmd=set size=2\ncmd=set rank=1\ncmd=set debug=0\n");
	assert_true(is_closed(wrong));
	assert_true(is_closed(other));
	/* the number is spent */
	again = call(port, text);
	say(right, INIT);
	pm_pmi1.rank_ended(w.pm, 1, 0);
	assert_int_equal(w.code, 1);
	close(right);
	close(wrong);
	close(again);
	close(other);
	world_close(&w);
}

/* After a rollback ranks come by a port, also those that had inherited a descriptor. */
static void test_renew(void **state)
{
	unsigned int port, before = 0, token, i;
	json_t *env = NULL;
	char text[128];
	struct world w;
	int fd;

	world_open(&w, 0);
	/* the second one may come at any time, and is as a first one */
	for (i = 0; i < 2; i++) {
		json_decref(env);
		env = json_array();
		assert_int_equal(pm_pmi1.renew(w.pm), 0);
		assert_int_equal(pm_pmi1.rank_env(w.pm, 1, env), 0);
		assert_int_equal(sscanf(json_string_value(json_array_get(env, 0)),
					"PMI_PORT=127.0.0.1:%u", &port), 1);
		assert_int_equal(sscanf(json_string_value(json_array_get(env, 1)),
					"PMI_ID=%u", &token), 1);
		assert_true(token != before);
		before = token;
	}
	assert_string_equal(json_string_value(json_array_get(env, 2)), "PMI_FD");
	assert_true(is_closed(w.fd[0]));
	assert_true(is_closed(w.fd[1]));
	snprintf(text, sizeof(text), "cmd=initack pmiid=%u\n", token);
	fd = call(port, text);
	run(&w);
	heard(fd, "cmd=initack\ncmd=set size=2\ncmd=set rank=1\ncmd=set debug=0\n");
	assert_int_equal(w.code, -1);
	close(fd);
	json_decref(env);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conversation),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_no_end_of_line),
		cmocka_unit_test(test_never_reads),
		cmocka_unit_test(test_port),
		cmocka_unit_test(test_renew),
	};

	return cmocka_run_group_tests_name("pm_pmi1", tests, NULL, NULL);
}
