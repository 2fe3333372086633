// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections of TCP of which both ends are open and have ended: what is unread is there, then
 * the end, and nothing can be sent.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

enum { PAIRS = 3 };

static int client[PAIRS], server[PAIRS];

static void await_state(int fd, int state)
{
	struct { unsigned char state, rest[255]; } info;
	socklen_t len;

	do {
		len = sizeof(info);
		cr_sys(getsockopt(fd, IPPROTO_TCP, 11 /* TCP_INFO */, &info, &len));
	} while (info.state != state);
}

static void setup(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(addr);
	int listening = (int)cr_sys(socket(AF_INET, SOCK_STREAM, 0));

	cr_sys(bind(listening, (struct sockaddr *)&addr, sizeof(addr)));
	cr_sys(listen(listening, PAIRS));
	cr_sys(getsockname(listening, (struct sockaddr *)&addr, &len));
	for (int i = 0; i < PAIRS; i++) {
		client[i] = (int)cr_sys(socket(AF_INET, SOCK_STREAM, 0));
		cr_sys(connect(client[i], (struct sockaddr *)&addr, sizeof(addr)));
		server[i] = (int)cr_sys(accept(listening, NULL, NULL));
		cr_eq(cr_sys(write(client[i], "asked", 5)), 5);
		cr_eq(cr_sys(write(server[i], "answer", 6)), 6);
		cr_sys(shutdown(i & 1 ? client[i] : server[i], SHUT_WR));
		cr_sys(shutdown(i & 1 ? server[i] : client[i], SHUT_WR));
		await_state(client[i], 7 /* TCP_CLOSE */);
		await_state(server[i], 7);
	}
}

static void ended(int fd, const char *text, ssize_t len)
{
	char buf[16];

	cr_eq(cr_sys(read(fd, buf, sizeof(buf))), len);
	cr_eq(memcmp(buf, text, (size_t)len), 0);
	cr_eq(cr_sys(read(fd, buf, sizeof(buf))), 0);
	cr_eq(send(fd, "x", 1, MSG_NOSIGNAL), -1);
	cr_eq(errno, EPIPE);
}

static void verify(void)
{
	for (int i = 0; i < PAIRS; i++) {
		ended(client[i], "answer", 6);
		ended(server[i], "asked", 5);
	}
}

CR_TEST(.setup = setup, .verify = verify);
