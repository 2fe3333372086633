// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a directory that signals what happens in it; it does so afterwards.
 */
#include <fcntl.h>
#include <signal.h>

#include "tests/cr/phase.h"

static volatile int told;

static void note(int sig)
{
	told++;
}

static void setup(void)
{
	int fd = (int)cr_sys(open(cr_path("."), O_RDONLY | O_DIRECTORY));

	signal(SIGIO, note);
	if (fcntl(fd, F_NOTIFY, DN_CREATE | DN_MULTISHOT))
		cr_skip("F_NOTIFY: %s", strerror(errno));
}

static void verify(void)
{
	told = 0;
	cr_mark("created");
	cr_check(told > 0, "no signal");
}

CR_TEST(.setup = setup, .verify = verify);
