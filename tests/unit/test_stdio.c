// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines of the shim's own among what a job writes (shim/stdio.c).
 *
 * A job that never pauses is /dev/zero here, which always has more; its log is /dev/null. What
 * waits for ever ends by an alarm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "shim/stdio.h"

static struct shim_stdio *make(int fd, int log)
{
	struct shim_stdio *io = calloc(1, sizeof(*io));

	assert_non_null(io);
	io->stream[0] = (struct shim_stream) { .io = io, .fd = -1, .log = -1 };
	io->stream[1] = (struct shim_stream) { .io = io, .fd = fd, .log = log };
	return io;
}

static int open_log(void)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/*
 * All that was written before is before it, in as many pieces as it takes; the end of the pipe
 * is seen.
 */
static void test_note_behind(void **state)
{
	const char line[] = "stillpoint: a note\n";
	const size_t len = 3 * STDIO_READ_MAX + 5;
	_cleanup_free_ char *text = malloc(len), *read_back = malloc(len + sizeof(line));
	_cleanup_fd_ int log = open_log();
	struct shim_stdio *io;
	int ends[2], i;

	assert_non_null(text);
	assert_non_null(read_back);
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	assert_true(fcntl(ends[1], F_SETPIPE_SZ, 1 << 19) >= 0);
	memset(text, 'x', len);
	assert_int_equal(write(ends[1], text, len), len);
	io = make(ends[0], log);
	stdio_note(io, "a note");
	assert_int_equal(io->stream[1].len, len + strlen(line));
	assert_int_equal(pread(log, read_back, len + sizeof(line), 0), len + strlen(line));
	assert_memory_equal(read_back, text, len);
	assert_memory_equal(read_back + len, line, strlen(line));
	/* nothing there, then the end */
	for (i = 0; i < 2; i++) {
		stdio_note(io, "a note");
		assert_int_equal(io->stream[1].len, len + (size_t)(2 + i) * strlen(line));
		if (!i)
			close(ends[1]);
	}
	assert_int_equal(stdio_drain(io), 0);
	assert_int_equal(io->stream[1].fd, -1);
	stdio_note(io, "a note");
	assert_int_equal(io->stream[1].len, len + 4 * strlen(line));
	free(io);
}

static void test_note_without_pause(void **state)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	_cleanup_fd_ int log = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct shim_stdio *io = make(fd, log);

	assert_true(fd >= 0 && log >= 0);
	stdio_note(io, "a note");
	assert_true(io->stream[1].len < 1 << 20);
	close(fd);
	free(io);
}

/* A rollback cuts a log back; what the job writes next follows at the cut. */
static void test_cut(void **state)
{
	_cleanup_fd_ int log = open_log();
	struct shim_stdio *io = make(-1, log);
	char text[16] = "";

	assert_int_equal(stdio_log(&io->stream[1], "before after", 12), 0);
	assert_int_equal(stdio_cut_log(io, 1, 13), -EINVAL);
	io->stream[1].held_len = 1;
	assert_int_equal(stdio_cut_log(io, 1, 6), -EBUSY);
	io->stream[1].held_len = 0;
	assert_int_equal(stdio_cut_log(io, 1, 6), 0);
	assert_int_equal(io->stream[1].len, 6);
	assert_int_equal(io->stream[1].ready, 6);
	assert_int_equal(stdio_log(&io->stream[1], " anew", 5), 0);
	assert_int_equal(pread(log, text, sizeof(text), 0), 11);
	assert_string_equal(text, "before anew");
	/* a stream without a log has no length */
	assert_int_equal(stdio_cut_log(io, 0, 0), 0);
	assert_int_equal(stdio_cut_log(io, 0, 1), -EINVAL);
	free(io);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_note_behind),
		cmocka_unit_test(test_note_without_pause),
		cmocka_unit_test(test_cut),
	};

	alarm(10);
	return cmocka_run_group_tests_name("stdio", tests, NULL, NULL);
}
