// SPDX-License-Identifier: GPL-2.0-only
/*
 * A lease to read, of a description that a child has, too: whoever opens the file to write breaks
 * the lease, and the holder is told by a signal with the descriptor's number.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <signal.h>

#include "tests/cr/phase.h"

static int fd;
static sigset_t set;
static pid_t child;

static void child_run(void *arg)
{
	cr_await("break");
	cr_eq(fcntl(fd, F_GETLEASE), F_RDLCK);
	cr_eq(open(cr_path("leased"), O_WRONLY | O_NONBLOCK), -1);
	cr_eq(errno, EWOULDBLOCK);
}

static void setup(void)
{
	cr_write_file(cr_path("leased"), "text", 4);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 2);
	cr_sys(sigprocmask(SIG_BLOCK, &set, NULL));
	fd = (int)cr_sys(open(cr_path("leased"), O_RDONLY));
	cr_sys(fcntl(fd, F_SETSIG, SIGRTMIN + 2));
	if (fcntl(fd, F_SETLEASE, F_RDLCK))
		cr_skip("F_SETLEASE: %s", strerror(errno));
	child = cr_fork(child_run, NULL);
}

static void verify(void)
{
	siginfo_t info;

	cr_eq(fcntl(fd, F_GETLEASE), F_RDLCK);
	cr_mark("break");
	cr_eq(cr_sys(sigwaitinfo(&set, &info)), SIGRTMIN + 2);
	cr_eq(info.si_fd, fd);
	cr_sys(fcntl(fd, F_SETLEASE, F_UNLCK));
	cr_join(child);
	cr_sys(close((int)cr_sys(open(cr_path("leased"), O_WRONLY | O_NONBLOCK))));
}

CR_TEST(.setup = setup, .verify = verify);
