// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control socket in a test; see ctl_fixture.h.
 */
#include "tests/unit/ctl_fixture.h"

#include <errno.h>
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
#include "libckptctl/wire.h"

/* ------------------------------------------------------------------- clients */

int client_connect(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	while (connect(sock, (struct sockaddr *)&addr, sizeof(addr)))
		usleep(1000);
	return sock;
}

int client_ask(int sock, const char *text, size_t len)
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

pid_t client_fork(uid_t uid)
{
	pid_t pid = fork();

	if (!pid && (setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
		_exit(99);
	return pid;
}

/* -------------------------------------------------------------------- server */

struct server *server_open(request_fn (*find)(const char *verb, size_t *ret_max),
			   struct common *common)
{
	struct server *s = calloc(1, sizeof(*s));
	struct ctl_options options = { .find = find, .socket_mode = 0666, .common = common };

	strcpy(s->dir, "/tmp/test_ctl.XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	assert_int_equal(chmod(s->dir, 0755), 0);
	snprintf(s->path, sizeof(s->path), "%s/socket", s->dir);
	assert_int_equal(reactor_create(&s->reactor), 0);
	log_init(&s->log, "test");
	options.reactor = s->reactor;
	options.log = &s->log;
	options.socket = s->path;
	assert_int_equal(ctl_open(&options, &s->ctl), 0);
	return s;
}

void server_close(struct server *s)
{
	ctl_close(s->ctl);
	reactor_destroy(s->reactor);
	rmdir(s->dir);
	free(s);
}

static void on_tick(void *arg)
{
	struct server *s = arg;
	struct reactor_source *source;
	int64_t now = clock_monotonic_ms();

	if (s->ticked_ms && now - s->ticked_ms > s->gap_ms)
		s->gap_ms = now - s->ticked_ms;
	s->ticked_ms = now;
	assert_int_equal(reactor_timer(s->reactor, 10, on_tick, s, &source), 0);
}

void server_tick(struct server *s)
{
	s->ticked_ms = 0;
	s->gap_ms = 0;
	on_tick(s);
}

static void on_end(int status, void *arg)
{
	struct server *s = arg;

	s->status = status;
	reactor_stop(s->reactor);
}

void server_until_end(struct server *s, pid_t pid)
{
	struct reactor_source *source;

	assert_int_equal(reactor_child(s->reactor, pid, on_end, s, &source), 0);
	assert_int_equal(reactor_run(s->reactor), 0);
}

int server_asked(struct server *s, const char *text)
{
	pid_t pid = fork();

	if (!pid)
		_exit(-client_ask(client_connect(s->path), text, strlen(text)));
	server_until_end(s, pid);
	assert_true(WIFEXITED(s->status));
	return -WEXITSTATUS(s->status);
}
