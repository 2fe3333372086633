// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a unix socket with more unread bytes than an image takes; they can be read afterwards.
 */
#include <sys/socket.h>

#include "tests/cr/phase.h"

#define BYTES	(17 << 20)

static int pair[2];
static char block[1 << 16];

static void setup(void)
{
	int room = BYTES * 2;

	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	if (setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)))
		cr_skip("SO_SNDBUFFORCE: %s", strerror(errno));
	for (int at = 0; at < BYTES; at += (int)sizeof(block))
		cr_eq(cr_sys(send(pair[0], block, sizeof(block), MSG_DONTWAIT)), sizeof(block));
}

static void verify(void)
{
	for (int at = 0; at < BYTES;)
		at += (int)cr_sys(recv(pair[1], block, sizeof(block), MSG_DONTWAIT));
	cr_eq(recv(pair[1], block, 1, MSG_DONTWAIT), -1);
}

CR_TEST(.setup = setup, .verify = verify);
