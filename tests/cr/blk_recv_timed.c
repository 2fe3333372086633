// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in recv with a timeout of the socket (SO_RCVTIMEO): EAGAIN, not before time, never
 * EINTR.
 */
#include <sys/socket.h>
#include <sys/time.h>

#include "tests/cr/phase.h"

static int fds[2];

static void setup(void)
{
	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
}

static void block(void)
{
	unsigned int ms = cr_wait_ms();
	struct timeval limit = { ms / 1000, ms % 1000 * 1000 };
	uint64_t start;
	char byte;

	cr_sys(setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	start = cr_now(CLOCK_MONOTONIC);
	cr_eq(recv(fds[0], &byte, 1, 0), -1);
	cr_eq(errno, EAGAIN);
	cr_check(cr_now(CLOCK_MONOTONIC) - start >= ms * 900000ULL, "too soon");
	cr_woke();
}

static void verify(void)
{
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
