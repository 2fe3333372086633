// SPDX-License-Identifier: GPL-2.0-only
/*
 * A unix socket with an abstract name that the kernel has chosen: it is still found by the name.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/cr/phase.h"

static int bound, sender;
static struct sockaddr_un name;
static socklen_t len = sizeof(name);

static void setup(void)
{
	struct sockaddr_un none = { .sun_family = AF_UNIX };

	bound = (int)cr_sys(socket(AF_UNIX, SOCK_DGRAM, 0));
	cr_sys(bind(bound, (struct sockaddr *)&none, sizeof(sa_family_t)));
	cr_sys(getsockname(bound, (struct sockaddr *)&name, &len));
	sender = (int)cr_sys(socket(AF_UNIX, SOCK_DGRAM, 0));
}

static void verify(void)
{
	struct sockaddr_un now;
	socklen_t now_len = sizeof(now);
	char byte;

	cr_sys(getsockname(bound, (struct sockaddr *)&now, &now_len));
	cr_eq(now_len, len);
	cr_check(!memcmp(&now, &name, len), "another name");
	cr_sys(sendto(sender, "x", 1, 0, (struct sockaddr *)&name, len));
	cr_eq(cr_sys(recv(bound, &byte, 1, 0)), 1);
}

CR_TEST(.setup = setup, .verify = verify);
