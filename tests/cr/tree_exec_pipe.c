// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program starts small programs all the time and reads their pipes to the end, which
 * comes when exec closes the write end or when they exit: no such pipe is taken for one
 * with somebody outside.
 */
#include <fcntl.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

#define STARTERS	4

static pid_t starters[STARTERS];

/* As those do who want to know whether exec has worked. */
static void start_one(void)
{
	int fd[2];
	char c;
	pid_t pid;

	cr_sys(pipe2(fd, O_CLOEXEC));
	pid = (pid_t)cr_sys(fork());
	if (!pid) {
		close(fd[0]);
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	close(fd[1]);
	cr_eq(read(fd[0], &c, 1), 0);
	close(fd[0]);
	cr_join(pid);
}

static void starter(void *arg)
{
	while (!cr_go())
		start_one();
}

static void setup(void)
{
	for (int i = 0; i < STARTERS; i++)
		starters[i] = cr_fork(starter, NULL);
}

static void verify(void)
{
	for (int i = 0; i < STARTERS; i++)
		cr_join(starters[i]);
}

CR_TEST(.setup = setup, .verify = verify);
