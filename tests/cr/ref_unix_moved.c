// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a unix socket whose file was moved: bind(2) could not make it where it is.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char here[64];

	cr_check(getcwd(here, sizeof(here)) != NULL, "getcwd");
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/socket", here);
	fd = (int)cr_sys(socket(AF_UNIX, SOCK_STREAM, 0));
	cr_sys(bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	cr_sys(rename("socket", "moved"));
}

static void verify(void)
{
	cr_sys(listen(fd, 1));
	cr_eq(access("moved", F_OK), 0);
}

CR_TEST(.setup = setup, .verify = verify);
