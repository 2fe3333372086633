// SPDX-License-Identifier: GPL-2.0-only
/*
 * umask, of parent and child, as a file made after the wait shows it.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static pid_t child;

static void check(const char *name, mode_t mode)
{
	struct stat st;
	int fd = (int)cr_sys(open(cr_path(name), O_WRONLY | O_CREAT | O_EXCL, 0777));

	cr_sys(fstat(fd, &st));
	cr_eq(st.st_mode & 0777, mode);
	close(fd);
}

static void in_child(void *arg)
{
	umask(0027);
	cr_mark("child");
	cr_wait_go();
	check("by-child", 0750);
}

static void setup(void)
{
	umask(0135);
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	check("by-parent", 0642);
	umask(022);
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
