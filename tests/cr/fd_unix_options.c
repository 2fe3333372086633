// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options of unix sockets: sizes of buffers, chosen and not, timeouts, SO_PASSCRED, the peek
 * offset, SO_RCVLOWAT and SO_LINGER are as they were, and a full buffer is full.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "tests/cr/phase.h"

static int set[2], plain[2], full[2];
static size_t in_full;
static int sizes[4];

static int number(int fd, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	cr_sys(getsockopt(fd, SOL_SOCKET, name, &value, &len));
	return value;
}

static void put(int fd, int name, int value)
{
	cr_sys(setsockopt(fd, SOL_SOCKET, name, &value, sizeof(value)));
}

static void setup(void)
{
	struct timeval timeout = { 7, 500000 };
	struct linger linger = { 1, 9 };
	char block[4096] = "";

	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, set));
	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, plain));
	cr_sys(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, full));
	put(set[0], SO_SNDBUF, 30000);
	put(set[0], SO_RCVBUF, 20000);
	put(set[1], SO_PASSCRED, 1);
	put(set[1], SO_RCVLOWAT, 5);
	put(set[1], SO_PEEK_OFF, 2);
	cr_sys(setsockopt(set[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)));
	cr_sys(setsockopt(set[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	cr_eq(cr_sys(write(plain[0], "x", 1)), 1);
	put(full[0], SO_SNDBUF, 10000);
	for (ssize_t n; (n = write(full[0], block, sizeof(block))) > 0;)
		in_full += (size_t)n;
	sizes[0] = number(set[0], SO_SNDBUF);
	sizes[1] = number(set[0], SO_RCVBUF);
	sizes[2] = number(plain[0], SO_SNDBUF);
	sizes[3] = number(full[0], SO_SNDBUF);
}

static void verify(void)
{
	struct timeval timeout = { 0 };
	struct linger linger = { 0 };
	socklen_t len = sizeof(timeout);
	char block[4096];
	ssize_t n;

	cr_eq(number(set[0], SO_SNDBUF), sizes[0]);
	cr_eq(number(set[0], SO_RCVBUF), sizes[1]);
	cr_eq(number(set[0], 72 /* SO_BUF_LOCK */), 3);
	cr_eq(number(plain[0], SO_SNDBUF), sizes[2]);
	cr_eq(number(plain[0], 72), 0);
	cr_eq(number(full[0], SO_SNDBUF), sizes[3]);
	cr_eq(number(set[1], SO_PASSCRED), 1);
	cr_eq(number(set[0], SO_PASSCRED), 0);
	cr_eq(number(set[1], SO_RCVLOWAT), 5);
	cr_eq(number(set[1], SO_PEEK_OFF), 2);
	cr_sys(getsockopt(set[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, &len));
	cr_eq(timeout.tv_sec, 7);
	len = sizeof(linger);
	cr_sys(getsockopt(set[0], SOL_SOCKET, SO_LINGER, &linger, &len));
	cr_eq(linger.l_linger, 9);
	cr_eq(write(full[0], "x", 1), -1);
	cr_eq(errno, EAGAIN);
	while ((n = read(full[1], block, sizeof(block))) > 0)
		in_full -= (size_t)n;
	cr_eq(in_full, 0);
}

CR_TEST(.setup = setup, .verify = verify);
