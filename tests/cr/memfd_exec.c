// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program in a memfd that is still open for writing can be executed: the kernel
 * does not count the descriptor of memfd_create itself as a writer.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static int fd;

static void in_child(void *arg)
{
	char *const argv[] = { (char *)"script", NULL };
	char *const envp[] = { NULL };

	syscall(SYS_execveat, fd, "", argv, envp, 0x1000);	/* AT_EMPTY_PATH */
	cr_fail("execveat: %s", strerror(errno));
}

static void setup(void)
{
	fd = (int)cr_sys(memfd_create("script", 0));
	cr_eq(cr_sys(write(fd, "#!/bin/true", 11)), 11);
	cr_join(cr_fork(in_child, NULL));
}

static void verify(void)
{
	cr_join(cr_fork(in_child, NULL));
}

CR_TEST(.setup = setup, .verify = verify);
