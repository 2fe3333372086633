// SPDX-License-Identifier: GPL-2.0-only
/*
 * The launcher: orders arrive with their descriptors, a message that is no order is refused, and a
 * shim is started with what it was sent, as nobody's child. The shim is a script.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "launch/launcher.h"
#include "launch/order.h"
#include "libckptctl/wire.h"

static void pair_of(int type, int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair), 0);
}

/* A descriptor that can be told from others. */
static int marked(char mark)
{
	int fd = memfd_create("mark", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &mark, 1, 0), 1);
	return fd;
}

static char mark_of(int fd)
{
	char mark = '-';

	return pread(fd, &mark, 1, 0) == 1 ? mark : '-';
}

static void test_order(void **state)
{
	struct launch_order sent, got;
	unsigned int i;
	int pair[2];

	pair_of(SOCK_SEQPACKET, pair);
	launch_order_init(&sent);
	sent.text.confined = 1;
	sent.text.pid = 77;
	strcpy(sent.text.group, "/a");
	sent.spec = marked('s');
	sent.report = marked('r');
	sent.v2 = marked('v');
	for (i = 0; i < LAUNCH_HIERARCHIES; i++)
		sent.tasks[sent.nr_tasks++] = marked((char)('0' + i));
	sent.ns[LAUNCH_NS_UTS] = marked('u');
	sent.ns[LAUNCH_NS_CGROUP] = marked('c');
	assert_int_equal(launch_order_send(pair[0], &sent), 0);
	launch_order_done(&sent);
	assert_int_equal(launch_order_receive(pair[1], &got), 1);
	assert_int_equal(got.text.pid, 77);
	assert_string_equal(got.text.group, "/a");
	assert_int_equal(mark_of(got.spec), 's');
	assert_int_equal(mark_of(got.report), 'r');
	assert_int_equal(got.attach, -1);
	assert_int_equal(mark_of(got.v2), 'v');
	assert_int_equal(got.nr_tasks, LAUNCH_HIERARCHIES);
	for (i = 0; i < LAUNCH_HIERARCHIES; i++)
		assert_int_equal(mark_of(got.tasks[i]), '0' + (int)i);
	assert_int_equal(got.ns[LAUNCH_NS_NET], -1);
	assert_int_equal(mark_of(got.ns[LAUNCH_NS_UTS]), 'u');
	assert_int_equal(mark_of(got.ns[LAUNCH_NS_CGROUP]), 'c');
	assert_int_equal(fcntl(got.spec, F_GETFD), FD_CLOEXEC);
	launch_order_done(&got);
	close(pair[0]);
	assert_int_equal(launch_order_receive(pair[1], &got), 0);
	close(pair[1]);
}

