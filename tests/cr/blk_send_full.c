// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in send on a full unix stream: all of it arrives, in order.
 */
#include <sys/socket.h>

#include "tests/cr/phase.h"

#define LEN	(1 << 20)

static int fds[2];
static pid_t child;
static uint8_t data[LEN], got[LEN];

static void in_child(void)
{
	size_t len = 0;

	while (len < LEN)
		len += (size_t)cr_sys(read(fds[1], got + len, LEN - len));
	cr_check_fill(got, LEN, 5);
}

static void setup(void)
{
	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	cr_fill(data, LEN, 5);
	child = cr_when_go(in_child);
}

static void block(void)
{
	for (size_t len = 0; len < LEN;)
		len += (size_t)cr_sys(send(fds[0], data + len, LEN - len, 0));
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
