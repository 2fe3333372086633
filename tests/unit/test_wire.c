// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of the control socket: round trips in pieces of any size, and what a
 * hostile end can send: wrong starts, lengths, descriptors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libckptctl/wire.h"

struct ends {
	int a, b;
};

static struct ends make_pair(void)
{
	int sock[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock), 0);
	return (struct ends) { sock[0], sock[1] };
}

static void close_pair(struct ends ends)
{
	close(ends.a);
	close(ends.b);
}

static unsigned int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void test_round_trip(void **state)
{
	struct wire_in in = { .limit = 100 };
	struct ends ends = make_pair();
	const char *body;
	size_t len;

	assert_int_equal(wire_send(ends.a, "{\"x\":1}", 7, NULL, 0), 0);
	assert_int_equal(wire_send(ends.a, "{}", 2, NULL, 0), 0);
	while (wire_next(&in, &body, &len) == 0)
		assert_true(wire_receive(&in, ends.b) > 0);
	assert_int_equal(wire_next(&in, &body, &len), 1);
	assert_int_equal(len, 7);
	assert_memory_equal(body, "{\"x\":1}", 7);
	wire_consume(&in);
	while (wire_next(&in, &body, &len) == 0)
		assert_true(wire_receive(&in, ends.b) > 0);
	assert_int_equal(len, 2);
	wire_consume(&in);
	close(ends.a);
	assert_int_equal(wire_receive(&in, ends.b), 0);
	close(ends.b);
	wire_in_done(&in);
}

static void test_byte_by_byte(void **state)
{
	struct wire_in in = { .limit = 1000 };
	struct ends ends = make_pair();
	uint8_t frame[WIRE_HEADER + 5];
	const char *body;
	size_t len, i;

	wire_header(frame, 5, 0);
	memcpy(frame + WIRE_HEADER, "hello", 5);
	for (i = 0; i < sizeof(frame); i++) {
		assert_int_equal(wire_next(&in, &body, &len), 0);
		assert_int_equal(write(ends.a, frame + i, 1), 1);
		assert_int_equal(wire_receive(&in, ends.b), 1);
	}
	assert_int_equal(wire_next(&in, &body, &len), 1);
	assert_memory_equal(body, "hello", 5);
	wire_in_done(&in);
	close_pair(ends);
}

static void expect(const uint8_t *bytes, size_t n, size_t limit, int want)
{
	struct wire_in in = { .limit = limit };
	struct ends ends = make_pair();
	const char *body;
	size_t len;

	assert_int_equal(write(ends.a, bytes, n), n);
	assert_true(wire_receive(&in, ends.b) > 0);
	assert_int_equal(wire_next(&in, &body, &len), want);
	wire_in_done(&in);
	close_pair(ends);
}

static void test_bad_headers(void **state)
{
	uint8_t h[WIRE_HEADER];

	expect((const uint8_t *)"GET / HTTP/1.1\r\n", 16, 100, -EPROTO);
	expect((const uint8_t *)"GET ", 4, 100, -EPROTO);
	wire_header(h, 101, 0);
	expect(h, sizeof(h), 100, -EMSGSIZE);
	wire_header(h, 0xffffffff, 0);
	expect(h, sizeof(h), WIRE_ANSWER_MAX, -EMSGSIZE);
	wire_header(h, 0, 0);
	expect(h, sizeof(h), 100, 1);
	expect(h, sizeof(h) - 1, 100, 0);
	h[4] = 2;
	expect(h, sizeof(h), 100, -EPROTONOSUPPORT);
	/* descriptors that are announced and do not come */
	wire_header(h, 0, 1);
	expect(h, sizeof(h), 100, -EPROTO);
	wire_header(h, 0, WIRE_FDS_MAX + 1);
	expect(h, sizeof(h), 100, -EPROTO);
}

/* A great length costs memory only as its bytes come. */
static void test_no_allocation_ahead(void **state)
{
	struct wire_in in = { .limit = WIRE_ANSWER_MAX };
	struct ends ends = make_pair();
	uint8_t h[WIRE_HEADER];
	const char *body;
	size_t len;

	wire_header(h, WIRE_ANSWER_MAX, 0);
	assert_int_equal(write(ends.a, h, sizeof(h)), sizeof(h));
	assert_true(wire_receive(&in, ends.b) > 0);
	assert_int_equal(wire_next(&in, &body, &len), 0);
	assert_true(in.size <= 65536);
	wire_in_done(&in);
	close_pair(ends);
}

static void test_descriptors(void **state)
{
	struct wire_in in = { .limit = 100 };
	struct ends ends = make_pair();
	unsigned int before = open_fds();
	int fds[2] = { 0, 1 };
	const char *body;
	size_t len;
	int fd;

	assert_int_equal(wire_send(ends.a, "{}", 2, fds, 2), 0);
	while (wire_next(&in, &body, &len) == 0)
		assert_true(wire_receive(&in, ends.b) > 0);
	fd = wire_take_fd(&in, 0);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(wire_take_fd(&in, 0), -EBADF);
	assert_int_equal(wire_take_fd(&in, 2), -EBADF);
	close(fd);
	wire_consume(&in);	/* closes the one nobody took */
	assert_int_equal(open_fds(), before);

	/* not announced, or too many: refused, and none is left open */
	assert_true(wire_send_some(ends.a, "CKPTxxxxxxxx", 12, fds, 2) > 0);
	assert_true(wire_receive(&in, ends.b) > 0);
	assert_true(wire_next(&in, &body, &len) < 0);
	wire_in_done(&in);
	assert_int_equal(open_fds(), before);
	close_pair(ends);
}

static void test_random(void **state)
{
	unsigned int i;

	srand(7);
	for (i = 0; i < 3000; i++) {
		struct wire_in in = { .limit = 4096 };
		struct ends ends = make_pair();
		uint8_t bytes[64];
		const char *body;
		size_t j, len;

		wire_header(bytes, (size_t)rand() % 64, 0);
		for (j = WIRE_HEADER; j < sizeof(bytes); j++)
			bytes[j] = (uint8_t)rand();
		for (j = 0; j < (size_t)rand() % 4; j++)
			bytes[rand() % WIRE_HEADER] ^= (uint8_t)(1 << rand() % 8);
		assert_int_equal(write(ends.a, bytes, sizeof(bytes)), sizeof(bytes));
		assert_true(wire_receive(&in, ends.b) > 0);
		while (wire_next(&in, &body, &len) == 1) {
			assert_true((const uint8_t *)body + len <= in.buf + in.len);
			wire_consume(&in);
		}
		wire_in_done(&in);
		close_pair(ends);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_byte_by_byte),
		cmocka_unit_test(test_bad_headers),
		cmocka_unit_test(test_no_allocation_ahead),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
