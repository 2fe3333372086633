// SPDX-License-Identifier: GPL-2.0-only
/* Refused: a TCP connection with an urgent byte that nobody has read, which no call puts back. */
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int out, in;

static void setup(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int listener = (int)cr_sys(socket(AF_INET, SOCK_STREAM, 0));

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_sys(bind(listener, (struct sockaddr *)&addr, sizeof(addr)));
	cr_sys(listen(listener, 4));
	cr_sys(getsockname(listener, (struct sockaddr *)&addr, &len));
	out = (int)cr_sys(socket(AF_INET, SOCK_STREAM, 0));
	cr_sys(connect(out, (struct sockaddr *)&addr, sizeof(addr)));
	in = (int)cr_sys(accept(listener, NULL, NULL));
	cr_eq(cr_sys(send(out, "help!", 5, MSG_OOB)), 5);
}

static void verify(void)
{
	char buf[8];

	cr_eq(cr_sys(recv(in, buf, 1, MSG_OOB)), 1);
	cr_eq(buf[0], '!');
	cr_eq(cr_sys(read(in, buf, sizeof(buf))), 4);
}

CR_TEST(.setup = setup, .verify = verify);
