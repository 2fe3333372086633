// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a UDP socket that is bound to a device.
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };

	fd = (int)cr_sys(socket(AF_INET, SOCK_DGRAM, 0));
	cr_sys(bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3))
		cr_skip("SO_BINDTODEVICE: %s", strerror(errno));
}

static void verify(void)
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	cr_sys(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &len));
	cr_check(!strcmp(name, "lo"), "%s", name);
}

CR_TEST(.setup = setup, .verify = verify);