/* Messages that are none, each with a descriptor, which must not stay open. */
static void test_no_order(void **state)
{
	static const char text[4096] = "no order";
	struct launch_order order, got;
	int pair[2], fd, next;

	pair_of(SOCK_SEQPACKET, pair);
	fd = marked('x');
	next = dup(0);
	close(next);
	assert_true(wire_send_some(pair[0], text, 8, &fd, 1) > 0);
	assert_int_equal(launch_order_receive(pair[1], &got), -EPROTO);
	assert_true(wire_send_some(pair[0], text, sizeof(text), &fd, 1) > 0);
	assert_int_equal(launch_order_receive(pair[1], &got), -EPROTO);
	launch_order_init(&order);
	order.spec = fd;
	order.report = fd;
	order.text.version = LAUNCH_VERSION + 1;
	assert_int_equal(launch_order_send(pair[0], &order), 0);
	assert_int_equal(launch_order_receive(pair[1], &got), -EPROTO);
	order.text.version = LAUNCH_VERSION;
	memset(order.text.role, 'x', sizeof(order.text.role));
	assert_int_equal(launch_order_send(pair[0], &order), 0);
	assert_int_equal(launch_order_receive(pair[1], &got), -EPROTO);
	fd = dup(0);
	assert_int_equal(fd, next);
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

/* ------------------------------------------------------------------ serve */

struct box {
	char dir[32], shim[64];
	int sock;
	pid_t launcher;
};

static void box_begin(struct box *box, const char *script)
{
	struct launcher launcher = { .shim = box->shim, .listener = -1 };
	uint32_t version = 0;
	int pair[2];
	FILE *f;

	strcpy(box->dir, "/tmp/test-launcher-XXXXXX");
	assert_non_null(mkdtemp(box->dir));
	snprintf(box->shim, sizeof(box->shim), "%s/shim", box->dir);
	if (script) {
		f = fopen(box->shim, "w");
		assert_non_null(f);
		fputs(script, f);
		fclose(f);
		chmod(box->shim, 0755);
	}
	pair_of(SOCK_SEQPACKET, pair);
	box->launcher = fork();
	if (!box->launcher) {
		close(pair[0]);
		log_init(&launcher.log, "test");
		launcher.sock = pair[1];
		_exit(launcher_serve(&launcher) ? 1 : 0);
	}
	close(pair[1]);
	box->sock = pair[0];
	assert_int_equal(recv(box->sock, &version, sizeof(version), 0), sizeof(version));
	assert_int_equal(version, LAUNCH_VERSION);
}

/* The launcher ends with its connection. */
static void box_end(struct box *box)
{
	int status = -1;

	close(box->sock);
	assert_int_equal(waitpid(box->launcher, &status, 0), box->launcher);
	assert_int_equal(status, 0);
	unlink(box->shim);
	rmdir(box->dir);
}

/* Give an order; what comes on the report's connection until its end, in @text. */
static void box_order(struct box *box, const char *spec, char *text, size_t size)
{
	struct launch_order order;
	size_t len = 0;
	int pair[2];
	ssize_t n;

	pair_of(SOCK_STREAM, pair);
	launch_order_init(&order);
	order.spec = memfd_create("spec", MFD_CLOEXEC);
	assert_int_equal(pwrite(order.spec, spec, strlen(spec), 0), strlen(spec));
	order.report = pair[1];
	assert_int_equal(launch_order_send(box->sock, &order), 0);
	launch_order_done(&order);
	while ((n = read(pair[0], text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(pair[0]);
}

/* The shim says its arguments, its specification, its session, itself and its parent. */
static const char script[] =
	"#!/bin/sh\n"
	"eval \"exec 9>&$4\"\n"
	"echo \"$# $1 $3 $(cat /proc/self/fd/$2) $(cut -d' ' -f6 /proc/$$/stat) $$ $PPID\" >&9\n";

static void test_shim(void **state)
{
	int nr, spec, sid, pid, parent, i;
	char text[512], number[8];
	struct box box;

	box_begin(&box, script);
	for (i = 0; i < 3; i++) {
		snprintf(number, sizeof(number), "%d", i);
		box_order(&box, number, text, sizeof(text));
		if (sscanf(text, "%d --spec --report %d %d %d %d", &nr, &spec, &sid, &pid,
			   &parent) != 5)
			fail_msg("the shim says: %s", text);
		assert_int_equal(nr, 4);
		assert_int_equal(spec, i);
		assert_int_equal(sid, pid);
		assert_int_not_equal(parent, box.launcher);
		assert_int_not_equal(parent, getpid());
	}
	box_end(&box);
}

/* No shim: the error comes by the connection, and the launcher serves on. */
static void test_no_shim(void **state)
{
	char text[512];
	struct box box;
	json_t *outcome;
	int i;

	box_begin(&box, NULL);
	for (i = 0; i < 2; i++) {
		box_order(&box, "spec", text, sizeof(text));
		outcome = json_loads(text + WIRE_HEADER, 0, NULL);
		assert_int_equal(outcome_errno(outcome), -ENOENT);
		json_decref(outcome);
	}
	box_end(&box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_no_order),
		cmocka_unit_test(test_shim),
		cmocka_unit_test(test_no_shim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
