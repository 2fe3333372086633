// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pipes with one end gone: data and then end of file without a writer, EPIPE and
 * SIGPIPE without a reader; an end held by a child only. The flags that F_GETFL tells stay.
 */
#include <fcntl.h>
#include <signal.h>

#include "tests/cr/phase.h"

static int eof[2], broken[2], theirs[2], flags[3];
static pid_t child;

static void in_child(void *arg)
{
	char buf[16];

	cr_wait_go();
	close(theirs[1]);
	cr_eq(cr_sys(read(theirs[0], buf, sizeof(buf))), 5);
	cr_eq(cr_sys(read(theirs[0], buf, sizeof(buf))), 0);
}

static void setup(void)
{
	signal(SIGPIPE, SIG_IGN);
	cr_sys(pipe(eof));
	cr_sys(pipe(broken));
	cr_sys(pipe(theirs));
	cr_eq(cr_sys(write(eof[1], "left", 4)), 4);
	cr_sys(close(eof[1]));
	cr_sys(close(broken[0]));
	flags[0] = (int)cr_sys(fcntl(eof[0], F_GETFL));
	flags[1] = (int)cr_sys(fcntl(broken[1], F_GETFL));
	flags[2] = (int)cr_sys(fcntl(theirs[1], F_GETFL));
	child = cr_fork(in_child, NULL);
	cr_sys(close(theirs[0]));
}

static void verify(void)
{
	char buf[16];

	cr_eq(fcntl(eof[0], F_GETFL), flags[0]);
	cr_eq(fcntl(broken[1], F_GETFL), flags[1]);
	cr_eq(fcntl(theirs[1], F_GETFL), flags[2]);
	cr_eq(cr_sys(read(eof[0], buf, sizeof(buf))), 4);
	cr_check(!memcmp(buf, "left", 4), "content");
	cr_eq(cr_sys(read(eof[0], buf, sizeof(buf))), 0);
	cr_eq(write(broken[1], "x", 1), -1);
	cr_eq(errno, EPIPE);
	cr_eq(cr_sys(write(theirs[1], "hello", 5)), 5);
	cr_sys(close(theirs[1]));
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
