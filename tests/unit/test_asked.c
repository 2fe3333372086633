// SPDX-License-Identifier: GPL-2.0-only
/*
 * Questions that may hang: answers of any size, children that fail, hang, or find that another one
 * still waits; and nothing of the parent's is kept by a child.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "supervisor/devices/asked.h"

static char dir[] = "/tmp/asked.XXXXXX";

static int say(unsigned int number, void *arg, int fd)
{
	return dprintf(fd, "%s %u", (const char *)arg, number) < 0;
}

static int fail_after(unsigned int number, void *arg, int fd)
{
	return dprintf(fd, "half of an") < 0 ? 0 : -EIO;
}

static int hang(unsigned int number, void *arg, int fd)
{
	while (pause() < 0)
		continue;
	return 0;
}

static int say_much(unsigned int number, void *arg, int fd)
{
	static char text[100000];
	size_t i;

	memset(text, 'x', sizeof(text));
	for (i = 0; i < *(size_t *)arg; i++) {
		if (write(fd, text, sizeof(text)) < 0)
			return -errno;
	}
	return 0;
}

/* Whether the parent's descriptor is open here. */
static int say_open(unsigned int number, void *arg, int fd)
{
	return dprintf(fd, "%d", fcntl(*(int *)arg, F_GETFD) < 0 ? 0 : 1) < 0;
}

static struct asked one(unsigned int number, asked_fn fn, void *arg, unsigned int ms)
{
	struct asked a = { .number = number };

	asked_start(&a, dir, fn, arg);
	asked_wait(&a, 1, ms);
	assert_int_equal(a.fd, -1);
	return a;
}

static void test_answers(void **state)
{
	struct asked a[3] = { { .number = 1 }, { .number = 2 }, { .number = 1u << 20 } };
	char text[] = "number";
	size_t i;

	for (i = 0; i < 3; i++)
		asked_start(&a[i], dir, say, text);
	asked_wait(a, 3, 10000);
	for (i = 0; i < 3; i++)
		assert_int_equal(a[i].err, 0);
	assert_string_equal(a[1].answer, "number 2");
	assert_string_equal(a[2].answer, "number 1048576");
	asked_free(a, 3);
	/* the lock is free again */
	a[0] = one(1, say, text, 10000);
	assert_int_equal(a[0].err, 0);
	asked_free(a, 1);
}

static void test_sizes(void **state)
{
	size_t parts = 8;
	struct asked a = one(1, say_much, &parts, 10000);

	assert_int_equal(a.err, 0);
	assert_int_equal(a.size, 800000);
	asked_free(&a, 1);
	parts = 100;
	a = one(1, say_much, &parts, 10000);
	assert_int_equal(a.err, -EFBIG);
	asked_free(&a, 1);
	parts = 0;
	a = one(1, say_much, &parts, 10000);
	assert_int_equal(a.err, 0);
	assert_int_equal(a.size, 0);
	asked_free(&a, 1);
}

static void test_failures(void **state)
{
	char text[] = "x", gone[] = "/nowhere/at/all";
	struct asked a = one(1, fail_after, NULL, 10000);

	assert_int_equal(a.err, -EIO);
	asked_free(&a, 1);
	a = (struct asked){ .number = 1 };
	asked_start(&a, gone, say, text);
	asked_wait(&a, 1, 10000);
	assert_int_equal(a.err, -EIO);
	asked_free(&a, 1);
}

/* One that hangs costs its deadline, and the others nothing. */
static void test_hangs(void **state)
{
	const int64_t began = clock_monotonic_ms();
	struct asked a[2] = { { .number = 1 }, { .number = 2 } };
	char text[] = "x";

	asked_start(&a[0], dir, hang, NULL);
	asked_start(&a[1], dir, say, text);
	asked_wait(a, 2, 300);
	assert_int_equal(a[0].err, -ETIMEDOUT);
	assert_int_equal(a[1].err, 0);
	assert_in_range(clock_monotonic_ms() - began, 300, 20000);
	asked_free(a, 2);
}

/* A child that cannot be killed holds its lock: stood for by a process that nobody kills. */
static void test_busy(void **state)
{
	struct asked held = { .number = 5 }, a;
	char text[] = "x", byte;
	int pipes[2];
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		struct flock lock = { .l_type = F_WRLCK, .l_start = held.number, .l_len = 1 };
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "%s/" ASKED_LOCK_FILE, dir);
		fd = open(path, O_RDWR | O_CREAT, 0600);
		if (fd < 0 || fcntl(fd, F_SETLK, &lock) || write(pipes[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	a = one(5, say, text, 10000);
	assert_int_equal(a.err, -EBUSY);
	asked_free(&a, 1);
	a = one(6, say, text, 10000);
	assert_int_equal(a.err, 0);
	asked_free(&a, 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	a = one(5, say, text, 10000);
	assert_int_equal(a.err, 0);
	asked_free(&a, 1);
	close(pipes[0]);
	close(pipes[1]);
}

static void test_closed(void **state)
{
	int pipes[2], far;
	struct asked a;

	assert_int_equal(pipe(pipes), 0);
	far = fcntl(pipes[1], F_DUPFD, 100);
	assert_true(far >= 100);
	a = one(1, say_open, &far, 10000);
	assert_int_equal(a.err, 0);
	assert_string_equal(a.answer, "0");
	asked_free(&a, 1);
	close(far);
	close(pipes[0]);
	close(pipes[1]);
}

static int begin(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/" ASKED_LOCK_FILE, dir);
	unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers), cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_failures), cmocka_unit_test(test_hangs),
		cmocka_unit_test(test_busy), cmocka_unit_test(test_closed),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
