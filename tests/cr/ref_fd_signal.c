// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a pipe for which a signal is chosen (F_SETSIG) and no owner yet.
 */
#include <fcntl.h>
#include <signal.h>

#include "tests/cr/phase.h"

static int fds[2];

static void setup(void)
{
	cr_sys(pipe(fds));
	cr_sys(fcntl(fds[0], F_SETSIG, SIGUSR1));
}

static void verify(void)
{
	cr_eq(fcntl(fds[0], F_GETSIG), SIGUSR1);
}

CR_TEST(.setup = setup, .verify = verify);
