// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a pipe that signals its owner (O_ASYNC).
 */
#include <fcntl.h>
#include <signal.h>

#include "tests/cr/phase.h"

static int fds[2];
static volatile sig_atomic_t hits;

static void on_io(int sig)
{
	hits++;
}

static void setup(void)
{
	signal(SIGIO, on_io);
	cr_sys(pipe(fds));
	cr_sys(fcntl(fds[0], F_SETOWN, getpid()));
	cr_sys(fcntl(fds[0], F_SETFL, O_ASYNC | O_NONBLOCK));
}

static void verify(void)
{
	cr_eq(cr_sys(write(fds[1], "x", 1)), 1);
	for (int i = 0; !hits && i < 1000; i++)
		usleep(1000);
	cr_check(hits > 0, "no SIGIO");
}

CR_TEST(.setup = setup, .verify = verify);
