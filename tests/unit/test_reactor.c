// SPDX-License-Identifier: GPL-2.0-only
/*
 * The event loop: timers, processes, and sources that are removed while a batch
 * of events is being worked off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/reactor.h"

struct loop {
	struct reactor *reactor;
	struct reactor_source *a, *b;
	int fds[2];
	unsigned int calls;
	int status;
};

static void stop(void *arg)
{
	struct loop *l = arg;

	reactor_stop(l->reactor);
}

static void test_timer(void **state)
{
	struct loop l = { 0 };
	struct reactor_source *source;

	assert_int_equal(reactor_create(&l.reactor), 0);
	assert_int_equal(reactor_timer(l.reactor, 0, stop, &l, &source), 0);
	assert_int_equal(reactor_run(l.reactor), 0);
	reactor_destroy(l.reactor);
}

/* Whoever is first removes the other and itself. */
static void on_either(uint32_t events, void *arg)
{
	struct loop *l = arg;
	struct reactor_source *source;

	l->calls++;
	reactor_remove(l->a);
	reactor_remove(l->b);
	reactor_remove(l->a);
	assert_int_equal(reactor_timer(l->reactor, 20, stop, l, &source), 0);
}

static void test_remove_in_batch(void **state)
{
	struct loop l = { 0 };
	int other[2];

	assert_int_equal(reactor_create(&l.reactor), 0);
	assert_int_equal(pipe(l.fds), 0);
	assert_int_equal(pipe(other), 0);
	assert_int_equal(write(l.fds[1], "x", 1), 1);
	assert_int_equal(write(other[1], "x", 1), 1);
	assert_int_equal(reactor_fd(l.reactor, l.fds[0], EPOLLIN, on_either, &l, &l.a), 0);
	assert_int_equal(reactor_fd(l.reactor, other[0], EPOLLIN, on_either, &l, &l.b), 0);
	assert_int_equal(reactor_run(l.reactor), 0);
	assert_int_equal(l.calls, 1);
	reactor_destroy(l.reactor);
}

static void on_child(int status, void *arg)
{
	struct loop *l = arg;

	l->status = status;
	reactor_stop(l->reactor);
}

static void test_child(void **state)
{
	struct loop l = { 0 };
	struct reactor_source *source;
	pid_t pid;

	assert_int_equal(reactor_create(&l.reactor), 0);
	pid = fork();
	if (!pid)
		_exit(7);
	assert_int_equal(reactor_child(l.reactor, pid, on_child, &l, &source), 0);
	assert_int_equal(reactor_run(l.reactor), 0);
	assert_true(WIFEXITED(l.status));
	assert_int_equal(WEXITSTATUS(l.status), 7);
	assert_int_equal(waitpid(pid, NULL, 0), -1);
	assert_int_equal(reactor_child(l.reactor, pid, on_child, &l, &source), -ESRCH);
	reactor_destroy(l.reactor);
}

static void on_late(uint32_t events, void *arg)
{
	struct loop *l = arg;

	assert_int_equal(l->status, 1);
	l->calls++;
}

static void on_early(uint32_t events, void *arg)
{
	struct loop *l = arg;

	assert_int_equal(l->status, 0);
	l->status = 1;
}

/* A late source comes after the others, also if it was ready first; a turn does not wait. */
static void test_late(void **state)
{
	struct loop l = { 0 };
	int other[2];

	assert_int_equal(reactor_create(&l.reactor), 0);
	assert_int_equal(pipe(l.fds), 0);
	assert_int_equal(pipe(other), 0);
	assert_int_equal(reactor_fd(l.reactor, l.fds[0], EPOLLIN, on_late, &l, &l.a), 0);
	assert_int_equal(reactor_fd(l.reactor, other[0], EPOLLIN, on_early, &l, &l.b), 0);
	reactor_late(l.a);
	assert_int_equal(reactor_turn(l.reactor), 0);
	assert_int_equal(l.calls, 0);
	assert_int_equal(write(l.fds[1], "x", 1), 1);
	assert_int_equal(write(other[1], "x", 1), 1);
	assert_int_equal(reactor_turn(l.reactor), 0);
	assert_int_equal(l.calls, 1);
	assert_int_equal(l.status, 1);
	reactor_destroy(l.reactor);
}

static void on_inner(uint32_t events, void *arg)
{
	struct loop *l = arg;

	reactor_stop(l->reactor);
}

static void on_outer(uint32_t events, void *arg)
{
	assert_int_equal(reactor_turn(arg), 0);
}

/* A loop as a source of another one. */
static void test_nested(void **state)
{
	struct loop l = { 0 };
	struct reactor *inner;

	assert_int_equal(reactor_create(&l.reactor), 0);
	assert_int_equal(reactor_create(&inner), 0);
	assert_int_equal(pipe(l.fds), 0);
	assert_int_equal(reactor_fd(inner, l.fds[0], EPOLLIN, on_inner, &l, &l.b), 0);
	assert_int_equal(reactor_fd(l.reactor, reactor_poll_fd(inner), EPOLLIN, on_outer, inner,
				    &l.a), 0);
	assert_int_equal(write(l.fds[1], "x", 1), 1);
	assert_int_equal(reactor_run(l.reactor), 0);
	reactor_destroy(l.reactor);
	reactor_destroy(inner);
}

static void on_signal(int signo, void *arg)
{
	struct loop *l = arg;

	l->status = signo;
	reactor_stop(l->reactor);
}

static void test_signal(void **state)
{
	struct loop l = { 0 };
	struct reactor_source *source;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	assert_int_equal(reactor_create(&l.reactor), 0);
	assert_int_equal(reactor_signals(l.reactor, &set, on_signal, &l, &source), 0);
	kill(getpid(), SIGUSR1);
	assert_int_equal(reactor_run(l.reactor), 0);
	assert_int_equal(l.status, SIGUSR1);
	reactor_destroy(l.reactor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timer),
		cmocka_unit_test(test_remove_in_batch),
		cmocka_unit_test(test_child),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_signal),
	};

	return cmocka_run_group_tests_name("reactor", tests, NULL, NULL);
}
